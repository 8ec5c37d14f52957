//! Derivatives of both right-hand sides.

/// Partial derivatives at a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jacobian {
    /// df/dx.
    pub f_x: f64,
    /// df/dy.
    pub f_y: f64,
    /// dg/dx.
    pub g_x: f64,
    /// dg/dy.
    pub g_y: f64,
}
