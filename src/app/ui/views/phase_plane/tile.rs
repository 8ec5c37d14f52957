//! The tile: controls, notices, the interactive picture and its numbers, and their export into files.

use super::{
    Mode, PhasePlane, PortraitSource, evolves,
    numbers::{self, STACKED_WIDTH, integrator_label, numbers_ui, overflow_sentence, own_numbers_ui},
    portrait::PhasePortrait,
    scene::{Scene, SceneStyle, share_label},
    selected_layer_and_head,
};
use crate::ui::views::{
    flow::{camera::Frame, streaks::Background},
    prelude::*,
};

const EMPTY: &str = "No queries and keys have been measured yet. A run is asked at its start: press Space. The harmonic toy \
                     and the double well need no run.";
const NONE_EVOLVE: &str = "No variant of this run evolves its queries and keys before they meet: they are scored as projected. The \
                      coupled variants do, by Euler's method or by leapfrog; and the two toys need no run.";

impl PhasePlane {
    fn caption(&self, shown: &PhasePortrait) -> String {
        match shown.source {
            PortraitSource::Toy(toy, _) => format!(
                "{}. Grey: levels of energy, the start\u{2019}s own lighter; the true path never leaves it. The blob is \
                 drawn at the start and after n steps. Drag to move the start; scroll to zoom.",
                toy.system().formula
            ),
            PortraitSource::Token(_, token, ..) => {
                let Some(learned) = self.learned() else { return String::new() };
                let (own, share) = (learned.model_stepping, shown.plane.shares.map_or(1.0, |[a, b]| a + b));
                let close = match learned.f64_distances.get(token).copied().flatten().zip(learned.max_error()) {
                    Some((off, max)) => format!(
                        "the same steps here end {} from it ({} at most over {} tokens)",
                        value_label(off),
                        value_label(max),
                        learned.f64_distances.len()
                    ),
                    None => "it overflows 32 bits, so there is no end to compare with".to_owned(),
                };
                format!(
                    "Ring with a cross: the end that the model computed with its own \u{394}t {}, n {}, {}; {close}. The \
                     plane holds {} of the variance of starts and ends. Streaks: the whole field at points of this \
                     plane, embedded through the tokens\u{2019} mean and projected back. A learned f has no potential, \
                     so there is no energy to keep.",
                    value_label(own.dt),
                    own.steps,
                    integrator_label(own.integrator),
                    share_label(share),
                )
            }
        }
    }

