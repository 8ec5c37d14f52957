//! Tabs, sizes and colours of the tiles, as `egui_tiles` asks for them.

use eframe::egui::{Rangef, TextStyle, TextWrapMode, Visuals, WidgetText};
use egui_tiles::{Behavior, ResizeState, SimplificationOptions, TabState, Tabs, TileId, Tiles, UiResponse};

use super::TilesBehavior;
use crate::ui::{
    panels::prelude::*,
    tiling::{GAP, simplification},
};

impl Behavior<Pane> for TilesBehavior<'_> {
    fn pane_ui(&mut self, ui: &mut Ui, id: TileId, pane: &mut Pane) -> UiResponse {
        if self.tile_ui(ui, id, pane) { UiResponse::DragStarted } else { UiResponse::None }
    }

    fn tab_title_for_pane(&mut self, pane: &Pane) -> WidgetText {
        self.lists.view(&pane.view).map_or(pane.view.as_str(), |v| v.title).into()
    }

    /// The title of a tab, with the number that other titles have too.
    fn tab_title_for_tile(&mut self, tiles: &Tiles<Pane>, id: TileId) -> WidgetText {
        if let Some((_, title)) = self.front_title.as_ref().filter(|(tab, _)| *tab == id) {
            return title.clone().into();
        }
        let Some(pane) = tiles.get_pane(&id) else { return "Tiles".into() };
        let own = self.views.get(&id).and_then(|view| view.title(self.cx.mirror));
        let title = own.map_or_else(|| self.tab_title_for_pane(pane), WidgetText::from);
        match self.order.get(&id) {
            Some(number) if *number < 10 => format!("{number}  {}", title.text()).into(),
            _ => title,
        }
    }

    /// Only the tab in front has a button for it: more titles have room.
    fn is_tab_closable(&self, _tiles: &Tiles<Pane>, id: TileId) -> bool {
        self.in_front.contains(&id)
    }

    /// Closes the tab as its menu does: the tile keeps its place.
    fn on_tab_close(&mut self, _tiles: &mut Tiles<Pane>, id: TileId) -> bool {
        self.cx.act(PageAction::CloseTile(id));
        false
    }

    /// Notes the place of the title of a tab in front, and covers another title that an end of the bar cuts: a part of one
    /// cannot be read.
    fn on_tab_button(&mut self, _: &mut Tiles<Pane>, id: TileId, button: Response) -> Response {
        if self.in_front.contains(&id) {
            let title = DrawnTitle { pass: button.ctx.cumulative_pass_nr(), place: button.rect.x_range() };
            button.ctx.data_mut(|data| data.insert_temp(title_id(id), title));
        } else if is_cut(&button) && button.rect.width() <= self.title_room {
            let seen = button.interact_rect;
            let painter = button.ctx.layer_painter(button.layer_id).with_clip_rect(seen);
            painter.rect_filled(seen, 0.0, self.cx.theme.page);
        }
        match self.front_title.as_ref().filter(|(tab, title)| *tab == id && title.elided) {
            Some((_, title)) => button.on_hover_text(title.text()),
            None => button,
        }
    }

    /// Scrolls the bar to the tab that came to the front, its title cut off if too long to be between the arrows.
    fn top_bar_right_ui(&mut self, tiles: &Tiles<Pane>, ui: &mut Ui, bar: TileId, tabs: &Tabs, offset: &mut f32) {
        self.front_title = None;
        self.title_room = 0.0;
        let Some(tab) = tabs.active else { return };
        *offset += TabInFront::scroll_delta(ui, bar, tab);
        let has_others = tabs.children.iter().any(|other| *other != tab && tiles.is_visible_in_layout(*other));
        let arrows = if has_others { 2.0 * ARROW_WIDTH } else { 0.0 };
        self.title_room = ui.max_rect().width() - arrows;
        let close = self.close_button_outer_size() + CLOSE_GAP;
        let room = self.title_room - close - 2.0 * self.tab_title_spacing(ui.visuals());
        let title = self.tab_title_for_tile(tiles, tab);
        let title = title.into_galley(ui, Some(TextWrapMode::Truncate), room.max(0.0), TextStyle::Button);
        self.front_title = Some((tab, title));
    }

    /// Room behind the last title, where the titles do not fit: the bar can be scrolled until none lies under an arrow.
    /// Titles that fit into the whole bar need no arrow, even if one takes a part of it now.
    fn tab_bar_trailing_ui(&mut self, tiles: &Tiles<Pane>, ui: &mut Ui, bar: TileId, _: &Tabs) {
        let room = tiles.rect(bar).map_or(ui.clip_rect().width(), |bar| bar.width());
        if ui.min_rect().width() > room {
            ui.add_space(ARROW_WIDTH);
        }
    }

    fn simplification_options(&self) -> SimplificationOptions {
        simplification()
    }

    fn close_button_outer_size(&self) -> f32 {
        14.0
    }

    fn close_button_inner_margin(&self) -> f32 {
        3.5
    }

    fn gap_width(&self, _style: &egui::Style) -> f32 {
        GAP
    }

    fn min_size(&self) -> f32 {
        96.0
    }

    fn tab_bar_height(&self, _style: &egui::Style) -> f32 {
        28.0
    }

    fn resize_stroke(&self, _style: &egui::Style, state: ResizeState) -> Stroke {
        match state {
            ResizeState::Idle => Stroke::NONE,
            ResizeState::Hovering => Stroke::new(2.0, self.cx.theme.line),
            ResizeState::Dragging => Stroke::new(2.0, self.cx.theme.accent),
        }
    }

    fn tab_bar_color(&self, _visuals: &Visuals) -> Color32 {
        self.cx.theme.page
    }

    fn tab_bg_color(&self, _visuals: &Visuals, _tiles: &Tiles<Pane>, _id: TileId, state: &TabState) -> Color32 {
        if state.active { self.cx.theme.panel } else { Color32::TRANSPARENT }
    }

    fn tab_outline_stroke(&self, _visuals: &Visuals, _tiles: &Tiles<Pane>, _id: TileId, _state: &TabState) -> Stroke {
        Stroke::NONE
    }

    fn tab_bar_hline_stroke(&self, _visuals: &Visuals) -> Stroke {
        Stroke::NONE
    }

    fn tab_text_color(&self, _visuals: &Visuals, _tiles: &Tiles<Pane>, _id: TileId, state: &TabState) -> Color32 {
        if state.active { self.cx.theme.text } else { self.cx.theme.secondary }
    }

    fn drag_preview_stroke(&self, _visuals: &Visuals) -> Stroke {
        Stroke::new(1.0, self.cx.theme.accent)
    }

    fn drag_preview_color(&self, _visuals: &Visuals) -> Color32 {
        self.cx.theme.accent.gamma_multiply(0.2)
    }

    fn dragged_overlay_color(&self, _visuals: &Visuals) -> Color32 {
        self.cx.theme.page.gamma_multiply(0.6)
    }
}

