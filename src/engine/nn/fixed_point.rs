//! Fixed points x = G(x) of a map on `(B, T, D)`: Anderson's acceleration, a solve to a tolerance, and gradients by the
//! implicit function theorem.
//!
//! A solve of a causal map is causal to the last bit, whatever its tolerance: the state of a position and the iteration at which
//! it stops depend on its row up to it alone. See [`solve`].

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use candle_core::{D, Result, Tensor, Var};

use super::{
    host,
    vjp::{self, Vjp},
};

/// Anderson's acceleration with one past iterate (the two-point secant method):
/// r = G(x) - x, alpha = <dr, r> / |dr|^2, next = x + r - alpha (dx + dr).
///
/// alpha is computed for each position on its own: one alpha for a whole window would carry news of
/// later tokens to earlier ones, and the model would no longer be causal.
#[derive(Debug, Default)]
pub struct Anderson {
    last: Option<(Tensor, Tensor)>,
}

impl Anderson {
    /// The next iterate, from the current one and its image under the map.
    pub fn next(&mut self, x: &Tensor, image: &Tensor) -> Result<Tensor> {
        let r = (image - x)?;
        let next = match &self.last {
            None => image.clone(),
            Some((past_x, past_r)) => {
                let (dx, dr) = ((x - past_x)?, (&r - past_r)?);
                let size = (dr.sqr()?.sum_keepdim(D::Minus1)? + 1e-12)?; // (B,T,1)
                let alpha = (&dr * &r)?.sum_keepdim(D::Minus1)?.div(&size)?; // (B,T,1)
                (image - (dx + dr)?.broadcast_mul(&alpha)?)?
            }
        };
        self.last = Some((x.clone(), r));
        Ok(next)
    }
}

/// |a - b| / |a| over all values.
pub fn relative_distance(a: &Tensor, b: &Tensor) -> Result<f64> {
    let norm = |t: &Tensor| -> Result<f64> { Ok(host::scalar(&host::total(&t.sqr()?)?)?.sqrt()) };
    Ok(norm(&(a - b)?)? / norm(a)?.max(f64::MIN_POSITIVE))
}

/// The tolerance and the number of iterations at which a solve stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopCriterion {
    /// |x - G(x)| / |x| to reach.
    pub tolerance: f64,
    /// Largest number of iterations.
    pub max_iters: usize,
}

/// The result of a solve.
#[derive(Debug, Clone)]
pub struct Solution {
    /// The closest state of each position, detached from the graph.
    pub x: Tensor,
    /// The number of iterations. A solve that stops short evaluates the map once more, for the residual.
    pub iterations: usize,
    /// |x - G(x)| / |x| there, over all rows and positions; above the tolerance if the map was not tame enough.
    pub residual: f64,
    /// True if every position settled. One that did not may be too small to be seen in the residual.
    pub is_settled: bool,
}

/// Solves x = G(x) on `(B, T, D)` from `start` by Anderson's acceleration. `map` should be detached.
///
/// The residual of a position is |x - G(x)| / |x| over its row up to it. A position settles once this residual is within
/// the tolerance there and at every position before, and then moves no more; one that does not settle gets the state of
/// its smallest residual. Neither a later position nor another row can change it, if they cannot change G there. The solve
/// ends when all positions have settled, so it takes as long as the slowest of them, or when all others are not numbers.
pub fn solve(map: &dyn Fn(&Tensor) -> Result<Tensor>, start: &Tensor, goal: StopCriterion) -> Result<Solution> {
    let mut anderson = Anderson::default();
    let mut x = start.detach();
    let mut closest = ClosestState::new(&x)?;
    let mut iterations = 0;
    let mut may_improve = true;
    while may_improve && iterations < goal.max_iters.max(1) {
        iterations += 1;
        let image = map(&x)?.detach();
        may_improve = closest.update(&x, &image, goal.tolerance)?;
        if closest.is_settled.iter().all(|settled| *settled) {
            return Ok(Solution { residual: relative_distance(&x, &image)?, x, iterations, is_settled: true });
        }
        x = select(&closest.is_settled, &closest.x, &anderson.next(&x, &image)?)?;
    }
    let residual = relative_distance(&closest.x, &map(&closest.x)?.detach())?;
    Ok(Solution { x: closest.x, iterations, residual, is_settled: false })
}

/// The closest state of each position so far. Lists are row after row, position after position.
struct ClosestState {
    x: Tensor, // (B,T,D)
    positions: usize,
    residuals: Vec<f64>,
    is_settled: Vec<bool>,
}

impl ClosestState {
    /// Nothing is known of `start` `(B, T, D)` yet.
    fn new(start: &Tensor) -> Result<Self> {
        let (rows, positions, _) = start.dims3()?;
        let all = rows * positions;
        Ok(Self { x: start.clone(), positions, residuals: vec![f64::INFINITY; all], is_settled: vec![false; all] })
    }

