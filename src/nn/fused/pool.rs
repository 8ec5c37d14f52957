//! How a fused operation spreads over the cores the trainer is given.
//!
//! Work is cut into tasks whose number and results do not depend on how many threads there are, so
//! that the numbers are the same bit for bit with one or many. With one thread everything runs on
//! the calling one. It does not know what a task computes.

use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder, prelude::*};

static POOL: Mutex<Option<Arc<ThreadPool>>> = Mutex::new(None);

/// Gives fused operations this many threads from now on (at least one). The pool of the previous
/// setting ends when its last operation does.
pub fn set_threads(n: usize) {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let now = pool.as_ref().map_or(1, |p| p.current_num_threads());
    if n.max(1) != now {
        *pool = match n {
            0 | 1 => None,
            // without further threads the caller does all the work
            n => {
                ThreadPoolBuilder::new().num_threads(n).thread_name(|i| format!("fused {i}")).build().ok().map(Arc::new)
            }
        };
    }
}

/// Threads that operations may use now.
pub fn threads() -> usize {
    POOL.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(1, |p| p.current_num_threads())
}

/// Runs `task(0) .. task(n - 1)`, in any order, and returns when all are done.
pub fn run(n: usize, task: impl Fn(usize) + Sync + Send) {
    let pool = POOL.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match pool {
        Some(pool) if n > 1 => pool.install(|| (0..n).into_par_iter().for_each(task)),
        _ => (0..n).for_each(task),
    }
}

/// As [`run`] over disjoint pieces of `out`, `size` values each (the last may be shorter): task i
/// gets its number and its piece.
pub fn run_on<T: Send>(out: &mut [T], size: usize, task: impl Fn(usize, &mut [T]) + Sync + Send) {
    let pool = POOL.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let size = size.max(1);
    match pool {
        Some(pool) if out.len() > size => {
            pool.install(|| out.par_chunks_mut(size).enumerate().for_each(|(i, piece)| task(i, piece)));
        }
        _ => out.chunks_mut(size).enumerate().for_each(|(i, piece)| task(i, piece)),
    }
}

/// As [`run_on`] over pieces of two buffers at once: task i gets piece i of each. Sizes are those of a
/// piece; both must make the same number of pieces.
pub fn run_on2(
    (a, size_a): (&mut [f32], usize),
    (b, size_b): (&mut [f32], usize),
    task: impl Fn(usize, [&mut [f32]; 2]) + Sync + Send,
) {
    let mut units = vec![0f32; a.len().div_ceil(size_a.max(1))];
    run_on3((a, size_a), (b, size_b), (&mut units, 1), |i, [a, b, _]| task(i, [a, b]));
}

/// As [`run_on`] over pieces of three buffers at once: task i gets piece i of each. Sizes are those of
/// a piece; all three must make the same number of pieces.
pub fn run_on3(
    (a, size_a): (&mut [f32], usize),
    (b, size_b): (&mut [f32], usize),
    (c, size_c): (&mut [f32], usize),
    task: impl Fn(usize, [&mut [f32]; 3]) + Sync + Send,
) {
    let pool = POOL.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (size_a, size_b, size_c) = (size_a.max(1), size_b.max(1), size_c.max(1));
    debug_assert_eq!(a.len().div_ceil(size_a), b.len().div_ceil(size_b));
    debug_assert_eq!(a.len().div_ceil(size_a), c.len().div_ceil(size_c));
    match pool {
        Some(pool) if a.len() > size_a => pool.install(|| {
            let pieces = a.par_chunks_mut(size_a).zip(b.par_chunks_mut(size_b)).zip(c.par_chunks_mut(size_c));
            pieces.enumerate().for_each(|(i, ((a, b), c))| task(i, [a, b, c]));
        }),
        _ => {
            let pieces = a.chunks_mut(size_a).zip(b.chunks_mut(size_b)).zip(c.chunks_mut(size_c));
            pieces.enumerate().for_each(|(i, ((a, b), c))| task(i, [a, b, c]));
        }
    }
}
