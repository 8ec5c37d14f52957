//! The channels of the view, and the numbers and measurements of each.

use super::content;
use crate::{labs::foreign, telemetry::Channel, ui::views::prelude::*};

/// A channel with the variants that have it.
pub(super) struct Entry {
    pub channel: Channel,
    pub variants: Vec<usize>,
    /// The channel holds measurements rather than a number at each step.
    pub is_measured: bool,
}

/// The channels that no other view is made for; where there are none, all that have numbers.
pub(super) fn entries(cx: &ViewCx<'_>) -> Vec<Entry> {
    let entry = |is_measured| move |(channel, variants)| Entry { channel, variants, is_measured };
    let scalars = cx.mirror.scalar_channels().into_iter().map(entry(false));
    let samples = cx.mirror.sample_channels().into_iter().map(entry(true));
    let is_own = |entry: &Entry| foreign::view_of(entry.channel.as_str()) == foreign::LOGGED;
    let mut all: Vec<Entry> = scalars.chain(samples).collect();
    if cx.is_trained_elsewhere() {
        // answers to questions put to the program follow the channels that it logged
        let answers = cx.mirror.answer_channels().into_iter().map(entry(true));
        let fresh: Vec<Entry> = answers.filter(|a| all.iter().all(|known| known.channel != a.channel)).collect();
        all.extend(fresh.into_iter().filter(is_own));
    }
    match all.iter().any(is_own) {
        true => all.into_iter().filter(is_own).collect(),
        false => all.into_iter().filter(|entry| !entry.is_measured).collect(),
    }
}

/// The newest sample of an entry at the shown step, with its variant: of the variant in focus, if it has one.
pub(super) fn sample<'a>(cx: &ViewCx<'a>, entry: &Entry) -> Option<(usize, &'a Sample)> {
    let (mirror, channel) = (cx.mirror, entry.channel.as_str());
    cx.in_focus(|variant| mirror.sample_at(variant, channel, cx.step))
        .or_else(|| cx.in_focus(|variant| mirror.answer(variant, channel)))
}

/// The chart of an entry, with one line per variant. Its y axis has no label, because the title names the channel.
pub(super) fn chart<'a>(cx: &ViewCx<'a>, entry: &Entry) -> Chart<'a> {
    let name = entry.channel.as_str();
    let mut chart = Chart::new(name, Axis::steps(), Axis::new(name).hide_label());
    for variant in &entry.variants {
        let label = cx.mirror.variants().get(*variant).map_or("run", |v| v.label.as_str());
        let colour = variant_colour(cx.mirror, *variant, cx.theme);
        if entry.is_measured {
            let value = |s: &Sample| Some([s.step as f64, content::number(&s.payload)?]);
            let points: Vec<[f64; 2]> = cx.mirror.samples(*variant, name).iter().filter_map(value).collect();
            chart.lines.push(Line::new(label, colour, points).dots());
        } else if let Some(curve) = cx.mirror.curve(*variant, name) {
            chart.lines.push(Line::new(label, colour, curve));
        }
    }
    chart.legend = entry.variants.len() > 1;
    chart.marker = cx.marker();
    chart
}

/// True for a channel whose measurements are single numbers.
pub(super) fn is_number(cx: &ViewCx<'_>, entry: &Entry) -> bool {
    !entry.is_measured || sample(cx, entry).is_some_and(|(_, s)| content::number(&s.payload).is_some())
}
