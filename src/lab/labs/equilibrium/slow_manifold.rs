//! The settings of the planar fast-slow playground.

use crate::labs::prelude::*;

choices! {
    /// A planar fast-slow system.
    pub enum PlanarSystem {
        VanDerPol = "van_der_pol",
        FitzHughNagumo = "fitzhugh_nagumo",
        CubicFold = "cubic_fold",
        /// The formulas that a person wrote.
        Formulas = "formulas",
    }
}

choices! {
    /// The three things called a manifold (arXiv 2606.16730, section 5).
    pub enum ManifoldMeaning {
        /// M1: doubly stochastic matrices.
        Operator = "operator",
        /// M2: states of length 1.
        Sphere = "sphere",
        /// M3: f(x, y) = 0.
        Dynamical = "dynamical",
    }
}

settings! {
    /// The system that the view of slow manifolds shows.
    pub struct SlowManifoldSettings in "slow_manifold" {
        /// Which of three things called a manifold is shown: matrices whose rows and columns sum to 1 (M1), states of length 1 (M2), or where the fast variable comes to rest (M3).
        #[knob("Manifold", in_views)]
        meaning: ManifoldMeaning = ManifoldMeaning::Dynamical,
        /// The planar system ε dx/dt = f, dy/dt = g. Formulas takes the two that you write below.
        #[knob("System", in_views)]
        system: PlanarSystem = PlanarSystem::VanDerPol,
        /// How much faster x is than y: ε = 1/P for a slow path that moves once in P steps. Small ones pull x onto f = 0 at once.
        #[knob("Timescale ratio", range(0.001..=1.0), log, in_views, symbol("ε"))]
        epsilon: f64 = 0.05,
        /// The system's parameter: van der Pol's force (canards just below 1), FitzHugh and Nagumo's current, the place √a of the cubic's fold, or a in your formulas.
        #[knob("Parameter a", range(-2.0..=2.0), in_views)]
        a: f64 = 0.5,
        /// f(x, y) of ε dx/dt = f, in x, y and a, for the system Formulas. Powers are written x^2, products 2*x; sin, exp, tanh and others are known.
        #[knob("Formula f", in_views, symbol("f"))]
        f: String = "x - x^3/3 - y".into(),
        /// g(x, y) of dy/dt = g, in x, y and a, for the system Formulas. It may not be infinite where it is drawn.
        #[knob("Formula g", in_views, symbol("g"))]
        g: String = "x - a".into(),
    }
}
