//! The cost of a forward pass in layers of full length, by the live settings, and the measured time of a step.

use crate::{
    labs::fast_slow::settings::{ModelSettings, SlowMixer},
    ui::views::prelude::*,
};

/// Layers of the paper's dense baselines.
const DENSE_LAYERS: f64 = 4.0;
/// Steps over which the measured time is a median.
const RECENT_STEPS: u64 = 100;

/// The terms of L_eq = n_pre + n_rounds (n_post + n_slow c), where c is the cost of a slow layer in fast ones.
/// Those of c are multiplications per token of a fast layer, and of a slow layer if it ran at every token.
#[derive(Debug, Clone, Copy, PartialEq)]
struct CostTerms {
    n_pre: f64,
    n_rounds: f64,
    n_post: f64,
    n_slow: f64,
    pool: f64,
    /// Linear maps of attention and MLP, the same in both layers.
    maps: f64,
    /// Attention scores and weighted sums of the fast path, for the average number of keys that a token attends to.
    fast_attention: f64,
    /// Attention scores and weighted sums of the slow path over the whole window, which shrink with P; 0 for a decaying
    /// state.
    slow_attention: f64,
    /// Writes and reads of a decaying state; 0 for attention.
    state: f64,
}

impl CostTerms {
    /// Reads the terms from the settings; `None` if the lab lacks one of them.
    fn from_settings(cx: &ViewCx<'_>) -> Option<Self> {
        let get = |key| cx.config.value::<usize>(key).ok().map(|n| n as f64);
        let tokens = get(TrainSettings::window)?;
        let d = get(ModelSettings::d_model)?;
        let head = d / get(ModelSettings::heads)?.max(1.0);
        let kv = get(ModelSettings::kv_heads)? * head;
        let seen = match get(ModelSettings::fast_window)? {
            window if window > 0.0 && window < tokens => window - window * window / (2.0 * tokens),
            _ => tokens / 2.0,
        };
        // runs of earlier versions lack this setting
        let is_attention = cx.config.value(ModelSettings::slow_mixer).unwrap_or_default() == SlowMixer::Attention;
        Some(Self {
            n_pre: get(ModelSettings::n_pre)?,
            n_rounds: get(ModelSettings::n_rounds)?,
            n_post: get(ModelSettings::n_post)?,
            n_slow: get(ModelSettings::n_slow)?,
            pool: get(ModelSettings::pool)?.max(1.0),
            maps: 10.0 * d * d + 2.0 * d * kv,
            fast_attention: 2.0 * d * seen,
            slow_attention: if is_attention { d * tokens } else { 0.0 },
            state: if is_attention { 0.0 } else { head * (d + 2.0 * kv) },
        })
    }

    /// The costs that fall as 1/P and as 1/P^2, as shares of the cost of a fast layer.
    fn shares(self) -> [f64; 2] {
        let fast = self.maps + self.fast_attention;
        [(self.maps + self.state) / fast, self.slow_attention / fast]
    }

    fn fast(self) -> f64 {
        self.n_pre + self.n_rounds * self.n_post
    }

    /// c: the cost of a slow layer in fast ones.
    fn slow_layer(self) -> f64 {
        let [maps, attention] = self.shares();
        maps / self.pool + attention / (self.pool * self.pool)
    }

    fn slow(self) -> f64 {
        self.n_rounds * self.n_slow * self.slow_layer()
    }

    fn total(self) -> f64 {
        self.fast() + self.slow()
    }

    /// The paper's count, in which a slow layer costs 1/P^2 as its attention does.
    fn total_of_paper(self) -> f64 {
        self.fast() + self.n_rounds * self.n_slow / (self.pool * self.pool)
    }

    fn formulas(self) -> [String; 2] {
        let Self { n_pre, n_rounds, n_post, n_slow, pool, .. } = self;
        let [maps, attention] = self.shares();
        let c = rounded(self.slow_layer());
        [
            format!("c = {}/{pool} + {}/{pool}\u{b2} = {c}", rounded(maps), rounded(attention)),
            format!("L_eq = {n_pre} + {n_rounds} ({n_post} + {n_slow} \u{b7} {c}) = {}", rounded(self.total())),
        ]
    }
}