    /// Draws the portrait with its controls, or the reason why there is none.
    fn shown_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, measured: Option<Measured<'_, QueryKeyPaths>>) {
        let is_low = plot::is_lower(ui, LOW_HEIGHT);
        let Some(shown) = self.portrait(cx) else {
            if self.mode(cx) == Mode::Learned && !self.text.is_empty() {
                cx.controls_ui(ui, |ui, cx| self.text_ui(ui, cx));
            }
            return self.why_not_ui(ui, cx, measured);
        };
        cx.controls_ui(ui, |ui, cx| {
            self.step_ui(ui, &shown, |this, ui| {
                if is_low {
                    this.plane_ui(ui, cx, &shown, true);
                }
            });
            if !is_low {
                self.plane_ui(ui, cx, &shown, false);
            }
        });
        // A change by a slider is drawn in this frame.
        let shown = self.portrait(cx).unwrap_or(shown);
        let tokens = measured.map(|m| &m.sample.tokens[..]);
        if let Some(tokens) = tokens.filter(|_| !is_low) {
            Self::tokens_ui(ui, cx, &shown, tokens);
        }
        if let Some(words) = overflow_sentence(&shown) {
            wrapped_ui(ui, format!("! {words}"), cx.theme.error);
        }
        self.body_ui(ui, cx, &shown, if is_low { FOOTER_PEEK_HEIGHT } else { 0.0 });
        if let Some(tokens) = tokens.filter(|_| is_low) {
            Self::tokens_ui(ui, cx, &shown, tokens);
        }
    }

    /// The picture, and the numbers beside it or, in a high tile, below.
    /// Something of height `under` has room below both.
    fn body_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, shown: &PhasePortrait, under: f32) {
        let learned = self.learned();
        let mut caption = self.caption(shown);
        if let Some(why) = self.no_field.as_ref().filter(|_| self.background != Background::Nothing) {
            let _ = write!(caption, " No streaks: {why}.");
        }
        let mut room = ui.available_size();
        if under > 0.0 {
            room.y = (room.y - under).max(plot::MIN_PLOT_SIZE.y);
        }
        let is_beside = room.x > 1.3 * room.y || room.y < MIN_ABOVE_NUMBERS;
        // without the button that opens them, the details are there; a picture has none
        let has_details = self.has_details || cx.has_controls && !cx.shows_controls();
        let high = numbers::height(is_beside, has_details);
        let size = match is_beside {
            true => vec2((room.x - STACKED_WIDTH - 10.0).max(140.0), room.y.max(high + 22.0)),
            false => room,
        };
        let (rect, _) = ui.allocate_exact_size(vec2(room.x, size.y), Sense::hover());
        let (canvas, words) = if is_beside {
            (Rect::from_min_size(rect.min, size), rect.with_min_x(rect.left() + size.x + 10.0))
        } else {
            let at = rect.bottom() - high - caption_height(ui, &caption, rect.width()) - 4.0;
            (rect.with_max_y(at), rect.with_min_y(at + 4.0))
        };
        let child = |ui: &mut Ui, rect: Rect| {
            ui.new_child(UiBuilder::new().max_rect(rect).layout(Layout::top_down(Align::Min)))
        };
        self.canvas_ui(&mut child(ui, canvas), cx, shown, canvas.size());
        let mut side = child(ui, words);
        let look = SceneStyle::new(cx.mirror, cx.selection.variant, cx.theme);
        own_numbers_ui(&mut side, look, shown, is_beside);
        // a picture has nothing to unfold the details with
        if cx.shows_controls() {
            fold_ui(&mut side, cx.theme, "Details", &mut self.has_details);
        }
        if has_details {
            numbers_ui(&mut side, look, shown, learned.as_deref(), is_beside);
        }
        if is_beside {
            side.add_space(6.0);
        }
        let has_room = caption_height(&side, &caption, words.width()) <= side.available_height();
        // a picture has no pointer to open it
        if has_room || cx.has_controls {
            caption_ui(&mut side, cx.theme, &caption, has_room, "what is shown (hover)", "");
        }
    }

    /// Notices above the picture: the variant that the queries and keys belong to, and an overflow.
    fn notices_ui(&self, ui: &mut Ui, cx: &mut ViewCx<'_>, measured: Option<Measured<'_, QueryKeyPaths>>) {
        let focus = cx.selection.variant;
        let of_focus = self.variant_paths(cx, focus);
        let lacks = of_focus.filter(|m| !evolves(m.value));
        let Some((_, shown)) = lacks.zip(measured).filter(|(_, m)| m.variant != focus) else { return };
        let label = |v: usize| cx.mirror.variant_label(v).to_owned();
        let has = |v: &usize| self.variant_paths(cx, *v).is_some_and(|m| evolves(m.value));
        let others: Vec<(usize, String)> = (0..cx.mirror.variants().len()).filter(has).map(|v| (v, label(v))).collect();
        let words = format!("\u{201c}{}\u{201d} scores queries and keys as they are projected. Shown:", label(focus));
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            note_ui(ui, cx.theme, words);
            for (variant, name) in others {
                let words = RichText::new(name).size(theme::SMALL);
                if ui.selectable_label(variant == shown.variant, words).clicked() {
                    cx.selection.variant = variant;
                }
            }
        });
    }

    /// Explains why the measurement has no picture, and offers a next step.
    fn why_not_ui(&self, ui: &mut Ui, cx: &mut ViewCx<'_>, measured: Option<Measured<'_, QueryKeyPaths>>) {
        let Some(m) = measured else {
            cx.shows_nothing();
            return cx.unmeasured_ui::<QueryKeyPaths>(ui, EMPTY);
        };
        if !evolves(m.value) {
            const ASKING_NOTE: &str = "Asking the other variants whether their queries and keys evolve.";
            let are_asked = cx.is_waiting_for::<QueryKeyPaths>(None);
            return cx.nothing_ui(ui, if are_asked { ASKING_NOTE } else { NONE_EVOLVE });
        }
        if m.evolution.is_none() {
            let evolving = m.evolves.iter().enumerate().filter(|(_, e)| **e).map(|(l, _)| l);
            ui.horizontal_wrapped(|ui| {
                ui.label(format!("In layer {} queries and keys are scored as projected. They evolve in", m.layer));
                for layer in evolving {
                    if ui.button(format!("layer {layer}")).clicked() {
                        cx.selection.layer = Some(format!("layers.{layer}"));
                    }
                }
            });
            return;
        }
        let why = self.read.as_ref().and_then(|r| r.learned.as_ref().err());
        let words = why.cloned().unwrap_or_else(|| cx.empty_reason::<QueryKeyPaths>(EMPTY));
        cx.nothing_ui(ui, &words);
    }

    /// The tokens that were read, the shown one marked; a click takes another.
    fn tokens_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, shown: &PhasePortrait, tokens: &[String]) {
        let Some(token) = shown.token() else { return };
        let theme = cx.theme;
        let ground = theme.accent.gamma_multiply(0.3);
        let mark = |i: usize| TokenMark { ground: (i == token).then_some(ground), outline: None };
        if let Some(clicked) = token_strip_ui(ui, theme, tokens, mark).clicked {
            cx.selection.token = Some(clicked);
            ui.ctx().request_repaint();
        }
    }

    /// The camera set on what is shown, and the patch of the plane that is visible: left, right, low, high.
    fn frame(&self, sheet: Rect, shown: &PhasePortrait) -> (Frame, [f32; 4]) {
        let frame = self.camera.frame(sheet.shrink2(vec2(18.0, 20.0)), shown.camera_points(self.close).into_iter());
        let zero = frame.project([0.0; 3]);
        let (x, y) = (|at: f32| (at - zero.x) / frame.scale, |at: f32| (zero.y - at) / frame.scale);
        (frame, [x(sheet.left()), x(sheet.right()), y(sheet.bottom()), y(sheet.top())])
    }

    /// The field behind the paths, computed again when another patch of the plane is shown.
    fn follow_field(&mut self, shown: &PhasePortrait, patch: [f32; 4]) {
        let of = match shown.source {
            // the defaults, because the field depends neither on the start nor on the number of steps
            PortraitSource::Toy(toy, _) => PortraitSource::Toy(toy, toy.system().settings),
            PortraitSource::Token(read, _, _, plane) => PortraitSource::Token(read, 0, (0.0, 0), plane),
        };
        if self.field_of == Some((of, patch)) {
            return;
        }
        let field = match of {
            PortraitSource::Toy(toy, _) => shown.plane.field(&toy.system().force, patch),
            PortraitSource::Token(..) => self.learned().and_then(|l| shown.plane.field(&l.force, patch)),
        };
        self.streaks.set(field.unwrap_or_default(), patch);
        self.field_of = Some((of, patch));
    }

    fn canvas_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, shown: &PhasePortrait, size: Vec2) {
        self.size = size;
        let (sheet, response, painter) = canvas_ui(ui, size, Sense::click_and_drag(), "phase plane");
        self.camera.zoom(ui, &response, response.hovered());
        let (frame, patch) = self.frame(sheet, shown);
        if self.background != Background::Nothing {
            self.follow_field(shown, patch);
            let flowing = self.background == Background::Flowing && !cx.still;
            self.no_field = self.streaks.paint(ui, sheet, &frame, 0.0, flowing, cx.theme).err();
        }
        let look = SceneStyle::new(cx.mirror, cx.selection.variant, cx.theme);
        Scene { painter: &painter, frame: &frame, look, sheet }.paint(shown, patch);
        self.point(&response, cx, &frame, shown);
    }

    /// Dragging sets the start of a toy; on paths of tokens the pointer names and selects one.
    fn point(&mut self, response: &Response, cx: &mut ViewCx<'_>, frame: &Frame, shown: &PhasePortrait) {
        if let PortraitSource::Toy(toy, _) = shown.source {
            if let Some(at) = response.interact_pointer_pos().filter(|_| response.dragged()) {
                let zero = frame.project([0.0; 3]);
                let kept = |v: f32| (f64::from(v / frame.scale).clamp(-4.0, 4.0) * 100.0).round() / 100.0;
                self.toys[toy as usize].start = [kept(at.x - zero.x), kept(zero.y - at.y)];
                response.ctx.request_repaint();
            }
            return;
        }
        let Some(pointer) = response.hover_pos() else { return };
        let far = |places: &[[f64; 2]]| {
            let line: Vec<Pos2> = places.iter().map(|[x, y]| frame.project([*x as f32, *y as f32, 0.0])).collect();
            distance_to(&line, pointer)
        };
        let nearest = shown.others.iter().map(|o| (far(&o.places), o.token)).min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, token)) = nearest.filter(|(far, _)| *far < 10.0) else { return };
        if response.clicked() {
            cx.selection.token = Some(token);
            response.ctx.request_repaint();
        }
        let text = self.measured(cx).and_then(|m| m.sample.tokens.get(token));
        let name = text.map_or(String::new(), |t| format!(" \u{201c}{}\u{201d}", t.replace('\n', "\u{b6}")));
        response.clone().on_hover_text_at_pointer(format!("token {token}{name}"));
    }
}

