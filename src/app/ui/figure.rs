//! A view as a picture, with title and subtitle, off screen: what `orrery render`, headless runs,
//! tests and the window's PNG export use. It is the same view code as in the window.

use eframe::egui::{self, Color32, FontId, Rect, UiBuilder, Vec2, pos2, vec2};

use super::{
    action::Actions,
    mirror::Mirror,
    plot::{self, svg::Svg},
    questions::Questions,
    step_events,
    system_fonts::MissedCharacters,
    theme::{self, Theme},
    views::{self, Selection, View, ViewCx},
    widgets::{
        notes::note_width,
        truncated::{paint_truncated, without_middle},
    },
};
use crate::{
    config::{Config, Knob},
    gpu::{
        Target,
        offscreen::{Drawing, Image, Offscreen, Sheet, lay_out},
    },
    labs::restrictions::UNRESTRICTED,
};

/// Margin around a figure, points.
pub const MARGIN: f32 = 16.0;
/// The largest factor by which a picture may be made higher; charts above one another share the added height.
const MAX_HEIGHTENED: usize = 6;
/// Height of title and subtitle, points.
pub const HEAD_HEIGHT: f32 = 48.0;
/// The longest side of a picture, in pixels; what is larger is drawn with fewer pixels per point.
const MAX_PIXELS: f32 = 8000.0;
/// Between the clauses of a subtitle, and between it and the run's name.
const SEPARATOR: &str = " \u{b7} ";
/// A run's name is left out where it has no room for this many characters.
const MIN_NAME: usize = 4;

/// One view of one run at one step, to be drawn outside of its page.
#[derive(Clone, Copy)]
pub struct Figure<'a> {
    /// Id in [`views::VIEWS`].
    pub view: &'a str,
    /// The run's name, which precedes the subtitle and is shortened for the step in that; empty where something else
    /// beside the picture says it.
    pub run: &'a str,
    pub mirror: &'a Mirror,
    pub step: u64,
    pub config: &'a Config,
    pub knobs: &'a [Knob],
    pub theme: &'a Theme,
    /// Width and height in points, title included.
    pub size: [f32; 2],
    pub pixels_per_point: f32,
    /// The questions of the page that shows the view; `None` for a recorded run, which belongs to no page.
    pub questions: Option<&'a Questions>,
    /// Takes the place of the subtitle if the answer on display belongs to an earlier question.
    pub note: Option<&'a str>,
}

impl<'a> Figure<'a> {
    /// A view of the run's last step, in the usual size; `config` are the run's settings, `knobs` those of its lab.
    pub fn new(view: &'a str, mirror: &'a Mirror, config: &'a Config, knobs: &'a [Knob], theme: &'a Theme) -> Self {
        let (step, size, pixels_per_point) = (mirror.step, [960.0, 600.0], 2.0);
        Self { view, run: "", mirror, step, config, knobs, theme, size, pixels_per_point, questions: None, note: None }
    }
}

struct Pass {
    /// The reason why a part had nothing to show, if one had nothing.
    empty_reason: Option<String>,
    /// The height by which the picture is too low, points.
    missing_height: f32,
    /// True if some characters are missing from all fonts that are loaded so far.
    lacks_characters: bool,
}

/// The part of a subtitle up to the step that it names, or its first clause if it names none.
fn until_step(subtitle: &str) -> &str {
    let after_dot = subtitle.find(" \u{b7} step ").map(|dot| dot + SEPARATOR.len());
    let from = after_dot.filter(|_| !subtitle.starts_with("step ")).unwrap_or(0);
    let end = subtitle[from..].find(SEPARATOR).map_or(subtitle.len(), |dot| from + dot);
    &subtitle[..end]
}

/// The run's name before the view's subtitle. Where the step in that would have no room, the name loses its middle.
fn caption(run: &str, subtitle: &str, fits: impl Fn(&str) -> bool) -> String {
    let joined = |run: &str, words: &str| {
        let parts = [run, words].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(SEPARATOR)
    };
    let until_step = until_step(subtitle);
    let end = if until_step.len() < subtitle.len() { "\u{2026}" } else { "" };
    let has_step = |run: &str| run.is_empty() || fits(&format!("{}{end}", joined(run, until_step)));
    if has_step(run) {
        return joined(run, subtitle);
    }
    let mut names = (MIN_NAME..run.chars().count()).rev().map(|max| without_middle(run, max));
    let name = names.find(|name| has_step(name)).unwrap_or_default();
    joined(&name, subtitle)
}

