//! In- and out-degrees on logarithmic axes, with the likeliest power law and lognormal of their tails.

use super::{EMPTY, keep_fresh, points, shown, subtitle};
use crate::ui::views::prelude::*;

/// A direction: edges out of a neuron, or into it.
struct Side {
    name: &'static str,
    axis: &'static str,
    distribution: fn(&GraphDegrees) -> &DegreeDistribution,
}

const SIDES: [Side; 2] = [
    Side { name: "out", axis: "edges out of a neuron", distribution: |d| &d.outgoing },
    Side { name: "in", axis: "edges into a neuron", distribution: |d| &d.incoming },
];

#[derive(Default)]
pub struct Degrees;

impl Degrees {
    fn chart(cx: &ViewCx<'_>, k: usize) -> Chart<'static> {
        let Side { name: side, axis, distribution } = SIDES[k];
        let y = Axis::new("share of neurons").log();
        let mut chart = Chart::new(format!("{side}-degrees"), Axis::new(axis).log(), y)
            .empty(cx.empty_reason::<GraphDegrees>(EMPTY));
        let Some(measured) = shown::<GraphDegrees>(cx) else { return chart };
        let found = distribution(measured.value);
        let law = found.power_law.as_ref();
        let lognormal = law.and_then(|l| l.lognormal.as_ref());
        let fit = |label: &str, density: Option<&[f64]>, colour| {
            let points = density.map_or(vec![], |y| points(&found.degree, y));
            Line::new(format!("{side}: {label}"), colour, points).dashed().short(label)
        };
        // room for the signs at both ends
        let max = found.degree.last().copied().unwrap_or(1.0);
        chart.x = chart.x.include(&[0.8, 1.25 * max]);
        let all = [
            Line::new(format!("{side}-degree"), cx.theme.text, points(&found.degree, &found.density))
                .stroke(Stroke::Marks(Mark::Ring)),
            fit("power law", law.map(|l| l.density.as_slice()), cx.theme.series(0)),
            fit("lognormal", lognormal.map(|l| l.density.as_slice()), cx.theme.series(1)),
        ];
        chart.lines.extend(all.into_iter().filter(|l| !l.data.is_empty()));
        chart.min_left_margin = 48.0;
        chart
    }

    fn summary(cx: &ViewCx<'_>, side: &Side) -> String {
        let Some(law) = shown::<GraphDegrees>(cx).and_then(|m| (side.distribution)(m.value).power_law.as_ref()) else {
            return "too few neurons for a fit".to_owned();
        };
        let better = match &law.lognormal {
            Some(test) if test.p < 0.05 => {
                let better = if test.log_ratio > 0.0 { "power law" } else { "lognormal" };
                format!("{better} fits better (p {})", number::p_label(test.p))
            }
            Some(test) => format!("power law or lognormal: cannot tell (p {})", number::p_label(test.p)),
            None => String::new(),
        };
        let (alpha, from, tail, distance) = (law.alpha, law.k_min, law.tail, law.ks_distance);
        format!("\u{3b1} = {alpha:.2} from {from} on ({tail} neurons, KS {distance:.3}); {better}")
    }
}

fn core_sentence(core: &CorePeriphery) -> String {
    let CorePeriphery { core_size, core_k, core_k_rewired: rewired, .. } = core;
    let [low, high] = [rewired.iter().min(), rewired.iter().max()].map(|k| k.copied().unwrap_or_default());
    format!(
        "core: {core_size} neurons with {core_k} edges to one another or more; {low} to {high} in {} rewired graphs of \
         the same degrees. The neurons with most edges are {:.2} times as densely joined as there.",
        rewired.len(),
        core.rich_club_ratio(),
    )
}

impl PanelView for Degrees {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        keep_fresh(cx);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        (0..SIDES.len()).map(|k| Panel::new(Self::chart(cx, k), 0.5)).collect()
    }

    fn arrange(&self, ui: &Ui, cx: &ViewCx<'_>, room: Vec2, panels: &[Panel<'_>], _alone: usize) -> Placement {
        if panels.iter().all(Panel::is_empty) {
            return Placement::Alone(0);
        }
        let is_row = fits_two(ui.ctx(), room.x, 1.2 * room.y);
        let wide = if is_row { ((room.x - 12.0) / 2.0).floor() } else { room.x };
        // room for the taller of the two verdicts after wrapping
        let words = SIDES.each_ref().map(|side| Self::summary(cx, side));
        let words_high = words.iter().map(|words| note_height(ui, words, wide)).fold(0.0, f32::max) + 4.0;
        let high = if is_row { room.y - words_high } else { (room.y / 2.0).floor() - words_high - 4.0 };
        let noted = |words| (vec2(wide, high), 1, Placement::Noted(Placement::Alone(0).into(), words));
        Placement::Groups { is_row, groups: words.map(noted).into() }
    }

    fn above_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if let Some(core) = shown::<CorePeriphery>(cx) {
            // it is measured less often than the degrees
            let step = core.sample.step;
            let is_other = shown::<GraphDegrees>(cx).is_some_and(|degrees| degrees.sample.step != step);
            let at = if is_other { format!("step {step}: ") } else { String::new() };
            note_ui(ui, cx.theme, at + &core_sentence(core.value));
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        subtitle::<GraphDegrees>(cx, "how many edges leave and enter a neuron")
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        super::table(&[Self::chart(cx, 0), Self::chart(cx, 1)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_reported_beside_those_of_rewired_graphs() {
        let core = CorePeriphery {
            edges: 100,
            carrying: 40,
            core_k: 9,
            core_size: 12,
            core_k_rewired: vec![7, 5, 6],
            rich_club: 0.5,
            rich_club_rewired: vec![0.2, 0.3].into(),
        };
        let sentence = core_sentence(&core);
        assert!(sentence.starts_with("core: 12 neurons with 9 edges"), "{sentence}");
        assert!(sentence.contains("5 to 7 in 3 rewired") && sentence.contains("2.00 times"), "{sentence}");
    }
}