    /// Takes the positions of an iterate `(B, T, D)` that settle, and those that are closer than before. A position whose
    /// residual is not a number does neither. Returns true if a further iterate may settle a position or be closer: one that
    /// is not a number up to there stays so.
    fn update(&mut self, x: &Tensor, image: &Tensor, tolerance: f64) -> Result<bool> {
        let squares = |t: &Tensor| host::to_f64(&t.sqr()?.sum(D::Minus1)?); // (B T)
        let (misses, sizes) = (squares(&(image - x)?)?, squares(x)?);
        let mut is_closer = vec![false; misses.len()];
        let (mut miss, mut size, mut settles, mut may_improve) = (0.0, 0.0, true, false);
        for (i, (at_miss, at_size)) in misses.iter().zip(&sizes).enumerate() {
            if i % self.positions == 0 {
                (miss, size, settles) = (0.0, 0.0, true);
            }
            miss += at_miss;
            size += at_size;
            let residual = miss.sqrt() / size.sqrt().max(f64::MIN_POSITIVE);
            settles &= residual <= tolerance;
            if !self.is_settled[i] && (settles || residual < self.residuals[i]) {
                (self.residuals[i], is_closer[i]) = (residual, true);
            }
            self.is_settled[i] |= settles;
            may_improve |= !self.is_settled[i] && !f64::is_nan(size);
        }
        self.x = select(&is_closer, x, &self.x)?;
        Ok(may_improve)
    }
}

/// `(B, T, D)`: the first tensor at the positions that are chosen, the second at all others.
fn select(is_chosen: &[bool], first: &Tensor, second: &Tensor) -> Result<Tensor> {
    if is_chosen.iter().all(|chosen| *chosen) {
        return Ok(first.clone());
    }
    let (rows, positions, _) = first.dims3()?;
    let mask: Vec<u8> = is_chosen.iter().map(|chosen| u8::from(*chosen)).collect();
    let mask = Tensor::from_vec(mask, (rows, positions, 1), first.device())?; // (B,T,1)
    mask.broadcast_as(first.shape())?.contiguous()?.where_cond(first, second)
}

/// The data that [`attach`] needs to differentiate a solution.
pub struct Implicit {
    /// The solution as a leaf of the graph.
    pub at: Var,
    /// G(at), differentiable with respect to `at` (its weights may be detached).
    pub image: Tensor,
    /// The limits at which the backward solve stops.
    pub criterion: StopCriterion,
    /// The record of what the backward solves cost, which each of them updates.
    pub backward: Arc<BackwardSolves>,
}

/// The cost of backward solves.
#[derive(Debug, Default)]
pub struct BackwardSolves {
    /// The number of applications of the transposed Jacobian in the last solve.
    pub iterations: AtomicUsize,
    /// The number of solves that stopped before they reached the tolerance.
    pub unconverged: AtomicUsize,
}

/// Passes `value` (G at the detached solution, tracked with respect to everything but the solution)
/// through, and in backward turns its gradient g into u with u = g + J^T u, J = dG/dx: by the
/// implicit function theorem the gradient of the fixed point itself. Errors in backward if J^T
/// cannot be applied.
pub fn attach(value: &Tensor, implicit: Implicit) -> Result<Tensor> {
    vjp::attach(&value.detach(), value, &[], implicit)
}

impl Implicit {
    /// (I - J^T) u
    fn apply(&self, u: &Tensor) -> Result<Tensor> {
        let grads = (&self.image * u.detach())?.sum_all()?.backward()?;
        let Some(jt_u) = grads.get(&self.at) else {
            candle_core::bail!("the fixed point's map does not depend on its argument")
        };
        u - jt_u
    }
}

impl Vjp for Implicit {
    fn vjp(&self, grad: &Tensor) -> Result<(Tensor, Vec<Tensor>)> {
        let found = gmres(&|u| self.apply(u), grad, self.criterion)?;
        self.backward.iterations.store(found.iterations, Ordering::Relaxed);
        if !found.is_solved {
            self.backward.unconverged.fetch_add(1, Ordering::Relaxed);
        }
        Ok((found.u, vec![]))
    }
}

/// The solution of A u = g, or the vector that comes closest to it.
struct LinearSolution {
    u: Tensor,
    /// Applications of A.
    iterations: usize,
    /// True if the tolerance was reached.
    is_solved: bool,
}

