//! How often each role is named correctly, within the vocabulary that was learned and in the other one: a mark with its
//! 95% Wilson interval for what the probe reads, and one for every supervised tagger of the run.

use crate::{
    analysis::statistics::wilson, labs::grammar_roles::settings::GrammarRolesSettings, ui::views::painting::*,
};

/// Height of a role's row, and of the axis above, points.
const ROW_HEIGHT: f32 = 15.0;
const AXIS_HEIGHT: f32 = 18.0;
const LEGEND_HEIGHT: f32 = 18.0;
const GAP: f32 = 24.0;
const MARK_RADIUS: f32 = 3.5;

#[derive(Default)]
pub struct RoleAccuracyView {
    /// Counts only test sentences that do not occur in training, on the left.
    only_new: bool,
}

/// The shape of a mark, so that colour is not the only sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marker {
    Ring,
    Diamond,
    Disc,
    Cross,
}

/// A mark that is drawn in every row: a representation or a tagger.
struct AccuracyEntry<'a> {
    label: String,
    colour: Color32,
    sign: Marker,
    /// The counts within the vocabulary of training, and in transfer to new words.
    counts: [&'a RoleCounts; 2],
}

/// A row: one role, or several together.
struct RoleRow {
    name: String,
    colour: Color32,
    roles: Vec<usize>,
}

fn reads_features(measured: &RoleAccuracy) -> bool {
    measured.representations.iter().any(|r| r.features != RoleFeatures::Tags)
}

/// The measurement of the variant in focus if it has one, else that of the first variant that has.
fn shown_measurement<'a>(cx: &ViewCx<'a>) -> Option<Measured<'a, RoleAccuracy>> {
    cx.in_focus(|v| cx.newest::<RoleAccuracy>(v).filter(|m| reads_features(m.value))).map(|(_, m)| m)
}

/// The measurement whose roles are shown: that of a tagger where no features were measured.
fn accuracy<'a>(cx: &ViewCx<'a>) -> Option<&'a RoleAccuracy> {
    let any = || (0..cx.mirror.variants().len()).find_map(|v| cx.newest::<RoleAccuracy>(v));
    shown_measurement(cx).or_else(any).map(|m| m.value)
}

fn tests(cx: &ViewCx<'_>) -> [&'static str; 2] {
    accuracy(cx).map_or(["within", "transfer"], RoleAccuracy::tests)
}

/// The arguments of the run's schedule.
fn args(cx: &ViewCx<'_>) -> RoleAccuracyArgs {
    GrammarRolesSettings::read(&cx.config_now()).map(|settings| settings.roles.args()).unwrap_or_default()
}

