//! One control: the name of the setting with its badge, the widget that suits its range, and the error of the last
//! edit. A setting whose control is also on a visible tile is only named here.

use std::{cell::RefCell, ops::RangeInclusive};

use egui::{FontSelection, TextStyle, text::LayoutJob};

use crate::{
    config::Range,
    labs::trained_bdh::settings::ContextSettings,
    telemetry::{measurements::TrainedBdh, neuron_name},
    ui::{legal, page::controls::acts_in_views, panels::prelude::*, widgets::markdown::sentence_job},
};

/// A range wider than this has no slider: a drag could not hit a value.
const MAX_SLIDER_RANGE: f64 = 1e5;

pub fn knob_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, knob: &Knob) {
    let Some(value) = page.config.get(knob.key).cloned() else { return };
    // Named outright: a control keeps its name, and a drag continues, whatever comes or goes above it.
    let place = UiBuilder::new().scope_id(Id::unique(("control", page.lab.id, knob.key)));
    ui.scope_builder(place, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        ui.add_space(2.0);
        let lock = page.restrictions.locks(knob.key).then_some(knob.label);
        let row = lockable_ui(ui, lock, |ui| match page.controls.in_tiles.get(knob.key).cloned() {
            Some(view) => elsewhere_ui(ui, shell, page, knob, &view),
            None => value_ui(ui, shell, page, knob, &value),
        });
        if lock.is_some() {
            let cover = ui.interact(row.response.rect, ui.scope_id().with("locked"), Sense::hover());
            let tip = knob_tooltip(knob, page);
            let theme = shell.theme.clone();
            cover.on_hover_ui(move |ui| tip_ui(ui, &theme, &tip));
        }
        if let Some(words) = page.refused.get(knob.key) {
            wrapped_ui(ui, format!("! {words}"), shell.theme.error);
        }
    });
}

/// The widget that the setting's range asks for.
fn value_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, knob: &Knob, value: &Value) {
    match (&knob.range, value) {
        (Range::Int { min, max }, Value::Int(v)) => {
            let Page { lab, config, run, controls, .. } = page;
            let mirror = run.as_ref().map(|run| &run.mirror);
            let last = legal::last_layer(lab, config, knob, mirror, &mut controls.checkpoint_layer);
            let max = last.map_or(*max, |last| last.max(*v).clamp(*min, *max));
            int_ui(ui, shell, page, knob, *v, [*min, max]);
        }
        (Range::Float { min, max, log }, Value::Float(v)) => {
            float_ui(ui, shell, page, knob, *v, [*min, *max], *log);
        }
        (Range::Switch, Value::Switch(on)) => switch_ui(ui, shell, page, knob, *on),
        (Range::Choice(of), Value::Text(chosen)) => choice_ui(ui, shell, page, knob, chosen, of),
        (_, value) => {
            let shown = selected_neuron(page, knob).unwrap_or_else(|| value.to_string());
            text_ui(ui, shell, page, knob, &shown);
        }
    }
}

/// The neuron that is selected in the graph, for the setting whose place it takes.
fn selected_neuron(page: &Page, knob: &Knob) -> Option<String> {
    let neuron = page.selection.neuron.filter(|_| knob.key == ContextSettings::neuron.name)?;
    let model = page.mirror().and_then(legal::measured::<TrainedBdh>);
    let per_head = model.and_then(|model| model.neurons.checked_div(model.heads)).unwrap_or(0);
    Some(neuron_name(neuron as usize, per_head))
}

/// Draws the name of a setting whose control is in a visible tile, with a link to that tile.
fn elsewhere_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, knob: &Knob, view: &str) {
    let Some(entry) = shell.lists.view(view) else { return };
    row_ui(ui, shell, page, knob, |ui, shell, _| {
        let words = format!("in {}", entry.title);
        let link = Button::new(small_text(&words, shell.theme.secondary)).frame(false);
        let link = ui.add(link.truncate());
        link.widget_info(|| {
            WidgetInfo::labeled(Role::Link, true, format!("{} is in the tile {}", knob.label, entry.title))
        });
        let about = "Its control is in that tile; a click selects the tile.";
        let link = link.on_hover_text(about).on_hover_cursor(CursorIcon::PointingHand);
        shell.on_click(link, PageAction::ShowView(entry.id));
    });
}