/// True if an end of the bar cuts a tab, and a part of it is visible.
fn is_cut(button: &Response) -> bool {
    button.interact_rect.is_positive() && button.interact_rect.width() < button.rect.width() - 1.0
}

/// The key of the place of a tab's title.
fn title_id(tab: TileId) -> Id {
    Id::unique(("title of a tab", tab.0))
}

/// The horizontal position of a tab's title when it was last drawn.
#[derive(Debug, Clone, Copy)]
struct DrawnTitle {
    pass: u64,
    place: Rangef,
}

/// The active tab of a bar of tabs. Whenever it or a width changes, the bar scrolls to it for some frames, in which
/// titles and arrows are laid out; afterwards the user may scroll elsewhere.
#[derive(Debug, Clone, Copy)]
struct TabInFront {
    tab: TileId,
    /// Widths of the bar and of the title, points.
    widths: [f32; 2],
    /// Frames in which the bar still follows it.
    left: u8,
}

const FOLLOWED_FRAMES: u8 = 12;
/// The gap between a title and its close button, points.
const CLOSE_GAP: f32 = 4.0;
/// Room of an arrow at an end of a bar, points.
const ARROW_WIDTH: f32 = 40.0;

impl TabInFront {
    /// The distance by which the bar is to be scrolled in this frame, so that the title lies between its arrows. At the
    /// ends, where there is no arrow, the bar goes no further.
    fn scroll_delta(ui: &Ui, bar: TileId, tab: TileId) -> f32 {
        let id = Id::unique(("tab in front", bar.0));
        let bar = ui.max_rect().x_range();
        let last = ui.ctx().cumulative_pass_nr().saturating_sub(1);
        // a position noted in an earlier pass is out of date
        let title = ui.data(|data| data.get_temp::<DrawnTitle>(title_id(tab))).filter(|title| title.pass == last);
        let title = title.map(|title| title.place);
        let widths = [bar.span(), title.map_or(0.0, Rangef::span)].map(f32::round);
        let before = ui.data(|data| data.get_temp::<Self>(id));
        let before = before.filter(|before| before.tab == tab && before.widths == widths);
        let now = before.unwrap_or(Self { tab, widths, left: FOLLOWED_FRAMES });
        if now.left == 0 {
            return 0.0;
        }
        ui.data_mut(|data| data.insert_temp(id, Self { left: now.left - 1, ..now }));
        let seen = bar.shrink(ARROW_WIDTH);
        let way = title.map(|title| (title.min - seen.min).min(0.0) + (title.max - seen.max).max(0.0));
        if way.is_none_or(|way| way.abs() > 0.5) {
            ui.request_repaint();
        }
        way.unwrap_or(0.0)
    }
}
