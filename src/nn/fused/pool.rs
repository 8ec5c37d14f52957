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
