//! The cost of a forward pass in layers of full length, computed from the live settings, and the measured time of a
//! training step.

use eframe::egui::{self, Align2, Color32, FontId, Rect, Sense, Ui, WidgetInfo, accesskit::Role, pos2, vec2};

use crate::{
    labs::fast_slow::settings::ModelSettings,
    telemetry::channels,
    ui::{
        mirror::Mirror,
        plot::{quote, value_label},
        seed_series::{SeedGroup, groups},
        theme::Theme,
        view::{View, ViewCx},
    },
};

/// Layers of the paper's dense baselines.
const DENSE_LAYERS: f64 = 4.0;
/// Steps over which the measured time is a median.
const RECENT: u64 = 100;

/// The parts of L_eq = n_pre + n_rounds (n_post + n_slow / P^2).
#[derive(Debug, Clone, Copy, PartialEq)]
struct CostTerms {
    n_pre: f64,
    n_rounds: f64,
    n_post: f64,
    n_slow: f64,
    pool: f64,
}

impl CostTerms {
    /// The terms from the settings, if this lab has them.
    fn from_settings(cx: &ViewCx<'_>) -> Option<Self> {
        let get = |key| cx.config.value::<usize>(key).ok().map(|n| n as f64);
        Some(Self {
            n_pre: get(ModelSettings::n_pre)?,
            n_rounds: get(ModelSettings::n_rounds)?,
            n_post: get(ModelSettings::n_post)?,
            n_slow: get(ModelSettings::n_slow)?,
            pool: get(ModelSettings::pool)?.max(1.0),
        })
    }

    fn fast(self) -> f64 {
        self.n_pre + self.n_rounds * self.n_post
    }

    fn slow(self) -> f64 {
        self.n_rounds * self.n_slow / (self.pool * self.pool)
    }

    fn total(self) -> f64 {
        self.fast() + self.slow()
    }

    /// The formula with its numbers in.
    fn formula(self) -> String {
        let Self { n_pre, n_rounds, n_post, n_slow, pool } = self;
        format!("{n_pre} + {n_rounds} ({n_post} + {n_slow}/{pool}\u{b2}) = {}", short(self.total()))
    }
}

/// Median milliseconds a step of each group over its last steps at or before `step`.
pub fn measured(mirror: &Mirror, step: u64) -> Vec<(SeedGroup, usize, f64)> {
    let mut out = vec![];
    for (place, group) in groups(mirror).into_iter().enumerate() {
        let mut ms: Vec<f64> = group
            .members
            .iter()
            .filter_map(|v| mirror.curve(*v, channels::STEP_MS))
            .flat_map(|c| c.points(step.saturating_sub(RECENT), step).map(|p| p.1))
            .filter(|v| v.is_finite())
            .collect();
        ms.sort_by(f64::total_cmp);
        if let Some(median) = ms.get(ms.len() / 2) {
            let median = *median;
            out.push((group, place, median));
        }
    }
    out
}

/// View `cost`.
#[derive(Default)]
pub struct Cost;

/// Four digits at most, and no zeros at the end.
fn short(value: f64) -> String {
    let words = value_label(value);
    if words.contains('.') { words.trim_end_matches('0').trim_end_matches('.').to_owned() } else { words }
}

/// One bar: its name, its parts (length, colour) and the number at its end.
struct Bar {
    name: String,
    parts: Vec<(f64, Color32)>,
    words: String,
}

const BAR_HEIGHT: f32 = 18.0;
const PITCH: f32 = 28.0;

