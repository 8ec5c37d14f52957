//! A lab is a value with its question, settings, presets, plan, panes and drawing. Each lab has a file of its own, and the
//! list of all labs is here. The settings of a lab are a struct from which the knobs derive ([`config::Settings`]).

/// A list of presets, each with its id, title and text. The config is the file of that name.
macro_rules! presets {
    (@front) => { None };
    (@front $front:literal) => { Some($front) };
    ($($id:literal, $title:literal, $about:literal $(=> $front:literal)?;)*) => {
        &[$($crate::labs::Preset {
            id: $id,
            title: $title,
            about: $about,
            toml: include_str!(concat!("../../../configs/", $id, ".toml")),
            front: presets!(@front $($front)?),
        }),*]
    };
}

/// A list of groups of settings in order: the keys' prefix, and its heading where that is not the usual one.
macro_rules! groups {
    (@model) => { "Model" };
    (@variants) => { "Variants" };
    (@corpus) => { "Text" };
    (@train) => { "Training" };
    (@probe) => { "Probes" };
    (@run) => { "Run" };
    (@$group:ident = $heading:literal) => { $heading };
    ($($group:ident $(= $heading:literal)?),*) => {
        &[$((stringify!($group), groups!(@$group $(= $heading)?))),*]
    };
}

/// A list of keys of settings: `model.d_model, train.lr`.
macro_rules! keys {
    ($($group:ident.$name:ident),*) => { &[$(concat!(stringify!($group), ".", stringify!($name))),*] };
}

/// A list of panes, one tile per line: its row or `tall`, then its views, the first one in front.
macro_rules! panes {
    ($(tall: $tall:literal $(, $beside:literal)*;)? $($row:literal: $front:literal $(, $tab:literal)*;)*
     $(more: $($more:literal),+;)?) => {
        &[
            $($crate::labs::Pane::tall($tall), $($crate::labs::Pane::tab($beside),)*)?
            $($crate::labs::Pane::tile($front, $row), $($crate::labs::Pane::tab($tab),)*)*
            $($($crate::labs::Pane::more($more),)+)?
        ]
    };
}

pub mod bdh;
pub mod bdh_physics;
pub mod corpus;
pub mod coupled_qk;
pub mod drawing;
pub mod equilibrium;
pub mod examples;
pub mod experiment;
pub mod fast_slow;
pub mod foreign;
pub mod grammar_roles;
pub mod graph_file;
pub mod headline;
pub mod lesson;
pub mod merging;
pub mod neuron_graph;
pub mod ode_flow;
pub(crate) mod prelude;
pub mod restrictions;
pub mod spen;
pub mod synapses;
pub mod traces;
pub mod trained_bdh;

pub use crate::trainer::{ProbeSchedule, RunSettings, TrainSettings};

use crate::{
    config::{self, Config, ConfigError, FileKind, Knob},
    trainer::Plan,
};
use drawing::{Canvas, Drawing};
use headline::{Headline, large::LargeNumber};

/// A ready-made config, shipped as a file of `configs/`.
pub struct Preset {
    /// The file's stem, which `orrery run` takes: `fast_slow_needed`. A preset named `<lab>_<view>` brings that view to
    /// the front.
    pub id: &'static str,
    pub title: &'static str,
    /// A sentence that says what it shows.
    pub about: &'static str,
    pub toml: &'static str,
    /// Another view that it brings to the front.
    pub front: Option<&'static str>,
}

/// A view of the lab's page, and its place when the lab opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pane {
    /// Id in `ui::views::VIEWS`.
    pub view: &'static str,
    pub place: Place,
}

/// The place of a view when its lab opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Open in its own column at the left, as high as the page.
    Tall,
    /// Open in this row from the top; the tiles of a row share its width.
    Tile { row: usize },
    /// A tab of the same tile as the pane before it.
    Tab,
    /// The view is not open, but listed under *More views*.
    More,
}

impl Place {
    /// True if a tile begins with it; false for a tab and for what is not open.
    pub fn is_front(self) -> bool {
        matches!(self, Self::Tall | Self::Tile { .. })
    }
}

impl Pane {
    pub const fn tall(view: &'static str) -> Self {
        Self { view, place: Place::Tall }
    }

    pub const fn tile(view: &'static str, row: usize) -> Self {
        Self { view, place: Place::Tile { row } }
    }

    pub const fn tab(view: &'static str) -> Self {
        Self { view, place: Place::Tab }
    }

    pub const fn more(view: &'static str) -> Self {
        Self { view, place: Place::More }
    }
}

