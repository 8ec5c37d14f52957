//! The panels of the window, one per file, and their order on a lab's page. A panel only draws and pushes actions.

pub mod banner;
pub mod claims;
pub mod class_link;
pub mod consent_sheets;
pub mod controls;
pub mod frame_times;
pub mod help;
pub mod home;
pub mod icon;
pub mod inspector;
pub mod knob_row;
pub mod large_numbers;
pub mod lesson;
mod open_question;
pub mod open_sheet;
pub mod palette;
pub mod picture;
pub mod picture_sheet;
mod prelude;
pub mod runs;
pub mod sketch;
pub mod sweep;
pub mod sweep_draft;
mod sweep_process;
pub mod tiles;
pub mod toasts;
pub mod top_bar;
pub mod transport;

use eframe::egui::containers::scroll_area::{DragScroll, ScrollSource};

use self::prelude::*;
use super::{history::TrashedRun, theme::CORNER};

/// The state that every panel may read, and the queue of actions that it asks for.
pub struct Shell<'a> {
    pub theme: &'a Theme,
    pub session: &'a mut Session,
    pub lists: Lists,
    pub actions: &'a mut Actions,
    /// (name for the config, words, available).
    pub devices: &'a [(String, String, bool)],
    /// The deleted runs that undo takes back, the last one last.
    pub trash: &'a [TrashedRun],
    /// Seconds, egui's clock.
    pub now: f64,
}

impl Shell<'_> {
    pub fn act(&mut self, action: impl Into<Action>) {
        self.actions.push(action);
    }

    /// Asks for an action if the widget was clicked.
    pub fn on_click(&mut self, widget: Response, action: impl Into<Action>) {
        if widget.clicked() {
            self.act(action);
        }
    }
}

/// Heights and widths of the page, points.
pub const TOP_BAR_HEIGHT: f32 = 40.0;
pub const TRANSPORT_HEIGHT: f32 = 44.0;
pub const CONTROLS_WIDTH: f32 = 264.0;
pub const INSPECTOR_WIDTH: f32 = 288.0;
/// A page with less room than this between its bars, points, scrolls where its tiles would otherwise be lower than their
/// minimum, because a banner and the large numbers may stand above them.
const LOW_PAGE: f32 = 400.0;
const MIN_TILES_HEIGHT: f32 = 200.0;
/// The interval in seconds between reads of runs while they are being made.
const REREAD_SECONDS: f64 = 2.0;

/// A panel's ground, with this margin.
pub fn ground(theme: &Theme, margin: Margin) -> Frame {
    Frame::NONE.fill(theme.panel).inner_margin(margin)
}

/// A panel with this frame, and no line at its edge.
fn borderless(panel: Panel, frame: Frame) -> Panel {
    panel.show_separator_line(false).frame(frame)
}

/// A ground with round corners and a thin border.
fn bordered(ground: Color32, border: Color32, margin: Margin) -> Frame {
    Frame::NONE.fill(ground).stroke(Stroke::new(1.0, border)).corner_radius(CORNER).inner_margin(margin)
}

/// The button of a group that does what is usually wanted.
fn main_button(theme: &Theme, words: &str) -> Button<'static> {
    Button::new(RichText::new(words).color(theme.page)).fill(theme.accent)
}

/// The filter of a list, with an example and what its terms mean; true if it was changed.
fn filter_ui(ui: &mut Ui, theme: &Theme, filter: &mut String, example: &str, tip: &str) -> bool {
    let label = note_ui(ui, theme, "filter");
    let field = TextEdit::singleline(filter).hint_text(example).desired_width(360.0);
    ui.add(field).labelled_by(label.id).on_hover_text(tip).changed()
}

/// A text field of this width with a name for screen readers, and a hint that is shown while it is empty.
fn text_field_ui(ui: &mut Ui, text: &mut String, name: &str, hint: Option<RichText>, width: f32) -> Response {
    let field = TextEdit::singleline(text).desired_width(width);
    let field = if let Some(hint) = hint { field.hint_text(hint) } else { field };
    let shown = ui.add(field);
    shown.widget_info(|| WidgetInfo {
        label: Some(name.to_owned()),
        ..WidgetInfo::text_edit(true, "", text.as_str(), "")
    });
    shown
}