/// The median time per step of each group in milliseconds, over its last steps at or before `step`.
pub fn measured(mirror: &Mirror, step: u64) -> Vec<(SeedGroup, usize, f64)> {
    let median = |(place, group): (usize, SeedGroup)| {
        let curves = group.members.iter().filter_map(|v| mirror.curve(*v, channels::STEP_MS));
        let ms = curves.flat_map(|curve| curve.points(step.saturating_sub(RECENT_STEPS), step)).map(|(_, ms)| ms);
        let median = upper_quantile(ms.filter(|ms| ms.is_finite()).collect(), 0.5)?;
        Some((group, place, median))
    };
    groups(mirror).into_iter().enumerate().filter_map(median).collect()
}

#[derive(Default)]
pub struct Cost;

/// Four digits at most, and no zeros at the end.
fn rounded(value: f64) -> String {
    let words = value_label(value);
    if words.contains('.') { words.trim_end_matches('0').trim_end_matches('.').to_owned() } else { words }
}

/// One bar: its name, its parts (length, colour) and the number at its end.
struct Bar {
    name: String,
    parts: Vec<(f64, Color32)>,
    words: String,
    /// The claim of the ledger that it is the number of: its name opens the claim.
    claim: Option<&'static str>,
}

impl Bar {
    fn new(name: impl Into<String>, parts: Vec<(f64, Color32)>, words: String) -> Self {
        Self { name: name.into(), parts, words, claim: None }
    }
}

const BAR_HEIGHT: f32 = 18.0;
const ROW_PITCH: f32 = 28.0;

/// Bars on a common scale from zero; the claim whose name was clicked.
fn bars_ui(ui: &mut Ui, theme: &Theme, head: &str, bars: &[Bar]) -> Option<&'static str> {
    let width = ui.available_width();
    let items: Vec<String> = bars.iter().map(|b| format!("{} {}", b.name, b.words)).collect();
    let (size, name) = (vec2(width, 22.0 + ROW_PITCH * bars.len() as f32), format!("{head}: {}", items.join(", ")));
    let (rect, _, painter) = canvas_ui(ui, size, Sense::hover(), name);
    let (small, mono) = (theme::small(), theme::numbers());
    painter.text(rect.min, Align2::LEFT_TOP, head, small, theme.secondary);
    let measure = |t: &str, f: FontId| painter.layout_no_wrap(t.to_owned(), f, theme.text).size().x;
    let name_width = bars.iter().map(|b| measure(&b.name, FontId::proportional(14.0))).fold(72.0, f32::max) + 12.0;
    let words_width = bars.iter().map(|b| measure(&b.words, mono.clone())).fold(0.0, f32::max) + 12.0;
    let longest = bars.iter().map(|b| b.parts.iter().map(|p| p.0).sum::<f64>()).fold(0.0, f64::max).max(1e-12);
    let room = (width - name_width - words_width).max(20.0);
    let mut asked = None;
    for (i, bar) in bars.iter().enumerate() {
        let y = rect.top() + 22.0 + i as f32 * ROW_PITCH + ROW_PITCH / 2.0;
        let at = pos2(rect.left(), y);
        let name = painter.text(at, Align2::LEFT_CENTER, &bar.name, FontId::proportional(14.0), theme.text);
        if let Some(claim) = bar.claim {
            painter.hline(name.x_range(), name.bottom() - 1.0, egui::Stroke::new(1.0, theme.text));
            if plot::claim_link_ui(ui, theme, name, claim, &bar.name, head) {
                asked = Some(claim);
            }
        }
        let mut x = rect.left() + name_width;
        for (length, colour) in &bar.parts {
            let wide = (length / longest) as f32 * room;
            let part = Rect::from_min_size(pos2(x, y - BAR_HEIGHT / 2.0), vec2(wide.max(1.0), BAR_HEIGHT));
            painter.rect_filled(part, 2.0, *colour);
            x += wide;
        }
        painter.text(pos2(x + 8.0, y), Align2::LEFT_CENTER, &bar.words, mono.clone(), theme.text);
    }
    asked
}

