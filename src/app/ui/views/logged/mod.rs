//! Everything that a run has logged and no other view is made for: one panel per channel, drawn by what its data are.

mod content;
mod grid;
mod panel;

use std::rc::Rc;

use eframe::egui::Frame;

use crate::{config::counted, labs::foreign, telemetry::Channel, ui::views::prelude::*};
use content::Content;
use grid::{PanelGrid, TITLE_HEIGHT};
use panel::PanelState;

/// More channels than this can be searched by name.
const MAX_UNFILTERED: usize = 9;

/// The channel that the view is to show large.
#[derive(Debug, Clone, PartialEq)]
pub struct LargeChannel(pub Channel);

impl Slot for LargeChannel {}

#[derive(Default)]
pub struct LoggedView {
    /// The channel that is shown large; all, if none is.
    chosen: Option<Channel>,
    /// A part of the names of the channels that are shown.
    filter: String,
    /// The panels of a picture.
    drawn: Option<usize>,
    /// The state of each channel's panel from the last frame.
    panels: HashMap<Channel, PanelState>,
    /// The channels, of a run with the news that it has had.
    entries: KeyedCache<(RunNumber, u64), Option<Rc<[Entry]>>>,
}

impl LoggedView {
    /// The list of channels, above the panels.
    fn controls_ui(&mut self, ui: &mut Ui, entries: &[Entry]) {
        ui.horizontal(|ui| {
            const ALL_LABEL: &str = "All channels";
            let shown = self.chosen.as_ref().map_or(ALL_LABEL, Channel::as_str).to_owned();
            let combo = ComboBox::from_id_salt("channel").selected_text(&shown).width(200.0).truncate();
            let list = combo.show_ui(ui, |ui| {
                ui.selectable_value(&mut self.chosen, None, ALL_LABEL);
                for entry in entries {
                    ui.selectable_value(&mut self.chosen, Some(entry.channel.clone()), entry.channel.as_str());
                }
            });
            list.response.widget_info(|| WidgetInfo::labeled(Role::ComboBox, true, "Channel"));
            list.response.on_hover_text("The channel that is shown large.");
            if self.chosen.is_none() && entries.len() > MAX_UNFILTERED {
                let field = TextEdit::singleline(&mut self.filter).hint_text("Find a channel").desired_width(140.0);
                let field = ui.add(field).on_hover_text("Shows the channels whose names have these letters.");
                field.widget_info(|| WidgetInfo {
                    label: Some("Find a channel".into()),
                    ..WidgetInfo::text_edit(true, "", self.filter.clone(), "")
                });
            }
            if self.chosen.is_some() && ui.button("All").on_hover_text("Shows every channel.").clicked() {
                self.chosen = None;
            }
        });
    }

    /// Draws all panels. A picture is as high as they need, up to the maximum height, where only those that fit are
    /// drawn.
    fn grid_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, entries: &[&Entry]) {
        let (room, gap) = (ui.available_size(), ui.spacing().item_spacing);
        let grid = match cx.has_controls {
            true => PanelGrid::in_tile(entries.len(), room, gap),
            false => PanelGrid::in_picture(entries.len(), room, gap),
        };
        plot::note_lacking(ui.ctx(), grid.missing_height(entries.len(), room, gap));
        let PanelGrid { columns, rows, size } = grid;
        self.drawn = (!cx.has_controls).then_some(entries.len().min(columns * rows));
        let are_scrolled = cx.has_controls && (size.y + TITLE_HEIGHT) * rows as f32 > room.y;
        let mut all_ui = |ui: &mut Ui| {
            for row in entries.chunks(columns).take(rows) {
                ui.horizontal_top(|ui| {
                    for entry in row {
                        ui.vertical(|ui| self.panel_ui(ui, cx, entry, size));
                    }
                });
            }
        };
        if are_scrolled {
            ScrollArea::vertical().id_salt("panels").auto_shrink([false, false]).show(ui, all_ui);
        } else {
            all_ui(ui);
        }
    }

    /// A panel under its name, which a click shows large.
    fn panel_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, entry: &Entry, size: Vec2) {
        ui.set_max_width(size.x);
        let name = entry.channel.as_str();
        let words = RichText::new(name).size(theme::SMALL).color(cx.theme.secondary);
        if cx.has_controls {
            let title = ui.add_sized([size.x, TITLE_HEIGHT - 4.0], Button::new(words).frame(false).truncate());
            title.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Show {name} large")));
            if title.on_hover_text("Shows this channel large.").clicked() {
                self.chosen = Some(entry.channel.clone());
            }
        } else {
            ui.add_sized([size.x, TITLE_HEIGHT - 4.0], Label::new(words).truncate());
        }
        // only visible panels are drawn
        let place = Rect::from_min_size(ui.cursor().min, size);
        if !ui.is_rect_visible(place) {
            ui.allocate_space(size);
            return;
        }
        let state = self.panels.entry(entry.channel.clone()).or_default();
        Frame::NONE.show(ui, |ui| ui.push_id(name, |ui| state.ui(ui, cx, entry, size)));
    }
}

