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
        meaning: ManifoldMeaning = ManifoldMeaning::Dynamical => "Manifold", in_views;
        /// The planar system ε dx/dt = f, dy/dt = g. Formulas takes the two that you write below.
        system: PlanarSystem = PlanarSystem::VanDerPol => "System", in_views;
        /// How much faster x is than y: ε = 1/P for a slow path that moves once in P steps. Small ones pull x onto f = 0 at once.
        epsilon: f64 = 0.05 => "Timescale ratio", range(0.001..=1.0), log, in_views, symbol("ε");
        /// The system's parameter: van der Pol's force (canards just below 1), FitzHugh and Nagumo's current, the place √a of the cubic's fold, or a in your formulas.
        a: f64 = 0.5 => "Parameter a", range(-2.0..=2.0), in_views;
        /// f(x, y) of ε dx/dt = f, in x, y and a, for the system Formulas. Powers are written x^2, products 2*x; sin, exp, tanh and others are known.
        f: String = "x - x^3/3 - y".into() => "Formula f", in_views, symbol("f");
        /// g(x, y) of dy/dt = g, in x, y and a, for the system Formulas. It may not be infinite where it is drawn.
        g: String = "x - a".into() => "Formula g", in_views, symbol("g");
    }
}
