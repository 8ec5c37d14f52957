//! The stages of a merging run: the model in training, and the losses and samples of all models on every text.

use eframe::egui::Stroke;

use crate::{
    labs::{
        corpus::CorpusSettings,
        merging::{ChildFiles, MergingSettings},
    },
    ui::{theme::GRID, views::prelude::*},
};

/// Names and signs of the four, in the order of the run's variants.
const STAGE_NAMES: [&str; 4] = ["base", "child A", "child B", "merged"];
const STAGE_MARKS: [&str; 4] = ["\u{25cb}", "\u{25d0}", "\u{25d1}", "\u{25cf}"];
/// Settings that choose a text, and those whose path takes its place: of the base and of the children.
const TEXT_GROUPS: [(&str, &str, &[&str]); 3] = [
    ("base reads", CorpusSettings::source.name, &[CorpusSettings::file.name, CorpusSettings::folder.name]),
    ("child A reads", MergingSettings::text_a.name, &[ChildFiles::file_a.name]),
    ("child B reads", MergingSettings::text_b.name, &[ChildFiles::file_b.name]),
];
/// Height of a stage's box, and the gap between two boxes, points.
const BOX_HEIGHT: f32 = 46.0;
const BOX_GAP: f32 = 20.0;
/// Width of a number and height of a row in the table, points.
const FIGURE_WIDTH: f32 = 56.0;
const ROW_HEIGHT: f32 = 18.0;
/// A child that gained less than this, in nats, has gained nothing that merging could retain.
const MIN_GAIN: f64 = 0.01;

/// Updates of base, children and merged model.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Lengths {
    base: u64,
    tune: u64,
    after: u64,
}

impl Lengths {
    fn from_config(c: &Config) -> Option<Self> {
        let tune = c.value(MergingSettings::tune).ok().filter(|tune| *tune > 0)?;
        let after = c.value(MergingSettings::after).ok()?;
        Some(Self { base: c.value(TrainSettings::steps).ok()?, tune, after })
    }

    fn total(self) -> u64 {
        self.base + self.tune + self.after
    }

    /// First step and last of stage `i`.
    fn step_span(self, i: usize) -> (u64, u64) {
        match i {
            0 => (0, self.base),
            1 | 2 => (self.base, self.base + self.tune),
            _ => (self.base + self.tune, self.total()),
        }
    }

    /// The progress of stage `i` at `step`, as a share and as text.
    fn progress_at(self, i: usize, step: u64) -> (f32, String) {
        let (from, until) = self.step_span(i);
        let all = until - from;
        match step {
            s if s >= until && all == 0 => (1.0, "made".to_owned()),
            s if s >= until => (1.0, format!("{all} done")),
            s if s > from || i == 0 => ((s - from) as f32 / all as f32, format!("{} / {all}", s - from)),
            _ if all == 0 => (0.0, format!("at step {from}")),
            _ => (0.0, format!("{all} updates")),
        }
    }

    /// Describes the stage at `step` and the number of steps that remain.
    fn status(self, step: u64) -> String {
        let left = self.total().saturating_sub(step);
        let now = match step {
            s if s < self.base => "The base learns its text; the children are copies of it, made when it is done.",
            s if s < self.base + self.tune => {
                "Two copies of the base go on, each with a text of its own; then they are put side by side."
            }
            s if s < self.total() => "The merged model goes on, with all three texts in turn.",
            _ => "The two children are one model now, with the neurons of both.",
        };
        if left == 0 { now.to_owned() } else { format!("{now} {left} steps left.") }
    }
}

/// The measurement of each of the four models, if it has been made.
type Measurements<'a> = [Option<&'a TextLosses>; 4];

/// A row of the table: a text, or translations of all texts in one direction.
struct LossRow {
    name: String,
    /// The held-out loss of each model, nats per token.
    losses: [Option<f64>; 4],
}

