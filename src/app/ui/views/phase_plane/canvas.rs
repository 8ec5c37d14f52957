//! The picture in its tile: camera, field, paths, and the interaction with them.

use super::{
    PhasePlane, PortraitSource,
    portrait::PhasePortrait,
    scene::{Scene, SceneStyle},
};
use crate::ui::views::{
    flow::{camera::Frame, streaks::Background},
    prelude::*,
};

impl PhasePlane {
    /// The camera set on what is shown, and the patch of the plane that is in sight: left, right, low, high.
    pub(super) fn frame(&self, sheet: Rect, shown: &PhasePortrait) -> (Frame, [f32; 4]) {
        let frame = self.camera.frame(sheet.shrink2(vec2(18.0, 20.0)), shown.fitted(self.close).into_iter());
        let zero = frame.project([0.0; 3]);
        let (x, y) = (|at: f32| (at - zero.x) / frame.scale, |at: f32| (zero.y - at) / frame.scale);
        (frame, [x(sheet.left()), x(sheet.right()), y(sheet.bottom()), y(sheet.top())])
    }

    /// The field behind the paths, computed again when another patch of the plane is shown.
    fn follow_field(&mut self, source: &PortraitSource, shown: &PhasePortrait, patch: [f32; 4]) {
        let of = match source {
            // the defaults, because the field depends neither on the start nor on the number of steps
            PortraitSource::Toy(toy, _) => PortraitSource::Toy(*toy, toy.system().settings),
            PortraitSource::Token(read, _, _, plane) => PortraitSource::Token(*read, 0, (0.0, 0), *plane),
        };
        let of = (of, patch);
        if self.field_of.as_ref() == Some(&of) {
            return;
        }
        let field = match source {
            PortraitSource::Toy(toy, _) => shown.plane.field(&toy.system().force, patch),
            PortraitSource::Token(..) => self.learned().and_then(|l| shown.plane.field(&l.force, patch)),
        };
        self.streaks.set(field.unwrap_or_default(), patch);
        self.field_of = Some(of);
    }

    pub(super) fn canvas_ui(
        &mut self,
        ui: &mut Ui,
        cx: &mut ViewCx<'_>,
        (source, shown): (&PortraitSource, &PhasePortrait),
        size: Vec2,
    ) {
        self.size = size;
        let (sheet, response, _) = canvas_ui(ui, size, Sense::click_and_drag(), "phase plane");
        self.camera.zoom(ui, &response, response.hovered());
        let (frame, patch) = self.frame(sheet, shown);
        let painter = ui.painter_at(sheet);
        if self.behind != Background::Nothing {
            self.follow_field(source, shown, patch);
            let flowing = self.behind == Background::Flowing && !cx.still;
            self.streaks.flow(ui, flowing);
            self.no_field = self.streaks.paint(ui, sheet, &frame, 0.0, flowing, cx.theme).err();
        }
        let look = SceneStyle::new(cx.mirror, cx.selection.variant, cx.theme);
        Scene { painter: &painter, frame: &frame, look, sheet }.paint(shown, patch);
        self.point(&response, cx, &frame, source, shown);
    }

    /// Dragging sets the start of a toy; on paths of tokens the pointer names and selects one.
    fn point(
        &mut self,
        response: &Response,
        cx: &mut ViewCx<'_>,
        frame: &Frame,
        source: &PortraitSource,
        shown: &PhasePortrait,
    ) {
        if let PortraitSource::Toy(toy, _) = source {
            if let Some(at) = response.interact_pointer_pos().filter(|_| response.dragged()) {
                let zero = frame.project([0.0; 3]);
                let kept = |v: f32| (f64::from(v / frame.scale).clamp(-4.0, 4.0) * 100.0).round() / 100.0;
                self.toys[*toy as usize].start = [kept(at.x - zero.x), kept(zero.y - at.y)];
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
        let tokens = self.measured(cx).map_or(&[][..], |m| &m.sample.tokens);
        let name =
            tokens.get(token).map_or(String::new(), |t| format!(" \u{201c}{}\u{201d}", t.replace('\n', "\u{b6}")));
        response.clone().on_hover_text_at_pointer(format!("token {token}{name}"));
    }
}