/// A lower tile, points, has the plane's controls in a menu after the first row, and tokens and notices at the end.
const LOW_HEIGHT: f32 = 300.0;
/// Height that the picture leaves to what is under it in such a tile, points.
const FOOTER_PEEK_HEIGHT: f32 = 20.0;
/// Height from which a tile has room for numbers below the picture, points.
const MIN_ABOVE_NUMBERS: f32 = 365.0;

/// The height of the caption in a given width, points.
fn caption_height(ui: &Ui, caption: &str, width: f32) -> f32 {
    note_height(ui, caption, width) + 4.0
}

impl View for PhasePlane {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        if self.mode(cx) != Mode::Learned {
            return;
        }
        let (focus, (layer, head)) = (cx.selection.variant, selected_layer_and_head(cx));
        let args = QueryKeyPathsArgs { text: self.text.clone(), layer, head, ..QueryKeyPathsArgs::default() };
        cx.ask::<QueryKeyPaths>(Some(focus), &args, Freshness::OFTEN);
        if self.variant_paths(cx, focus).is_some_and(|m| !evolves(m.value)) && cx.mirror.variants().len() > 1 {
            // another variant may evolve its queries and keys although this one does not
            cx.ask::<QueryKeyPaths>(None, &args, Freshness::OFTEN);
        }
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let measured = (self.mode(cx) == Mode::Learned).then(|| self.measured(cx)).flatten();
        self.read(measured);
        self.background = self.chosen.unwrap_or_else(|| Background::default_for(ui));
        ui.spacing_mut().item_spacing.y = 4.0;
        let chosen = cx.controls_ui(ui, |ui, cx| self.mode_ui(ui, cx, measured.map(|m| m.value))).flatten();
        let is_low = plot::is_lower(ui, LOW_HEIGHT);
        if !is_low {
            self.notices_ui(ui, cx, measured);
        }
        self.shown_ui(ui, cx, measured);
        if is_low {
            self.notices_ui(ui, cx, measured);
        }
        if chosen.is_some() {
            // the next frame shows the other mode, once its data are read
            self.mode = chosen;
            ui.ctx().request_repaint();
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        if let Mode::Toy(toy) = self.mode(cx) {
            return format!("computed, no model: {} toy, {}", toy.system().label, toy.system().formula);
        }
        let Some(m) = self.measured(cx) else { return "queries and keys under their evolution".to_owned() };
        let label = cx.mirror.variant_label(m.variant);
        let head = match &m.evolution {
            Some(_) => format!("layer {} head {}", m.layer, m.head),
            None => "queries and keys as projected".to_owned(),
        };
        format!("step {} \u{b7} {label} \u{b7} {head} \u{b7} {}", m.sample.step, m.sample.about)
    }

