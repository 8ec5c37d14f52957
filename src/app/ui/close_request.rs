//! Requests from outside to close the window: Ctrl-C in the terminal, or the system's shutdown.

use std::sync::{
    OnceLock,
    atomic::{AtomicBool, Ordering},
};

use eframe::egui::{Context, ViewportCommand};

/// Shared between the window and the parts that may ask it to close.
#[derive(Debug, Default)]
pub struct CloseRequest {
    is_asked: AtomicBool,
    window: OnceLock<Context>,
}

impl CloseRequest {
    /// Asks; the window closes in its next frame, as if its button had been pressed.
    pub fn ask(&self) {
        self.is_asked.store(true, Ordering::SeqCst);
        if let Some(ctx) = self.window.get() {
            ctx.request_repaint();
        }
    }

    pub fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::SeqCst)
    }

    /// Closes the window if that was asked for; called in every frame.
    pub(super) fn close_if_asked(&self, ctx: &Context) {
        let ctx = self.window.get_or_init(|| ctx.clone());
        if self.is_asked() {
            ctx.send_viewport_cmd(ViewportCommand::Close);
        }
    }
}
