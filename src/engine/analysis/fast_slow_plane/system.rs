//! The right-hand sides f and g and their derivatives; other modules solve them.

use std::sync::Arc;

use super::formulas::{Formulas, Jacobian};

/// (x, y): fast before slow.
pub type Point = [f64; 2];

/// The equations of f and g.
#[derive(Debug, Clone, PartialEq)]
pub enum Equations {
    /// f = x - x^3/3 - y, g = x - a. Van der Pol's oscillator in Lienard's form with a constant force a; a Hopf point at
    /// a = 1 (Krupa and Szmolyan, J. Differential Equations 174 (2001) 312, with y for -y).
    VanDerPol,
    /// f = x - x^3/3 - y + a, g = x + 0.7 - 0.8 y: x is the voltage, y the recovery, a the current (FitzHugh, Biophys.
    /// J. 1 (1961) 445).
    FitzHughNagumo,
    /// f = y + a x - x^3/3, g = -1: what starts on the right slides over the fold at x = sqrt(a), once. At a = 0 both
    /// folds meet in a cusp, and below there is none.
    CubicFold,
    /// The right-hand sides f and g are formulas that a user wrote.
    Formulas(Arc<Formulas>),
}

/// A system at a value of its parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct FastSlowPlane {
    /// The right-hand sides.
    pub equations: Equations,
    /// The value of the parameter a.
    pub a: f64,
}

/// A rectangle of the plane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The smallest and the largest x.
    pub x: [f64; 2],
    /// The smallest and the largest y.
    pub y: [f64; 2],
}

const FHN_OFFSET: f64 = 0.7;
const FHN_RECOVERY: f64 = 0.8;

impl FastSlowPlane {
    /// Returns the right-hand side of the fast variable, eps dx/dt = f(x, y).
    pub fn f(&self, [x, y]: Point) -> f64 {
        match &self.equations {
            Equations::VanDerPol => x - x.powi(3) / 3.0 - y,
            Equations::FitzHughNagumo => x - x.powi(3) / 3.0 - y + self.a,
            Equations::CubicFold => y + self.a * x - x.powi(3) / 3.0,
            Equations::Formulas(formulas) => formulas.f(x, y, self.a),
        }
    }

    /// Returns the right-hand side of the slow variable, dy/dt = g(x, y).
    pub fn g(&self, [x, y]: Point) -> f64 {
        match &self.equations {
            Equations::VanDerPol => x - self.a,
            Equations::FitzHughNagumo => x + FHN_OFFSET - FHN_RECOVERY * y,
            Equations::CubicFold => -1.0,
            Equations::Formulas(formulas) => formulas.g(x, y, self.a),
        }
    }

    /// Returns the partial derivatives of f and g at a point.
    pub fn jacobian(&self, [x, y]: Point) -> Jacobian {
        match &self.equations {
            Equations::VanDerPol => Jacobian { f_x: 1.0 - x * x, f_y: -1.0, g_x: 1.0, g_y: 0.0 },
            Equations::FitzHughNagumo => Jacobian { f_x: 1.0 - x * x, f_y: -1.0, g_x: 1.0, g_y: -FHN_RECOVERY },
            Equations::CubicFold => Jacobian { f_x: self.a - x * x, f_y: 1.0, g_x: 0.0, g_y: 0.0 },
            Equations::Formulas(formulas) => formulas.jacobian(x, y, self.a),
        }
    }

    /// f_x: below zero where the critical manifold attracts.
    pub fn f_x(&self, p: Point) -> f64 {
        self.jacobian(p).f_x
    }

    /// The shown part of the plane.
    pub fn bounds(&self) -> Bounds {
        match &self.equations {
            Equations::VanDerPol => Bounds { x: [-2.5, 2.5], y: [-1.4, 1.4] },
            Equations::FitzHughNagumo => Bounds { x: [-2.5, 2.5], y: [-1.4, 2.4] },
            Equations::CubicFold => Bounds { x: [-2.8, 2.8], y: [-2.4, 2.4] },
            Equations::Formulas(_) => Bounds { x: [-3.0, 3.0], y: [-3.0, 3.0] },
        }
    }
}

impl Bounds {
    /// Returns true if the point lies in the rectangle or on its edge.
    pub fn contains(&self, [x, y]: Point) -> bool {
        (self.x[0]..=self.x[1]).contains(&x) && (self.y[0]..=self.y[1]).contains(&y)
    }

    /// Returns the extent in x.
    pub fn width(&self) -> f64 {
        self.x[1] - self.x[0]
    }

    /// Returns the extent in y.
    pub fn height(&self) -> f64 {
        self.y[1] - self.y[0]
    }

    /// The point at these fractions of the width and the height.
    pub fn at(&self, across: f64, up: f64) -> Point {
        [self.x[0] + across * self.width(), self.y[0] + up * self.height()]
    }

    /// The bounds, extended on every side by this share of their size.
    pub fn expanded(&self, share: f64) -> Self {
        let (dx, dy) = (share * self.width(), share * self.height());
        Self { x: [self.x[0] - dx, self.x[1] + dx], y: [self.y[0] - dy, self.y[1] + dy] }
    }
}