/// A row for every text, then one for the translations of all texts in each direction.
fn rows(all: &Measurements<'_>) -> Vec<LossRow> {
    let Some(first) = all.iter().flatten().next() else { return vec![] };
    let texts = first.texts.iter().enumerate().map(|(text, found)| LossRow {
        name: found.name.clone(),
        losses: all.map(|measured| Some(measured?.texts.get(text)?.loss)),
    });
    let translations = all.map(|measured| measured.map(TextLosses::translations).unwrap_or_default());
    let directions = first.translations().into_iter().map(|(name, _)| LossRow {
        losses: translations.each_ref().map(|found| found.iter().find(|(n, _)| *n == name).map(|(_, loss)| *loss)),
        name: format!("translations {name}"),
    });
    texts.chain(directions).collect()
}

/// True for a run with stages, or one that would have stages with the current settings.
pub fn are_shown(cx: &ViewCx<'_>) -> bool {
    Lengths::from_config(cx.run_config()).is_some()
}

/// The measurements of the four models at the shown step.
fn measurements<'a>(cx: &ViewCx<'a>) -> Measurements<'a> {
    std::array::from_fn(|v| cx.scheduled::<TextLosses>(v).map(|m| m.value))
}

pub fn stages_ui(ui: &mut Ui, cx: &mut ViewCx<'_>) {
    let Some(lengths) = Lengths::from_config(cx.run_config()) else { return };
    texts_ui(ui, cx);
    ui.add_space(GRID);
    boxes_ui(ui, cx, lengths);
    ui.label(RichText::new(lengths.status(cx.step)).color(cx.theme.secondary));
    let all = measurements(cx);
    let Some(first) = all.iter().flatten().next() else {
        let words = cx.empty_reason::<TextLosses>("Nothing measured yet: press Space to begin.");
        ui.label(RichText::new(words).color(cx.theme.secondary));
        return;
    };
    ui.add_space(GRID);
    let rows = rows(&all);
    table_ui(ui, cx, &rows);
    for (text, LossRow { name, losses }) in rows.iter().enumerate().take(first.texts.len()) {
        if let Some(words) = retained(text, losses) {
            note_ui(ui, cx.theme, format!("{name}: {words}."));
        }
    }
    samples_ui(ui, cx, &all);
    export_ui(ui, cx, lengths);
}

/// Held-out losses, a column a model; the lowest of a row stands out.
fn table_ui(ui: &mut Ui, cx: &ViewCx<'_>, rows: &[LossRow]) {
    let figures = 4.0 * FIGURE_WIDTH + 5.0 * GRID;
    let names = (ui.available_width() - figures).clamp(72.0, 220.0);
    let cell = |ui: &mut Ui, text: RichText| {
        let size = vec2(FIGURE_WIDTH, ROW_HEIGHT);
        ui.allocate_ui_with_layout(size, Layout::right_to_left(Align::Center), |ui| ui.label(text)).inner
    };
    let grid = Grid::new("losses by text").num_columns(5).spacing(vec2(GRID, 2.0)).min_row_height(ROW_HEIGHT);
    grid.striped(false).show(ui, |ui| {
        let words = small_text("loss (nats)", cx.theme.secondary);
        ui.allocate_ui_with_layout(vec2(names, ROW_HEIGHT), Layout::left_to_right(Align::Center), |ui| ui.label(words));
        for (v, name) in STAGE_NAMES.iter().enumerate() {
            cell(ui, small_text(name.trim_start_matches("child "), cx.theme.series(v)));
        }
        ui.end_row();
        for LossRow { name, losses } in rows {
            let lowest = losses.iter().flatten().copied().fold(f64::INFINITY, f64::min);
            ui.allocate_ui_with_layout(vec2(names, ROW_HEIGHT), Layout::left_to_right(Align::Center), |ui| {
                ui.set_min_width(names);
                let shown = elide_start(ui, name, names);
                ui.add(Label::new(RichText::new(shown).small()).truncate()).on_hover_text(name);
            });
            for value in *losses {
                let text = value.map_or("\u{2013}".to_owned(), |l| format!("{l:.4}"));
                let best = value == Some(lowest);
                let colour = if best { cx.theme.text } else { cx.theme.secondary };
                let text = RichText::new(text).font(theme::numbers()).color(colour);
                cell(ui, if best { text.underline() } else { text });
            }
            ui.end_row();
        }
    });
}

