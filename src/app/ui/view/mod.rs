//! The face of a view towards its page, and what it sees of the run. The views themselves are listed in `views`.

use eframe::egui::{
    Rect, ScrollArea, Shape, Ui, UiBuilder, Vec2,
    containers::scroll_area::{DragScroll, ScrollAreaOutput, ScrollSource},
    epaint::ClippedShape,
    layers::ShapeIdx,
};

mod answer_state;
mod arrangement;
mod context;
mod controls;
mod drawings;
mod needs;
mod panel;
mod panel_view;

use super::mirror::Mirror;
pub use super::selection::Selection;
pub use answer_state::{Absence, AnswerState, OpenQuestion, Outdated, ShownAnswer};
pub use arrangement::{Arrangement, Placement};
pub use context::{Measured, ViewCx, sample_subtitle};
pub use controls::{LOCKED, is_without_model, lockable_ui};
pub use drawings::{joined, shown_drawings};
pub use panel::Panel;
pub use panel_view::{PanelView, panels};

/// Draws a view in a scroll area, which gives it the room there is or at least so much of it. A view that is shown again
/// begins at its top, and a row of text at the lower edge is whole or left out. `bars`: the width of the margin, at the right
/// of this room and below it, that is for bars alone, those of areas in the view among them, points.
pub fn scrolled_ui(
    ui: &mut Ui,
    view: &mut dyn View,
    cx: &mut ViewCx<'_>,
    least: Vec2,
    bars: f32,
) -> ScrollAreaOutput<()> {
    let by = ScrollSource { drag: DragScroll::Never, ..ScrollSource::default() };
    let most = ui.available_size() - Vec2::splat(bars);
    let area = ScrollArea::both().id_salt("view").auto_shrink(false).scroll_source(by);
    let area = if is_shown_anew(ui) { area.scroll_offset(Vec2::ZERO) } else { area };
    let first = ui.ctx().graphics_mut(|layers| layers.entry(ui.layer_id()).next_idx());
    let shown = area.show(ui, |ui| {
        let room = ui.available_size();
        let scroll = &mut ui.spacing_mut().scroll;
        scroll.floating_allocated_width -= bars;
        // where the margin has the bar of the whole view, others lie over what they scroll
        scroll.bar_outer_margin = (most.x - room.x).min(0.0);
        let place = Rect::from_min_size(ui.next_widget_position(), room.min(most).max(least));
        ui.scope_builder(UiBuilder::new().max_rect(place), |ui| view.ui(ui, cx));
    });
    let edge = shown.inner_rect.intersect(ui.clip_rect()).bottom();
    ui.ctx().graphics_mut(|layers| {
        let shapes = layers.entry(ui.layer_id());
        for i in first.0..shapes.next_idx().0 {
            shapes.mutate_shape(ShapeIdx(i), |clipped| leave_out_cut_row(clipped, edge));
        }
    });
    shown
}

/// True in the first pass in which something is drawn here again.
fn is_shown_anew(ui: &Ui) -> bool {
    let (id, pass) = (ui.scope_id().with("shown"), ui.ctx().cumulative_pass_nr());
    ui.data_mut(|data| {
        let last: Option<u64> = data.get_temp(id);
        data.insert_temp(id, pass);
        last.is_none_or(|last| pass.saturating_sub(last) > 1)
    })
}

/// An area at least this high, points, may end within a row of text; a lower one is made for what it holds, unless the edge of
/// its view cuts it.
const MIN_CUT_AREA: f32 = 40.0;
/// The height below the ink of a row, points.
const DESCENT: f32 = 3.0;

/// Ends the text above the row that the lower edge of its area would cut: half a row cannot be read. `edge`: that of its view.
fn leave_out_cut_row(clipped: &mut ClippedShape, edge: f32) {
    let (clip, Shape::Text(text)) = (clipped.clip_rect, &clipped.shape) else { return };
    if clip.height() < MIN_CUT_AREA && clip.bottom() < edge - 1.0 || text.angle != 0.0 {
        return;
    }
    let mut rows = text.galley.rows.iter().map(|row| row.rect().translate(text.pos.to_vec2()));
    let is_cut = |row: &Rect| row.top() < clip.bottom() && row.bottom() > clip.bottom() + DESCENT;
    if let Some(row) = rows.find(is_cut) {
        clipped.clip_rect.max.y = row.top().max(clip.top());
    }
}

/// A view of a run, which lives as long as its tile; what outlives that is in `Selection` or in settings.
pub trait View {
    /// Asks its questions and follows its curves. The page calls it in every frame before it draws the view.
    fn needs(&mut self, _cx: &mut ViewCx<'_>) {}

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>);

    /// The keys of the settings whose controls it shows, so that the control panel does not show them a second time.
    fn controls(&self) -> &'static [&'static str] {
        &[]
    }

    /// The title, if [`ViewEntry::title`] does not hold for the run.
    fn title(&self, _mirror: &Mirror) -> Option<String> {
        None
    }

    /// The subtitle beside the title, which names the data and their step.
    fn subtitle(&self, cx: &ViewCx<'_>) -> String;

    /// The caption of the view's pictures, if [`ViewEntry::about`] does not hold for the run.
    fn caption(&self, _mirror: &Mirror) -> Option<String> {
        None
    }

    /// CSV of exactly what is shown, with a header line; `None` while there is nothing.
    fn csv(&self, cx: &ViewCx<'_>) -> Option<String>;

    /// SVG of what is shown, for views such as charts whose own SVG is better than one of their painted shapes.
    fn svg(&self, _cx: &ViewCx<'_>) -> Option<String> {
        None
    }
}

pub struct ViewEntry {
    pub id: &'static str,
    pub title: &'static str,
    /// Two sentences: what it shows and how to read it. What a person can do in it is a line of its own.
    pub about: &'static str,
    pub make: fn() -> Box<dyn View>,
}

impl ViewEntry {
    /// Says how to read the view, without the lines about its controls, because a picture has none.
    pub fn description(&self) -> &'static str {
        self.about.split('\n').next().unwrap_or_default()
    }
}

/// The entry of a view that draws by itself.
pub const fn boxed<V: View + Default + 'static>(
    id: &'static str,
    title: &'static str,
    about: &'static str,
) -> ViewEntry {
    ViewEntry { id, title, about, make: || Box::<V>::default() }
}