impl View for LoggedView {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let current = self.entries.at((cx.mirror.run, cx.mirror.revision));
        let entries = Rc::clone(current.get_or_insert_with(|| entries(cx).into()));
        if entries.is_empty() {
            let words =
                cx.no_curve_reason("Nothing is logged yet.", "This run has logged nothing that could be shown here.");
            return cx.nothing_ui(ui, &words);
        }
        if let Some(LargeChannel(channel)) = cx.selection.get() {
            self.chosen = Some(channel.clone());
            cx.selection.clear::<LargeChannel>();
        }
        if self.chosen.as_ref().is_some_and(|chosen| entries.iter().all(|entry| entry.channel != *chosen)) {
            self.chosen = None;
        }
        self.panels.values_mut().for_each(|panel| panel.chart.clear_visibility());
        cx.controls_ui(ui, |ui, _| self.controls_ui(ui, &entries));
        let chosen = self.chosen.clone();
        match chosen.and_then(|chosen| entries.iter().find(|entry| entry.channel == chosen)) {
            Some(entry) => {
                let size = ui.available_size();
                let state = self.panels.entry(entry.channel.clone()).or_default();
                state.ui(ui, cx, entry, size);
            }
            None => {
                let filter =
                    if entries.len() > MAX_UNFILTERED { self.filter.trim().to_lowercase() } else { String::new() };
                let is_sought = |entry: &&Entry| entry.channel.as_str().to_lowercase().contains(&filter);
                let sought: Vec<&Entry> = entries.iter().filter(is_sought).collect();
                if sought.is_empty() {
                    ui.label(RichText::new("No channel matches.").color(cx.theme.secondary));
                } else {
                    self.grid_ui(ui, cx, &sought);
                }
            }
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let Some(chosen) = &self.chosen else {
            let known = self.entries.get(&(cx.mirror.run, cx.mirror.revision)).and_then(Option::as_ref);
            let n = known.map_or_else(|| entries(cx).len(), |entries| entries.len());
            let channels = counted(n, "channel");
            return cx.subtitle(&match self.drawn.filter(|drawn| *drawn < n) {
                Some(drawn) => format!("{drawn} of {channels}: a wider picture has more"),
                None => channels,
            });
        };
        match sample(cx, chosen) {
            Some((_, s)) if s.about.is_empty() => format!("step {} \u{b7} {chosen}", s.step),
            Some((_, s)) => format!("step {} \u{b7} {chosen} \u{b7} {}", s.step, s.about),
            None => cx.subtitle(chosen.as_str()),
        }
    }

    /// The CSV of the chosen channel; if none is chosen, every number at the shown step.
    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let entries = entries(cx);
        let chosen = self.chosen.as_ref().and_then(|chosen| entries.iter().find(|entry| entry.channel == *chosen));
        match chosen {
            None => numbers_csv(cx, &entries),
            Some(entry) if is_number(cx, entry) => {
                let state = self.panels.get(&entry.channel).map(|panel| panel.chart.clone()).unwrap_or_default();
                chart(cx, entry).csv(&state)
            }
            Some(entry) => sample(cx, &entry.channel).map(|(_, sample)| Content::from(sample).csv()),
        }
    }

    /// The visible charts, each with the name of its channel.
    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        let named = |entry: &Entry| {
            let panel = self.panels.get(&entry.channel)?;
            let mut chart = panel.chart(cx, entry)?;
            chart.y.has_hidden_label = false;
            Some((chart, &panel.chart))
        };
        let charts: Vec<_> = entries(cx).iter().filter_map(named).collect();
        let name = charts.first()?.0.name.clone();
        joined(&name, shown_drawings(charts, cx.theme), cx.theme)
    }
}

/// A channel with the variants that have it.
struct Entry {
    channel: Channel,
    variants: Vec<usize>,
    /// The channel holds measurements rather than a number at each step.
    is_measured: bool,
}

/// The channels that no other view is made for; where there are none, all that have numbers.
fn entries(cx: &ViewCx<'_>) -> Vec<Entry> {
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
    // a run is opened to see its loss, which by name alone would follow what hooks have logged of every layer
    all.sort_by_cached_key(|entry| entry.is_measured || !entry.channel.as_str().to_lowercase().contains("loss"));
    match all.iter().any(is_own) {
        true => all.into_iter().filter(is_own).collect(),
        false => all.into_iter().filter(|entry| !entry.is_measured).collect(),
    }
}

/// The newest sample of a channel at the shown step, with its variant: of the variant in focus, if it has one; else the
/// answer to a question.
fn sample<'a>(cx: &ViewCx<'a>, channel: &Channel) -> Option<(usize, &'a Sample)> {
    let mirror = cx.mirror;
    logged_sample(cx, channel).or_else(|| cx.in_focus(|variant| mirror.answer(variant, channel.as_str())))
}

fn logged_sample<'a>(cx: &ViewCx<'a>, channel: &Channel) -> Option<(usize, &'a Sample)> {
    let mirror = cx.mirror;
    cx.in_focus(|variant| mirror.sample_at(variant, channel.as_str(), cx.step))
}

/// The chart of an entry, with one line per variant. Its y axis has no label, because the title names the channel.
fn chart<'a>(cx: &ViewCx<'a>, entry: &Entry) -> Chart<'a> {
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

/// True for a channel whose measurements are single numbers. A number that is an answer is not a line over steps.
fn is_number(cx: &ViewCx<'_>, entry: &Entry) -> bool {
    let is_number = |(_, sample): (usize, &Sample)| content::number(&sample.payload).is_some();
    !entry.is_measured || logged_sample(cx, &entry.channel).is_some_and(is_number)
}

/// The table of every number as of the shown step.
fn numbers_csv(cx: &ViewCx<'_>, entries: &[Entry]) -> Option<String> {
    let mut csv = Table::new(["channel", "variant", "step", "value"]);
    for entry in entries.iter().filter(|entry| !entry.is_measured) {
        for variant in &entry.variants {
            let curve = cx.mirror.curve(*variant, entry.channel.as_str());
            let Some((step, value)) = curve.and_then(|curve| curve.point_at(cx.step)) else { continue };
            let label = cx.mirror.variants().get(*variant).map_or("run", |v| v.id.as_str());
            csv.cells(&[&entry.channel, &label, &step, &value]);
        }
    }
    csv.finish_if_any()
}
