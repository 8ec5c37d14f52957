//! The race: held-out loss over tokens, seconds or operations, what each variant needs to reach a loss, and a verdict.

pub(in crate::ui::views) mod results;

use super::losses::with_loss_unit;
use crate::ui::views::prelude::*;
use results::{Mark, RaceAxis, Racer, results, verdict};

/// The run, the step of the newest held-out measurement shown, and the sum of those of all variants. Variants are
/// measured one after the other at the same step, and the sum grows with each.
type Key = (RunNumber, u64, u64);

#[derive(Default)]
pub struct Race {
    over: RaceAxis,
    /// The loss that variants are to reach; `None` takes the one that the first variant has now.
    target: Option<f64>,
    racers: KeyedCache<Key, Arc<Vec<Racer>>>,
}

/// Widths of the table's columns, points: names, loss, verdict, tokens and seconds to the target, parameters, operations.
const COLUMN_WIDTHS: [f32; 7] = [150.0, 44.0, 212.0, 92.0, 54.0, 70.0, 78.0];
const VERDICT_COLUMN: usize = 2;
/// The width of the longest verdict, and the minimum widths of verdicts and names in a narrow table, points.
const MIN_FULL_VERDICT_WIDTH: f32 = 330.0;
const MIN_VERDICT_WIDTH: f32 = 150.0;
const MIN_NAME_WIDTH: f32 = 104.0;
const GAP: f32 = 10.0;
/// In less room, points, the columns of the table do not fit: then a variant's numbers are below its name and verdict.
const MIN_TABLE_WIDTH: f32 = 652.0;
/// Widths of these numbers, points: loss, tokens and seconds to the target, parameters, operations; and the smallest gap.
const NUMBER_WIDTHS: [f32; 5] = [44.0, 52.0, 54.0, 70.0, 78.0];
const MIN_GAP: f32 = 4.0;
/// In less room, points, the loss to reach is below the row of the other controls.
const FOOTER_WIDTH: f32 = 460.0;
/// With at least this many measurements the first one, made before training, is left out, because it would flatten the
/// others.
const MIN_TO_SKIP_FIRST: usize = 4;
/// The height of the heading and one row, points: a lower table is left out.
const MIN_TABLE_HEIGHT: f32 = 34.0;
/// Height of a row, and of the part above the rows.
const ROW_HEIGHT: f32 = 19.0;
const HEAD_HEIGHT: f32 = 54.0;
/// Height of a variant's name and verdict with its numbers below, and of the control of the loss to reach.
const STACKED_ROW_HEIGHT: f32 = 42.0;
const TARGET_HEIGHT: f32 = 32.0;

/// True where the measurement before any training is left out of the curve.
fn excludes_first(racer: &Racer) -> bool {
    racer.marks.len() >= MIN_TO_SKIP_FIRST && racer.marks.first().is_some_and(|mark| mark.step == 0)
}

impl Race {
    fn cache_key(mirror: &Mirror, step: u64) -> Key {
        let curves = (0..mirror.variants().len()).filter_map(|v| mirror.curve(v, channels::LOSS_HELD_OUT));
        let known = curves.filter_map(|c| c.point_at(step)).map(|(at, _)| at);
        // a measurement at step 0 counts too
        let (newest, sum) = known.fold((0, 0), |(newest, sum), at| (at.max(newest), sum + at + 1));
        (mirror.run, newest, sum)
    }

    fn follow(&mut self, mirror: &Mirror, step: u64) {
        let key = Self::cache_key(mirror, step);
        if self.racers.get(&key).is_none_or(|racers| racers.is_empty()) {
            *self.racers.at(key) = Arc::new(results(mirror, key.1));
        }
    }

    fn racers(&self, cx: &ViewCx<'_>) -> Arc<Vec<Racer>> {
        self.racers.get(&Self::cache_key(cx.mirror, cx.step)).cloned().unwrap_or_default()
    }

    fn target_loss(&self, racers: &[Racer]) -> Option<f64> {
        self.target.or_else(|| racers.first()?.marks.last().map(|m| m.loss)).filter(|loss| loss.is_finite())
    }