/// Bars on a common scale from zero.
fn bars_ui(ui: &mut Ui, theme: &Theme, head: &str, bars: &[Bar]) {
    let width = ui.available_width();
    let (rect, response) = ui.allocate_exact_size(vec2(width, 22.0 + PITCH * bars.len() as f32), Sense::hover());
    let items: Vec<String> = bars.iter().map(|b| format!("{} {}", b.name, b.words)).collect();
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, format!("{head}: {}", items.join(", "))));
    let painter = ui.painter_at(rect);
    let (small, mono) = (FontId::proportional(12.0), FontId::monospace(12.0));
    painter.text(rect.min, Align2::LEFT_TOP, head, small, theme.secondary);
    let measure = |t: &str, f: FontId| painter.layout_no_wrap(t.to_owned(), f, theme.text).size().x;
    let name_width = bars.iter().map(|b| measure(&b.name, FontId::proportional(14.0))).fold(72.0, f32::max) + 12.0;
    let words_width = bars.iter().map(|b| measure(&b.words, mono.clone())).fold(0.0, f32::max) + 12.0;
    let longest = bars.iter().map(|b| b.parts.iter().map(|p| p.0).sum::<f64>()).fold(0.0, f64::max).max(1e-12);
    let room = (width - name_width - words_width).max(20.0);
    for (i, bar) in bars.iter().enumerate() {
        let y = rect.top() + 22.0 + i as f32 * PITCH + PITCH / 2.0;
        let at = pos2(rect.left(), y);
        painter.text(at, Align2::LEFT_CENTER, &bar.name, FontId::proportional(14.0), theme.text);
        let mut x = rect.left() + name_width;
        for (length, colour) in &bar.parts {
            let wide = (length / longest) as f32 * room;
            let part = Rect::from_min_size(pos2(x, y - BAR_HEIGHT / 2.0), vec2(wide.max(1.0), BAR_HEIGHT));
            painter.rect_filled(part, 2.0, *colour);
            x += wide;
        }
        painter.text(pos2(x + 8.0, y), Align2::LEFT_CENTER, &bar.words, mono.clone(), theme.text);
    }
}

impl View for Cost {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let theme = cx.theme;
        let parts = CostTerms::from_settings(cx);
        let measured = measured(cx.mirror, cx.step);
        if parts.is_none() && measured.is_empty() {
            let words = "This lab has no fast-slow model to count, and nothing has been timed yet.";
            crate::ui::plot::empty_ui(ui, ui.available_size(), theme, words);
            return;
        }
        egui::ScrollArea::vertical().show(ui, |ui| {
            if let Some(p) = parts {
                ui.label(
                    egui::RichText::new("L_eq = n_pre + n_rounds (n_post + n_slow/P\u{b2})").color(theme.secondary),
                );
                ui.label(egui::RichText::new(format!("     = {}", p.formula())).font(FontId::monospace(14.0)));
                ui.add_space(4.0);
                let bars = [
                    Bar {
                        name: "fast-slow".to_owned(),
                        parts: vec![(p.fast(), theme.fast), (p.slow(), theme.slow)],
                        words: short(p.total()),
                    },
                    Bar {
                        name: "dense".to_owned(),
                        parts: vec![(DENSE_LAYERS, theme.secondary)],
                        words: short(DENSE_LAYERS),
                    },
                ];
                let head = format!("layers of full length: fast {}, slow {}", short(p.fast()), short(p.slow()));
                bars_ui(ui, theme, &head, &bars);
            }
            ui.add_space(8.0);
            if measured.is_empty() {
                let words = "Milliseconds a training step appear here when a run trains.";
                ui.label(egui::RichText::new(words).color(theme.secondary));
            } else {
                let bars: Vec<Bar> = measured
                    .iter()
                    .map(|(group, place, ms)| Bar {
                        name: group.label.clone(),
                        parts: vec![(*ms, group.colour(*place, theme))],
                        words: format!("{ms:.1} ms"),
                    })
                    .collect();
                bars_ui(ui, theme, &format!("measured, median of the last {RECENT} training steps"), &bars);
            }
        });
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        match &cx.mirror.info {
            Some(info) => format!("step {} \u{b7} from the settings, and measured on {}", cx.step, info.device),
            None => "from the settings, live".to_owned(),
        }
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let mut out = "what,value,unit\n".to_owned();
        if let Some(p) = CostTerms::from_settings(cx) {
            for (name, value) in [("fast-slow, fast", p.fast()), ("fast-slow, slow", p.slow()), ("L_eq", p.total())] {
                out.push_str(&format!("{},{value},layers\n", quote(name)));
            }
            out.push_str(&format!("dense,{DENSE_LAYERS},layers\n"));
        }
        for (group, _, ms) in measured(cx.mirror, cx.step) {
            out.push_str(&format!("{},{ms},ms a step\n", quote(&group.label)));
        }
        (out.lines().count() > 1).then_some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_defaults_cost_three_and_a_quarter_layers() {
        let p = CostTerms { n_pre: 1.0, n_rounds: 2.0, n_post: 1.0, n_slow: 2.0, pool: 4.0 };
        assert_eq!(p.total(), 3.25);
        assert_eq!(p.formula(), "1 + 2 (1 + 2/4\u{b2}) = 3.25");
    }
}
