//! The actions on the look of the window.

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
