//! The paths of the tokens' states over depth, in the plane or space of largest variance, with the field's streaks
//! behind them and the paths before the last change as ghosts.

use super::{
    EMPTY,
    answer::{Answer, Path, paths},
    camera::{Camera, Frame},
    settings::{FlowSettings, keep_fresh},
    streaks::{Background, STEP_RATE, Streaks},
};
use crate::ui::views::painting::*;

pub struct Paths {
    camera: Camera,
    /// Size of the canvas when it was last shown, points.
    size: Vec2,
    /// The camera is fitted to the followed token alone: tokens are far apart, and each moves only a little.
    close: bool,
    /// The user's choice; without one the field flows, unless the processor has to draw it.
    chosen: Option<Background>,
    background: Background,
    tau: f64,
    streaks: Streaks,
    /// True where the field lies in the axes of the paths that are shown.
    fits: bool,
    /// The comparison of a run; another run starts a new one.
    compared: KeyedCache<RunNumber, PathComparison>,
    gesture: u64,
}

/// The paths that are shown, and those at the beginning of the last gesture.
#[derive(Debug, Clone, Default)]
struct PathComparison {
    shown: Option<Arc<Payload>>,
    ghost: Option<Arc<Payload>>,
}

impl Default for Paths {
    fn default() -> Self {
        Self {
            camera: Camera::default(),
            size: vec2(640.0, 400.0),
            close: true,
            chosen: None,
            background: Background::Flowing,
            tau: 0.5,
            streaks: Streaks::default(),
            fits: false,
            compared: KeyedCache::default(),
            gesture: 0,
        }
    }
}

const FOOTER_HEIGHT: f32 = 26.0;
/// Largest distance of the state that a field was measured around from its path, as a share of the field's width.
const MAX_GAP: f32 = 0.1;
/// Narrower than this, the slider of the depth goes without its number.
const MIN_NUMBER_WIDTH: f32 = 470.0;

impl Paths {
    /// Takes the paths and the field that are shown, and keeps the ghost.
    fn follow(&mut self, cx: &ViewCx<'_>) {
        let Some(answer) = Answer::in_focus(cx) else { return };
        let payload = &answer.sample.payload;
        let compared = self.compared.at(cx.mirror.run);
        let newer = compared.shown.as_ref().is_none_or(|p| !Arc::ptr_eq(p, payload));
        let gesture = cx.selection.get::<FlowSettings>().map_or(0, |flow| flow.gesture);
        if self.gesture != gesture {
            self.gesture = gesture;
            compared.ghost = compared.shown.take();
        }
        if newer || compared.shown.is_none() {
            compared.shown = Some(payload.clone());
        }
        match cx.answered::<FlowField>() {
            Some(field) => self.streaks.take(field),
            None => self.streaks = Streaks::default(),
        }
    }

    fn ghost_paths(&self, run: RunNumber) -> Vec<Path> {
        let ghost = self.compared.get(&run).and_then(|c| c.ghost.as_deref());
        ghost.and_then(FlowAnswer::from_payload).map_or(vec![], |answer| paths(&answer.paths))
    }

    fn has_streaks(&self) -> bool {
        self.background != Background::Nothing && self.fits && !self.streaks.is_empty()
    }

