//! The application: shell, mirror, theme, panels, views. It reaches runs through telemetry, and files through
//! [`host::Host`].
//!
//! Nothing here waits: what takes time is asked of the host and comes back as a
//! [`host::Delivery`] or through a run's inbox; each asks for a frame.

pub mod action;
pub mod app;
pub mod close_request;
pub mod comparison;
pub mod curve;
pub mod dialog;
pub mod figure;
mod focus;
pub mod frames;
pub mod history;
pub mod host;
pub mod identity;
mod keys;
pub mod large_numbers;
pub mod legal;
pub mod lesson;
pub mod lists;
pub mod mirror;
pub mod multiples;
pub mod page;
pub mod panels;
pub mod picture_order;
pub mod pinned;
pub mod plot;
mod pointer_events;
pub mod questions;
pub mod run;
pub mod seed_series;
pub mod selection;
pub mod session;
pub mod step_events;
pub mod sweep_draft;
pub mod sweep_pictures;
pub mod system_fonts;
pub mod table;
pub mod theme;
pub mod tiling;
mod tooltips;
pub mod view;
pub mod views;
pub mod widgets;

pub use app::{App, Start, run, run_scripted};

use crate::analysis::distinct::distinct;

/// The application's name, as the window system and the folder of its settings know it.
pub const NAME: &str = "Orrery";

/// The views a lab's page may show, in the order of its panes.
pub fn views_of(lists: lists::Lists, lab: &str) -> Vec<&'static str> {
    distinct(lists.lab(lab).map_or(&[][..], |l| l.panes).iter().map(|pane| pane.view))
}