/// The text with an ellipsis in place of the end that does not fit.
fn without_end(text: &str, fits: impl Fn(&str) -> bool) -> String {
    if fits(text) {
        return text.to_owned();
    }
    let is_between = |c: char| c.is_whitespace() || c == '\u{b7}';
    let shortened = |at: usize| format!("{}\u{2026}", text[..at].trim_end_matches(is_between));
    let mut beginnings = text.char_indices().rev().map(|(at, _)| shortened(at));
    beginnings.find(|beginning| fits(beginning)).unwrap_or_default()
}

/// The part of a sheet that is the view's own.
fn inside(sheet: Rect) -> Rect {
    let top_left = pos2(sheet.left() + MARGIN, sheet.top() + MARGIN + HEAD_HEIGHT - 8.0);
    Rect::from_min_max(top_left, sheet.right_bottom() - vec2(MARGIN, MARGIN))
}

/// The background of a sheet with its title and subtitle, each on a line, cut if too long, and the remaining room.
pub fn sheet_ui(ui: &mut egui::Ui, theme: &Theme, title: &str, subtitle: &str) -> egui::Ui {
    let sheet = ui.max_rect();
    ui.painter().rect_filled(sheet, 0.0, theme.panel);
    let line = |down: f32, text: &str, size: f32, colour: Color32| {
        let at = pos2(sheet.left() + MARGIN, sheet.top() + MARGIN - 4.0) + vec2(0.0, down);
        paint_truncated(ui.painter(), at, text, FontId::proportional(size), colour, sheet.width() - 2.0 * MARGIN);
    };
    line(0.0, title, theme::TITLE, theme.text);
    line(21.0, subtitle, theme::SMALL, theme.secondary);
    ui.new_child(UiBuilder::new().max_rect(inside(sheet)))
}

/// The bytes of a PNG file of this size in points. The error is a message.
pub fn png(
    offscreen: &mut Offscreen,
    theme: &Theme,
    size: Vec2,
    ui: impl FnMut(&mut egui::Ui),
) -> Result<Vec<u8>, String> {
    let sheet = Sheet { size: size.into(), pixels_per_point: (MAX_PIXELS / size.max_elem()).min(2.0) };
    let prepare = |ctx: &egui::Context| theme::apply(theme, true, ctx);
    let image = offscreen.draw(sheet, prepare, ui).map_err(|e| e.to_string())?;
    image.png().map_err(|e| e.to_string())
}

