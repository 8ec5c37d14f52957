//! Tabs, sizes and colours of the tiles, as `egui_tiles` asks for them.

use eframe::egui::{self, Color32, Response, Stroke, Ui, Visuals, WidgetText};
use egui_tiles::{Behavior, ResizeState, SimplificationOptions, TabState, Tabs, TileId, Tiles, UiResponse};

use super::Stage;
use crate::ui::{action::PageAction, tiling::Pane};

impl Behavior<Pane> for Stage<'_> {
    fn pane_ui(&mut self, ui: &mut Ui, id: TileId, pane: &mut Pane) -> UiResponse {
        if self.tile_ui(ui, id, pane) { UiResponse::DragStarted } else { UiResponse::None }
    }

    fn tab_title_for_pane(&mut self, pane: &Pane) -> WidgetText {
        self.lists.view(&pane.view).map_or(pane.view.as_str(), |v| v.title).into()
    }

    /// With its number, as it stands before other titles.
    fn tab_title_for_tile(&mut self, tiles: &Tiles<Pane>, id: TileId) -> WidgetText {
        let Some(pane) = tiles.get_pane(&id) else { return "Tiles".into() };
        let title = self.tab_title_for_pane(pane);
        match self.order.get(&id) {
            Some(number) if *number < 10 => format!("{number}  {}", title.text()).into(),
            _ => title,
        }
    }

    /// Only the tab in front has a button for it: more titles have room.
    fn is_tab_closable(&self, _tiles: &Tiles<Pane>, id: TileId) -> bool {
        self.in_front.contains(&id)
    }

    /// Closed as from its menu: the tile keeps its place.
    fn on_tab_close(&mut self, _tiles: &mut Tiles<Pane>, id: TileId) -> bool {
        self.cx.act(PageAction::CloseTile(id));
        false
    }

    /// Notes how far the title of the tab in front lies out of sight.
    fn on_tab_button(&mut self, tiles: &mut Tiles<Pane>, id: TileId, button: Response) -> Response {
        if let Some(bar) = tiles.parent_of(id).filter(|_| self.in_front.contains(&id)) {
            TabInFront::note(&button, bar, id);
        }
        button
    }

    /// Scrolls the bar to the tab that has come to the front.
    fn top_bar_right_ui(&mut self, _: &Tiles<Pane>, ui: &mut Ui, bar: TileId, _: &Tabs, offset: &mut f32) {
        *offset += TabInFront::take_hidden(ui, bar);
    }

    fn simplification_options(&self) -> SimplificationOptions {
        SimplificationOptions { all_panes_must_have_tabs: false, ..Default::default() }
    }

    fn close_button_outer_size(&self) -> f32 {
        14.0
    }

    fn close_button_inner_margin(&self) -> f32 {
        3.5
    }

    fn gap_width(&self, _style: &egui::Style) -> f32 {
        8.0
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

/// The tab in front of a bar of tabs, until its title is in sight; from then on the bar may be scrolled elsewhere.
#[derive(Debug, Clone, Copy)]
struct TabInFront {
    tab: TileId,
    /// Points of its title that are out of sight; negative on the left.
    hidden: f32,
    /// Frames in which the bar may still be scrolled to it: a title may be wider than the bar.
    tries: u8,
}

const TRIES: u8 = 6;

impl TabInFront {
    fn id(bar: TileId) -> egui::Id {
        egui::Id::unique(("tab in front", bar.0))
    }

    fn note(button: &Response, bar: TileId, tab: TileId) {
        let before = button.ctx.data(|data| data.get_temp::<Self>(Self::id(bar)));
        let tries = before.filter(|before| before.tab == tab).map_or(TRIES, |before| before.tries);
        let (left, right) =
            (button.interact_rect.left() - button.rect.left(), button.rect.right() - button.interact_rect.right());
        let hidden = if left > 0.5 { -left } else { right.max(0.0) };
        let tries = if hidden.abs() > 0.5 { tries.saturating_sub(1) } else { 0 };
        if tries > 0 {
            button.ctx.request_repaint();
        }
        button.ctx.data_mut(|data| data.insert_temp(Self::id(bar), Self { tab, hidden, tries }));
    }

    /// The distance by which the bar is to be scrolled now.
    fn take_hidden(ui: &Ui, bar: TileId) -> f32 {
        let noted = ui.data(|data| data.get_temp::<Self>(Self::id(bar)));
        noted.filter(|noted| noted.tries > 0).map_or(0.0, |noted| noted.hidden)
    }
}
