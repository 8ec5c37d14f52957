//! The bar at the bottom: run, step, reset, pace, and time as an axis.

use super::icon::{Icon, IconStyle, icon_button, icon_button_in};
use crate::{
    labs::foreign,
    ui::{
        page::{
            play::{self, SPEEDS},
            training,
        },
        panels::prelude::*,
        plot::{StepEvent, near},
        step_events,
    },
};

/// Paces to choose from: name, steps per second (0: no limit), words.
const PACES: [(&str, f64, &str); 3] = [
    ("x1", 4.0, "Four steps per second"),
    ("x4", 16.0, "Sixteen steps per second"),
    ("max", 0.0, "As fast as it goes"),
];

/// Widths in points that these parts take, with the space before them; the scrubber at least.
const PACE_WIDTH: f32 = 80.0;
const FOLLOW_WIDTH: f32 = 36.0;
const PLAY_WIDTH: f32 = 104.0;
const SCRUBBER_WIDTH: f32 = 72.0;
/// The width that the counters usually take.
const COUNTERS_WIDTH: f32 = 150.0;

/// Draws the parts that have room. The buttons matter most, then the counters, the scrubber, the button Follow, the
/// controls that replay, and the pace.
pub fn transport_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page) {
    ui.horizontal_centered(|ui| {
        buttons_ui(ui, shell, page);
        let memory = page.run.as_ref().and_then(|run| run.memory.as_ref());
        if let Some(memory) = memory.filter(|_| ui.available_width() > 760.0) {
            note_ui(ui, shell.theme, format!("memory: about {memory}"))
                .on_hover_text("Memory that the run holds: an estimate from the settings.");
        }
        ui.add_space(8.0);
        if ui.available_width() >= PACE_WIDTH + COUNTERS_WIDTH + FOLLOW_WIDTH + SCRUBBER_WIDTH {
            pace_ui(ui, shell, page);
            ui.add_space(8.0);
        }
        counters_ui(ui, shell, page);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.available_width() >= FOLLOW_WIDTH + SCRUBBER_WIDTH {
                follow_ui(ui, shell, page);
            }
            if ui.available_width() >= PLAY_WIDTH + SCRUBBER_WIDTH {
                play_ui(ui, shell, page);
            }
            if ui.available_width() >= SCRUBBER_WIDTH {
                scrubber_ui(ui, shell, page);
            }
        });
    });
}

fn buttons_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page) {
    // another program trains it
    if !page.lab.makes_runs() {
        return;
    }
    if training::is_inspection_only(page) {
        let words = "Starts training this model: the view Loss shows its loss before and after. The settings under \
                     Training on say how long and how fast.";
        shell.on_click(ui.button("Train on").on_hover_text(words), RunAction::TrainOn);
        return;
    }
    if page.mirror().is_some_and(Mirror::is_followed) {
        let words = "Another process trains this run. The view Questions asks it what it allows: to pause, to save, or to \
                     scale its learning rate.";
        shell.on_click(ui.button("Ask the run").on_hover_text(words), PageAction::ShowView(foreign::QUESTIONS));
    } else {
        training_buttons_ui(ui, shell, page);
    }
    let reset = icon_button(ui, shell.theme, Icon::Reset, "Reset");
    let about = "Begin again with the settings shown (R). The old run stays in its folder.";
    shell.on_click(reset.on_hover_text(about), RunAction::Reset);
}

fn training_buttons_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page) {
    let running = page.run.as_ref().is_some_and(Run::is_running);
    let plays = play::run_plays(page);
    let is_on = running || plays && page.play.is_on();
    let (icon, name) = if is_on { (Icon::Pause, "Pause") } else { (Icon::Play, "Run") };
    let idle = training::why_idle(page).filter(|_| !plays);
    let button_ui = |ui: &mut Ui| icon_button_in(ui, shell.theme, icon, name, IconStyle::Primary);
    let run = ui.add_enabled_ui(idle.is_none(), button_ui).inner;
    let tip = match (running, play::space_plays(page)) {
        (false, true) if plays => "Play what was recorded (Space)".to_owned(),
        (false, true) => "Train on. Space plays what was recorded".to_owned(),
        _ => format!("{name} (Space)"),
    };
    let run = run.on_hover_text(tip).on_disabled_hover_text(sentence(idle));
    shell.on_click(run, RunAction::RunPause);
    let ended = training::why_ended(page);
    let step = ui.add_enabled_ui(ended.is_none(), |ui| icon_button(ui, shell.theme, Icon::Step, "Step")).inner;
    let step = step.on_hover_text("One step, then pause (→)").on_disabled_hover_text(sentence(ended));
    shell.on_click(step, RunAction::StepOnce);
}