    fn controls_ui(&mut self, ui: &mut Ui, has_words: bool, solid: bool) {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            let room = ui.available_width();
            if solid {
                let tip = "From above: the two directions in which the flow moves the states most.";
                ui.selectable_value(&mut self.camera.solid, false, "plane").on_hover_text(tip);
                let tip = "Three directions: drag to turn, scroll to come nearer, double-click to go back.";
                ui.selectable_value(&mut self.camera.solid, true, "space").on_hover_text(tip);
            }
            if has_words {
                let tip = "Fits the followed token alone. Click a path, or a word of the prompt, to follow it.";
                ui.toggle_value(&mut self.close, "close").on_hover_text(tip);
            }
            if has_words || solid {
                ui.separator();
            }
            let label =
                ui.label("\u{3c4}").on_hover_text("Depth at which the field is drawn, and the disc on each path.");
            let tight = room < MIN_NUMBER_WIDTH;
            ui.spacing_mut().slider_width =
                (ui.available_width() - if tight { 92.0 } else { 250.0 }).clamp(40.0, 160.0);
            let slider = Slider::new(&mut self.tau, 0.0..=1.0).step_by(0.01).fixed_decimals(2).show_value(!tight);
            ui.add(slider).labelled_by(label.id);
            ui.separator();
            let (behind, chosen) = (self.background, &mut self.chosen);
            let mut choose = |ui: &mut Ui| *chosen = behind.choice_ui(ui).or(*chosen);
            if !tight {
                return choose(ui);
            }
            let now = behind.label();
            let shown = ComboBox::from_id_salt("behind").selected_text(now).width(54.0).show_ui(ui, choose);
            shown.response.widget_info(|| WidgetInfo::labeled(Role::ComboBox, true, "behind the paths"));
            shown.response.on_hover_text("What is drawn behind the paths: nothing, or the field at this \u{3c4}.");
        });
    }

    /// Everything that is drawn, in its order from the back.
    fn canvas_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, answer: Answer<'_>, all: &[Path]) {
        let (sheet, response, painter) =
            canvas_ui(ui, ui.available_size(), Sense::click_and_drag(), "paths of the states");
        self.size = sheet.size();
        if response.dragged() && self.camera.solid {
            self.camera.rotate(response.drag_delta());
        }
        self.camera.zoom(ui, &response, response.hover_pos().is_some_and(|p| sheet.contains(p)));
        let followed = followed(cx, answer, all);
        let ghost = self.ghost_paths(cx.mirror.run);
        let frame = self.frame(sheet, answer, followed, all, &ghost);
        if self.has_streaks() {
            let z = self.height(all, followed);
            let flowing = self.background == Background::Flowing && !cx.still;
            if let Err(words) = self.streaks.paint(ui, sheet, &frame, z, flowing, cx.theme) {
                painter.text(sheet.left_bottom(), Align2::LEFT_BOTTOM, words, theme::small(), cx.theme.secondary);
            }
        } else if self.background != Background::Nothing && !self.streaks.is_empty() {
            let words = "no field: its axes are not these";
            painter.text(sheet.right_bottom(), Align2::RIGHT_BOTTOM, words, theme::small(), cx.theme.secondary);
        }
        self.paint(&painter, (sheet, &frame), cx, answer, (all, &ghost));
        self.point(&response, cx, &frame, all, &answer.sample.tokens);
    }

    /// Paints paths, marks and labels; the GPU paints the background.
    fn paint(
        &self,
        painter: &Painter,
        (sheet, frame): (Rect, &Frame),
        cx: &ViewCx<'_>,
        answer: Answer<'_>,
        (all, ghost): (&[Path], &[Path]),
    ) {
        let followed = followed(cx, answer, all);
        let attempts = &answer.value.trace.attempts;
        let steps = attempts.iter().filter(|a| a.accepted && a.t > 0.0 && a.t < 1.0).map(|a| a.t).collect();
        // The axes are drawn where they cover the least of the paths, and no name is drawn over them.
        let corners = [Align2::LEFT_BOTTOM, Align2::RIGHT_BOTTOM, Align2::LEFT_TOP, Align2::RIGHT_TOP]
            .map(|corner| corner.align_size_within_rect(vec2(84.0, 66.0), sheet));
        let covered = |corner: &Rect| {
            let places = all.iter().flat_map(|path| &path.places);
            places.filter(|place| corner.contains(frame.project(**place))).count()
        };
        let corner = corners.into_iter().min_by_key(covered).unwrap_or(sheet);
        let label_rects = vec![corner];
        let mut scene = Scene { painter, frame, theme: cx.theme, tau: self.tau, steps, label_rects };
        ghost.iter().for_each(|path| scene.paint_ghost(path, Some(path.token) == followed));
        let tokens = &answer.sample.tokens;
        for path in all.iter().filter(|p| Some(p.token) != followed) {
            scene.path(path, followed.is_none(), !tokens.is_empty());
        }
        if let Some(path) = all.iter().find(|p| Some(p.token) == followed) {
            scene.path(path, true, true);
            scene.draw_name(path, tokens, true);
            let rejected = attempts.iter().filter(|a| !a.accepted).map(|a| frame.project(path.at(a.t)));
            for at in rejected.filter(|at| scene.is_seen(*at)) {
                paint_mark(painter, at, Mark::Cross, cx.theme.error);
            }
        }
        // The many starts of a playground are not labelled; the pointer names them.
        let named = all.iter().filter(|p| Some(p.token) != followed && answer.planar_field().is_none());
        named.for_each(|path| scene.draw_name(path, tokens, false));
        scene.axes(corner, &answer.paths.explained);
    }

    /// The camera's frame, fitted to everything shown: the paths, the ghosts and the patch of the field.
    fn frame(&self, sheet: Rect, answer: Answer<'_>, followed: Option<usize>, all: &[Path], ghost: &[Path]) -> Frame {
        // the starts of the playground are close to each other
        let close = self.close && followed.is_some() && answer.planar_field().is_none();
        let fitted = |path: &&Path| !close || Some(path.token) == followed;
        let places = all.iter().chain(ghost).filter(fitted).flat_map(|p| p.places.iter().copied());
        let inner = Rect::from_min_max(sheet.min + vec2(12.0, 18.0), sheet.max - vec2(12.0, 22.0));
        let ([x0, x1, y0, y1], z) = (self.streaks.extent, self.height(all, followed));
        // in space the patch would dwarf the paths
        let patch = [[x0, y0, z], [x1, y1, z]].into_iter().filter(|_| self.has_streaks() && !self.camera.solid);
        self.camera.frame(inner, places.chain(patch))
    }

    /// The third coordinate of the followed path, where the field is drawn.
    fn height(&self, all: &[Path], followed: Option<usize>) -> f32 {
        all.iter().find(|p| Some(p.token) == followed).map_or(0.0, |p| p.at(self.tau)[2])
    }

    /// Names the state under the pointer; a click follows its token.
    fn point(&self, response: &Response, cx: &mut ViewCx<'_>, frame: &Frame, all: &[Path], tokens: &[String]) {
        let Some(pointer) = response.hover_pos() else { return };
        let near = |path: &Path| distance_to(&frame.line(&path.places), pointer);
        let nearest = all.iter().map(|p| (near(p), p)).min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, path)) = nearest.filter(|(far, _)| *far < 12.0) else { return };
        if response.clicked() && !tokens.is_empty() {
            cx.selection.token = Some(path.token);
        }
        let far = |i: &usize| (frame.project(path.places[*i]) - pointer).length();
        let Some(i) = (0..path.places.len()).min_by(|a, b| far(a).total_cmp(&far(b))) else { return };
        let place = path.places[i].map(|v| value_label(f64::from(v))).join("  ");
        let name = tokens.get(path.token).map_or(format!("start {}", path.token + 1), |t| t.trim().to_owned());
        let words = format!("{name}\n\u{3c4} {}\n{place}", value_label(path.taus[i]));
        response.clone().on_hover_ui_at_pointer(|ui| _ = ui.label(RichText::new(words).font(theme::numbers())));
    }
}