    /// The paths on the plane, step by step.
    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let shown = self.last_portrait(cx)?;
        let token = shown.token().unwrap_or(0);
        let names = &shown.plane.names;
        let mut table = Table::new(["path", "token", "step", names[0].as_str(), names[1].as_str()]);
        let mut rows = |what: &str, token: usize, places: &[[f64; 2]]| {
            places.iter().enumerate().for_each(|(step, [x, y])| table.cells(&[&what, &token, &step, x, y]));
        };
        shown.tracks.iter().for_each(|t| rows(integrator_label(t.integrator), token, &t.places));
        shown.others.iter().for_each(|o| rows("other token", o.token, &o.places));
        if let Some(end) = shown.model_end {
            rows("model's end", token, &[end]);
        }
        Some(table.finish())
    }

    /// The picture without the field behind it.
    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        let shown = self.last_portrait(cx)?;
        let sheet = Rect::from_min_size(Pos2::ZERO, self.size);
        let (frame, patch) = self.frame(sheet, shown);
        let look = SceneStyle::new(cx.mirror, cx.selection.variant, cx.theme);
        Some(drawing("phase plane", self.size, cx.theme, |ui| {
            Scene { painter: ui.painter(), frame: &frame, look, sheet }.paint(shown, patch);
        }))
    }
}