fn sentence(why: Option<&str>) -> String {
    capitalised(why.unwrap_or_default()) + "."
}

fn pace_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page) {
    if !page.lab.makes_runs() || page.mirror().is_some_and(Mirror::is_followed) {
        return;
    }
    ui.spacing_mut().item_spacing.x = 4.0;
    for (name, pace, words) in PACES {
        let on = page.pace == pace;
        let colour = if on { shell.theme.accent } else { shell.theme.secondary };
        let button = ui.add(Button::new(RichText::new(name).font(theme::numbers()).color(colour)).frame(false));
        button.widget_info(|| WidgetInfo::selected(Role::Button, true, on, format!("Pace {name}")));
        if on {
            let r = button.rect;
            ui.painter().hline(r.x_range(), r.bottom(), Stroke::new(1.5, shell.theme.accent));
        }
        shell.on_click(button.on_hover_text(words), RunAction::Pace(pace));
    }
    ui.spacing_mut().item_spacing.x = 8.0;
}

fn counters_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page) {
    let number = |text: String| RichText::new(text).font(theme::numbers());
    let (shown, total) = (page.shown_step(), page.total());
    let width = number::grouped(total.max(100)).chars().count();
    let step = format!("{:>width$}", number::grouped(shown));
    let of_total = if total > 0 { format!("/ {}", number::grouped(total)) } else { String::new() };
    let numbers_width = text_width(ui.painter(), &format!("{step}{of_total}"), theme::numbers());
    if ui.available_width() < note_width(ui.painter(), "step") + numbers_width + 16.0 {
        return;
    }
    note_ui(ui, shell.theme, "step");
    let colour = if page.scrub.is_some() { shell.theme.accent } else { shell.theme.text };
    ui.label(number(step).color(colour));
    if total > 0 {
        ui.label(number(of_total).color(shell.theme.secondary));
    }
    if ui.available_width() < 500.0 {
        return;
    }
    let pace = pace_label(page.run.as_ref().and_then(Run::step_ms));
    ui.label(number(pace).color(shell.theme.secondary));
    let state = page.run.as_ref().map_or("no run yet", Run::state_label);
    let words = note_ui(ui, shell.theme, state);
    words.widget_info(|| WidgetInfo::labeled(Role::Status, true, format!("Run state: {state}")));
}

/// The time of a step after a separator, as wide as "· 99.9 s/step" unless a step takes 1000 seconds or more.
fn pace_label(ms: Option<f64>) -> String {
    let time = match ms {
        None => "– ms".to_owned(),
        Some(ms) if ms < 9.95 => format!("{ms:.1} ms"),
        Some(ms) if ms < 999.5 => format!("{ms:.0} ms"),
        Some(ms) if ms < 99_950.0 => format!("{:.1} s", 1e-3 * ms),
        Some(ms) => format!("{} s", number::grouped((1e-3 * ms).round() as u64)),
    };
    format!("\u{b7} {time:>6}/step")
}

fn follow_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page) {
    let following = page.scrub.is_none();
    let style = if following { IconStyle::On } else { IconStyle::Plain };
    let button = icon_button_in(ui, shell.theme, Icon::Follow, "Follow", style);
    let words = if following { "Every view follows the run" } else { "Back to the newest step (F or End)" };
    let action = if following { TimeAction::Scrub(page.newest()) } else { TimeAction::Follow };
    shell.on_click(button.on_hover_text(words), action);
}