    fn table_ui(&self, ui: &mut Ui, cx: &ViewCx<'_>) {
        // half a heading cannot be read
        if ui.available_height() < MIN_TABLE_HEIGHT {
            return;
        }
        if ui.available_width() < MIN_TABLE_WIDTH {
            return self.stacked_table_ui(ui, cx);
        }
        let (theme, racers) = (cx.theme, self.racers(cx));
        let target = self.target_loss(&racers);
        let first = racers.first().map_or("", |r| &r.group.label);
        let widths = widths_in(ui.available_width());
        let shown = ScrollArea::both().id_salt("race").auto_shrink([false, true]).show(ui, |ui| {
            Grid::new("race").spacing([GAP, 3.0]).min_row_height(15.0).show(ui, |ui| {
                ui.spacing_mut().interact_size.y = 15.0;
                let [loss, tokens, others @ ..] = headings(target);
                let header = [String::new(), loss, format!("against {first}, 95%"), tokens].into_iter().chain(others);
                for (words, width) in header.zip(widths) {
                    cell_ui(ui, width, small_text(words, theme.secondary));
                }
                ui.end_row();
                for racer in racers.iter() {
                    cell_ui(ui, widths[0], small_text(&racer.group.label, racer.colour(theme)).strong());
                    for (i, cell) in (1..).zip(self.cells(racer, target)) {
                        let face = if i == VERDICT_COLUMN { theme::small() } else { theme::numbers() };
                        cell_ui(ui, widths[i], RichText::new(cell).font(face).color(theme.text));
                    }
                    ui.end_row();
                }
            });
        });
        note_table(ui.ctx(), "race", shown.inner_rect.width(), shown.content_size.x);
    }

    /// The table where its columns have no room: each variant's numbers below its name and verdict.
    fn stacked_table_ui(&self, ui: &mut Ui, cx: &ViewCx<'_>) {
        let (theme, racers) = (cx.theme, self.racers(cx));
        let target = self.target_loss(&racers);
        let room = ui.available_width();
        let (widths, gap) = number_widths_in(room);
        let shown = plot::rows_ui(ui, ScrollArea::vertical().id_salt("race").auto_shrink([false, true]), |ui| {
            ui.spacing_mut().item_spacing = vec2(gap, 3.0);
            ui.spacing_mut().interact_size.y = 15.0;
            let numbers_ui = |ui: &mut Ui, cells: [String; 5], font: FontId, colour: Color32| {
                ui.horizontal(|ui| {
                    for (cell, width) in cells.into_iter().zip(widths) {
                        cell_ui(ui, width, RichText::new(cell).font(font.clone()).color(colour));
                    }
                });
            };
            if let [first, _, ..] = &racers[..] {
                note_ui(ui, theme, format!("Beside each name: the loss against {}, 95%.", first.group.label));
            }
            numbers_ui(ui, headings(target.filter(|_| widths[1] >= COLUMN_WIDTHS[3])), theme::small(), theme.secondary);
            for racer in racers.iter() {
                let [loss, verdict, tokens, seconds, params, flops] = self.cells(racer, target);
                ui.horizontal_wrapped(|ui| {
                    ui.label(small_text(&racer.group.label, racer.colour(theme)).strong());
                    ui.label(small_text(verdict, theme.text));
                });
                numbers_ui(ui, [loss, tokens, seconds, params, flops], theme::numbers(), theme.text);
            }
        });
        note_table(ui.ctx(), "race", room, shown.content_size.x);
    }

    fn target_ui(&mut self, ui: &mut Ui, cx: &ViewCx<'_>) {
        let racers = self.racers(cx);
        let Some(usual) = racers.first().and_then(|r| r.marks.last()) else { return };
        let label = ui.label("loss to reach").id;
        let mut target = self.target.unwrap_or(usual.loss);
        let drag = DragValue::new(&mut target).speed(0.005).range(0.0..=100.0).max_decimals(3);
        let hover = "What each variant needs to come down to this held-out loss. Beginning with the first variant's \
                     newest.";
        if ui.add(drag).on_hover_text(hover).labelled_by(label).changed() {
            self.target = Some(target);
        }
        if self.target.is_some() && ui.button("\u{21bb}").on_hover_text("The first variant's newest loss").clicked() {
            self.target = None;
        }
    }

    /// Loss, verdict, tokens and seconds to the target, parameters, operations.
    fn cells(&self, racer: &Racer, target: Option<f64>) -> [String; 6] {
        let reach = |over| target.and_then(|t| racer.first_reaching(t, over)).map_or("not yet".to_owned(), abbreviated);
        [
            racer.marks.last().map_or("\u{2013}".to_owned(), |m| format!("{:.3}", m.loss)),
            verdict_sentence(racer),
            reach(RaceAxis::Tokens),
            reach(RaceAxis::Seconds),
            abbreviated(racer.params as f64),
            racer.flops.map_or("\u{2013}".to_owned(), |f| abbreviated(1e-6 * f)),
        ]
    }
}

/// The headings of the numbers; `target` is the loss that the tokens and seconds are for.
fn headings(target: Option<f64>) -> [String; 5] {
    let tokens = target.map_or("tokens".to_owned(), |t| format!("tokens to {}", value_label(t)));
    ["loss", &tokens, "seconds", "parameters", "MFLOP/token"].map(str::to_owned)
}