/// The token whose path is drawn strongly: the selected one, else the one that was followed, else the last.
fn followed(cx: &ViewCx<'_>, answer: Answer<'_>, all: &[Path]) -> Option<usize> {
    if answer.sample.tokens.is_empty() {
        return None;
    }
    let wanted = cx.selection.token.unwrap_or(answer.token);
    Some(wanted).filter(|t| all.iter().any(|p| p.token == *t)).or_else(|| all.last().map(|p| p.token))
}

/// True where a field lies in the axes of these paths. The field is asked for after the paths, so that a model that
/// learns may have turned its axes meanwhile; the state around which the field was measured must still lie on its path.
fn shares_axes(field: Measured<'_, FlowField>, answer: Answer<'_>, all: &[Path]) -> bool {
    if answer.planar_field().is_some() {
        return true; // a field over the plane has no other axes
    }
    let off = || {
        let [x, y, _] = all.iter().find(|p| p.token == answer.token)?.at(field.tau);
        let ([at_x, at_y], extent) = (field.at.map(|v| v as f32), field.extent);
        let wide = extent.x1 as f32 - extent.x0 as f32;
        Some((x - at_x).hypot(y - at_y) / wide)
    };
    let same_model = field.sample.step == answer.sample.step;
    field.sample.tokens == answer.sample.tokens && (same_model || off().is_some_and(|off| off <= MAX_GAP))
}