/// The name, dotted where the value is not the preset's, to which a double-click resets; the paper's symbol; the unit.
fn name_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, knob: &Knob) -> Response {
    let theme = shell.theme;
    let differs = page.differs(knob.key);
    ui.spacing_mut().item_spacing.x = 4.0;
    let sought = page.scroll_to == Some(knob.key);
    let colour = if sought || differs { theme.text } else { theme.secondary };
    let name = ui.add(Label::new(RichText::new(knob.label).color(colour)).sense(Sense::click()));
    // a locked setting has its padlock where the dot would be
    if differs && !page.restrictions.locks(knob.key) {
        ui.painter().circle_filled(name.rect.left_center() - vec2(8.0, 0.0), 2.5, theme.accent);
    }
    if sought {
        name.scroll_to_me(Some(Align::Center));
        ui.painter().hline(name.rect.x_range(), name.rect.bottom(), Stroke::new(1.5, theme.accent));
    }
    if !knob.symbol.is_empty() {
        ui.label(symbol_text(ui, knob.symbol, theme.secondary));
    }
    // egui counts a click elsewhere just before as the first of three.
    if name.double_clicked() || name.triple_clicked() {
        shell.act(SettingAction::Restore(knob.key.to_owned()));
    }
    if sought && ui.input(|i| i.pointer.any_pressed()) {
        page.scroll_to = None;
    }
    let tip = knob_tooltip(knob, page);
    let theme = theme.clone();
    name.on_hover_ui(move |ui| tip_ui(ui, &theme, &tip))
}

/// A paper's symbol; what follows its underscore is a subscript.
fn symbol_text(ui: &Ui, symbol: &str, colour: Color32) -> LayoutJob {
    let (base, subscript) = symbol.split_once('_').unwrap_or((symbol, ""));
    let size = TextStyle::Small.resolve(ui.style()).size;
    let mut job = LayoutJob::default();
    for (part, size) in [(base, size), (subscript, 0.75 * size)] {
        let text = RichText::new(part).small().italics().size(size).color(colour);
        text.append_to(&mut job, ui.style(), FontSelection::Default, Align::BOTTOM);
    }
    job
}

const VIEWS_FOLLOW: &str = "The views that show it follow at once.";

struct KnobTooltip {
    title: String,
    about: &'static str,
    notes: Vec<String>,
}

fn knob_tooltip(knob: &Knob, page: &Page) -> KnobTooltip {
    let mut notes = vec![];
    if page.restrictions.locks(knob.key) {
        notes.push(LOCKED.to_owned());
    } else if let (true, Some(v)) = (page.differs(knob.key), page.preset.get(knob.key)) {
        notes.push(format!("Preset: {v}. Double-click the name to go back."));
    }
    let begun = page.run.as_ref().is_some_and(|r| !Run::is_untouched(r));
    let when = match (knob.applies, begun) {
        (Applies::Live, true) if page.mirror().is_some_and(Mirror::is_followed) => {
            Some("Another process trains the run shown: a change applies at a reset (R).")
        }
        (Applies::Live, true) if acts_in_views(page, knob) => Some(VIEWS_FOLLOW),
        (Applies::Live, true) if page.run.as_ref().is_some_and(Run::has_ended) => {
            Some("The run shown has ended: a change applies at a reset (R).")
        }
        (Applies::Live, true) if !page.reaches_run() => {
            Some("The run shown was begun with other settings: a change applies at a reset (R).")
        }
        (Applies::Live, _) => Some("Acts on the running model at once."),
        (Applies::InViews, _) => Some(VIEWS_FOLLOW),
        (Applies::AtReset, true) if page.waits_for_reset(knob.key) => Some("This change waits for a reset (R)."),
        (Applies::AtReset, true) => Some("A change applies at a reset (R)."),
        (Applies::AtReset, false) => None,
    };
    notes.extend(when.map(str::to_owned));
    if selected_neuron(page, knob).is_some() {
        notes.push("Selected in the graph. Another one that is typed takes its place.".to_owned());
    }
    if !matches!(knob.range, Range::Switch | Range::Text | Range::File(_)) {
        notes.push(format!("Takes {}.", knob.accepts()));
    }
    notes.push(format!("In files: {}", knob.key));
    let symbol = if knob.symbol.is_empty() { String::new() } else { format!("  ({})", knob.symbol) };
    KnobTooltip { title: format!("{}{symbol}", knob.label), about: knob.tip, notes }
}

