//! Colour, type and space, as one value.

use eframe::egui::Color32;

/// The palette of one mode.
#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    pub dark: bool,
    pub page: Color32,
    pub panel: Color32,
    pub line: Color32,
    pub text: Color32,
    pub secondary: Color32,
    /// The one accent: active or selected.
    pub accent: Color32,
    pub fast: Color32,
    pub slow: Color32,
}

impl Theme {
    pub fn dark() -> Self {
        Self {
            dark: true,
            page: Color32::from_rgb(0x0f, 0x13, 0x18),
            panel: Color32::from_rgb(0x16, 0x1b, 0x22),
            line: Color32::from_rgb(0x22, 0x2a, 0x33),
            text: Color32::from_rgb(0xe6, 0xea, 0xf0),
            secondary: Color32::from_rgb(0x9a, 0xa7, 0xb4),
            accent: Color32::from_rgb(0xf0, 0xa9, 0x3b),
            fast: Color32::from_rgb(0x4c, 0xc9, 0xe0),
            slow: Color32::from_rgb(0xf0, 0xa9, 0x3b),
        }
    }
}
