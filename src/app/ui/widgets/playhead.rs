//! Reading along a row of tokens: back, play, next and a slider.

use std::time::Duration;

use eframe::egui::{Slider, Ui, WidgetInfo, accesskit::Role};

/// When the cursor last moved by itself; `None` while it stands.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Playhead {
    playing: Option<f64>,
}

impl Playhead {
    pub fn stop(&mut self) {
        self.playing = None;
    }

    /// Plays from where the cursor stands; `now`: seconds.
    pub fn start(&mut self, now: f64) {
        self.playing = Some(now);
    }

    /// The controls in one row, and the cursor moved by them or by time: one token each `pace` seconds.
    /// `what` names a token: "word".
    pub fn ui(&mut self, ui: &mut Ui, what: &str, pace: f64, cursor: usize, last: usize) -> usize {
        let mut cursor = self.advance(ui, pace, cursor, last);
        ui.horizontal(|ui| {
            if ui.button("back").on_hover_text(format!("One {what} back.")).clicked() {
                (cursor, self.playing) = (cursor.saturating_sub(1), None);
            }
            let playing = self.playing.is_some();
            let words = if playing { "pause" } else { "play" };
            if ui.button(words).on_hover_text(format!("Reads {what} by {what}.")).clicked() {
                self.playing = if playing { None } else { Some(ui.input(|i| i.time)) };
                if !playing && cursor == last {
                    cursor = 0;
                }
            }
            if ui.button("next").on_hover_text(format!("One {what} on.")).clicked() {
                (cursor, self.playing) = ((cursor + 1).min(last), None);
            }
            ui.spacing_mut().slider_width = (ui.available_width() - 80.0).max(40.0);
            let mut shown = cursor + 1;
            let slider = ui.add(Slider::new(&mut shown, 1..=last + 1));
            slider.widget_info(|| WidgetInfo::labeled(Role::Slider, true, format!("{what} read last")));
            if slider.changed() {
                (cursor, self.playing) = (shown - 1, None);
            }
        });
        cursor
    }

    /// Asks for the next frame only while it plays.
    fn advance(&mut self, ui: &Ui, pace: f64, cursor: usize, last: usize) -> usize {
        let Some(since) = self.playing else { return cursor };
        if cursor >= last {
            self.playing = None;
            return cursor;
        }
        let now = ui.input(|i| i.time);
        ui.ctx().request_repaint_after(Duration::from_secs_f64(pace / 4.0));
        if now - since < pace {
            return cursor;
        }
        self.playing = Some(now);
        cursor + 1
    }
}