/// A lab's page: bars, side panels, tiles. `interrupted`: an interrupted run of the lab, for the page to mention.
pub fn lab_page_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, interrupted: Option<&PastRun>) {
    let bar = Margin::symmetric(12, 0);
    let title = page.lab.title;
    top_bar::top_bar_ui(ui, shell, Some(&mut *page), Some(title));
    // a graph file has neither steps nor settings
    if page.lab.has_runs() {
        borderless(Panel::bottom("transport").exact_size(TRANSPORT_HEIGHT), ground(shell.theme, bar))
            .show(ui, |ui| transport::transport_ui(ui, shell, page));
    }
    let (has_controls, has_inspector) = shell.session.side_panels(ui.ctx().content_rect().width());
    if has_controls && page.lab.has_runs() && !shell.session.is_presenting {
        let panel = Panel::left("controls").default_size(CONTROLS_WIDTH).size_range(224.0..=420.0);
        borderless(panel, ground(shell.theme, Margin::ZERO))
            .show(ui, |ui| in_place_ui(ui, |ui| controls::controls_ui(ui, shell, page)));
    }
    // a talk that follows the lesson shows its current step, and nothing else beside the tiles
    let is_presenting = shell.session.is_presenting;
    let has_step = shell.session.is_lesson_open() && page.lesson.step().is_some();
    let has_right_panel = if is_presenting { has_step } else { has_inspector };
    if has_right_panel {
        let panel = Panel::right("right panel").default_size(INSPECTOR_WIDTH).size_range(240.0..=520.0);
        borderless(panel, ground(shell.theme, Margin::ZERO)).show(ui, |ui| {
            in_place_ui(ui, |ui| match is_presenting {
                true => lesson::presented_ui(ui, shell, page),
                false => inspector::right_panel_ui(ui, shell, page),
            })
        });
    }
    // No fill: the window is cleared to the page's colour, and a second coat costs a software rasteriser.
    CentralPanel::default().frame(Frame::NONE.inner_margin(Margin::same(8))).show(ui, |ui| {
        page.fit_tiles(ui.available_size() - vec2(0.0, large_numbers::STRIP_HEIGHT));
        if ui.available_height() >= LOW_PAGE {
            return stage_ui(ui, shell, page, interrupted, 0.0);
        }
        // a drag on a touch screen is the chart's under it
        let by = ScrollSource { drag: DragScroll::Never, ..ScrollSource::default() };
        let area = ScrollArea::vertical().id_salt(page.lab.id).auto_shrink(false).scroll_source(by);
        area.show(ui, |ui| stage_ui(ui, shell, page, interrupted, MIN_TILES_HEIGHT));
    });
}

/// The tiles, with at least this height, below the banner and the large numbers.
fn stage_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, interrupted: Option<&PastRun>, min_height: f32) {
    banner::banner_ui(ui, shell, page, interrupted);
    large_numbers::large_numbers_ui(ui, shell, page);
    let room = ui.available_rect_before_wrap();
    let place = room.with_max_y(room.bottom().max(room.top() + min_height));
    // Named outright, so that a banner over the tiles does not end a drag in one.
    let builder = UiBuilder::new().max_rect(place).scope_id(Id::unique(("page", page.lab.id)));
    ui.scope_builder(builder, |ui| tiles::tiles_ui(ui, shell, page));
    ui.expand_to_include_rect(place);
}

/// Draws in the room that a side panel has: what is wider goes into its margin, and the panel keeps its width.
fn in_place_ui(ui: &mut Ui, add: impl FnOnce(&mut Ui)) {
    let place = ui.max_rect();
    add(&mut ui.new_child(UiBuilder::new().max_rect(place)));
    ui.expand_to_include_rect(place);
}

/// A sheet over the page.
#[derive(Debug)]
pub enum Overlay {
    Help,
    Palette(palette::Palette),
    Open(open_sheet::OpenSheet),
    /// Asks for the settings of a picture of a view.
    Picture(PictureOrder),
    /// Asks in which lab a dropped text file should open.
    ChooseLab(String),
    /// Asks for confirmation, because an action would end a training run.
    StopFirst(consent_sheets::StopSheet),
    /// Asks for confirmation, because a link names files of this machine.
    LinkedFiles(consent_sheets::LinkedFilesSheet),
    /// Makes a link for a class to the page in front.
    ClassLink(class_link::ClassLinkSheet),
}

impl Overlay {
    pub fn ui(&mut self, ctx: &Context, shell: &mut Shell<'_>, page: Option<&Page>) {
        let width: f32 = match self {
            Overlay::Help => 800.0,
            Overlay::StopFirst(_) => 440.0,
            _ => 560.0,
        };
        let theme = shell.theme.clone();
        let shadow = ctx.global_style().visuals.window_shadow;
        let frame = bordered(theme.panel, theme.line, Margin::same(16)).shadow(shadow);
        let backdrop = Color32::from_black_alpha(if theme.dark { 120 } else { 60 });
        // one sheet must not begin where another was scrolled to
        let kind = std::mem::discriminant(self);
        let response = egui::Modal::new(Id::unique("sheet")).frame(frame).backdrop_color(backdrop).show(ctx, |ui| {
            ui.set_width(width.min(ctx.content_rect().width() - 64.0));
            ui.push_id(kind, |ui| match self {
                Overlay::Help => help::help_ui(ui, shell),
                Overlay::Palette(palette) => palette.ui(ui, shell, page),
                Overlay::Open(sheet) => sheet.ui(ui, shell),
                Overlay::StopFirst(sheet) => sheet.ui(ui, shell),
                Overlay::LinkedFiles(sheet) => sheet.ui(ui, shell),
                Overlay::ClassLink(sheet) => page.into_iter().for_each(|page| sheet.ui(ui, shell, page)),
                Overlay::Picture(order) => picture_sheet::picture_sheet_ui(ui, shell, order),
                Overlay::ChooseLab(path) => open_sheet::choose_lab_ui(ui, shell, path),
            });
        });
        shell.on_click(response.backdrop_response, OpenAction::Back);
    }
}

