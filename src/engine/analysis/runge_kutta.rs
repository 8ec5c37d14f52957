//! Runge-Kutta methods: each is one constant with all its properties, and one line of the list. The loop that runs them
//! is `ode::solve`; this module does not depend on it, so that views and labs can read the properties.

use crate::config::{Choice, choices};
use std::{fmt, hash};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An explicit Runge-Kutta method: one of [`Method::ALL`]. Files name it by its id.
#[derive(Clone, Copy)]
pub struct Method(&'static Tableau);

/// A Runge-Kutta method: its names and Butcher's table. With k_0 = f(t, y): k_i = f(t + nodes_{i-1} h, y + h sum_j
/// rows_{i-1,j} k_j), y1 = y + h sum weights_i k_i.
#[derive(Debug)]
pub struct Tableau {
    /// Its name in settings and files.
    pub id: &'static str,
    /// Its name on screen.
    pub name: &'static str,
    /// Global order of y1, and p of the step control: the error of a smooth solve falls as h^p.
    pub order: u32,
    /// c_i of Butcher's table for i >= 1: times of the stages as shares of the step; the first stage is at 0.
    pub nodes: &'static [f64],
    /// a_ij of Butcher's table for i >= 1: the weights of earlier stages in each stage.
    pub rows: &'static [&'static [f64]],
    /// b_i of Butcher's table: the weights of the stages in y1.
    pub weights: &'static [f64],
    /// h sum error_i k_i estimates the error of y1; empty for a method of fixed steps.
    pub error: &'static [f64],
    /// y + h sum mid_i k_i is close to the state in the middle of the step; empty as `error`.
    pub mid: &'static [f64],
}

impl Method {
    /// Every method, in the order of the menus: adaptive methods first, the best known first.
    pub const ALL: &[Self] = &[
        Self::DOPRI5,
        Self::TSIT5,
        Self::BOSH3,
        Self::ADAPTIVE_HEUN,
        Self::EULER,
        Self::MIDPOINT,
        Self::HEUN2,
        Self::RK4,
    ];

