//! Chooses the text of the maps and the variants, and asks the questions that yield them.

use crate::ui::views::{attention::NO_MAPS, prelude::*};

/// The text along which attention is shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptChoice {
    /// Tokens of a held-out passage; `None`: those of the maps that the run measures by itself.
    pub length: Option<usize>,
    /// A text that the user typed; if it is empty, the passage is read.
    pub own: String,
    /// The layer whose whole maps had to be asked for, since an answer has room for one alone.
    layer: Option<String>,
}

/// The maps of one variant.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    pub variant: usize,
    pub sample: &'a Sample,
    /// Every layer, small where the text is long.
    pub thumbnails: &'a [AttentionLayer],
    /// The layers whose maps are whole.
    whole: &'a [AttentionLayer],
}

impl<'a> Column<'a> {
    /// Heads of the layer that has most.
    pub fn heads(&self) -> usize {
        self.thumbnails.iter().map(AttentionLayer::heads).max().unwrap_or(1)
    }

    /// The maps of a layer, whole if they are there, else small.
    pub fn layer(&self, path: &str) -> Option<&'a AttentionLayer> {
        let find = |all: &'a [AttentionLayer]| all.iter().find(|l| l.path == path);
        find(self.whole).or_else(|| find(self.thumbnails))
    }

    /// True where the answer had no room for the whole maps of this layer.
    fn lacks_layer(&self, path: &str) -> bool {
        self.thumbnails.iter().any(|l| l.path == path) && !self.whole.iter().any(|l| l.path == path)
    }
}

/// The groups of a run, each with its variant of the seed that is shown: that of the variant in focus.
pub fn members(cx: &ViewCx<'_>) -> Vec<(SeedGroup, usize)> {
    let all = groups(cx.mirror);
    let place = |g: &SeedGroup| g.members.iter().position(|v| *v == cx.selection.variant);
    let seed = all.iter().find_map(place).unwrap_or(0);
    let member = |g: SeedGroup| {
        let variant = g.members.get(seed).or(g.members.last()).copied()?;
        Some((g, variant))
    };
    all.into_iter().filter_map(member).collect()
}

impl PromptChoice {
    pub fn with_length(length: Option<usize>) -> Self {
        Self { length, ..Self::default() }
    }

    /// True for a text that the run's schedule does not measure, so that it must be asked for.
    pub fn is_asked(&self) -> bool {
        self.length.is_some() || !self.own.is_empty()
    }

    fn args(&self) -> LongAttentionMapsArgs {
        let usual = LongAttentionMapsArgs::default();
        LongAttentionMapsArgs {
            text: self.own.clone(),
            length: self.length.filter(|_| self.own.is_empty()).unwrap_or(usual.length),
            layer: self.layer.clone().unwrap_or_default(),
            ..usual
        }
    }

    /// Requests those maps of `layer` that have not been measured.
    pub fn ask(&mut self, cx: &mut ViewCx<'_>, layer: Option<&str>) {
        if !self.is_asked() {
            self.layer = None;
        } else if let Some(layer) = layer.filter(|path| self.columns(cx).iter().any(|c| c.lacks_layer(path))) {
            self.layer = Some(layer.to_owned());
        }
        for (_, variant) in members(cx) {
            if self.is_asked() {
                cx.ask::<LongAttentionMaps>(Some(variant), &self.args(), Freshness::SELDOM);
            } else {
                // without a schedule nothing else would bring newer ones
                let is_scheduled = cx.scheduled::<AttentionMaps>(variant).is_some();
                let freshness = if is_scheduled { Freshness::IfMissing } else { Freshness::SELDOM };
                cx.ask::<AttentionMaps>(Some(variant), &AttentionMapsArgs::default(), freshness);
            }
        }
    }

    pub fn columns<'a>(&self, cx: &ViewCx<'a>) -> Vec<Column<'a>> {
        let column = |variant| {
            let (sample, thumbnails, whole) = if self.is_asked() {
                let Measured { sample, value, .. } = cx.newest::<LongAttentionMaps>(variant)?;
                (sample, &value.thumbnails, &value.layers)
            } else {
                let Measured { sample, value, .. } = cx.newest::<AttentionMaps>(variant)?;
                (sample, &value.layers, &value.layers)
            };
            (!thumbnails.is_empty()).then_some(Column { variant, sample, thumbnails, whole })
        };
        members(cx).into_iter().filter_map(|(_, variant)| column(variant)).collect()
    }

    /// Why some variant has no map of what was asked last.
    pub fn refusal<'a>(&self, cx: &ViewCx<'a>) -> Option<&'a str> {
        let refusal = |variant| match self.is_asked() {
            true => cx.refusal_of::<LongAttentionMaps>(Some(variant)),
            false => cx.refusal_of::<AttentionMaps>(Some(variant)),
        };
        members(cx).into_iter().find_map(|(_, v)| refusal(v))
    }

    pub fn empty_reason(&self, cx: &ViewCx<'_>) -> String {
        match self.refusal(cx) {
            Some(refusal) => refusal.to_owned(),
            None if self.is_asked() => cx.empty_reason::<LongAttentionMaps>(NO_MAPS),
            None => cx.empty_reason::<AttentionMaps>(NO_MAPS),
        }
    }

    pub fn is_waiting(&self, cx: &ViewCx<'_>) -> bool {
        let is_due = |variant| cx.is_waiting_for::<LongAttentionMaps>(Some(variant));
        self.is_asked() && members(cx).into_iter().any(|(_, v)| is_due(v))
    }
}