fn tip_ui(ui: &mut Ui, theme: &Theme, tip: &KnobTooltip) {
    ui.label(RichText::new(&tip.title).strong());
    if !tip.about.is_empty() {
        ui.label(sentence_job(theme, tip.about, theme::BODY, theme.text));
    }
    tip.notes.iter().for_each(|note| _ = note_ui(ui, theme, note));
}

/// Name on the left, `value` on the right, on one line.
fn row_ui(
    ui: &mut Ui,
    shell: &mut Shell<'_>,
    page: &mut Page,
    knob: &Knob,
    value: impl FnOnce(&mut Ui, &mut Shell<'_>, &Response),
) -> Response {
    ui.horizontal(|ui| {
        let name = name_ui(ui, shell, page, knob);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| value(ui, shell, &name));
        name
    })
    .inner
}

fn unit_ui(ui: &mut Ui, theme: &Theme, knob: &Knob) {
    if !knob.unit.is_empty() {
        note_ui(ui, theme, knob.unit);
    }
}

/// Sliders as wide as the panel and no higher than need be.
fn slim_sliders(ui: &mut Ui) {
    let space = ui.spacing_mut();
    space.interact_size.y = 14.0;
    space.slider_rail_height = 3.0;
    space.item_spacing.y = 0.0;
    ui.spacing_mut().slider_width = ui.available_width();
}

/// A text typed into a field that is not a number, or one outside of the field's range.
#[derive(Default)]
struct RefusedText(RefCell<Option<String>>);

impl RefusedText {
    /// The number that was typed, if the field takes it.
    fn parse(&self, typed: &str, range: RangeInclusive<f64>, number: Option<f64>) -> Option<f64> {
        let taken = number.filter(|number| range.contains(number));
        if taken.is_none() {
            self.0.replace(Some(typed.trim().to_owned()));
        }
        taken
    }

    /// Shows below the control which value was refused.
    fn show(self, page: &mut Page, knob: &Knob, range: RangeInclusive<String>) {
        if let Some(typed) = self.0.into_inner() {
            let (min, max) = range.into_inner();
            page.refused
                .insert(knob.key.to_owned(), format!("\u{201c}{typed}\u{201d} is not a number from {min} to {max}"));
        }
    }
}

fn int_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, knob: &Knob, v: i64, [min, max]: [i64; 2]) {
    let mut value = v;
    let (mut changed, mut is_dragged) = (false, false);
    let refused = RefusedText::default();
    let name = row_ui(ui, shell, page, knob, |ui, shell, name| {
        unit_ui(ui, shell.theme, knob);
        let field = DragValue::new(&mut value)
            .range(min..=max)
            .speed(((max as f64 - min as f64) / 400.0).clamp(0.02, 4.0))
            .custom_parser(|text| refused.parse(text, min as f64..=max as f64, text.trim().parse().ok()));
        let field = ui.add(field.update_while_editing(false)).labelled_by(name.id);
        changed |= field.changed();
        is_dragged = field.dragged();
    });
    if changed && is_dragged {
        value = legal::nearest_legal(page.lab, &page.config, &page.knobs, knob, value);
    }
    if (max as f64 - min as f64) <= MAX_SLIDER_RANGE {
        slim_sliders(ui);
        let log = max as f64 - min as f64 > 400.0;
        let slider = Slider::new(&mut value, min..=max).show_value(false).logarithmic(log);
        let slider = ui.add(slider).labelled_by(name.id);
        if slider.changed() {
            // a key moves it by one, which may be less than the way to the next legal value
            value = match slider.interact_pointer_pos() {
                Some(_) => legal::nearest_legal(page.lab, &page.config, &page.knobs, knob, value),
                None => legal::next_legal(page.lab, &page.config, &page.knobs, knob, [v, value]),
            };
            changed = true;
        }
    }
    if changed && value != v {
        shell.act(SettingAction::Change(knob.key.to_owned(), Value::Int(value)));
    }
    refused.show(page, knob, min.to_string()..=max.to_string());
}