/// The controls that replay a recorded run, from right to left: again at the end, the pace, and play.
fn play_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page) {
    let can_play = page.newest() > 0;
    ui.spacing_mut().item_spacing.x = 4.0;
    ui.add_enabled_ui(can_play, |ui| {
        let style = if page.play.loops { IconStyle::On } else { IconStyle::Plain };
        let loops = icon_button_in(ui, shell.theme, Icon::Loop, "Play again at the end", style);
        let loops = loops.on_hover_text("Starts over when it reaches the end.");
        shell.on_click(loops, TimeAction::PlayLoops(!page.play.loops));
        let speed = format!("{:.0} s", page.play.seconds);
        let words = RichText::new(speed).font(theme::numbers()).color(shell.theme.secondary);
        let menu = ui.add(Button::new(words).frame(false));
        menu.widget_info(|| WidgetInfo::labeled(Role::Button, can_play, "Speed of playing"));
        Popup::menu(&menu).show(|ui| {
            for seconds in SPEEDS {
                let words = format!("the whole run in {seconds:.0} s");
                if ui.selectable_label(page.play.seconds == seconds, words).clicked() {
                    shell.act(TimeAction::PlaySpeed(seconds));
                    ui.close();
                }
            }
        });
        menu.on_hover_text("Seconds in which the whole run is played.");
        let on = page.play.is_on();
        let (icon, name) = if on { (Icon::Pause, "Pause playing") } else { (Icon::Play, "Play what was recorded") };
        let play = icon_button_in(ui, shell.theme, icon, name, if on { IconStyle::On } else { IconStyle::Plain });
        let key = if play::space_plays(page) { " (Space)" } else { "" };
        let play = play.on_hover_text(format!("{name}{key}: every view goes through its steps."));
        shell.on_click(play, TimeAction::Play);
    });
    ui.spacing_mut().item_spacing.x = 8.0;
}

/// The scrubber: the whole run from left to right, the finished part in a stronger line, checkpoints as ticks under it.
fn scrubber_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page) {
    let newest = page.newest();
    let total = page.total().max(newest).max(1);
    ui.spacing_mut().slider_width = (ui.available_width() - 8.0).max(64.0);
    let mut step = page.shown_step();
    let slider = Slider::new(&mut step, 0..=total).show_value(false).trailing_fill(true);
    let slider = ui.add_enabled(newest > 0, slider.handle_shape(egui::style::HandleShape::Circle));
    slider.widget_info(|| WidgetInfo::slider(newest > 0, step as f64, "Step shown"));
    let track = slider.rect.shrink2(vec2(slider.rect.height() / 2.5, 0.0));
    let x = |s: u64| track.left() + track.width() * s as f32 / total as f32;
    let painter = ui.painter();
    if newest > 0 {
        let (from, y) = (x(step) + 6.0, track.center().y);
        let done = Rect::from_x_y_ranges(from..=x(newest).max(from), y - 1.0..=y + 1.0);
        painter.rect_filled(done, 1.0, shell.theme.secondary);
    }
    for s in page.mirror().map_or(&[][..], |m| &m.checkpoints) {
        let top = pos2(x(*s), track.center().y + 6.0);
        painter.vline(top.x, top.y..=top.y + 4.0, Stroke::new(1.5, shell.theme.secondary));
    }
    let events = page.mirror().map(|m| step_events::from_mirror(m, &page.knobs)).unwrap_or_default();
    for event in &events {
        let ends = track.center().y - 10.0..=track.center().y - 3.0;
        painter.vline(x(event.step).round() + 0.5, ends, Stroke::new(1.0, shell.theme.text));
    }
    if slider.changed() {
        shell.act(if step >= newest { TimeAction::Follow } else { TimeAction::Scrub(step) });
    }
    let pointer = slider.hover_pos().map_or(f32::NAN, |p| p.x);
    let mut tip: Vec<String> = near(&events, x, pointer).into_iter().map(StepEvent::label).collect();
    if tip.is_empty() {
        let goes_on = if page.run.as_ref().is_some_and(Run::is_running) { "; training goes on" } else { "" };
        let ticks = "Ticks below are checkpoints, above it changes and stages.";
        tip.push(format!("Drag to see every view as of that step{goes_on}. {ticks}"));
    }
    slider.on_hover_text(tip.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_apart_from_the_total_and_keeps_its_width() {
        let labels =
            [None, Some(2.04), Some(9.96), Some(999.0), Some(999.6), Some(2090.0), Some(99_900.0)].map(pace_label);
        assert_eq!(labels[5], "\u{b7}  2.1 s/step");
        for label in &labels {
            assert!(label.starts_with("\u{b7} ") && label.chars().count() == labels[0].chars().count(), "{labels:?}");
        }
        assert_eq!(pace_label(Some(1.1e6)), "\u{b7} 1\u{a0}100 s/step");
    }
}
