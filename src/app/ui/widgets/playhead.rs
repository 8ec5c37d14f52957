//! Reading along a row of tokens: back, play, next and a slider.

use std::time::Duration;

use eframe::egui::{Label, Slider, TextStyle, Ui, WidgetInfo, accesskit::Role};

use super::truncated::text_width;

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

    /// The controls in one row, which move what is `selected`, as time does: one token each `pace` seconds. Returns the token
    /// at the cursor, the last one where none is selected. Tokens are counted from 0, as on every axis and where it is said
    /// what is selected. `what` names a token: "word". `name` gives the position a name in place of its number: "word 3,
    /// sweep 3".
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        what: &str,
        pace: f64,
        selected: &mut Option<usize>,
        last: usize,
        name: Option<&dyn Fn(usize) -> String>,
    ) -> usize {
        let before = selected.unwrap_or(last).min(last);
        let mut cursor = self.advance(ui, pace, before, last);
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
            let font = TextStyle::Body.resolve(ui.style());
            let room = name.map_or(80.0, |name| text_width(ui.painter(), &name(last), font) + 24.0);
            ui.spacing_mut().slider_width = (ui.available_width() - room).max(40.0);
            let mut shown = cursor;
            let slider = ui.add(Slider::new(&mut shown, 0..=last).show_value(name.is_none()));
            slider.widget_info(|| WidgetInfo::labeled(Role::Slider, true, format!("{what} read last")));
            if slider.changed() {
                (cursor, self.playing) = (shown, None);
            }
            if let Some(name) = name {
                ui.add(Label::new(name(cursor)).truncate());
            }
        });
        if cursor != before {
            *selected = Some(cursor);
        }
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

#[cfg(test)]
mod tests {
    use eframe::egui::{Context, RawInput, accesskit::Node};

    use super::*;
    use crate::ui::theme::{self, Theme};

    /// The nodes on screen while the last token is read.
    fn nodes(what: &str, last: usize, name: Option<&dyn Fn(usize) -> String>) -> Vec<Node> {
        let ctx = Context::default();
        theme::apply(&Theme::dark(), true, &ctx);
        ctx.enable_accesskit();
        let mut playhead = Playhead::default();
        let out = ctx.run_ui(RawInput::default(), |ui| _ = playhead.ui(ui, what, 0.1, &mut None, last, name));
        let update = out.platform_output.accesskit_update.clone();
        out.drop_without_applying_deltas();
        update.into_iter().flat_map(|update| update.nodes).map(|(_, node)| node).collect()
    }

    #[test]
    fn the_first_token_is_that_of_position_0() {
        let nodes = nodes("token", 79, None);
        let sliders = nodes.iter().filter(|node| node.role() == Role::Slider);
        let ends = sliders.map(|node| [node.min_numeric_value(), node.max_numeric_value()]);
        assert_eq!(ends.collect::<Vec<_>>(), [[Some(0.0), Some(79.0)]]);
    }

    #[test]
    fn a_position_with_a_name_has_no_number() {
        let name = |at: usize| format!("word {}, sweep {}", at / 3 + 1, at % 3 + 1);
        let nodes = nodes("sweep", 8, Some(&name));
        assert!(nodes.iter().any(|node| [node.value(), node.label()].contains(&Some("word 3, sweep 3"))));
        assert!(nodes.iter().all(|node| node.role() != Role::SpinButton));
    }
}
