//! Pictures in progress: a view drawn off screen, or a part of the window, encoded as PNG on threads of their own.

use std::sync::Mutex;

use eframe::egui::ColorImage;

use crate::{
    gpu::{
        Target,
        offscreen::{Drawing, Offscreen, OffscreenError},
        png,
    },
    ui::panels::prelude::*,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// A dialog asks for a file name.
    Dialog,
    /// The picture is written into the export folder, as one of a sequence.
    Recorded,
}

#[derive(Debug)]
pub struct Picture {
    pub name: String,
    pub png: Vec<u8>,
    pub destination: Destination,
}

/// The renderer that paints pictures off screen. Making it takes about a second.
type Painter = Arc<Mutex<Offscreen>>;
/// A painter that is being made.
type PendingPainter = Arc<Mutex<Option<Result<Offscreen, OffscreenError>>>>;

#[derive(Default)]
enum PainterState {
    #[default]
    Closed,
    Opening(PendingPainter),
    Open(Painter, Target),
}

#[derive(Default)]
pub struct Pictures {
    requested: Vec<(Rect, String)>,
    orders: Vec<PictureOrder>,
    painter_state: PainterState,
    ready: Arc<Mutex<Vec<Result<Picture, String>>>>,
}

impl Pictures {
    pub fn order(&mut self, sheet: PictureOrder, ctx: &Context) {
        if !sheet.is_svg && matches!(self.painter_state, PainterState::Closed) {
            let making = PendingPainter::default();
            let (made, wake) = (making.clone(), ctx.clone());
            std::thread::spawn(move || {
                let offscreen = Offscreen::new();
                *made.lock().unwrap_or_else(|p| p.into_inner()) = Some(offscreen);
                wake.request_repaint();
            });
            self.painter_state = PainterState::Opening(making);
        }
        self.orders.push(sheet);
        ctx.request_repaint();
    }

    /// The ordered pictures that can be drawn now; never waits.
    pub fn take_ready(&mut self) -> Vec<PictureOrder> {
        let made = match &self.painter_state {
            PainterState::Opening(making) => making.try_lock().ok().and_then(|mut m| m.take()),
            PainterState::Closed | PainterState::Open(..) => None,
        };
        match made {
            Some(Ok(offscreen)) => {
                let target = offscreen.target();
                self.painter_state = PainterState::Open(Arc::new(Mutex::new(offscreen)), target);
            }
            Some(Err(e)) => {
                self.painter_state = PainterState::Closed;
                self.orders.retain(|sheet| sheet.is_svg);
                self.ready.lock().unwrap_or_else(|p| p.into_inner()).push(Err(e.to_string()));
            }
            None => {}
        }
        let is_open = matches!(self.painter_state, PainterState::Open(..));
        let (ready, waiting) = std::mem::take(&mut self.orders).into_iter().partition(|s| s.is_svg || is_open);
        self.orders = waiting;
        ready
    }

    /// Lays a picture out here and paints it on a thread of its own.
    pub fn paint(&self, sheet: &PictureOrder, ctx: &Context, lay_out: impl FnOnce(Target) -> Drawing) {
        let PainterState::Open(painter, target) = &self.painter_state else { return };
        let (drawing, painter, name) = (lay_out(*target), painter.clone(), sheet.file());
        let (done, wake) = (self.ready.clone(), ctx.clone());
        std::thread::spawn(move || {
            let image = painter.lock().unwrap_or_else(|p| p.into_inner()).paint_drawing(drawing);
            let png = image.and_then(|image| image.png()).map_err(|e| e.to_string());
            let result = png.map(|png| Picture { name, png, destination: Destination::Dialog });
            done.lock().unwrap_or_else(|p| p.into_inner()).push(result);
            wake.request_repaint();
        });
    }

    /// Asks for the next frame's picture of `rect` (points) in the window, as one of a sequence, to be called `name`.
    pub fn ask(&mut self, rect: Rect, name: String, ctx: &Context) {
        self.requested.push((rect, name));
        ctx.request_repaint();
    }

    /// Takes the screenshots that were requested in the last frame.
    pub fn begin(&mut self, ctx: &Context) {
        for (rect, name) in std::mem::take(&mut self.requested) {
            let done = self.ready.clone();
            let wake = ctx.clone();
            ctx.request_screenshot(move |shot| {
                std::thread::spawn(move || {
                    let scale = wake.pixels_per_point();
                    let destination = Destination::Recorded;
                    let result = encode(&shot, rect, scale).map(|png| Picture { name, png, destination });
                    done.lock().unwrap_or_else(|p| p.into_inner()).push(result);
                    wake.request_repaint();
                });
            });
        }
    }

    /// Takes the pictures that are ready, without waiting for others.
    pub fn take_done(&self) -> Vec<Result<Picture, String>> {
        self.ready.try_lock().map(|mut d| std::mem::take(&mut *d)).unwrap_or_default()
    }
}

/// Cuts `rect` (points, at `scale` pixels per point) out of `shot` and encodes it as PNG.
fn encode(shot: &ColorImage, rect: Rect, scale: f32) -> Result<Vec<u8>, String> {
    let [width, height] = shot.size;
    let clamp = |v: f32, max: usize| (v * scale).round().clamp(0.0, max as f32) as usize;
    let (left, right) = (clamp(rect.left(), width), clamp(rect.right(), width));
    let (top, bottom) = (clamp(rect.top(), height), clamp(rect.bottom(), height));
    if right <= left || bottom <= top {
        return Err("the picture is empty: the view is not on the screen. Bring it to the front and save again.".into());
    }
    let mut pixels = Vec::with_capacity((right - left) * (bottom - top) * 4);
    for y in top..bottom {
        let row = shot.pixels.get(y * width + left..y * width + right).unwrap_or_default();
        pixels.extend_from_slice(bytemuck::cast_slice(row));
    }
    pixels.chunks_exact_mut(4).for_each(|pixel| pixel[3] = 255);
    png::encode(&pixels, [(right - left) as u32, (bottom - top) as u32])
        .map_err(|e| format!("the picture could not be encoded: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cropped_picture_has_the_requested_rectangle() {
        let mut shot = ColorImage::filled([20, 10], Color32::BLACK);
        shot.pixels[3 * 20 + 5] = Color32::RED;
        let rect = Rect::from_min_max(pos2(2.0, 1.0), pos2(6.0, 4.0));
        let png = encode(&shot, rect, 2.0).unwrap();
        let (back, size) = png::decode(&png).unwrap();
        assert_eq!(size, [8, 6]);
        assert_eq!(back[(8 + 1) * 4..][..4], [255, 0, 0, 255]);
        assert!(encode(&shot, Rect::from_min_max(pos2(50.0, 0.0), pos2(60.0, 5.0)), 1.0).is_err());
    }
}