impl View for Paths {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        keep_fresh(cx);
        if self.chosen != Some(Background::Nothing)
            && let Some(answer) = Answer::in_focus(cx)
            && let Some(request) = answer.sample.request
        {
            let args = FlowFieldArgs { flow: FlowSettings::args(cx), tau: self.tau, ..FlowFieldArgs::default() };
            cx.ask::<FlowField>(Some(answer.variant), &args, Freshness::FollowsAnswer(request));
        }
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        FlowSettings::watch(ui, cx);
        self.background = self.chosen.unwrap_or_else(|| Background::default_for(ui));
        self.follow(cx);
        let answer = Answer::in_focus(cx);
        let all = answer.map(|a| paths(&a.paths)).unwrap_or_default();
        let Some(answer) = answer.filter(|_| !all.is_empty()) else { return cx.unmeasured_ui::<FlowAnswer>(ui, EMPTY) };
        self.fits = cx.answered::<FlowField>().is_some_and(|field| shares_axes(field, answer, &all));
        ui.spacing_mut().item_spacing.y = 4.0;
        let room = ui.available_rect_before_wrap();
        let head = Rect::from_min_size(room.min, vec2(room.width(), cx.height_of_controls(FOOTER_HEIGHT)));
        ui.scope_builder(UiBuilder::new().max_rect(head), |ui| {
            let solid = answer.paths.explained.len() != 2;
            self.camera.solid &= solid;
            cx.controls_ui(ui, |ui, _| self.controls_ui(ui, answer.planar_field().is_none(), solid));
        });
        let body = Rect::from_min_max(pos2(room.left(), head.bottom()), room.max);
        ui.scope_builder(UiBuilder::new().max_rect(body), |ui| self.canvas_ui(ui, cx, answer, &all));
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let Some(answer) = Answer::in_focus(cx) else { return "the states over depth".to_owned() };
        let is_flowing = self.background == Background::Flowing && !cx.still && self.has_streaks();
        let depth = value_label(f64::from(self.streaks.dt) * STEP_RATE);
        let pace = format!(" \u{b7} a second of streaks is {depth} of \u{3c4}");
        let pace = if is_flowing { pace.as_str() } else { "" };
        let has_ghost = self.compared.get(&cx.mirror.run).is_some_and(|c| c.ghost.is_some());
        let ghost = if has_ghost { " \u{b7} dashed: before the last change" } else { "" };
        format!("step {} \u{b7} {}{}{ghost}{pace}", answer.sample.step, answer.variant_prefix(cx), answer.sample.about)
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let answer = Answer::in_focus(cx)?;
        let mut table = Table::new(["shown", "token", "word", "tau", "component_1", "component_2", "component_3"]);
        let ghost = self.ghost_paths(cx.mirror.run);
        for (what, all) in [("now", paths(&answer.paths)), ("before", ghost)] {
            for path in all {
                let word = answer.sample.tokens.get(path.token).map_or("", String::as_str);
                for (tau, [x, y, z]) in path.taus.iter().zip(&path.places) {
                    table.cells(&[&what, &path.token, &word.trim(), tau, x, y, z]);
                }
            }
        }
        table.finish_if_any()
    }

    /// The paths without the field behind them.
    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        let answer = Answer::in_focus(cx)?;
        let all = paths(&answer.paths);
        let sheet = Rect::from_min_size(Pos2::ZERO, self.size);
        let ghost = self.ghost_paths(cx.mirror.run);
        let frame = self.frame(sheet, answer, followed(cx, answer, &all), &all, &ghost);
        let paint = |ui: &mut Ui| self.paint(ui.painter(), (sheet, &frame), cx, answer, (&all, &ghost));
        (!all.is_empty()).then(|| drawing("paths", self.size, cx.theme, paint))
    }
}

/// The painter of the paths, with its camera and theme.
struct Scene<'a> {
    painter: &'a Painter,
    frame: &'a Frame,
    theme: &'a Theme,
    tau: f64,
    /// The starts of the solver's steps except for the first.
    steps: Vec<f64>,
    /// Rectangles of the labels that are drawn already.
    label_rects: Vec<Rect>,
}

