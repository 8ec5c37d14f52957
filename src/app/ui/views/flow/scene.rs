//! Draws paths: lines with their ends and steps, ghosts, names that do not overlap, and the axes.

use super::{answer::Path, camera::Frame};
use crate::ui::views::painting::*;

/// The painter of the paths, with its camera and theme.
pub struct Scene<'a> {
    pub painter: &'a Painter,
    pub frame: &'a Frame,
    pub theme: &'a Theme,
    pub tau: f64,
    /// The starts of the solver's steps except for the first.
    pub steps: Vec<f64>,
    /// Rectangles of the labels that are drawn already.
    pub label_rects: Vec<Rect>,
}

impl Scene<'_> {
    fn places(&self, path: &Path) -> Vec<Pos2> {
        path.places.iter().map(|p| self.frame.project(*p)).collect()
    }

    /// True for a position inside the sheet; a position that is not finite is never seen.
    pub fn is_seen(&self, at: Pos2) -> bool {
        self.painter.clip_rect().expand(8.0).contains(at)
    }

    /// Draws another solution's path dashed, to compare with.
    pub fn ghost(&self, path: &Path, strong: bool) {
        let colour = self.theme.text.gamma_multiply(if strong { 0.6 } else { 0.3 });
        let places = self.places(path);
        clip::paint_dashed(self.painter, &places, Stroke::new(1.0, colour), 4.0, 4.0);
        if let Some(end) = places.last().filter(|end| self.is_seen(**end)) {
            self.painter.circle_stroke(*end, 3.0, Stroke::new(1.0, colour));
        }
    }

    pub fn path(&self, path: &Path, strong: bool, named: bool) {
        let theme = self.theme;
        let colour = match (strong, named) {
            (true, true) => theme.accent,
            (true, false) => theme.text,
            _ => theme.secondary,
        };
        let places = self.places(path);
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

    /// The word at the end of its path, on a patch of the ground; left out where another stands.
    pub fn name(&mut self, path: &Path, tokens: &[String], strong: bool) {
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
    pub fn axes(&self, corner: Rect, explained: &[f64]) {
        let theme = self.theme;
        let from = corner.left_bottom() + vec2(14.0, -26.0);
        for k in 0..3 {
            let way = self.frame.axis(k) * 26.0;
            if way.length() < 3.0 {
                continue;
            }
            let share =
                explained.get(k).filter(|v| v.is_finite()).map_or(String::new(), |v| format!(" {:.0}%", v * 100.0));
            self.painter.line_segment([from, from + way], Stroke::new(1.0, theme.secondary));
            let align = if way.x.abs() > way.y.abs() { Align2::LEFT_CENTER } else { Align2::CENTER_BOTTOM };
            let at = from + way + if way.x.abs() > way.y.abs() { vec2(4.0, 0.0) } else { vec2(8.0, -2.0) };
            self.painter.text(at, align, format!("{}{share}", k + 1), theme::small(), theme.secondary);
        }
    }
}
