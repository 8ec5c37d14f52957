//! The picture: levels of energy, both integrators' paths, the other tokens, the blob, and signs of starts and ends.

use super::portrait::{IntegratorPath, PhasePortrait};
use crate::{
    analysis::query_key_flow::Integrator,
    ui::views::{flow::camera::Frame, painting::*},
};

/// The theme, and the colours of both integrators everywhere in the view.
#[derive(Clone, Copy)]
pub struct SceneStyle<'a> {
    pub theme: &'a Theme,
    /// In the order of [`Integrator::ALL`].
    colours: [Color32; 2],
}

impl<'a> SceneStyle<'a> {
    /// Gives each integrator the colour of the variant that uses it, the one in focus first, or one of its own.
    pub fn new(mirror: &Mirror, focus: usize, theme: &'a Theme) -> Self {
        let groups = groups(mirror);
        let colour = |id: &str, spare: usize| {
            let integrates = |group: &SeedGroup| group.id.trim_start_matches("diff_").starts_with(id);
            let in_focus = |group: &SeedGroup| group.members.contains(&focus);
            let first = || groups.iter().position(integrates);
            let place = groups.iter().position(|g| integrates(g) && in_focus(g)).or_else(first);
            place.map_or_else(|| theme.series(groups.len() + spare), |place| groups[place].colour(place, theme))
        };
        let colours = match groups.is_empty() {
            true => [theme.warm, theme.cool],
            false => [colour("euler", 0), colour("hamiltonian", 1)],
        };
        Self { theme, colours }
    }

    pub fn colour(self, integrator: Integrator) -> Color32 {
        self.colours[integrator as usize]
    }
}

pub struct Scene<'a> {
    pub painter: &'a Painter,
    pub frame: &'a Frame,
    pub look: SceneStyle<'a>,
    pub sheet: Rect,
}

pub fn paint_style(painter: &Painter, places: &[Pos2], integrator: Integrator, stroke: Stroke) {
    match integrator {
        Integrator::Euler => clip::paint_dashed(painter, places, stroke, 6.0, 4.0),
        Integrator::Leapfrog => clip::paint_line(painter, places, stroke),
    }
}

pub fn paint_end(painter: &Painter, at: Pos2, integrator: Integrator, look: SceneStyle<'_>) {
    let (colour, edge) = (look.colour(integrator), Stroke::new(1.5, look.theme.panel));
    match integrator {
        Integrator::Euler => {
            let square = Rect::from_center_size(at, vec2(9.0, 9.0));
            painter.rect(square, 0.0, colour, edge, StrokeKind::Outside);
        }
        Integrator::Leapfrog => _ = painter.circle(at, 5.0, colour, edge),
    }
}

/// Steps of a path beyond which each is no longer marked by a dot.
const MAX_DOTTED_STEPS: usize = 40;

