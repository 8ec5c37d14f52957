//! *More views*: the list of the lab's views that are not open, in the title bar of the first tile.

use eframe::egui::text::{LayoutJob, TextFormat};
use egui_tiles::TileId;

use crate::ui::{panels::prelude::*, views_of};

const BUTTON_LABEL: &str = "More views";
/// Width of the button with the gap at its left, points.
const BUTTON_WIDTH: f32 = 92.0;
/// Room for the menu of the tile at its right, points.
const MENU_WIDTH: f32 = 40.0;
/// Size of the list, points.
const LIST_SIZE: Vec2 = vec2(380.0, 420.0);

/// The views that are not open, and the tile that lists them.
pub(super) struct MoreViews {
    tile: Option<TileId>,
    views: Vec<&'static ViewEntry>,
}

impl MoreViews {
    pub(super) fn new(lists: Lists, lab: &str, tiling: &Tiling) -> Self {
        let (order, active) = (tiling.in_order(), tiling.tree.active_tiles());
        let is_open = |view: &str| order.iter().any(|(_, open)| open == view);
        let closed = views_of(lists, lab).into_iter().filter(|view| !is_open(view));
        let first = order.iter().map(|(id, _)| *id).find(|id| active.is_empty() || active.contains(id));
        Self { tile: tiling.maximised.or(first), views: closed.filter_map(|view| lists.view(view)).collect() }
    }

    /// The width that the button takes from the title bar of a tile.
    pub(super) fn button_width(&self, tile: TileId) -> f32 {
        if self.tile == Some(tile) && !self.views.is_empty() { BUTTON_WIDTH } else { 0.0 }
    }

    /// The button at the right end of a tile's title bar, and the list that it opens.
    pub(super) fn show(&self, ui: &mut Ui, theme: &Theme, header: Rect, actions: &mut Actions) {
        let right = header.right() - MENU_WIDTH;
        let place = Rect::from_x_y_ranges(right - BUTTON_WIDTH..=right, header.y_range());
        let layout = Layout::right_to_left(Align::Center);
        let mut inner = ui.new_child(UiBuilder::new().max_rect(place).layout(layout).id_salt("more views"));
        let words = RichText::new(BUTTON_LABEL).size(theme::SMALL).color(theme.secondary);
        let button = inner.add(Button::new(words).small().frame(false));
        button.widget_info(|| WidgetInfo::labeled(Role::Button, true, BUTTON_LABEL));
        let tip = match self.views.len() {
            1 => "One more view of this lab.".to_owned(),
            n => format!("{n} more views of this lab."),
        };
        let button = button.on_hover_text(tip);
        Popup::menu(&button).show(|ui| {
            ui.set_width(LIST_SIZE.x);
            ScrollArea::vertical().max_height(LIST_SIZE.y).show(ui, |ui| {
                for entry in &self.views {
                    if entry_ui(ui, theme, entry) {
                        actions.push(PageAction::ShowView(entry.id));
                        ui.close();
                    }
                }
            });
        });
    }
}

/// A view's title with the first sentence about it; true if it is chosen.
fn entry_ui(ui: &mut Ui, theme: &Theme, entry: &ViewEntry) -> bool {
    let body = TextFormat::simple(FontId::proportional(theme::BODY), theme.text);
    let mut job = LayoutJob::single_section(entry.title.to_owned(), body);
    let small = TextFormat::simple(FontId::proportional(theme::SMALL), theme.secondary);
    job.append(&format!("\n{}", first_sentence(entry.about)), 0.0, small);
    let button = ui.add(Button::new(job).frame(false).wrap()).on_hover_text(entry.about);
    button.widget_info(|| WidgetInfo::labeled(Role::Button, true, entry.title));
    button.clicked()
}

fn first_sentence(about: &str) -> &str {
    let about = about.lines().next().unwrap_or_default();
    about.find(". ").and_then(|end| about.get(..=end)).unwrap_or(about)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{labs::LABS, ui::views::VIEWS};

    #[test]
    fn every_view_has_one_sentence_in_the_list() {
        for view in VIEWS {
            let sentence = first_sentence(view.about);
            assert!(sentence.ends_with(['.', '?', ':']) && sentence.len() < 220, "{}: {sentence}", view.id);
        }
        assert_eq!(first_sentence("One. Two."), "One.");
        assert_eq!(first_sentence("One."), "One.");
    }

    /// Closed views are in the list too, and nothing is there twice.
    #[test]
    fn the_list_has_every_view_that_is_not_open() {
        for lab in LABS {
            let mut tiling = Tiling::new(lab.id, lab.panes);
            let (first, view) = tiling.in_order()[0].clone();
            tiling.close(first);
            let more = MoreViews::new(Lists::default(), lab.id, &tiling);
            let mut all: Vec<String> = tiling.in_order().into_iter().map(|(_, view)| view).collect();
            all.extend(more.views.iter().map(|entry| entry.id.to_owned()));
            let mut expected: Vec<&str> = lab.panes.iter().map(|pane| pane.view).collect();
            all.sort();
            expected.sort_unstable();
            assert_eq!(all, expected, "{}", lab.id);
            assert!(more.views.iter().any(|entry| entry.id == view));
            assert!(more.tile.is_some_and(|tile| tile != first), "another tile has the list");
        }
    }
}
