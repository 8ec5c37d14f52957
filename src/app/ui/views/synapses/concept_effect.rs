//! Tests whether the model uses the synapse that a search found: the effect of silencing it after sentences with the
//! concept and after others, beside random synapses that are as active.

use crate::ui::views::painting::*;

#[derive(Default)]
pub struct ConceptEffectView;

/// Height of a side's row, and width of its name, points.
const ROW_HEIGHT: f32 = 52.0;
const NAMES_WIDTH: f32 = 92.0;

/// A synapse of a search as the one that all views select.
pub(super) fn synapse(s: &ConceptSynapse) -> Synapse {
    Synapse { layer: s.layer, i: s.i, j: s.j }
}

/// The synapse of the search that is in focus; the first where none is.
fn in_focus(cx: &ViewCx<'_>, search: &ConceptSearch) -> Option<Synapse> {
    let mut all = search.synapses.iter().map(synapse);
    all.clone().find(|s| cx.selection.get() == Some(s)).or_else(|| all.next())
}

/// The sentences of the search, and its synapse silenced or its two neurons.
fn args(search: &ConceptSearch, Synapse { layer, i, j }: Synapse, target: TargetKind) -> ConceptEffectArgs {
    let (neurons, synapses) = (format!("{i}, {j}"), format!("{layer}:{i}:{j}"));
    let change = ChangeArgs { target, neurons, synapses, ..ChangeArgs::default() };
    let usual = ConceptEffectArgs { change, ..ConceptEffectArgs::default() };
    let of = |class: &str| {
        let sentences = search.nouns.iter().filter(|n| n.class == class).map(|n| n.name.as_str());
        sentences.collect::<Vec<_>>().join("\n")
    };
    match (of("with"), of("without")) {
        (with, without) if !with.is_empty() => ConceptEffectArgs { with: Some(with), without: Some(without), ..usual },
        _ => {
            let naive = if search.concept.ends_with("naive corpus") { "_naive" } else { "" };
            let concept = search.concept.split(',').next().unwrap_or_default();
            ConceptEffectArgs { preset: Some(format!("{concept}{naive}")), ..usual }
        }
    }
}

/// Buttons that test the synapse that a search found.
pub(super) fn test_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, search: &ConceptSearch) {
    let Some(synapse) = in_focus(cx, search) else { return };
    let variant = Some(cx.selection.variant);
    ui.horizontal_wrapped(|ui| {
        let waits = cx.can_ask() && cx.is_waiting_for::<ConceptEffect>(variant);
        let tip = "Silences it while sentences are read that took no part in the search, and measures the loss of what follows \
                   them, beside 39 random ones as active. The view Concept test shows each sentence.";
        note_ui(ui, cx.theme, "Is it used? Silence");
        for (words, target) in [("the synapse", TargetKind::Synapses), ("its two neurons", TargetKind::Neurons)] {
            let button = Button::new(words).small();
            cx.ask_button::<ConceptEffect>(ui, button, true, tip, |_| args(search, synapse, target));
        }
        if waits {
            note_ui(ui, cx.theme, "testing \u{2026}");
        } else if let Some(words) = cx.refusal_of::<ConceptEffect>(variant) {
            ui.label(small_text(words, cx.theme.error));
        } else if let Some(m) = cx.answered::<ConceptEffect>() {
            let tone = if m.confirmed { cx.theme.text } else { cx.theme.secondary };
            let first = m.verdict.split_inclusive(". ").next().unwrap_or_default().trim().to_owned();
            ui.label(small_text(format!("{}: {first}", m.names.join(", ")), tone)).on_hover_text(&m.verdict);
        }
    });
}

/// Maps a change to a position across a row.
struct ChangeScale {
    range: [f64; 2],
    left: f32,
    right: f32,
}

impl ChangeScale {
    fn new(rect: Rect, m: &ConceptEffect) -> Self {
        let all = [&m.with, &m.without].into_iter().flat_map(|s| s.change.iter().chain(s.null_draws.iter()));
        let (low, high) = all.filter(|v| v.is_finite()).fold((0f64, 0f64), |(l, h), v| (l.min(*v), h.max(*v)));
        let range = plot::limits_around([low, high], 0.05, Scale::Linear);
        Self { range, left: rect.left() + NAMES_WIDTH, right: rect.right() - 12.0 }
    }

    fn x_at(&self, value: f64) -> f32 {
        let share = (value - self.range[0]) / (self.range[1] - self.range[0]);
        self.left + (share.clamp(0.0, 1.0) as f32) * (self.right - self.left)
    }
}

/// Above the line each sentence, below it each random target's mean; a bar marks the mean.
fn paint_side(painter: &Painter, theme: &Theme, across: &ChangeScale, left: Pos2, of: (&str, &ConceptSide, Color32)) {
    let (name, side, colour) = of;
    let (at, y) = (left + vec2(4.0, 0.0), left.y);
    painter.text(at - vec2(0.0, 10.0), Align2::LEFT_CENTER, name, theme::small(), theme.text);
    let count = format!("{} sentences", side.change.len());
    painter.text(at + vec2(0.0, 8.0), Align2::LEFT_CENTER, count, FontId::proportional(11.0), theme.secondary);
    painter.hline(across.left..=across.right, y, Stroke::new(1.0, theme.line));
    for (k, change) in side.change.iter().enumerate().filter(|(_, v)| v.is_finite()) {
        // spread over three heights, so that equal ones are seen
        let up = 8.0 + 5.0 * (k % 3) as f32;
        painter.circle_filled(pos2(across.x_at(*change), y - up), 2.5, colour.gamma_multiply(0.7));
    }
    for draw in side.null_draws.iter().filter(|v| v.is_finite()) {
        painter.vline(across.x_at(*draw), y + 6.0..=y + 16.0, Stroke::new(1.0, theme.secondary));
    }
    let mean = side.mean_change();
    if mean.is_finite() {
        painter.vline(across.x_at(mean), y - 22.0..=y + 18.0, Stroke::new(2.5, colour));
    }
}

