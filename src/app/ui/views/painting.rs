//! The vocabulary of views that paint by themselves: that of all views, with egui's stroke in the place of a chart's.

pub use eframe::egui::Stroke;

pub use super::prelude::*;