impl Scene<'_> {
    fn to_screen(&self, [x, y]: [f64; 2]) -> Pos2 {
        self.frame.project([x as f32, y as f32, 0.0])
    }

    fn line(&self, places: &[[f64; 2]]) -> Vec<Pos2> {
        places.iter().map(|p| self.to_screen(*p)).collect()
    }

    /// A place on the screen, if it is visible.
    fn visible_position(&self, place: Option<[f64; 2]>) -> Option<Pos2> {
        place.map(|p| self.to_screen(p)).filter(|at| self.sheet.expand(8.0).contains(*at))
    }

    /// Paints everything but the background, which the GPU paints. `patch`: the visible patch, left, right, low, high.
    pub fn paint(&self, shown: &PhasePortrait, patch: [f32; 4]) {
        self.zero_lines();
        let faint = Stroke::new(1.0, self.look.theme.grey().gamma_multiply(0.45));
        let own = Stroke::new(1.2, self.look.theme.secondary);
        for (levels, stroke) in [(&shown.levels, faint), (&shown.own_level, own)] {
            levels.iter().for_each(|level| clip::paint_line(self.painter, &self.line(level), stroke));
        }
        shown.others.iter().for_each(|other| self.paint_unfocused(&other.places));
        // where both paths coincide, the one of the better integrator lies on top
        shown.tracks.iter().for_each(|track| self.paint_track(track));
        self.blobs(shown);
        for track in &shown.tracks {
            if let Some(end) = self.visible_position(track.end()) {
                paint_end(self.painter, end, track.integrator, self.look);
            }
        }
        if let Some(start) = self.visible_position(shown.start()) {
            self.painter.circle(start, 4.5, self.look.theme.panel, Stroke::new(2.0, self.look.theme.text));
        }
        if let Some(end) = self.visible_position(shown.model_end) {
            self.painter.circle_stroke(end, 9.0, Stroke::new(3.5, self.look.theme.panel.gamma_multiply(0.7)));
            self.painter.circle_stroke(end, 9.0, Stroke::new(1.5, self.look.theme.accent));
            paint_mark(self.painter, end, Mark::Cross, self.look.theme.accent);
        }
        if patch.iter().all(|v| v.is_finite()) {
            self.axes(shown, patch);
        }
    }

    fn paint_unfocused(&self, places: &[[f64; 2]]) {
        let faint = self.look.theme.secondary.gamma_multiply(0.45);
        clip::paint_line(self.painter, &self.line(places), Stroke::new(1.0, faint));
        if let Some(start) = self.visible_position(places.first().copied()) {
            self.painter.circle(start, 2.2, self.look.theme.panel, Stroke::new(1.0, faint));
        }
        if let Some(end) = self.visible_position(places.last().copied()) {
            self.painter.circle_filled(end, 2.2, self.look.theme.secondary.gamma_multiply(0.7));
        }
    }

    fn paint_track(&self, track: &IntegratorPath) {
        let (line, colour) = (self.line(&track.places), self.look.colour(track.integrator));
        clip::paint_line(self.painter, &line, Stroke::new(4.5, self.look.theme.panel.gamma_multiply(0.55)));
        paint_style(self.painter, &line, track.integrator, Stroke::new(2.0, colour));
        let dotted = track.places.iter().filter(|_| line.len() <= MAX_DOTTED_STEPS);
        for at in dotted.filter_map(|p| self.visible_position(Some(*p))) {
            self.painter.circle_filled(at, 2.6, colour);
        }
    }

    fn blobs(&self, shown: &PhasePortrait) {
        let tracks = shown.tracks.iter().filter_map(|t| Some((t.blob.as_ref()?, self.look.colour(t.integrator))));
        for (blob, colour) in shown.blob.iter().map(|b| (b, self.look.theme.text)).chain(tracks) {
            let dots = blob.inside.iter().filter_map(|p| self.visible_position(Some(*p)));
            self.painter.extend(dots.map(|at| Shape::circle_filled(at, 1.2, colour.gamma_multiply(0.75))));
            let mut outline = self.line(&blob.outline);
            outline.extend(outline.first().copied());
            clip::paint_line(self.painter, &outline, Stroke::new(1.5, colour));
        }
    }

    fn zero_lines(&self) {
        let zero = self.to_screen([0.0, 0.0]);
        let stroke = Stroke::new(1.0, self.look.theme.line);
        if self.sheet.x_range().contains(zero.x) {
            self.painter.vline(zero.x, self.sheet.y_range(), stroke);
        }
        if self.sheet.y_range().contains(zero.y) {
            self.painter.hline(self.sheet.x_range(), zero.y, stroke);
        }
    }

    /// Ticks and names of the axes along the edges, on patches of the ground.
    fn axes(&self, shown: &PhasePortrait, [x0, x1, y0, y1]: [f32; 4]) {
        let (mono, small) = (theme::numbers(), theme::small());
        let wanted = |room: f32| (room / 90.0).clamp(2.0, 6.0) as usize;
        let name = |k: usize| match shown.plane.shares {
            Some(shares) => format!("{}, {} of the variance", shown.plane.names[k], share_label(shares[k])),
            None => shown.plane.names[k].clone(),
        };
        let right = self.paint_text(self.sheet.right_bottom() - vec2(4.0, 2.0), Align2::RIGHT_BOTTOM, &name(0), &small);
        let top = self.paint_text(self.sheet.left_top() + vec2(4.0, 2.0), Align2::LEFT_TOP, &name(1), &small);
        for (value, words) in Scale::Linear.ticks(f64::from(x0), f64::from(x1), wanted(self.sheet.width())) {
            let at = pos2(self.to_screen([value, 0.0]).x, self.sheet.bottom() - 2.0);
            if at.x > self.sheet.left() + 44.0 && at.x < right.left() - 24.0 {
                self.paint_text(at, Align2::CENTER_BOTTOM, &words, &mono);
            }
        }
        for (value, words) in Scale::Linear.ticks(f64::from(y0), f64::from(y1), wanted(self.sheet.height() * 1.6)) {
            let at = pos2(self.sheet.left() + 4.0, self.to_screen([0.0, value]).y);
            if at.y > top.bottom() + 10.0 && at.y < self.sheet.bottom() - 10.0 {
                self.paint_text(at, Align2::LEFT_CENTER, &words, &mono);
            }
        }
    }

    fn paint_text(&self, at: Pos2, align: Align2, words: &str, font: &FontId) -> Rect {
        let galley = self.painter.layout_no_wrap(words.to_owned(), font.clone(), self.look.theme.secondary);
        let rect = align.anchor_size(at, galley.size());
        self.painter.rect_filled(rect.expand2(vec2(2.0, 0.0)), 2.0, self.look.theme.panel.gamma_multiply(0.85));
        self.painter.galley(rect.min, galley, self.look.theme.secondary);
        rect
    }
}

pub fn share_label(share: f64) -> String {
    let percent = share * 100.0;
    if percent.is_finite() { format!("{percent:.0}%") } else { "no share".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{Event, VariantInfo};

    #[test]
    fn an_integrator_has_the_colour_of_its_variant() {
        let theme = Theme::dark();
        let run = |ids: &[&str]| {
            let variant = |id: &&str| VariantInfo { id: (*id).into(), group: (*id).into(), ..VariantInfo::default() };
            let variants = ids.iter().map(variant).collect();
            let mut mirror = Mirror::default();
            mirror.apply(Event::Started(Arc::new(RunInfo { variants, ..RunInfo::default() })));
            mirror
        };
        let colours = |mirror: &Mirror, focus: usize| {
            let look = SceneStyle::new(mirror, focus, &theme);
            Integrator::ALL.map(|integrator| look.colour(integrator))
        };
        let mirror = run(&["standard", "mlp", "euler_n3", "hamiltonian", "diff_euler"]);
        let of = |variant: usize| variant_colour(&mirror, variant, &theme);
        assert_eq!(colours(&mirror, 0), [of(2), of(3)]);
        assert_eq!(colours(&mirror, 4), [of(4), of(3)], "the one in focus integrates by Euler's method too");
        let mirror = run(&["standard", "euler"]);
        let [euler, leapfrog] = colours(&mirror, 0);
        let of = |variant: usize| variant_colour(&mirror, variant, &theme);
        assert!(euler == of(1) && leapfrog != of(0) && leapfrog != of(1));
        assert_eq!(colours(&Mirror::default(), 0), [theme.warm, theme.cool]);
    }
}