/// Solves A u = g, A linear, by GMRES (Saad & Schultz 1986) without restarts: it needs no contraction,
/// only that A is not singular.
fn gmres(apply: &dyn Fn(&Tensor) -> Result<Tensor>, g: &Tensor, goal: StopCriterion) -> Result<LinearSolution> {
    let dot = |a: &Tensor, b: &Tensor| -> Result<f64> { host::scalar(&host::total(&(a * b)?)?) };
    let size = dot(g, g)?.sqrt();
    if size == 0.0 || !size.is_finite() {
        return Ok(LinearSolution { u: g.clone(), iterations: 0, is_solved: size == 0.0 });
    }
    let mut basis = vec![(g / size)?];
    // Columns of the triangular factor, the rotations that made them, and the rotated right side.
    let (mut columns, mut rotations, mut rhs) = (Vec::<Vec<f64>>::new(), Vec::<(f64, f64)>::new(), vec![size]);
    let mut is_solved = false;
    while columns.len() < goal.max_iters.max(1) {
        let mut w = apply(&basis[columns.len()])?;
        let mut column = Vec::with_capacity(basis.len() + 1);
        for v in &basis {
            let h = dot(v, &w)?;
            w = (w - (v * h)?)?;
            column.push(h);
        }
        let rest = dot(&w, &w)?.sqrt();
        column.push(rest);
        for (i, &(c, s)) in rotations.iter().enumerate() {
            let (a, b) = (column[i], column[i + 1]);
            (column[i], column[i + 1]) = (c * a + s * b, c * b - s * a);
        }
        let n = columns.len();
        let r = column[n].hypot(column[n + 1]).max(f64::MIN_POSITIVE);
        let (c, s) = (column[n] / r, column[n + 1] / r);
        column[n] = r;
        column.truncate(n + 1);
        rotations.push((c, s));
        columns.push(column);
        let b = rhs[n];
        rhs[n] = c * b;
        rhs.push(-s * b);
        is_solved = (s * b).abs() <= goal.tolerance * size;
        if is_solved || rest <= f64::EPSILON * size {
            break;
        }
        basis.push((w / rest)?);
    }
    let n = columns.len();
    let mut y = vec![0.0; n];
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| columns[j][i] * y[j]).sum();
        y[i] = (rhs[i] - known) / columns[i][i];
    }
    let mut u = (&basis[0] * y[0])?;
    for (v, &weight) in basis.iter().zip(&y).skip(1) {
        u = (u + (v * weight)?)?;
    }
    Ok(LinearSolution { u, iterations: n, is_solved })
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::*;
    use crate::nn::Params;

    const GOAL: StopCriterion = StopCriterion { tolerance: 1e-7, max_iters: 60 };

    /// G(x) = b + 0.9 tanh(x W^T) on `(1, 3, 4)`.
    fn example() -> Result<(Tensor, Tensor)> {
        let mut p = Params::new(5, &Device::Cpu, DType::F64);
        Ok((p.normal("w", (4, 4), 0.6)?, p.normal("b", (1, 3, 4), 1.0)?))
    }

    fn map(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
        b + (x.reshape((3, 4))?.matmul(&w.t()?)?.tanh()?.reshape((1, 3, 4))? * 0.9)?
    }

    #[test]
    fn acceleration_beats_passes_on_a_slow_contraction() -> Result<()> {
        let b = example()?.1.detach();
        let slow = |x: &Tensor| -> Result<Tensor> { &b + (x * 0.9)? };
        let solution = solve(&slow, &b, GOAL)?;
        assert!(solution.iterations < 6, "{} where plain passes take about 150", solution.iterations);
        Ok(())
    }

    /// Solves x = b + 0.9 tanh(M x W^T) at a loose tolerance; M averages a position with those before it.
    fn loosely_solved(b: &Tensor, w: &Tensor) -> Result<Solution> {
        let mean = Tensor::new(&[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [1.0 / 3.0; 3]], &Device::Cpu)?;
        let causal = |x: &Tensor| -> Result<Tensor> {
            let past = mean.broadcast_matmul(x)?.reshape((6, 4))?;
            b + (past.matmul(&w.t()?)?.tanh()?.reshape((2, 3, 4))? * 0.9)?
        };
        solve(&causal, b, StopCriterion { tolerance: 0.05, max_iters: 60 })
    }

    #[test]
    fn a_position_does_not_depend_on_later_positions_or_other_rows() -> Result<()> {
        let mut p = Params::new(5, &Device::Cpu, DType::F64);
        let (w, b) = (p.normal("w", (4, 4), 0.6)?.detach(), p.normal("b", (2, 3, 4), 1.0)?.detach());
        let solution = loosely_solved(&b, &w)?;
        // so large a position that its residual, as a share of the whole state, is small at once
        let scale = Tensor::new(&[[[1.0], [1.0], [300.0]], [[300.0], [300.0], [300.0]]], &Device::Cpu)?;
        let changed = loosely_solved(&b.broadcast_mul(&scale)?, &w)?;
        let before = |s: &Solution| host::to_f64(&s.x.narrow(0, 0, 1)?.narrow(1, 0, 2)?);
        assert_eq!(before(&solution)?, before(&changed)?);
        assert!(solution.iterations > 1 && solution.residual <= 0.05, "{solution:?}");
        Ok(())
    }

    #[test]
    fn a_position_that_has_no_solution_leaves_the_others_closest() -> Result<()> {
        // the last position drifts for ever, the others shrink
        let b = example()?.1.detach();
        let rates = Tensor::new(&[[[0.5], [-0.4], [1.0]]], &Device::Cpu)?;
        let drift = Tensor::new(&[[[0.0], [0.0], [1.0]]], &Device::Cpu)?;
        let map = |x: &Tensor| -> Result<Tensor> {
            x.broadcast_mul(&rates)?.broadcast_add(&drift)? + b.broadcast_mul(&(1.0 - &drift)?)?
        };
        let solution = solve(&map, &b, GOAL)?;
        let off = relative_distance(&solution.x, &map(&solution.x)?)?;
        assert!(solution.iterations == GOAL.max_iters && off > GOAL.tolerance, "{off}");
        assert!((off - solution.residual).abs() < 1e-12, "{off} is not {}", solution.residual);
        let solved = |x: &Tensor| x.narrow(1, 0, 2);
        assert!(relative_distance(&solved(&solution.x)?, &solved(&map(&solution.x)?)?)? <= GOAL.tolerance);
        Ok(())
    }

    #[test]
    fn a_large_state_does_not_hide_a_position_that_never_settles() -> Result<()> {
        // the first position drifts for ever, the second is large and solved at once
        let rates = Tensor::new(&[[[1.0], [0.0]]], &Device::Cpu)?;
        let drift = Tensor::new(&[[[1.0], [1e6]]], &Device::Cpu)?;
        let map = |x: &Tensor| -> Result<Tensor> { x.broadcast_mul(&rates)?.broadcast_add(&drift) };
        let goal = StopCriterion { tolerance: 0.01, max_iters: 8 };
        let solution = solve(&map, &drift.zeros_like()?, goal)?;
        assert!(solution.residual <= goal.tolerance && !solution.is_settled, "{solution:?}");
        assert_eq!(solution.iterations, goal.max_iters);
        Ok(())
    }

    #[test]
    fn a_state_that_is_not_a_number_ends_a_solve() -> Result<()> {
        let b = example()?.1.detach();
        let factors = Tensor::new(&[[[0.5], [f64::NAN], [0.5]]], &Device::Cpu)?;
        let solution = solve(&|x: &Tensor| x.broadcast_mul(&factors)?.broadcast_add(&b), &b, GOAL)?;
        assert!(solution.iterations < 10 && solution.residual.is_nan(), "{solution:?}");
        let at = |x: &Tensor, position: usize| host::to_f64(&x.narrow(1, position, 1)?);
        assert_eq!(at(&solution.x, 1)?, at(&b, 1)?, "the closest state is the start");
        let first = |x: &Tensor| x.narrow(1, 0, 1);
        assert!(relative_distance(&first(&solution.x)?, &(first(&b)? * 2.0)?)? <= 1e-6);
        Ok(())
    }

    #[test]
    fn implicit_gradients_equal_unrolled_ones() -> Result<()> {
        let (w, b) = example()?;
        let mut x = b.clone();
        for _ in 0..200 {
            x = map(&x, &w, &b)?;
        }
        let unrolled = x.sqr()?.sum_all()?.backward()?;
        let (w0, b0) = (w.detach(), b.detach());
        let solution = solve(&|x| map(x, &w0, &b0), &b0, GOAL)?;
        let off = relative_distance(&solution.x, &map(&solution.x, &w0, &b0)?)?;
        assert!(solution.residual <= GOAL.tolerance && off <= GOAL.tolerance, "{off:e}: {solution:?}");
        let at = Var::from_tensor(&solution.x.copy()?)?;
        let value = map(&at.detach(), &w, &b)?;
        let image = map(&at, &w0, &b0)?;
        let backward = Arc::new(BackwardSolves::default());
        let x = attach(&value, Implicit { at, image, criterion: GOAL, backward: backward.clone() })?;
        let implicit = x.sqr()?.sum_all()?.backward()?;
        for p in [&w, &b] {
            let (a, e) = (implicit.get(p).ok_or(candle_core::Error::Msg("none".into()))?, unrolled.get(p));
            let e = e.ok_or(candle_core::Error::Msg("none".into()))?;
            assert!(relative_distance(e, a)? < 1e-6, "{}", relative_distance(e, a)?);
        }
        assert!(backward.iterations.load(Ordering::Relaxed) > 0);
        assert_eq!(backward.unconverged.load(Ordering::Relaxed), 0);
        Ok(())
    }
}
