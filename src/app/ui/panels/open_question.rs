//! The note on a tile whose question has been open for a while: since when, its progress, and a button to cancel.

use crate::ui::{panels::prelude::*, questions::Unanswered};

/// Seconds after which the note appears.
const NOTE_DELAY: f64 = 0.5;
/// The interval at which the waiting time is updated, seconds.
const UPDATE_INTERVAL: f32 = 0.1;
/// Width of the text and the button, points.
const WIDTH: f32 = 190.0;

/// The question that has been open longest, if it has been open for [`NOTE_DELAY`]. Requests repaints while any is open.
pub fn overdue_question<'q>(ui: &Ui, open: &'q [Unanswered]) -> Option<&'q Unanswered> {
    if !open.is_empty() {
        ui.ctx().request_repaint_after_secs(UPDATE_INTERVAL);
    }
    open.iter().max_by(|a, b| a.since.total_cmp(&b.since)).filter(|q| q.since >= NOTE_DELAY)
}

/// The width that [`open_question_ui`] takes from a header's right end, its menu left out.
pub fn width(header: Rect) -> f32 {
    WIDTH.min(header.width() / 2.0)
}

/// Draws it at the right end of a tile's header; true if it is to be cancelled.
pub fn open_question_ui(ui: &mut Ui, theme: &Theme, header: Rect, question: &Unanswered) -> bool {
    let right = header.right() - 40.0;
    let rect = header.with_min_x(right - width(header)).with_max_x(right);
    let line = Rect::from_min_max(pos2(header.left() + 8.0, header.bottom() - 2.0), header.max - vec2(8.0, 0.0));
    ui.painter().hline(line.x_range(), line.center().y, Stroke::new(2.0, theme.line));
    if let Some(share) = question.share {
        let end = line.left() + line.width() * share.clamp(0.0, 1.0);
        ui.painter().hline(line.left()..=end, line.center().y, Stroke::new(2.0, theme.accent));
    }
    let place = UiBuilder::new().max_rect(rect).layout(Layout::right_to_left(Align::Center));
    let mut inner = ui.new_child(place.id_salt("open question"));
    let cancel = RichText::new("Cancel").size(theme::SMALL);
    let clicked = inner.add(Button::new(cancel).small()).on_hover_text("Cancels this question.").clicked();
    let left = inner.available_rect_before_wrap();
    let galley = inner.painter().layout_no_wrap(message(question), theme::small(), theme.secondary);
    if galley.size().x <= left.width() {
        let place = Align2::RIGHT_CENTER.anchor_size(left.right_center() - vec2(6.0, 0.0), galley.size());
        inner.painter().galley(place.min, galley, theme.secondary);
    }
    clicked
}

/// The waiting time, and the progress where it is known: "asking, 12 s" or "40%, 12 s".
fn message(question: &Unanswered) -> String {
    let since = question.since.round().max(1.0);
    question.share.map_or(format!("asking, {since:.0} s"), |share| format!("{:.0}%, {since:.0} s", share * 100.0))
}

#[cfg(test)]
mod tests {
    use eframe::egui;

    use super::*;

    #[test]
    fn an_open_question_shows_its_share_and_its_waiting_time() {
        let open = |share, since| Unanswered { request: 1, since, share };
        assert_eq!(message(&open(None, 0.6)), "asking, 1 s");
        assert_eq!(message(&open(Some(0.4), 12.3)), "40%, 12 s");
    }

    #[test]
    fn a_question_that_is_young_is_not_mentioned() {
        let young = [Unanswered { request: 1, since: 0.2, share: None }];
        let old = [young[0].clone(), Unanswered { request: 2, since: 3.0, share: None }];
        egui::__run_test_ui(|ui| {
            assert_eq!(overdue_question(ui, &young), None);
            assert_eq!(overdue_question(ui, &old).map(|q| q.request), Some(2));
        });
    }
}
