//! The actions on the look of the window.

/// Changes what the window looks like.
#[derive(Debug, Clone, PartialEq)]
pub enum LookAction {
    Presenter,
    ToggleTheme,
    /// Sets the scale of the whole window; 1 is the normal size.
    Zoom(f32),
    /// Turns reduced motion on or off.
    ToggleStill,
    FoldControls,
    FoldInspector,
    FrameTimes,
}