impl Figure<'_> {
    pub fn image(&self, offscreen: &mut Offscreen) -> Result<Image, String> {
        let drawing = self.lay_out(self.make()?.as_mut(), &mut Selection::default(), offscreen.target());
        offscreen.paint_drawing(drawing).map_err(|e| e.to_string())
    }

    /// Limits the height that a picture asks for to the largest that can be drawn, but never below the requested one,
    /// points.
    fn allowed_height(&self, height: f32) -> f32 {
        height.min((MAX_PIXELS / self.pixels_per_point).max(self.size[1]))
    }

    /// A given view, as it is, to be painted on another thread; higher than the figure if names or panels need that.
    pub fn lay_out(&self, view: &mut dyn View, selection: &mut Selection, target: Target) -> Drawing {
        let mut sheet = Sheet { size: self.size, pixels_per_point: self.pixels_per_point };
        let title = self.title(view);
        let mut heightened = 0;
        loop {
            let mut lacking = 0.0;
            let prepare = |ctx: &egui::Context| {
                theme::apply(self.theme, true, ctx);
                plot::begin_picture(ctx);
            };
            let drawing = lay_out(sheet, target, prepare, |ui| {
                self.show(ui, &title, view, selection);
                lacking = plot::missing_height(ui.ctx());
            });
            let height = self.allowed_height(sheet.size[1] + lacking);
            if height <= sheet.size[1] || heightened == MAX_HEIGHTENED {
                return drawing;
            }
            drawing.discard();
            sheet.size[1] = height;
            heightened += 1;
        }
    }

    /// SVG of a given view, on a sheet of the figure's size, or higher as in [`Figure::lay_out`], under the view's title:
    /// what the view writes of itself, else the shapes of its interface code.
    pub fn svg_of(&self, view: &mut dyn View, selection: &mut Selection) -> String {
        let mut figure = *self;
        for heightened in 0.. {
            let height = self.allowed_height(figure.size[1] + figure.pass(view, selection).missing_height);
            if height <= figure.size[1] || heightened == MAX_HEIGHTENED {
                break;
            }
            figure.size[1] = height;
        }
        let title = figure.title(view);
        let Some(inner) = figure.with_cx(selection, |cx| view.svg(cx)) else {
            return plot::drawing(&title, figure.size.into(), self.theme, |ui| {
                plot::begin_picture(ui.ctx());
                figure.show(ui, &title, view, selection);
            });
        };
        let sheet = Rect::from_min_size(pos2(0.0, 0.0), figure.size.into());
        // the caption is one line, as in the picture; its length follows from the mean width of a letter
        let letters = ((sheet.width() - 2.0 * MARGIN) / (0.56 * theme::SMALL)) as usize;
        let fits = |words: &str| words.chars().count() <= letters;
        let caption = without_end(&figure.caption(view, selection, fits), fits);
        let mut svg = Svg::new(&title, sheet.size(), self.theme.panel);
        let at = pos2(MARGIN, MARGIN + 10.0);
        svg.text(at, "start", &title, self.theme.text);
        svg.text(at + vec2(0.0, 19.0), "start", &caption, self.theme.secondary);
        svg.add_drawing(inside(sheet), &inner, 0);
        svg.finish()
    }

    pub fn png(&self, offscreen: &mut Offscreen) -> Result<Vec<u8>, String> {
        self.image(offscreen)?.png().map_err(|e| e.to_string())
    }

    /// CSV of what the figure shows, if it shows anything. Needs no adapter.
    pub fn csv(&self) -> Result<Option<String>, String> {
        let (mut view, mut selection) = (self.make()?, Selection::default());
        self.pass(view.as_mut(), &mut selection);
        Ok(self.with_cx(&mut selection, |cx| view.csv(cx)))
    }

    /// SVG of what the figure shows. Needs no adapter.
    pub fn svg(&self) -> Result<String, String> {
        Ok(self.svg_of(self.make()?.as_mut(), &mut Selection::default()))
    }

    /// The view's message if it has nothing to show; `None` if it shows something. Needs no adapter.
    pub fn empty_message(&self) -> Result<Option<String>, String> {
        let (mut view, mut selection) = (self.make()?, Selection::default());
        let words = self.pass(view.as_mut(), &mut selection).empty_reason;
        let has_data = self.with_cx(&mut selection, |cx| view.csv(cx).is_some());
        Ok(words.filter(|_| !has_data))
    }

    /// True if it has characters that only fonts of the system may have. Needs no adapter.
    pub fn lacks_characters(&self) -> Result<bool, String> {
        Ok(self.pass(self.make()?.as_mut(), &mut Selection::default()).lacks_characters)
    }

    /// Runs a pass of a view's interface code without painting, so that it has caught up with the run and knows its
    /// size.
    fn pass(&self, view: &mut dyn View, selection: &mut Selection) -> Pass {
        let (ctx, mut lacking) = (egui::Context::default(), 0.0);
        theme::apply(self.theme, true, &ctx);
        plot::begin_picture(&ctx);
        let missed = MissedCharacters::watch(&ctx);
        let screen = Rect::from_min_size(pos2(0.0, 0.0), vec2(self.size[0], self.size[1]));
        let input = egui::RawInput { screen_rect: Some(screen), ..Default::default() };
        let pass = ctx.run_ui(input, |ui| {
            self.show(ui, "", view, selection);
            lacking = plot::missing_height(ui.ctx());
        });
        pass.drop_without_applying_deltas();
        Pass { empty_reason: plot::empty_message(&ctx), missing_height: lacking, lacks_characters: missed.any() }
    }

    fn make(&self) -> Result<Box<dyn View>, String> {
        views::find(self.view).map(|entry| (entry.make)()).ok_or_else(|| {
            let known: Vec<_> = views::VIEWS.iter().map(|v| v.id).collect();
            format!("there is no view `{}`; there are {}", self.view, known.join(", "))
        })
    }

    /// The figure in the place that `ui` is, in the look of a picture: without controls.
    pub fn show(&self, ui: &mut egui::Ui, title: &str, view: &mut dyn View, selection: &mut Selection) {
        self.show_by(ui, title, view, selection, |ui, view, cx| view.ui(ui, cx));
    }

    /// Shows it like [`Figure::show`]; `draw` draws the view.
    pub fn show_by(
        &self,
        ui: &mut egui::Ui,
        title: &str,
        view: &mut dyn View,
        selection: &mut Selection,
        draw: impl FnOnce(&mut egui::Ui, &mut dyn View, &mut ViewCx<'_>),
    ) {
        let sheet = ui.max_rect();
        let fits = |words: &str| note_width(ui.painter(), words) <= sheet.width() - 2.0 * MARGIN;
        let caption = self.caption(view, selection, fits);
        plot::set_step_events(ui.ctx(), step_events::from_mirror(self.mirror, self.knobs).into());
        let mut inner = sheet_ui(ui, self.theme, title, &caption);
        self.with_cx(selection, |cx| {
            view.needs(cx);
            draw(&mut inner, view, cx);
        });
        // content below the edge of a picture, such as charts at their minimum heights, makes the picture higher
        let bottom = inner.min_rect().bottom();
        if bottom > sheet.bottom() {
            plot::note_lacking(ui.ctx(), (bottom - inside(sheet).bottom()).ceil());
        }
    }

    /// The title of a given view of the run.
    fn title(&self, view: &dyn View) -> String {
        let of_entry = || views::find(self.view).map_or("", |entry| entry.title).to_owned();
        view.title(self.mirror).unwrap_or_else(of_entry)
    }

    /// The run's name and the note, or else the view's subtitle, in one line ([`caption`]).
    fn caption(&self, view: &dyn View, selection: &mut Selection, fits: impl Fn(&str) -> bool) -> String {
        let subtitle = || self.with_cx(selection, |cx| view.subtitle(cx));
        caption(self.run, &self.note.map_or_else(subtitle, |note| note.replace('\n', " ")), fits)
    }

    /// A context in which asking and setting lead nowhere.
    pub(super) fn with_cx<R>(&self, selection: &mut Selection, f: impl FnOnce(&mut ViewCx<'_>) -> R) -> R {
        let mut actions = Actions::default();
        let mut questions = self.questions.cloned().unwrap_or_else(Questions::for_record);
        let mut cx = ViewCx {
            mirror: self.mirror,
            step: self.step,
            follow: self.step >= self.mirror.step,
            config: self.config,
            knobs: self.knobs,
            preset: self.config,
            restrictions: &UNRESTRICTED,
            theme: self.theme,
            selection,
            actions: &mut actions,
            questions: &mut questions,
            all_views: views::VIEWS,
            still: true,
            has_controls: false,
        };
        f(&mut cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caption_keeps_the_step_and_marks_what_is_left_out() {
        let run = "20261129-192125-fast_slow-fast_slow_needed-s7";
        let shown = |run: &str, subtitle: &str, letters: usize| {
            let fits = |words: &str| words.chars().count() <= letters;
            without_end(&caption(run, subtitle, fits), fits)
        };
        let gate = "step 205 \u{b7} weight of the slow path";
        assert_eq!(shown(run, gate, 90), format!("{run} \u{b7} {gate}"), "what fits is whole");
        assert_eq!(shown(run, gate, 62), format!("{run} \u{b7} step 205 \u{b7} we\u{2026}"));
        assert_eq!(shown(run, gate, 39), "20261129-192125-f\u{2026}needed-s7 \u{b7} step 205\u{2026}");
        assert_eq!(shown(run, "mean of heads \u{b7} step 7", 30), "202\u{2026}7 \u{b7} mean of heads \u{b7} step 7");
        assert_eq!(shown(run, gate, 12), "step 205\u{2026}", "the step stays where nothing else has room");
        assert_eq!(shown("", gate, 12), "step 205\u{2026}");
    }
}