pub struct Lab {
    pub id: &'static str,
    pub title: &'static str,
    /// The question it answers, one sentence.
    pub question: &'static str,
    pub source: &'static str,
    /// A page of Markdown for the lesson panel.
    pub lesson: &'static str,
    /// Knob groups in order: (key prefix, heading).
    pub groups: &'static [(&'static str, &'static str)],
    /// The keys of the five to eight settings that the lab is about: its controls at first sight.
    pub essentials: &'static [&'static str],
    /// The schema of its settings struct.
    pub knobs: fn() -> Vec<Knob>,
    /// The first is the default; the lab opens with that of its example ([`examples`]).
    pub presets: &'static [Preset],
    /// Reads the settings struct and plans a run. Errors name the key to change.
    pub plan: fn(&Config) -> Result<Plan, ConfigError>,
    /// Draws the picture on its card in the gallery.
    pub drawing: fn(&Canvas, &mut Drawing),
    /// The views of its page: the one that shows its effect, what is beside that, and the rest.
    pub panes: &'static [Pane],
    /// The few numbers that are its result, in order.
    pub headlines: &'static [Headline],
    /// The headline numbers that its page shows large, the most important first.
    pub large_numbers: &'static [LargeNumber],
    /// True if opening the lab makes a run at once (paused, models ready to be asked).
    pub opens_with_run: bool,
}

/// Every lab that trains.
pub static LABS: &[&Lab] = &[
    &fast_slow::LAB,
    &equilibrium::LAB,
    &traces::LAB,
    &grammar_roles::LAB,
    &spen::LAB,
    &ode_flow::LAB,
    &trained_bdh::LAB,
    &synapses::LAB,
    &neuron_graph::LAB,
    &bdh_physics::LAB,
    &coupled_qk::LAB,
];

/// The labs that make no runs of their own: those of other programs' runs and of graph files.
pub static LABS_WITHOUT_OWN_RUNS: [&Lab; 2] = [&foreign::LAB, &graph_file::LAB];

/// The lab with this id: one of [`LABS`] or of [`LABS_WITHOUT_OWN_RUNS`].
pub fn find(id: &str) -> Option<&'static Lab> {
    LABS.iter().copied().chain(LABS_WITHOUT_OWN_RUNS).find(|l| l.id == id)
}

/// The lab with this id among these, or an error that lists them.
pub fn find_in(labs: &[&'static Lab], id: &str) -> Result<&'static Lab, ConfigError> {
    labs.iter().copied().find(|l| l.id == id).ok_or_else(|| ConfigError::UnknownLab {
        lab: id.to_owned(),
        known: labs.iter().map(|l| l.id.to_owned()).collect(),
    })
}

impl Lab {
    pub fn preset(&self, id: &str) -> Option<&'static Preset> {
        self.presets.iter().find(|preset| preset.id == id)
    }

    /// The picture on its card in the gallery.
    pub fn draw(&self, canvas: &Canvas) -> Drawing {
        let mut drawing = Drawing::default();
        (self.drawing)(canvas, &mut drawing);
        drawing
    }

    /// True if it makes runs of its own; false for the labs of other programs' runs and of graph files, which have nothing to
    /// begin with.
    pub fn makes_runs(&self) -> bool {
        !self.presets.is_empty()
    }

    /// True if its page shows runs, with their settings and steps; false for the lab of graph files.
    pub fn has_runs(&self) -> bool {
        self.id != graph_file::ID
    }

    /// The view on this lab's page that a preset brings to the front: the one that it states or is named after.
    pub fn front_view(&self, preset: &str) -> Option<&'static str> {
        self.preset(preset).and_then(|preset| preset.front).or_else(|| {
            let named = preset.strip_prefix(self.id)?.strip_prefix('_')?;
            self.panes.iter().map(|p| p.view).find(|view| *view == named)
        })
    }

    /// The first setting that takes the path of such a file.
    pub fn file_key(&self, kind: FileKind) -> Option<&'static str> {
        config::file_key(&(self.knobs)(), kind)
    }

    /// The settings with which the lab opens in the window: those of its recorded example, or the default ones.
    pub fn opening_config(&self) -> Result<Config, ConfigError> {
        self.config(examples::find(self.id).map(|example| example.preset))
    }

    /// The default settings with these changed, each by its key and as text.
    pub fn defaults_with(&self, changes: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let knobs = (self.knobs)();
        let mut config = Config::defaults(self.id, &knobs);
        changes.iter().try_for_each(|(key, value)| config.set_text(&knobs, key, value))?;
        Ok(config)
    }

    /// The preset with this id, or the default one.
    pub fn config(&self, preset: Option<&str>) -> Result<Config, ConfigError> {
        let knobs = (self.knobs)();
        let chosen = match preset {
            None => self.presets.first(),
            Some(id) => Some(self.preset(id).ok_or_else(|| ConfigError::UnknownPreset {
                lab: self.id.to_owned(),
                preset: id.to_owned(),
                known: self.presets.iter().map(|p| p.id.to_owned()).collect(),
            })?),
        };
        let Some(preset) = chosen else { return Ok(Config::defaults(self.id, &knobs)) };
        let mut config = Config::from_toml(preset.toml, self.id, &knobs)?;
        config.preset = preset.id.to_owned();
        Ok(config)
    }
}