/// The column widths for a table of this width. The verdict gets what remains, up to its full width. If the table is too
/// narrow, first the verdict and then the names are shortened: unlike the numbers, they are shown in full elsewhere.
fn widths_in(room: f32) -> [f32; 7] {
    let taken = COLUMN_WIDTHS.iter().sum::<f32>() + GAP * (COLUMN_WIDTHS.len() - 1) as f32;
    let mut widths = COLUMN_WIDTHS;
    let left = room - taken;
    widths[VERDICT_COLUMN] = (COLUMN_WIDTHS[VERDICT_COLUMN] + left).clamp(MIN_VERDICT_WIDTH, MIN_FULL_VERDICT_WIDTH);
    let lacking = (COLUMN_WIDTHS[VERDICT_COLUMN] - widths[VERDICT_COLUMN] + left).min(0.0);
    widths[0] = (COLUMN_WIDTHS[0] + lacking).max(MIN_NAME_WIDTH);
    widths
}

/// The widths of the numbers below a name in this room, and their gap. The tokens get what remains, up to their column's width.
fn number_widths_in(room: f32) -> ([f32; 5], f32) {
    let mut widths = NUMBER_WIDTHS;
    let gaps = (widths.len() - 1) as f32;
    let left = room - widths.iter().sum::<f32>();
    let gap = (left / gaps).clamp(MIN_GAP, GAP);
    widths[1] = (widths[1] + left - gaps * gap).clamp(NUMBER_WIDTHS[1], COLUMN_WIDTHS[3]);
    (widths, gap)
}

fn verdict_sentence(racer: &Racer) -> String {
    let Some(found) = &racer.difference else {
        return if racer.group_index == 0 { String::new() } else { "\u{2013}".to_owned() };
    };
    let signed = |v: f64| number::difference(v, 3);
    let (mean, verdict) = (signed(found.mean), verdict(found));
    match found.interval {
        None => format!("{mean}; {verdict}"),
        Some((low, high)) => format!("{mean} [{}, {}] {verdict}", signed(low), signed(high)),
    }
}

fn cell_ui(ui: &mut Ui, width: f32, words: RichText) {
    ui.allocate_ui_with_layout(vec2(width, 15.0), Layout::left_to_right(Align::Center), |ui| {
        ui.set_min_width(width);
        ui.add(Label::new(words).truncate());
    });
}