/// `log`: the slider is logarithmic.
fn float_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, knob: &Knob, v: f64, [min, max]: [f64; 2], log: bool) {
    let mut value = v;
    let mut changed = false;
    let refused = RefusedText::default();
    let speed = if log { (v.abs() * 0.01).max(min.max(1e-9)) } else { (max - min) / 400.0 };
    let name = row_ui(ui, shell, page, knob, |ui, shell, name| {
        unit_ui(ui, shell.theme, knob);
        let field = DragValue::new(&mut value)
            .range(min..=max)
            .speed(speed)
            .custom_formatter(|v, _| number::short(v))
            // what is shown may have fewer digits: a field that is only passed through keeps its value
            .custom_parser(|text| match text.trim() {
                shown if shown == number::short(v) => Some(v),
                typed => refused.parse(typed, min..=max, typed.replace(',', ".").parse().ok()),
            })
            .update_while_editing(false);
        changed |= ui.add(field).labelled_by(name.id).changed();
    });
    if log || (max - min) <= MAX_SLIDER_RANGE {
        slim_sliders(ui);
        let slider = Slider::new(&mut value, min..=max).show_value(false).logarithmic(log).smart_aim(true);
        changed |= ui.add(slider).labelled_by(name.id).changed();
    }
    if changed && value != v {
        shell.act(SettingAction::Change(knob.key.to_owned(), Value::Float(value)));
    }
    refused.show(page, knob, number::short(min)..=number::short(max));
}

fn switch_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, knob: &Knob, on: bool) {
    row_ui(ui, shell, page, knob, |ui, shell, name| {
        let (rect, mut response) = ui.allocate_exact_size(vec2(32.0, 18.0), Sense::click());
        if response.clicked() {
            response.mark_changed();
            shell.act(SettingAction::Change(knob.key.to_owned(), Value::Switch(!on)));
        }
        response.widget_info(|| WidgetInfo::selected(Role::Switch, true, on, ""));
        let response = response.labelled_by(name.id);
        let theme = shell.theme;
        let ground = if on { theme.accent } else { theme.line };
        ui.painter().rect_filled(rect, 9.0, ground);
        if response.has_focus() || response.hovered() {
            let stroke = Stroke::new(1.0, theme.secondary);
            ui.painter().rect_stroke(rect, 9.0, stroke, StrokeKind::Outside);
        }
        let x = if on { rect.right() - 9.0 } else { rect.left() + 9.0 };
        let knob_colour = if on { theme.page } else { theme.secondary };
        ui.painter().circle_filled(pos2(x, rect.center().y), 6.0, knob_colour);
        note_ui(ui, theme, if on { "on" } else { "off" });
    });
}

fn choice_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, knob: &Knob, chosen: &str, of: &[&'static str]) {
    row_ui(ui, shell, page, knob, |ui, shell, name| {
        let choices = of.iter().map(|option| (*option, (*option).to_owned(), *option == chosen));
        if let (Some(option), _) = list_box(ui, ("choice", name.id), 112.0, chosen, choices) {
            shell.act(SettingAction::Change(knob.key.to_owned(), Value::Text(option.to_owned())));
        }
    });
}

fn text_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, knob: &Knob, text: &str) {
    let file = knob.file_kind();
    let name = row_ui(ui, shell, page, knob, |ui, shell, _| {
        let Some(kind) = file else { return };
        let browse = ui.small_button("Browse…");
        browse.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Browse for {}", knob.label)));
        shell.on_click(browse, FileAction::PickFor(knob.key, DialogKind::Open(kind)));
    });
    let draft = page.drafts.entry(knob.key.to_owned()).or_insert_with(|| text.to_owned());
    let hint = match file {
        None => "",
        Some(FileKind::TextFolder) => "none: type or browse for a folder",
        Some(FileKind::Sentences | FileKind::Treebank) => "none: type or browse for a file",
        Some(FileKind::Text | FileKind::Tokenizer | FileKind::Checkpoint | FileKind::Vocabulary | FileKind::Matrix) => {
            "none: type or drop a path"
        }
    };
    let hint = small_text(hint, shell.theme.secondary);
    let field = TextEdit::singleline(draft).hint_text(hint).desired_width(f32::INFINITY);
    let field = ui.add(field).labelled_by(name.id);
    let draft = draft.clone();
    if field.lost_focus() && draft != text {
        if selected_neuron(page, knob).is_some() {
            // the typed neuron replaces one that was selected in a view
            page.selection.neuron = None;
        }
        shell.act(SettingAction::Change(knob.key.to_owned(), Value::Text(draft.trim().to_owned())));
    }
    if field.lost_focus() || !field.has_focus() {
        page.drafts.remove(knob.key);
    }
}