/// Draws a slider that chooses the step shown; `None` follows the `last` one. `width` computes the slider's width from
/// the width available.
fn step_ui(ui: &mut Ui, theme: &Theme, shown: &mut Option<u64>, last: u64, width: fn(f32) -> f32, about: &str) {
    let label = note_ui(ui, theme, "step");
    ui.spacing_mut().slider_width = width(ui.available_width()).max(80.0);
    let mut step = shown.unwrap_or(last).min(last);
    let slider = Slider::new(&mut step, 0..=last.max(1)).integer();
    if ui.add(slider).labelled_by(label.id).on_hover_text(about).changed() {
        *shown = (step < last).then_some(step);
    }
}

/// True if a folder to which another process writes must be read again, `seconds` after it was last read; until then a
/// repaint is requested. `now` and `asked` are times of egui's clock.
fn is_read_again(ui: &Ui, now: f64, asked: f64, seconds: f64, is_reading: bool) -> bool {
    let waits = asked + seconds - now;
    if waits > 0.0 {
        ui.ctx().request_repaint_after_secs(waits as f32);
    }
    waits <= 0.0 && !is_reading
}

/// Removes an item from a set, or inserts it.
fn toggle<T: Ord>(set: &mut BTreeSet<T>, item: T) {
    if !set.remove(&item) {
        set.insert(item);
    }
}

/// Shortens a text to this many characters, with an ellipsis as the last one.
fn cut(text: &str, chars: usize) -> String {
    match text.chars().count() > chars {
        true => format!("{}\u{2026}", text.chars().take(chars.saturating_sub(1)).collect::<String>()),
        false => text.to_owned(),
    }
}

/// A line in the quiet colour, of the usual size.
fn quiet_ui(ui: &mut Ui, theme: &Theme, words: impl Into<String>) -> Response {
    ui.label(RichText::new(words).color(theme.secondary))
}

/// The title of a section, with a gap above it.
fn section_ui(ui: &mut Ui, theme: &Theme, title: impl Into<String>) {
    ui.add_space(8.0);
    note_ui(ui, theme, title);
}

/// The height that a sheet has for what scrolls beside its title or its row of buttons, points.
fn room_in_sheet(ui: &Ui) -> f32 {
    (ui.ctx().content_rect().height() - 160.0).max(160.0)
}

/// A vertical area, as high as its content but at most this high, that is at its top whenever it comes into sight.
fn area_from_top(ui: &Ui, name: &str, height: f32) -> ScrollArea {
    let (id, pass) = (ui.scope_id().with((name, "drawn")), ui.ctx().cumulative_pass_nr());
    let before = ui.ctx().data_mut(|data| std::mem::replace(data.get_temp_mut_or_default::<u64>(id), pass));
    let area = ScrollArea::vertical().id_salt(name).max_height(height).min_scrolled_height(height);
    if before + 1 < pass { area.vertical_scroll_offset(0.0) } else { area }
}

/// The distance that an arrow scrolls, points.
const SCROLL_STEP: f32 = 48.0;

/// Scrolls the area that is being drawn, of this height, by Page Up, Page Down, Home and End, and by the arrows while nothing
/// has the focus that they move. Call it after the content.
fn scroll_by_keys(ui: &Ui, height: f32) {
    let ctx = ui.ctx();
    // a sheet in front, a menu and a text field take the keys for themselves
    let is_behind = !ctx.memory(|m| m.allows_interaction(ui.layer_id()));
    if is_behind || Popup::is_any_open(ctx) || ctx.text_edit_focused() {
        return;
    }
    let (page, all) = ((height - SCROLL_STEP).max(SCROLL_STEP), ui.min_rect().height());
    let arrow = if ctx.memory(|m| m.focused().is_some()) { 0.0 } else { SCROLL_STEP };
    let keys = [
        (Key::PageUp, page),
        (Key::PageDown, -page),
        (Key::Home, all),
        (Key::End, -all),
        (Key::ArrowUp, arrow),
        (Key::ArrowDown, -arrow),
    ];
    let by: f32 = ui.input(|i| keys.iter().filter(|(key, _)| i.key_pressed(*key)).map(|(_, by)| by).sum());
    if by != 0.0 {
        ui.scroll_with_delta(vec2(0.0, by));
    }
}

pub fn hairline(ui: &mut Ui, theme: &Theme) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 1.0), Sense::hover());
    ui.painter().hline(rect.x_range(), rect.center().y, Stroke::new(1.0, theme.line));
}
