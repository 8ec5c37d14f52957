//! A field of two formulas in x, y and a, with exact derivatives; and the reasons why a field cannot be drawn. A crate
//! parses the formulas; nothing is drawn here.

use exmex::{Differentiate, ExError, Express, FlatEx};

/// The names that a formula may use, in the order in which they are given values.
const NAMES: [&str; 3] = ["a", "x", "y"];
/// A formula that is longer is refused: no formula that a person reads is.
const MAX_LENGTH: usize = 200;

/// The reason why a field is not drawn, and the remedy.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name the fields of the variants")]
pub enum PlaneError {
    /// A formula has no characters.
    #[error("the formula {formula} is empty: write one in x, y and a, such as x - x^3/3 - y")]
    Empty { formula: &'static str },
    /// A formula has more characters than the limit.
    #[error("the formula {formula} has {length} characters: shorten it to at most {MAX_LENGTH}")]
    TooLong { formula: &'static str, length: usize },
    /// A formula is not a valid expression.
    #[error("the formula {formula} cannot be read: check its brackets and signs, and write products with *")]
    Parse { formula: &'static str, source: ExError },
    /// A formula uses a name other than x, y and a.
    #[error("the formula {formula} uses `{name}`: only x (fast), y (slow) and a (the parameter) have values here")]
    UnknownName { formula: &'static str, name: String },
    /// A formula has no symbolic derivative.
    #[error("the formula {formula} has no derivative that can be written down: use functions such as sin, exp, tanh")]
    NoDerivative { formula: &'static str, source: ExError },
    /// A formula has no finite value at a point of the plane.
    #[error(
        "{formula} is not finite at x = {x:.2}, y = {y:.2}: add something to a denominator, or keep roots and \
         logarithms above zero, for x from {from:.1} to {to:.1}"
    )]
    NotFinite { formula: &'static str, x: f64, y: f64, from: f64, to: f64 },
    /// A formula has a pole in the plane.
    #[error(
        "{formula} jumps from one sign to the other near x = {x:.2}, y = {y:.2}, as where a denominator is zero: add \
         something to it, such as x^2 + 0.1 for x"
    )]
    Pole { formula: &'static str, x: f64, y: f64 },
    /// The right-hand side f does not depend on x.
    #[error("f does not depend on x here, so nothing is fast: put x into f")]
    NoFastVariable,
}

/// A formula, with where its variables are among [`NAMES`].
#[derive(Debug, Clone, PartialEq)]
struct Formula {
    expression: FlatEx<f64>,
    argument_indices: Vec<usize>,
}

impl Formula {
    fn new(expression: FlatEx<f64>, formula: &'static str) -> Result<Self, PlaneError> {
        let mut argument_indices = vec![];
        for name in expression.var_names() {
            let place = NAMES.iter().position(|known| known == name);
            argument_indices.push(place.ok_or_else(|| PlaneError::UnknownName { formula, name: name.clone() })?);
        }
        Ok(Self { expression, argument_indices })
    }

    /// The value at these arguments, or NaN where the formula is undefined.
    fn at(&self, values: [f64; 3]) -> f64 {
        let mut given = [0.0; 3];
        given.iter_mut().zip(&self.argument_indices).for_each(|(slot, place)| *slot = values[*place]);
        self.expression.eval(&given[..self.argument_indices.len()]).unwrap_or(f64::NAN)
    }

    fn derivative(&self, name: &str, formula: &'static str) -> Result<Self, PlaneError> {
        let no_derivative = |source| PlaneError::NoDerivative { formula, source };
        let derivative = match self.expression.var_names().iter().position(|known| known == name) {
            Some(index) => self.expression.clone().partial(index),
            None => exmex::parse("0"),
        };
        Self::new(derivative.map_err(no_derivative)?, formula)
    }
}

/// The right-hand sides f and g as the user typed them, with their derivatives.
#[derive(Debug, Clone, PartialEq)]
pub struct Formulas {
    /// f, f_x, f_y.
    f: [Formula; 3],
    /// g, g_x, g_y.
    g: [Formula; 3],
}

impl Formulas {
    /// Parses the formulas of both right-hand sides and derives them; fails where one of them cannot be used.
    pub fn parse(f: &str, g: &str) -> Result<Self, PlaneError> {
        Ok(Self { f: with_derivatives(f, "f")?, g: with_derivatives(g, "g")? })
    }

    /// Returns f(x, y) at the parameter `a`.
    pub fn f(&self, x: f64, y: f64, a: f64) -> f64 {
        self.f[0].at([a, x, y])
    }

    /// Returns g(x, y) at the parameter `a`.
    pub fn g(&self, x: f64, y: f64, a: f64) -> f64 {
        self.g[0].at([a, x, y])
    }

    /// Returns the partial derivatives of f and g at a point.
    pub fn jacobian(&self, x: f64, y: f64, a: f64) -> Jacobian {
        let at = |formula: &Formula| formula.at([a, x, y]);
        Jacobian { f_x: at(&self.f[1]), f_y: at(&self.f[2]), g_x: at(&self.g[1]), g_y: at(&self.g[2]) }
    }
}

/// Partial derivatives of both right-hand sides at a point.
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

fn with_derivatives(text: &str, formula: &'static str) -> Result<[Formula; 3], PlaneError> {
    let length = text.chars().count();
    ensure!(!text.trim().is_empty(), PlaneError::Empty { formula });
    ensure!(length <= MAX_LENGTH, PlaneError::TooLong { formula, length });
    let expression = exmex::parse::<f64>(text).map_err(|source| PlaneError::Parse { formula, source })?;
    let value = Formula::new(expression, formula)?;
    let (by_x, by_y) = (value.derivative("x", formula)?, value.derivative("y", formula)?);
    Ok([value, by_x, by_y])
}