impl RoleAccuracyView {
    fn entries<'a>(&self, cx: &ViewCx<'a>) -> Vec<AccuracyEntry<'a>> {
        let mut entries = vec![];
        let counts = |r: &'a RoleRepresentation| [if self.only_new { &r.within_new } else { &r.within }, &r.transfer];
        if let Some(found) = shown_measurement(cx) {
            for (features, label, colour, sign) in [
                (RoleFeatures::Activation, "activation", cx.theme.secondary, Marker::Ring),
                (RoleFeatures::Traces, "traces", cx.theme.trace_colour(1), Marker::Diamond),
                (RoleFeatures::Both, "both", cx.theme.text, Marker::Disc),
            ] {
                let Some(representation) = found.value.by_features(features).filter(|r| r.finite) else { continue };
                entries.push(AccuracyEntry { label: label.to_owned(), colour, sign, counts: counts(representation) });
            }
        }
        let tagged = cx.each_variant(|v| cx.newest::<RoleAccuracy>(v)?.value.by_features(RoleFeatures::Tags));
        entries.extend(tagged.map(|(info, colour, representation)| AccuracyEntry {
            label: info.label.clone(),
            colour,
            sign: Marker::Cross,
            counts: counts(representation),
        }));
        entries
    }

    fn rows(cx: &ViewCx<'_>) -> Vec<RoleRow> {
        let Some(accuracy) = accuracy(cx) else { return vec![] };
        // a treebank has no deep roles, and may have no word of some of the others
        let has_words = |r: &usize| {
            let has = |counts: &RoleCounts| counts.of.get(*r).is_some_and(|words| *words > 0);
            accuracy.representations.iter().any(|of| !of.finite || has(&of.within) || has(&of.transfer))
        };
        let roles: Vec<usize> = (0..accuracy.roles.len()).filter(has_words).collect();
        let deep: Vec<usize> = roles.iter().copied().filter(|r| accuracy.deep[*r]).collect();
        let of_treebank = accuracy.has_treebank_tags();
        let together = |name: &str, roles| RoleRow { name: name.to_owned(), colour: cx.theme.text, roles };
        let of_deep = (!deep.is_empty()).then(|| together("deep roles", deep));
        let all = together("all roles", roles.clone());
        let each = roles.into_iter().map(|r| {
            let name = accuracy.roles[r].clone();
            RoleRow { colour: super::role_colour(&name, of_treebank, cx.theme), name, roles: vec![r] }
        });
        std::iter::once(all).chain(of_deep).chain(each).collect()
    }

    /// Chooses the variant whose features are shown, where there are several.
    fn variants_ui(ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let has_features = |v: &usize| cx.newest::<RoleAccuracy>(*v).is_some_and(|m| reads_features(m.value));
        let variants: Vec<usize> = (0..cx.mirror.variants().len()).filter(has_features).collect();
        let Some(shown) = shown_measurement(cx).map(|m| m.variant).filter(|_| variants.len() > 1) else { return };
        let (mirror, mut chosen) = (cx.mirror, shown);
        let choices = variants.into_iter().map(|v| (v, mirror.variant_label(v)));
        let tip = "Whose features are shown. Taggers are always there.";
        if choice_menu(ui, mirror.variant_label(shown), &mut chosen, choices, tip) {
            cx.selection.variant = chosen;
        }
    }

    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        ui.horizontal_wrapped(|ui| {
            Self::variants_ui(ui, cx);
            ui.selectable_value(&mut self.only_new, false, "all sentences").on_hover_text("All test sentences.");
            ui.selectable_value(&mut self.only_new, true, "only new ones").on_hover_text(
                "Within: only test sentences that do not occur in training. Short ones often do, relative ones never.",
            );
            let tip = "Fits the probes again, to the network as it is at the shown step. It takes seconds.";
            let may_ask = cx.can_ask() && !cx.is_waiting_for::<RoleAccuracy>(Some(cx.selection.variant));
            if may_ask && ui.button("Measure now").on_hover_text(tip).clicked() {
                let args = args(cx);
                cx.ask_now::<RoleAccuracy>(Some(cx.selection.variant), &args);
            }
        });
    }

    fn canvas_ui(ui: &mut Ui, theme: &Theme, tests: [&str; 2], rows: &[RoleRow], entries: &[AccuracyEntry<'_>]) {
        let names = rows.iter().map(|r| note_width(ui.painter(), &r.name)).fold(0.0, f32::max) + 10.0;
        let width = ui.available_width();
        let panels = if width > names + 300.0 { 2 } else { 1 };
        let places = legend_places(ui, entries, width);
        let legend_height = places.last().map_or(0.0, |place| place.y) + LEGEND_HEIGHT;
        let head = legend_height + AXIS_HEIGHT;
        let row = ((ui.available_height() - head - 4.0) / rows.len() as f32).clamp(ROW_HEIGHT, 26.0);
        plot::rows_ui(ui, ScrollArea::vertical().auto_shrink([false, false]), |ui| {
            let (rect, response, painter) =
                canvas_ui(ui, vec2(width, head + row * rows.len() as f32), Sense::hover(), "accuracy by role");
            for (entry, place) in entries.iter().zip(&places) {
                let at = rect.min + *place + vec2(0.0, LEGEND_HEIGHT / 2.0);
                draw_sign(&painter, entry, at + vec2(6.0, 0.0));
                painter.text(at + vec2(14.0, 0.0), Align2::LEFT_CENTER, &entry.label, theme::small(), theme.text);
            }
            let below = rect.top() + legend_height;
            let one = (width - names - GAP * panels as f32) / panels as f32;
            for (panel, test) in tests.into_iter().enumerate().take(panels) {
                let left = rect.left() + names + panel as f32 * (one + GAP);
                let size = vec2(one - 2.0 * MARK_RADIUS, rect.bottom() - below);
                let plot = Rect::from_min_size(pos2(left + MARK_RADIUS, below), size);
                draw_axis(&painter, theme, plot, test);
                for (i, item) in rows.iter().enumerate() {
                    let y = plot.top() + AXIS_HEIGHT + row * (i as f32 + 0.5);
                    for (k, entry) in entries.iter().enumerate() {
                        let apart = (k as f32 - (entries.len() as f32 - 1.0) / 2.0) * (row - 6.0).max(2.0)
                            / entries.len() as f32;
                        let counts = entry.counts[panel].sum(|r| item.roles.contains(&r));
                        draw_share(&painter, entry, counts, (plot, y + apart));
                    }
                }
            }
            for (i, item) in rows.iter().enumerate() {
                let y = below + AXIS_HEIGHT + row * (i as f32 + 0.5);
                let at = pos2(rect.left() + names - 10.0, y);
                painter.text(at, Align2::RIGHT_CENTER, &item.name, theme::small(), item.colour);
                if i > 0 && item.roles.len() == 1 && rows[i - 1].roles.len() > 1 {
                    painter.hline(rect.x_range(), y - row / 2.0, Stroke::new(1.0, theme.line));
                }
            }
            let under = response.hover_pos().map(|p| ((p.y - below - AXIS_HEIGHT) / row).floor());
            if let Some(item) = under.filter(|i| *i >= 0.0).and_then(|i| rows.get(i as usize)) {
                response.on_hover_text_at_pointer(row_text(item, tests, entries));
            }
        });
    }
}

