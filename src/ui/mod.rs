//! The application: shell, mirror, theme, panels, views. Knows runs only through telemetry, files
//! and dialogs only through [`host::Host`].

pub mod figure;
pub mod host;
pub mod mirror;
pub mod plot;
pub mod theme;
pub mod views;