    /// Dormand and Prince 1980; the estimate is against Shampine's weights, as in torchdiffeq.
    pub const DOPRI5: Self = Self(&Tableau {
        id: "dopri5",
        name: "dopri5",
        order: 5,
        nodes: &[0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0],
        rows: &[
            &[0.2],
            &[3.0 / 40.0, 9.0 / 40.0],
            &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
            &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
            &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
            &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
        ],
        weights: &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0, 0.0],
        error: &[
            35.0 / 384.0 - 1951.0 / 21600.0,
            0.0,
            500.0 / 1113.0 - 22642.0 / 50085.0,
            125.0 / 192.0 - 451.0 / 720.0,
            -2187.0 / 6784.0 + 12231.0 / 42400.0,
            11.0 / 84.0 - 649.0 / 6300.0,
            -1.0 / 60.0,
        ],
        mid: &[
            0.5 * 6025192743.0 / 30085553152.0,
            0.0,
            0.5 * 51252292925.0 / 65400821598.0,
            -0.5 * 2691868925.0 / 45128329728.0,
            0.5 * 187940372067.0 / 1594534317056.0,
            -0.5 * 1776094331.0 / 19743644256.0,
            0.5 * 11237099.0 / 235043384.0,
        ],
    });

    /// Tsitouras 2011, table 1; `mid` is his interpolant (section 3.2) at 1/2.
    pub const TSIT5: Self = Self(&Tableau {
        id: "tsit5",
        name: "tsit5",
        order: 5,
        nodes: &[0.161, 0.327, 0.9, 0.980_025_540_904_509_7, 1.0, 1.0],
        rows: &[
            &[0.161],
            &[-0.008_480_655_492_356_989, 0.335_480_655_492_357],
            &[2.897_153_057_105_493_5, -6.359_448_489_975_075, 4.362_295_432_869_581_5],
            &[5.325_864_828_439_257, -11.748_883_564_062_828, 7.495_539_342_889_836_5, -0.092_495_066_361_755_25],
            &[
                5.861_455_442_946_42,
                -12.920_969_317_847_11,
                8.159_367_898_576_159,
                -0.071_584_973_281_401,
                -0.028_269_050_394_068_383,
            ],
            TSIT5_LAST,
        ],
        weights: &[TSIT5_LAST[0], TSIT5_LAST[1], TSIT5_LAST[2], TSIT5_LAST[3], TSIT5_LAST[4], TSIT5_LAST[5], 0.0],
        error: &[
            0.001_780_011_052_225_777,
            0.000_816_434_459_656_746_9,
            -0.007_880_878_010_261_995,
            0.144_711_007_173_262_9,
            -0.582_357_165_452_555_2,
            0.458_082_105_929_186_97,
            -1.0 / 66.0,
        ],
        mid: &[
            0.107_412_352_300_968_71,
            0.011_356_25,
            0.395_609_030_560_453_05,
            -0.344_752_143_525_935_53,
            1.316_185_364_958_164_5,
            -1.017_060_854_293_650_8,
            0.031_25,
        ],
    });

    /// The method of Bogacki and Shampine 1989, of order 3 with an estimate of order 2.
    pub const BOSH3: Self = Self(&Tableau {
        id: "bosh3",
        name: "bosh3",
        order: 3,
        nodes: &[0.5, 0.75, 1.0],
        rows: &[&[0.5], &[0.0, 0.75], &[2.0 / 9.0, 1.0 / 3.0, 4.0 / 9.0]],
        weights: &[2.0 / 9.0, 1.0 / 3.0, 4.0 / 9.0, 0.0],
        error: &[2.0 / 9.0 - 7.0 / 24.0, 1.0 / 3.0 - 0.25, 4.0 / 9.0 - 1.0 / 3.0, -0.125],
        mid: &[0.0, 0.5, 0.0, 0.0],
    });

    /// Heun's method of order 2 with an estimate by Euler's method.
    pub const ADAPTIVE_HEUN: Self = Self(&Tableau {
        id: "adaptive_heun",
        name: "adaptive Heun",
        order: 2,
        nodes: &[1.0],
        rows: &[&[1.0]],
        weights: &[0.5, 0.5],
        error: &[0.5, -0.5],
        mid: &[0.5, 0.0],
    });

    /// Euler's method, of order 1, with fixed steps.
    pub const EULER: Self = Self(&Tableau {
        id: "euler",
        name: "Euler",
        order: 1,
        nodes: &[],
        rows: &[],
        weights: &[1.0],
        error: &[],
        mid: &[],
    });

    /// The explicit midpoint method, of order 2, with fixed steps.
    pub const MIDPOINT: Self = Self(&Tableau {
        id: "midpoint",
        name: "midpoint",
        order: 2,
        nodes: &[0.5],
        rows: &[&[0.5]],
        weights: &[0.0, 1.0],
        error: &[],
        mid: &[],
    });

    /// Heun's method, of order 2, with fixed steps.
    pub const HEUN2: Self = Self(&Tableau {
        id: "heun2",
        name: "Heun",
        order: 2,
        nodes: &[1.0],
        rows: &[&[1.0]],
        weights: &[0.5, 0.5],
        error: &[],
        mid: &[],
    });

    /// Kutta's 3/8 rule of 1901, which torchdiffeq calls rk4, of order 4, with fixed steps.
    pub const RK4: Self = Self(&Tableau {
        id: "rk4",
        name: "RK4 (3/8)",
        order: 4,
        nodes: &[1.0 / 3.0, 2.0 / 3.0, 1.0],
        rows: &[&[1.0 / 3.0], &[-1.0 / 3.0, 1.0], &[1.0, -1.0, 1.0]],
        weights: &[0.125, 0.375, 0.375, 0.125],
        error: &[],
        mid: &[],
    });

    /// Returns the method with this id, if there is one.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|m| m.id() == id)
    }

    /// Returns the id that settings and files use.
    pub fn id(self) -> &'static str {
        self.0.id
    }

    /// Returns the name on screen.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns the coefficients of the method.
    pub fn tableau(self) -> &'static Tableau {
        self.0
    }

    /// Returns true if the method chooses its steps; the others take a given number of equal ones.
    pub fn is_adaptive(self) -> bool {
        !self.0.error.is_empty()
    }

    /// Returns true if an accepted step leaves the first slope of the next. [`Policy::Interpolate`] lets every adaptive
    /// method do so, as torchdiffeq does.
    pub fn carries_slope(self, policy: Policy) -> bool {
        self.is_adaptive() && (self.0.ends_at_result() || policy == Policy::Interpolate)
    }

    /// Evaluations of the field that an accepted step costs. An adaptive solve has one more at its start
    /// where [`Method::carries_slope`], and one more where it chooses its first step itself.
    pub fn evaluations_per_step(self, policy: Policy) -> usize {
        self.0.nodes.len() + usize::from(!self.carries_slope(policy))
    }
}

impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for Method {}

impl hash::Hash for Method {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl Serialize for Method {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

impl<'de> Deserialize<'de> for Method {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = String::deserialize(deserializer)?;
        Self::from_id(&id).ok_or_else(|| de::Error::custom(format!("there is no solver `{id}`")))
    }
}

impl Tableau {
    /// Returns true if the last stage is the slope at y1, and so the first of the next step (first same as last).
    pub fn ends_at_result(&self) -> bool {
        let Some(last) = self.rows.last() else { return false };
        self.weights.len() == last.len() + 1 && self.weights.starts_with(last) && self.weights.last() == Some(&0.0)
    }
}

choices! {
    /// The treatment of the end of the span by an adaptive method. Evaluation counts are comparable within one policy only.
    #[derive(Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[schemars(rename = "StepPolicy")]
    pub enum Policy {
        /// Follows torchdiffeq 0.2.5: the last step is not shortened, and the result is read off a quartic.
        Interpolate = "interpolate",
        /// Follows diffrax: the last step is cut to the end; nothing is evaluated outside the span.
        Clip = "clip",
    }
}

const TSIT5_LAST: &[f64] = &[
    0.096_460_766_818_065_23,
    0.01,
    0.479_889_650_414_499_6,
    1.379_008_574_103_742,
    -3.290_069_515_436_081,
    2.324_710_524_099_774,
];

impl Choice for Method {
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }

    fn id(self) -> &'static str {
        Self::id(self)
    }
}