/// The positions of the legend's entries, row by row, in a given width.
fn legend_places(ui: &Ui, entries: &[AccuracyEntry<'_>], width: f32) -> Vec<Vec2> {
    let mut next = Vec2::ZERO;
    let place = |entry: &AccuracyEntry<'_>| {
        let wide = note_width(ui.painter(), &entry.label) + 30.0;
        if next.x + wide > width && next.x > 0.0 {
            next = vec2(0.0, next.y + LEGEND_HEIGHT);
        }
        let here = next;
        next.x += wide;
        here
    };
    entries.iter().map(place).collect()
}

fn draw_axis(painter: &Painter, theme: &Theme, plot: Rect, title: &str) {
    let draw_text = |at: Pos2, align, text: &str, colour| _ = painter.text(at, align, text, theme::small(), colour);
    for share in [0.0f32, 0.25, 0.5, 0.75, 1.0] {
        let x = plot.left() + share * plot.width();
        painter.vline(x, plot.top() + AXIS_HEIGHT - 2.0..=plot.bottom(), Stroke::new(1.0, theme.line));
    }
    let y = plot.top() + AXIS_HEIGHT / 2.0 - 1.0;
    draw_text(pos2(plot.left(), y), Align2::LEFT_CENTER, "0", theme.secondary);
    draw_text(pos2(plot.right(), y), Align2::RIGHT_CENTER, "1", theme.secondary);
    draw_text(pos2(plot.center().x, y), Align2::CENTER_CENTER, title, theme.text);
}

fn draw_share(painter: &Painter, entry: &AccuracyEntry<'_>, (right, total): (f64, f64), (plot, y): (Rect, f32)) {
    if total == 0.0 {
        return;
    }
    let at = |share: f64| plot.left() + share as f32 * plot.width();
    let (low, high) = wilson(right, total);
    painter.hline(at(low)..=at(high), y, Stroke::new(1.5, entry.colour.gamma_multiply(theme::INTERVAL_LINE)));
    draw_sign(painter, entry, pos2(at(right / total), y));
}