impl View for Cost {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let theme = cx.theme;
        let parts = CostTerms::from_settings(cx);
        let measured = measured(cx.mirror, cx.step);
        if parts.is_none() && measured.is_empty() {
            return cx.nothing_ui(ui, "This lab has no fast-slow model to count, and nothing has been timed yet.");
        }
        let mut asked = None;
        plot::rows_ui(ui, egui::ScrollArea::vertical(), |ui| {
            if let Some(p) = parts {
                let words = "A slow layer costs c = maps/P + attention/P\u{b2} of a fast one: only attention falls with the square. \
                             L_eq = n_pre + n_rounds (n_post + n_slow c)";
                ui.label(RichText::new(words).color(theme.secondary));
                for formula in p.formulas() {
                    ui.label(RichText::new(formula).font(FontId::monospace(14.0)));
                }
                ui.add_space(4.0);
                let own = vec![(p.fast(), theme.fast), (p.slow(), theme.slow)];
                let grey = |name: &str, layers: f64| Bar::new(name, vec![(layers, theme.secondary)], rounded(layers));
                let mut by_paper = grey("by the paper, c = 1/P\u{b2}", p.total_of_paper());
                by_paper.claim = Some("A6");
                let bars = [Bar::new("fast-slow", own, rounded(p.total())), by_paper, grey("dense", DENSE_LAYERS)];
                let head = format!("layers of full length: fast {}, slow {}", rounded(p.fast()), rounded(p.slow()));
                asked = bars_ui(ui, theme, &head, &bars);
            }
            ui.add_space(8.0);
            if measured.is_empty() {
                let words = "Milliseconds a training step appear here when a run trains.";
                ui.label(RichText::new(words).color(theme.secondary));
            } else {
                let bar = |(group, place, ms): &(SeedGroup, usize, f64)| {
                    Bar::new(&group.label, vec![(*ms, group.colour(*place, theme))], format!("{ms:.1} ms"))
                };
                let bars: Vec<Bar> = measured.iter().map(bar).collect();
                let steps = counted(RECENT_STEPS.min(cx.step) as usize, "training step");
                bars_ui(ui, theme, &format!("measured, median of the last {steps}"), &bars);
            }
        });
        if let Some(claim) = asked {
            cx.act(OpenAction::Claim(claim.to_owned()));
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        match &cx.mirror.info {
            Some(info) => format!("step {} \u{b7} from the settings, and measured on {}", cx.step, info.device),
            None => "from the settings, live".to_owned(),
        }
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let mut table = Table::new(["what", "value", "unit"]);
        if let Some(p) = CostTerms::from_settings(cx) {
            let values = [
                ("fast-slow, fast", p.fast()),
                ("fast-slow, slow", p.slow()),
                ("L_eq", p.total()),
                ("L_eq, by the paper", p.total_of_paper()),
                ("dense", DENSE_LAYERS),
            ];
            values.iter().for_each(|(name, value)| table.cells(&[name, value, &"layers"]));
        }
        measured(cx.mirror, cx.step).iter().for_each(|(group, _, ms)| table.cells(&[&group.label, ms, &"ms per step"]));
        table.finish_if_any()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's sizes: D = 128, four heads, two of keys, 256 tokens.
    fn defaults() -> CostTerms {
        CostTerms {
            n_pre: 1.0,
            n_rounds: 2.0,
            n_post: 1.0,
            n_slow: 2.0,
            pool: 4.0,
            maps: 10.0 * 128.0 * 128.0 + 2.0 * 128.0 * 64.0,
            fast_attention: 128.0 * 256.0,
            slow_attention: 128.0 * 256.0,
            state: 0.0,
        }
    }

    #[test]
    fn maps_cost_a_slow_layer_more_than_the_paper_counts() {
        let p = defaults();
        assert_eq!(p.total_of_paper(), 3.25);
        // counted by hand, a token takes 180,224 multiplications in the maps and 32,768 in the attention
        let expected = (180_224.0 / 4.0 + 32_768.0 / 16.0) / 212_992.0;
        assert!((p.slow_layer() - expected).abs() < 1e-12 && (p.total() - (3.0 + 4.0 * expected)).abs() < 1e-12);
        // 0.97 of the four dense layers, as the paper measures
        assert!((p.total() / DENSE_LAYERS - 0.97).abs() < 0.005, "{}", p.total());
    }

    #[test]
    fn without_pooling_a_slow_layer_costs_a_fast_one() {
        assert_eq!(CostTerms { pool: 1.0, ..defaults() }.slow_layer(), 1.0);
        let decaying = CostTerms { slow_attention: 0.0, state: 1e3, ..defaults() };
        assert!((decaying.slow_layer() - (180_224.0 + 1e3) / 212_992.0 / 4.0).abs() < 1e-12);
    }
}