impl PanelView for Race {
    const FOOTER_HEIGHT: f32 = 28.0;

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        self.follow(cx.mirror, cx.step);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let racers = self.racers(cx);
        let y = Axis::new(with_loss_unit("held-out loss", cx));
        let mut chart = Chart::new("race", self.over.axis().include(&[0.0]), y).empty(cx.no_curve_reason(
            "No race yet. Press Space: all variants train on the same batches, and are measured on the same text.",
            "This run has measured no held-out loss of its variants.",
        ));
        for racer in racers.iter() {
            let (label, colour) = (&racer.group.label, racer.colour(cx.theme));
            let untrained = usize::from(excludes_first(racer));
            let points = |of: fn(&Mark) -> f64| -> Vec<[f64; 2]> {
                let at = |m: &Mark| [m.position(self.over), of(m)];
                racer.marks.iter().skip(untrained).map(at).filter(|p| p[0].is_finite()).collect()
            };
            if racer.group.members.len() > 1 {
                let spread = format!("{label}, \u{b1}1 sd");
                chart.band(spread, colour, points(|m| m.loss - m.sd), points(|m| m.loss + m.sd));
            }
            chart.add(Line::new(label, colour, points(|m| m.loss)).dots());
        }
        if let Some(at) = self.target_loss(&racers).filter(|_| !chart.is_empty()) {
            chart.horizontal_line(format!("to reach: {}", value_label(at)), at);
        }
        Panel::single(chart)
    }

    fn has_footer(&self, is_empty: bool) -> bool {
        !is_empty || self.over != RaceAxis::Tokens
    }

    fn footer_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let counts_operations = self.racers(cx).iter().any(|r| r.flops.is_some());
        let has_target = ui.available_width() >= FOOTER_WIDTH;
        for (over, label) in RaceAxis::ALL {
            let can = over != RaceAxis::Operations || counts_operations;
            let button = ui.add_enabled(can, Button::selectable(self.over == over, label));
            if button.on_disabled_hover_text("The operations of these models are not counted.").clicked() {
                self.over = over;
            }
        }
        if has_target {
            ui.add_space(8.0);
            self.target_ui(ui, cx);
        }
    }

    fn height_below(&self, _ui: &Ui, cx: &ViewCx<'_>, room: Vec2, _is_empty: bool) -> f32 {
        let racers = self.racers(cx);
        // an axis that no racer has leaves the chart empty, and the table as it is
        if racers.iter().all(|racer| racer.marks.is_empty()) {
            return 0.0;
        }
        let target = if room.x < FOOTER_WIDTH { cx.height_of_controls(TARGET_HEIGHT) } else { 0.0 };
        let row = if room.x < MIN_TABLE_WIDTH { STACKED_ROW_HEIGHT } else { ROW_HEIGHT };
        (target + HEAD_HEIGHT + row * racers.len() as f32).min(0.45 * room.y)
    }

    fn below_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, _height: f32) {
        if ui.available_width() < FOOTER_WIDTH {
            cx.controls_ui(ui, |ui, cx| ui.horizontal(|ui| self.target_ui(ui, cx)));
        }
        self.table_ui(ui, cx);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let racers = self.racers(cx);
        let seeds = racers.iter().map(|r| r.group.members.len()).max().unwrap_or(1);
        let newest = racers.iter().filter_map(|r| r.marks.last()).map(|m| m.step).max();
        let newest = newest.filter(|step| *step != cx.step);
        let measured = newest.map_or(String::new(), |step| format!(", measured at step {step}"));
        let spread = if seeds > 1 { format!(", mean and \u{b1}1 sd over {seeds} seeds") } else { String::new() };
        let left_out = if racers.iter().any(excludes_first) { ", step 0 left out" } else { "" };
        cx.subtitle(&format!("the same held-out windows{measured}{left_out}{spread}"))
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        let racers = self.racers(cx);
        let mut table = Table::new(["variant", "seeds", "step", "tokens", "seconds", "gflop", "loss", "sd"]);
        for racer in racers.iter() {
            for m in &racer.marks {
                let Mark { step, tokens, seconds, gflop, loss, sd } = m;
                table.cells(&[&racer.group.label, &racer.group.members.len(), step, tokens, seconds, gflop, loss, sd]);
            }
        }
        table.non_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{Channel, Event, StepStats, VariantInfo};

    #[test]
    fn the_last_column_is_in_sight_from_a_narrow_page_on() {
        let taken = |room: f32| widths_in(room).iter().sum::<f32>() + GAP * (COLUMN_WIDTHS.len() - 1) as f32;
        for room in 655..1200u16 {
            assert!(taken(room.into()) <= f32::from(room) + 0.01, "{room}: {}", taken(room.into()));
        }
        assert_eq!((widths_in(760.0), widths_in(2000.0)[VERDICT_COLUMN]), (COLUMN_WIDTHS, MIN_FULL_VERDICT_WIDTH));
        assert_eq!((widths_in(100.0)[0], widths_in(100.0)[VERDICT_COLUMN]), (MIN_NAME_WIDTH, MIN_VERDICT_WIDTH));
        assert!(taken(MIN_TABLE_WIDTH) <= MIN_TABLE_WIDTH + 0.01);
        for room in 316..652u16 {
            let (widths, gap) = number_widths_in(room.into());
            assert!(widths.iter().sum::<f32>() + 4.0 * gap <= f32::from(room) + 0.01, "{room}: {widths:?}, {gap}");
        }
    }

    #[test]
    fn a_variant_that_is_measured_later_at_the_same_step_is_followed() {
        let variant = |id: &str| VariantInfo { id: id.into(), label: id.into(), group: id.into(), seed: 0, params: 1 };
        let info = RunInfo { variants: vec![variant("a"), variant("b")], total_steps: 20, ..RunInfo::default() };
        let mut mirror = Mirror::default();
        mirror.apply(Event::Started(info.into()));
        let mut race = Race::default();
        race.follow(&mirror, 0);
        let mut losses = |step, variant: usize, loss| {
            let scalars = vec![(Channel::new(channels::LOSS_HELD_OUT), loss)];
            mirror.apply(Event::Step(StepStats { step, variant, scalars, wall_secs: 0.0 }));
            race.follow(&mirror, step);
            let racers = race.racers.get(&Race::cache_key(&mirror, step)).cloned().unwrap_or_default();
            racers.iter().map(|r| r.marks.last().map(|m| m.loss)).collect::<Vec<_>>()
        };
        assert_eq!(losses(0, 0, 5.0), [Some(5.0), None], "nothing was measured when it was followed first");
        assert_eq!(losses(10, 0, 3.0), [Some(3.0), None]);
        assert_eq!(losses(10, 1, 2.0), [Some(3.0), Some(2.0)]);
        assert_eq!(losses(20, 0, 2.5), [Some(2.5), Some(2.0)]);
        assert_eq!(losses(20, 1, 1.5), [Some(2.5), Some(1.5)]);
    }

    #[test]
    fn only_a_measurement_before_any_training_is_left_out() {
        let leaves_out = |steps: &[u64]| {
            let mark = |step: &u64| Mark { step: *step, ..Mark::default() };
            excludes_first(&Racer { marks: steps.iter().map(mark).collect(), ..Racer::default() })
        };
        assert!(leaves_out(&[0, 25, 50, 75]));
        assert!(!leaves_out(&[0, 25, 50]) && !leaves_out(&[25, 50, 75, 100]));
    }
}