fn draw_sign(painter: &Painter, entry: &AccuracyEntry<'_>, at: Pos2) {
    let stroke = Stroke::new(1.5, entry.colour);
    match entry.sign {
        Marker::Ring => painter.circle_stroke(at, MARK_RADIUS - 0.5, stroke),
        Marker::Disc => painter.circle_filled(at, MARK_RADIUS, entry.colour),
        Marker::Diamond => {
            let corners = [vec2(0.0, -1.0), vec2(1.0, 0.0), vec2(0.0, 1.0), vec2(-1.0, 0.0)];
            let points = corners.map(|c: Vec2| at + c * (MARK_RADIUS + 0.5)).to_vec();
            painter.add(Shape::convex_polygon(points, entry.colour, Stroke::NONE))
        }
        Marker::Cross => {
            let d = vec2(MARK_RADIUS - 0.5, MARK_RADIUS - 0.5);
            painter.line_segment([at - d, at + d], stroke);
            painter.line_segment([at + vec2(d.x, -d.y), at + vec2(-d.x, d.y)], stroke)
        }
    };
}

fn row_text(row: &RoleRow, tests: [&str; 2], entries: &[AccuracyEntry<'_>]) -> String {
    let part = |counts: &RoleCounts| {
        let (right, total) = counts.sum(|r| row.roles.contains(&r));
        if total == 0.0 {
            return "no word".to_owned();
        }
        let (low, high) = wilson(right, total);
        format!("{:.3} of {total} ({low:.3} to {high:.3})", right / total)
    };
    let [within, other] = tests;
    let line = |AccuracyEntry { label, counts, .. }: &AccuracyEntry<'_>| {
        format!("\n{label}: {within} {}, {other} {}", part(counts[0]), part(counts[1]))
    };
    row.name.clone() + &entries.iter().map(line).collect::<String>()
}

impl View for RoleAccuracyView {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        let (variant, shown) = (Some(cx.selection.variant), shown_measurement(cx).map(|m| m.sample));
        cx.shows_question::<RoleAccuracy>(variant, &args(cx), shown);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        cx.controls_ui(ui, |ui, cx| self.controls_ui(ui, cx));
        let (rows, entries) = (Self::rows(cx), self.entries(cx));
        if rows.is_empty() || entries.is_empty() {
            let why = cx.empty_reason_before_asking::<RoleAccuracy>(
                "Not measured yet. A run asks at its first step and at the end of its pass over the sentences: press Space.",
                "Not measured yet: press Measure now.",
            );
            let no_numbers = "This network's features are no longer finite, so nothing can be read from them.";
            return cx.nothing_ui(ui, if rows.is_empty() { &why } else { no_numbers });
        }
        Self::canvas_ui(ui, cx.theme, tests(cx), &rows, &entries);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let Some(found) = shown_measurement(cx) else { return cx.subtitle("which role each word has") };
        let label = cx.mirror.variant_label(found.variant);
        let rank = found.value.ranks.first().map_or(String::new(), |r| {
            format!(" \u{b7} feedforward weights of the lowest level: effective rank {r:.1}")
        });
        format!("step {} \u{b7} {label} \u{b7} {}{rank}", found.sample.step, found.sample.about)
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let (rows, entries) = (Self::rows(cx), self.entries(cx));
        let mut table = Table::new("role,read_from,test,right,words,share,low,high".split(','));
        for row in &rows {
            for entry in &entries {
                for (counts, test) in entry.counts.iter().zip(tests(cx)) {
                    let (right, total) = counts.sum(|r| row.roles.contains(&r));
                    if total == 0.0 {
                        continue;
                    }
                    let (low, high) = wilson(right, total);
                    table.cells(&[&row.name, &entry.label, &test, &right, &total, &(right / total), &low, &high]);
                }
            }
        }
        table.finish_if_any()
    }
}