/// Says how much of a child's gain on a text the merged model retains, once there is a merged model.
fn retained(text: usize, loss: &[Option<f64>; 4]) -> Option<String> {
    let (base, merged) = (loss[0]?, loss[3]?);
    if text == 0 {
        let (off, than) = ((merged - base).abs(), if merged > base { "above" } else { "below" });
        return Some(format!("the merged model is {off:.3} nats {than} the base"));
    }
    let child = (*loss.get(text)?)?;
    let gained = base - child;
    let name = STAGE_NAMES.get(text)?;
    Some(match gained > MIN_GAIN {
        true => format!(
            "{name} gained {gained:.3} nats over the base; the merged model has {:.0}% of it",
            100.0 * (base - merged) / gained
        ),
        false => format!("{name} gained nothing over the base"),
    })
}

fn texts_ui(ui: &mut Ui, cx: &ViewCx<'_>) {
    let text = |key: &str| cx.config.get(key).map(ToString::to_string).unwrap_or_default();
    let chosen = TEXT_GROUPS.map(|(label, source, paths)| {
        let path = paths.iter().map(|key| text(key)).find(|path| !path.trim().is_empty());
        let path = path.as_deref().map(|path| path.trim().trim_end_matches(['/', '\\']));
        let name = path.and_then(|path| path.rsplit(['/', '\\']).next()).map(str::to_owned);
        format!("{label} {}", name.unwrap_or_else(|| text(source)))
    });
    note_ui(ui, cx.theme, chosen.join(" \u{b7} "))
        .on_hover_text("Chosen in the controls: under Text for the base, under Merging for the children.");
    let of_run = cx.mirror.info.as_ref().map(|i| &i.config);
    let waits = |key: &&str| of_run.is_some_and(|c| c.get(key) != cx.config.get(key));
    if TEXT_GROUPS.iter().flat_map(|(_, source, paths)| paths.iter().chain([source])).any(waits) {
        ui.label(small_text("Another choice of texts applies at reset (R).", cx.theme.accent));
    }
}

