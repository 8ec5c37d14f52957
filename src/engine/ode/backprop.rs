//! Discretise, then optimise: a solve whose operations candle saves for its backward pass.

use super::{Field, Solution, SolveError, SolverOptions, solve};

/// Same as [`solve`], and keeps the graph of whatever is tracked in the start and in the field. The steps that an
/// adaptive method chose count as given: their lengths are plain numbers. candle goes back over a graph by recursion:
/// thousands of steps need a thread with a large stack, or another way.
///
/// # Errors
/// Those of [`solve`].
pub fn backprop(
    field: &dyn Field,
    y0: &candle_core::Tensor,
    (t0, t1): (f64, f64),
    options: &SolverOptions,
) -> Result<Solution, SolveError> {
    solve(field, y0, t0, t1, options)
}
