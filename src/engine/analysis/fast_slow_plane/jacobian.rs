//! Derivatives of both right-hand sides.

/// Partial derivatives at a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jacobian {
    pub f_x: f64,
    pub f_y: f64,
    pub g_x: f64,
    pub g_y: f64,
}