/// Draws the four models as boxes, each with its progress; a click puts a model in focus everywhere.
fn boxes_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, lengths: Lengths) {
    let width = ui.available_width().clamp(200.0, 640.0);
    let (rect, response) = ui.allocate_exact_size(vec2(width, 2.0 * BOX_HEIGHT + GRID), Sense::click());
    let painter = ui.painter_at(rect);
    let column = (width - 2.0 * BOX_GAP) / 3.0;
    let left = |i: f32| rect.left() + i * (column + BOX_GAP);
    let high = rect.center().y - BOX_HEIGHT / 2.0;
    let low = rect.bottom() - BOX_HEIGHT;
    let corners = [(left(0.0), high), (left(1.0), rect.top()), (left(1.0), low), (left(2.0), high)];
    let boxes = corners.map(|(x, y)| Rect::from_min_size(pos2(x, y), vec2(column, BOX_HEIGHT)).shrink(1.0));
    for (from, to) in [(0, 1), (0, 2), (1, 3), (2, 3)] {
        let reached = cx.step >= lengths.step_span(to).0;
        let colour = if reached { cx.theme.secondary } else { cx.theme.line };
        painter.line_segment([boxes[from].right_center(), boxes[to].left_center()], Stroke::new(1.5, colour));
    }
    let focus = (cx.mirror.variants().len() == STAGE_NAMES.len()).then_some(cx.selection.variant);
    let mut labels = vec![];
    for (i, place) in boxes.iter().enumerate() {
        let (share, words) = lengths.progress_at(i, cx.step);
        let begun = share > 0.0 || cx.step >= lengths.step_span(i).0;
        let colour = cx.theme.series(i);
        painter.rect_filled(*place, theme::CORNER, cx.theme.raised);
        let edge = if focus == Some(i) { Stroke::new(2.0, cx.theme.accent) } else { Stroke::new(1.0, cx.theme.line) };
        painter.rect_stroke(*place, theme::CORNER, edge, StrokeKind::Inside);
        let inner = painter.with_clip_rect(place.shrink(2.0));
        let strong = if begun { cx.theme.text } else { cx.theme.secondary };
        let small = theme::small();
        let at = place.min + vec2(GRID, 5.0);
        let sign = inner.text(at, Align2::LEFT_TOP, STAGE_MARKS[i], small.clone(), colour);
        inner.text(pos2(sign.right() + 5.0, at.y), Align2::LEFT_TOP, STAGE_NAMES[i], small.clone(), strong);
        inner.text(at + vec2(0.0, 16.0), Align2::LEFT_TOP, &words, small, cx.theme.secondary);
        let (x, y) = (place.left() + GRID, place.bottom() - 5.0);
        let long = place.width() - 2.0 * GRID;
        painter.hline(x..=x + long, y, Stroke::new(2.0, cx.theme.line));
        painter.hline(x..=x + long * share.clamp(0.0, 1.0), y, Stroke::new(2.0, colour));
        labels.push(format!("{} {words}", STAGE_NAMES[i]));
    }
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, format!("stages: {}", labels.join(", "))));
    let hit = response.interact_pointer_pos().and_then(|at| boxes.iter().position(|b| b.contains(at)));
    if let Some(i) = hit.filter(|_| response.clicked() && focus.is_some()) {
        cx.selection.variant = i;
    }
    response.on_hover_text("Click a model and every view that shows one model shows it.");
}

/// The continuation of each prompt by each model.
fn samples_ui(ui: &mut Ui, cx: &ViewCx<'_>, all: &Measurements<'_>) {
    let Some(first) = all.iter().flatten().next() else { return };
    if first.texts.iter().all(|t| t.continuation.is_empty()) {
        return;
    }
    ui.add_space(GRID);
    let widths = STAGE_NAMES.map(|name| note_width(ui.painter(), name));
    let widest = widths.into_iter().fold(0.0, f32::max);
    let samples = all.map(|measured| measured.map(TextLosses::samples).unwrap_or_default());
    for (s, sample) in first.samples().iter().enumerate() {
        let words = format!("{}, after \u{201c}{}\u{201d}", sample.label, one_line(sample.prompt));
        ui.label(RichText::new(words).strong());
        for (v, sample) in samples.iter().enumerate().filter_map(|(v, of_model)| Some((v, of_model.get(s)?))) {
            ui.horizontal_wrapped(|ui| {
                ui.label(small_text(STAGE_MARKS[v], cx.theme.series(v)));
                note_ui(ui, cx.theme, STAGE_NAMES[v]);
                ui.add_space(widest - widths[v]);
                ui.label(RichText::new(one_line(sample.continuation)).small());
            });
        }
        ui.add_space(4.0);
    }
}

fn export_ui(ui: &mut Ui, cx: &ViewCx<'_>, lengths: Lengths) {
    let folder = cx.mirror.info.as_ref().and_then(|i| i.folder.as_ref());
    if let Some(folder) = folder.filter(|_| cx.mirror.step >= lengths.total()) {
        let words = format!("orrery export {folder} --variant merged --safetensors merged.safetensors");
        note_ui(ui, cx.theme, "The merged model as a file:");
        ui.label(RichText::new(words).small().monospace());
    }
}

/// The text on one line, without the incomplete characters at its ends: texts are cut by bytes.
fn one_line(text: &str) -> String {
    text.trim_matches('\u{fffd}').replace('\n', "\u{23ce}")
}