impl Scene<'_> {
    /// True for a position inside the sheet; a position that is not finite is never seen.
    fn is_seen(&self, at: Pos2) -> bool {
        self.painter.clip_rect().expand(8.0).contains(at)
    }

    /// Draws another solution's path dashed, to compare with.
    fn paint_ghost(&self, path: &Path, strong: bool) {
        let colour = self.theme.text.gamma_multiply(if strong { 0.6 } else { 0.3 });
        let places = self.frame.line(&path.places);
        clip::paint_dashed(self.painter, &places, Stroke::new(1.0, colour), 4.0, 4.0);
        if let Some(end) = places.last().filter(|end| self.is_seen(**end)) {
            self.painter.circle_stroke(*end, 3.0, Stroke::new(1.0, colour));
        }
    }

    fn path(&self, path: &Path, strong: bool, named: bool) {
        let theme = self.theme;
        let colour = match (strong, named) {
            (true, true) => theme.accent,
            (true, false) => theme.text,
            _ => theme.secondary,
        };
        let places = self.frame.line(&path.places);
        let halo = Stroke::new(if strong { 5.0 } else { 3.5 }, theme.panel.gamma_multiply(0.6));
        clip::paint_line(self.painter, &places, halo);
        clip::paint_line(self.painter, &places, Stroke::new(if strong { 2.0 } else { 1.2 }, colour));
        for at in self.steps.iter().map(|tau| self.frame.project(path.at(*tau))).filter(|at| self.is_seen(*at)) {
            self.painter.circle_filled(at, if strong { 2.5 } else { 1.6 }, colour);
        }
        let (Some(start), Some(end)) = (places.first(), places.last()) else { return };
        let here = self.frame.project(path.at(self.tau));
        let discs = [
            (*start, 3.5, theme.panel, Stroke::new(1.5, colour)),
            (*end, if strong { 4.5 } else { 3.5 }, colour, Stroke::NONE),
            (here, 4.0, theme.text, Stroke::new(1.5, theme.panel)),
        ];
        for (at, radius, fill, edge) in discs.into_iter().filter(|disc| self.is_seen(disc.0)) {
            self.painter.circle(at, radius, fill, edge);
        }
    }

    /// Draws the word at the end of its path on a patch of the background; it is left out where another word is.
    fn draw_name(&mut self, path: &Path, tokens: &[String], strong: bool) {
        let (Some(word), Some(end)) = (tokens.get(path.token), path.places.last()) else { return };
        let colour = if strong { self.theme.accent } else { self.theme.secondary };
        let galley = self.painter.layout_no_wrap(word.trim().to_owned(), theme::small(), colour);
        let (at, size) = (self.frame.project(*end), galley.size());
        // The label goes right of the end, left of it, above or below, whichever is free first.
        let places = [
            vec2(8.0, -size.y / 2.0),
            vec2(-8.0 - size.x, -size.y / 2.0),
            vec2(-size.x / 2.0, -size.y - 6.0),
            vec2(-size.x / 2.0, 6.0),
        ];
        let clip = self.painter.clip_rect();
        let mut rects = places.iter().map(|by| Rect::from_min_size(at + *by, size));
        let free = rects.find(|r| clip.contains_rect(*r) && !self.label_rects.iter().any(|n| n.intersects(*r)));
        let Some(rect) = free else { return };
        self.label_rects.push(rect);
        self.painter.rect_filled(rect.expand2(vec2(2.0, 0.0)), 2.0, self.theme.panel.gamma_multiply(0.8));
        self.painter.galley(rect.min, galley, colour);
    }

    /// The directions and their shares of variance, in this corner of the sheet.
    fn axes(&self, corner: Rect, explained: &[f64]) {
        let theme = self.theme;
        let from = corner.left_bottom() + vec2(14.0, -26.0);
        let ways = (0..3).map(|k| (k, self.frame.axis(k) * 26.0));
        for (k, way) in ways.filter(|(_, way)| way.length() >= 3.0) {
            let share = explained.get(k).filter(|v| v.is_finite());
            let share = share.map_or(String::new(), |v| format!(" {:.0}%", v * 100.0));
            self.painter.line_segment([from, from + way], Stroke::new(1.0, theme.secondary));
            let (align, gap) = match way.x.abs() > way.y.abs() {
                true => (Align2::LEFT_CENTER, vec2(4.0, 0.0)),
                false => (Align2::CENTER_BOTTOM, vec2(8.0, -2.0)),
            };
            let name = format!("{}{share}", k + 1);
            self.painter.text(from + way + gap, align, name, theme::small(), theme.secondary);
        }
    }
}
