//! Projects the space of the paths onto the screen by a parallel projection with equal scales, from above or from a
//! direction that the user chooses.

use crate::ui::views::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    /// True for a view in three dimensions, false for the first two axes seen from above.
    pub solid: bool,
    /// Radians about the third axis, and up from the plane.
    yaw: f32,
    pitch: f32,
    zoom: f32,
}

impl Default for Camera {
    fn default() -> Self {
        Self { solid: false, yaw: 0.6, pitch: 0.5, zoom: 1.0 }
    }
}

/// A camera set on what is to be seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    right: [f32; 3],
    up: [f32; 3],
    centre: [f32; 3],
    middle: Pos2,
    /// Points for one unit.
    pub scale: f32,
}

impl Camera {
    pub fn rotate(&mut self, by: Vec2) {
        self.yaw -= by.x * 0.008;
        self.pitch = (self.pitch + by.y * 0.008).clamp(-1.5, 1.5);
    }

    /// A double click shows all again; where the pointer is over the picture, the wheel and two fingers zoom.
    pub fn zoom(&mut self, ui: &Ui, response: &Response, is_over: bool) {
        if response.double_clicked() {
            self.reset();
        }
        if is_over {
            self.zoom = (self.zoom * zoom_factor(ui, 300.0)).clamp(0.2, 40.0);
        }
    }

    fn reset(&mut self) {
        *self = Self { solid: self.solid, ..Self::default() };
    }

    fn directions(&self) -> ([f32; 3], [f32; 3]) {
        let (yaw, pitch) = if self.solid { (self.yaw, self.pitch) } else { (0.0, std::f32::consts::FRAC_PI_2) };
        let (s, c) = yaw.sin_cos();
        let (sp, cp) = pitch.sin_cos();
        ([c, s, 0.0], [-s * sp, c * sp, cp])
    }

    /// Fits the places into `rect`. In space the size does not change as it turns.
    pub fn frame(&self, rect: Rect, places: impl Iterator<Item = [f32; 3]>) -> Frame {
        let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
        for p in places.filter(|p| p.iter().all(|v| v.is_finite())) {
            for k in 0..3 {
                (low[k], high[k]) = (low[k].min(p[k]), high[k].max(p[k]));
            }
        }
        if low[0] > high[0] {
            (low, high) = ([-1.0; 3], [1.0; 3]);
        }
        // f64, because the difference of two f32 values may overflow.
        let span: [f64; 3] = std::array::from_fn(|k| (f64::from(high[k]) - f64::from(low[k])).max(1e-6));
        let scale = if self.solid {
            let radius = span.iter().map(|s| s * s).sum::<f64>().sqrt() / 2.0;
            f64::from(rect.width().min(rect.height())) / (2.0 * radius)
        } else {
            (f64::from(rect.width()) / span[0]).min(f64::from(rect.height()) / span[1])
        } as f32;
        let (right, up) = self.directions();
        let centre = std::array::from_fn(|k| low[k] / 2.0 + high[k] / 2.0);
        Frame { right, up, centre, middle: rect.center(), scale: scale * self.zoom }
    }
}

impl Frame {
    pub fn project(&self, p: [f32; 3]) -> Pos2 {
        let d: [f32; 3] = std::array::from_fn(|k| (p[k] - self.centre[k]) * self.scale);
        let dot = |a: &[f32; 3]| a.iter().zip(&d).map(|(a, b)| a * b).sum::<f32>();
        self.middle + vec2(dot(&self.right), -dot(&self.up))
    }

    pub fn line(&self, points: &[[f32; 3]]) -> Vec<Pos2> {
        points.iter().map(|p| self.project(*p)).collect()
    }

    /// The screen direction of an axis, 1 long where it lies flat on the screen.
    pub fn axis(&self, k: usize) -> Vec2 {
        vec2(self.right[k], -self.up[k])
    }

    /// A corner, and the two sides, of a patch of the plane at height `z`.
    pub fn patch(&self, [x0, x1, y0, y1]: [f32; 4], z: f32) -> (Pos2, Vec2, Vec2) {
        let corner = self.project([x0, y0, z]);
        (corner, self.project([x1, y0, z]) - corner, self.project([x0, y1, z]) - corner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHEET: Rect = Rect { min: Pos2::new(0.0, 0.0), max: Pos2::new(200.0, 100.0) };
    const CORNERS: [[f32; 3]; 2] = [[-1.0, -1.0, 0.0], [1.0, 1.0, 2.0]];

    #[test]
    fn from_above_the_plane_fills_the_sheet_and_the_third_axis_is_not_seen() {
        let frame = Camera::default().frame(SHEET, CORNERS.into_iter());
        assert_eq!(frame.scale, 50.0);
        assert!((frame.project([1.0, 1.0, 0.0]) - pos2(150.0, 0.0)).length() < 1e-3);
        assert!((frame.project([1.0, 1.0, 5.0]) - pos2(150.0, 0.0)).length() < 1e-3);
        let (corner, across, along) = frame.patch([-1.0, 1.0, -1.0, 1.0], 0.0);
        assert!((corner - pos2(50.0, 100.0)).length() < 1e-3);
        assert!((across - vec2(100.0, 0.0)).length() < 1e-3 && (along - vec2(0.0, -100.0)).length() < 1e-3);
    }

    #[test]
    fn turning_keeps_the_size_and_every_axis_shows() {
        let mut camera = Camera { solid: true, ..Camera::default() };
        let before = camera.frame(SHEET, CORNERS.into_iter());
        camera.rotate(vec2(40.0, -20.0));
        let after = camera.frame(SHEET, CORNERS.into_iter());
        assert_eq!(before.scale, after.scale);
        assert_ne!(before.axis(0), after.axis(0));
        assert!((0..3).all(|k| after.axis(k).length() > 0.05));
        camera.reset();
        assert_eq!(camera, Camera { solid: true, ..Camera::default() });
    }
}