/// The name, cut to its end if it is wider than `width` points in the small style, because names of texts differ there.
fn elide_start(ui: &Ui, name: &str, width: f32) -> String {
    let fits = |text: &str| note_width(ui.painter(), text) <= width;
    if fits(name) {
        return name.to_owned();
    }
    let mut ends = name.char_indices().skip(1).map(|(at, _)| format!("\u{2026}{}", &name[at..]));
    ends.find(|end| fits(end)).unwrap_or_else(|| "\u{2026}".to_owned())
}

pub fn subtitle(cx: &ViewCx<'_>) -> String {
    let newest = (0..STAGE_NAMES.len()).filter_map(|v| cx.scheduled::<TextLosses>(v)).max_by_key(|m| m.sample.step);
    let otherwise = "two children of one base, tuned on texts of their own, and both as one";
    sample_subtitle(newest.map(|m| m.sample), "held-out loss (nats per token)", otherwise)
}

pub fn csv(cx: &ViewCx<'_>) -> Option<String> {
    let rows = rows(&measurements(cx));
    let mut table = Table::new(["text", "model", "loss"]);
    for LossRow { name, losses } in &rows {
        for (model, loss) in STAGE_NAMES.iter().zip(losses).filter_map(|(model, loss)| Some((model, (*loss)?))) {
            table.cells(&[name, model, &loss]);
        }
    }
    (!rows.is_empty()).then(|| table.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_tells_how_far_it_is_and_what_is_left() {
        let l = Lengths { base: 600, tune: 300, after: 0 };
        assert_eq!(l.progress_at(0, 150), (0.25, "150 / 600".to_owned()));
        assert_eq!(l.progress_at(1, 150), (0.0, "300 updates".to_owned()));
        assert_eq!(l.progress_at(2, 675).0, 0.25);
        assert_eq!(l.progress_at(3, 899), (0.0, "at step 900".to_owned()));
        assert_eq!(l.progress_at(3, 900), (1.0, "made".to_owned()));
        assert!(l.status(650).ends_with("250 steps left.") && !l.status(900).contains("left"));
    }

    #[test]
    fn translations_by_direction_follow_the_texts() {
        let measured = |loss: f64| {
            let direction = |from: &str, to: &str, loss| DirectionLoss {
                from: from.to_owned(),
                to: Some(to.to_owned()),
                tokens: 10,
                loss,
            };
            let directions = vec![direction("fr", "en", loss), direction("en", "fr", 3.0 * loss)];
            let (prompt, continuation) = (String::new(), String::new());
            let texts = vec![TextLoss { name: "parliament".into(), loss, prompt, continuation, directions }];
            TextLosses { texts, auxiliary: vec![] }
        };
        let (base, merged) = (measured(1.0), measured(0.5));
        let rows = rows(&[Some(&base), None, None, Some(&merged)]);
        let shown: Vec<_> = rows.iter().map(|r| (r.name.as_str(), r.losses)).collect();
        let row = |base: f64| [Some(base), None, None, Some(base / 2.0)];
        assert_eq!(shown[0], ("parliament", row(1.0)));
        assert_eq!(shown[1..3], [("translations to en", row(1.0)), ("translations from en", row(3.0))]);
        assert_eq!(shown[3..], [("translations fr-en", row(1.0)), ("translations en-fr", row(3.0))]);
    }

    #[test]
    fn what_is_retained_is_a_share_of_what_a_child_gained() {
        let loss = [Some(1.0), Some(0.5), Some(1.2), Some(0.6)];
        assert!(retained(1, &loss).is_some_and(|w| w.contains("80%")), "{:?}", retained(1, &loss));
        assert!(retained(2, &loss).is_some_and(|w| w.contains("nothing")));
        assert!(retained(0, &loss).is_some_and(|w| w.contains("0.400 nats below")));
        assert_eq!(retained(1, &[Some(1.0), Some(0.5), None, None]), None);
    }
}