fn sides_ui(ui: &mut Ui, theme: &Theme, m: &ConceptEffect) {
    let size = vec2(ui.available_width(), 2.0 * ROW_HEIGHT + 22.0);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let (painter, across) = (ui.painter_at(rect), ChangeScale::new(rect, m));
    let sides = [("with it", &m.with, theme.accent), ("without it", &m.without, theme.cool)];
    painter.vline(across.x_at(0.0), rect.top()..=rect.top() + 2.0 * ROW_HEIGHT, Stroke::new(1.0, theme.grey()));
    for (k, side) in sides.into_iter().enumerate() {
        let row = Rect::from_min_size(rect.min + vec2(0.0, ROW_HEIGHT * k as f32), vec2(rect.width(), ROW_HEIGHT));
        paint_side(&painter, theme, &across, row.left_center(), side);
    }
    let below = rect.top() + 2.0 * ROW_HEIGHT + 11.0;
    let tick = |x: f32, align: Align2, words: String| {
        painter.text(pos2(x, below), align, words, FontId::monospace(11.0), theme.secondary);
    };
    tick(across.left, Align2::LEFT_CENTER, value_label(across.range[0]));
    tick(across.right, Align2::RIGHT_CENTER, format!("{} nats per token", value_label(across.range[1])));
    let zero = across.x_at(0.0);
    if zero > across.left + 70.0 && zero < across.right - 150.0 {
        tick(zero, Align2::CENTER_CENTER, "0".to_owned());
    }
    response.widget_info(|| {
        let means = format!("with it {:+.2e}, without it {:+.2e}", m.with.mean_change(), m.without.mean_change());
        WidgetInfo::labeled(Role::Canvas, true, format!("what the change adds to the loss of what follows: {means}"))
    });
}

impl ConceptEffectView {
    fn sentences_ui(ui: &mut Ui, cx: &ViewCx<'_>, m: &ConceptEffect) {
        for (side, colour) in [(&m.with, cx.theme.accent), (&m.without, cx.theme.cool)] {
            for ((sentence, loss), change) in side.sentences.iter().zip(side.loss.iter()).zip(side.change.iter()) {
                ui.horizontal_wrapped(|ui| {
                    ui.label(RichText::new(format!("{change:+.2e}")).font(theme::numbers()).color(colour));
                    ui.label(RichText::new(format!("{loss:.3}")).font(theme::numbers()).color(cx.theme.secondary));
                    ui.label(small_text(drawable_text(ui, sentence), cx.theme.text));
                });
            }
        }
    }
}

impl View for ConceptEffectView {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        ui.spacing_mut().item_spacing.y = 4.0;
        if let Some(search) = cx.answered::<ConceptSearch>().filter(|s| !s.synapses.is_empty()) {
            cx.controls_ui(ui, |ui, cx| test_ui(ui, cx, search.value));
        }
        let Some(m) = cx.answered::<ConceptEffect>() else {
            let about = "A synapse that tells a concept need not be used for it. Find one under Concepts, and silence it here: does \
                 that change what follows sentences with the concept, and nothing else?";
            let words = cx.empty_reason_before_asking::<ConceptEffect>(about, about);
            return cx.nothing_ui(ui, &words);
        };
        ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
            let colour = if m.confirmed { cx.theme.text } else { cx.theme.secondary };
            let sign = if m.confirmed { "\u{2714} " } else { "\u{2013} " };
            let (first, numbers) = m.verdict.split_once(". ").unwrap_or((&m.verdict, ""));
            ui.label(RichText::new(format!("{sign}{first}.")).color(colour));
            ui.label(small_text(numbers, cx.theme.text));
            let words = format!(
                "{}: {}. What follows: {}. A dot is a sentence, a bar the mean; the fine lines below are the means of random ones.",
                m.names.join(", "),
                m.action,
                m.follows
            );
            note_ui(ui, cx.theme, words);
            sides_ui(ui, cx.theme, m.value);
            ui.add_space(4.0);
            let words = "change, loss before (nats per token), the sentence | what follows";
            note_ui(ui, cx.theme, words);
            Self::sentences_ui(ui, cx, m.value);
        });
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.answered_subtitle::<ConceptEffect>("", "whether what tells a concept is used for it")
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let m = cx.answered::<ConceptEffect>()?;
        let mut table = Table::new(["what", "concept", "text", "loss_before", "change"]);
        for (side, is) in [(&m.with, 1), (&m.without, 0)] {
            for ((sentence, loss), change) in side.sentences.iter().zip(side.loss.iter()).zip(side.change.iter()) {
                table.cells(&[&"sentence", &is, sentence, loss, change]);
            }
            side.null_draws.iter().enumerate().for_each(|(k, draw)| table.cells(&[&"random", &is, &k, &"", draw]));
        }
        Some(table.finish())
    }
}
