//! How a fused operation spreads over the cores the trainer is given.
//!
//! Work is cut into tasks whose results do not depend on how many threads there are, so that the numbers
//! are the same bit for bit with one or many: sums are cut by sizes alone, and only where every value is
//! made by one task may the cut follow the threads. The calling thread is one of them: it takes tasks as
//! the others do, so that an operation never waits for another thread to wake. It does not know what a
//! task computes.
//!
//! A task that shares work of its own does it alone: its thread is one of many already.

use std::{
    cell::Cell,
    sync::{Arc, Mutex, PoisonError},
};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The threads besides the calling one.
static HELPERS: Mutex<Option<Arc<ThreadPool>>> = Mutex::new(None);

thread_local! {
    /// Whether this thread is in a task that it took beside others.
    static WITHIN: Cell<bool> = const { Cell::new(false) };
}

/// Gives fused operations this many threads from now on (at least one). The helpers of the previous
/// setting end when their last operation does.
pub fn set_threads(n: usize) {
    let mut helpers = HELPERS.lock().unwrap_or_else(PoisonError::into_inner);
    let now = helpers.as_ref().map_or(0, |p| p.current_num_threads());
    let wanted = n.saturating_sub(1);
    if wanted != now {
        *helpers = match wanted {
            0 => None,
            // without helpers the caller does all the work
            n => {
                ThreadPoolBuilder::new().num_threads(n).thread_name(|i| format!("fused {i}")).build().ok().map(Arc::new)
            }
        };
    }
}

/// Threads that an operation may use now; within a task, one.
pub fn threads() -> usize {
    if WITHIN.get() {
        return 1;
    }
    1 + HELPERS.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(0, |p| p.current_num_threads())
}

/// Each thread takes the next of n items until none is left.
pub(super) fn share<I: Iterator + Send>(n: usize, items: I, work: impl Fn(I::Item) + Sync + Send) {
    let helpers =
        if n > 1 && !WITHIN.get() { HELPERS.lock().unwrap_or_else(PoisonError::into_inner).clone() } else { None };
    let Some(helpers) = helpers else { return items.for_each(work) };
    let items = Mutex::new(items);
    let drain = || {
        let _within = Within::enter();
        loop {
            let item = items.lock().unwrap_or_else(PoisonError::into_inner).next();
            match item {
                Some(item) => work(item),
                None => break,
            }
        }
    };
    helpers.in_place_scope(|scope| {
        for _ in 0..helpers.current_num_threads().min(n - 1) {
            scope.spawn(|_| drain());
        }
        drain();
    });
}

/// While it lives, this thread is within a task.
struct Within;

impl Within {
    fn enter() -> Self {
        WITHIN.set(true);
        Self
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        WITHIN.set(false);
    }
}

/// Runs `task(0) .. task(n - 1)`, in any order, and returns when all are done.
pub fn run(n: usize, task: impl Fn(usize) + Sync + Send) {
    share(n, 0..n, task);
}

/// Values that a task takes of a pass in which each is worked on by itself.
pub const PIECE: usize = 1 << 14;

/// As [`run`] over disjoint pieces of `out`, `size` values each (the last may be shorter): task i
/// gets its number and its piece.
pub fn run_on<T: Send>(out: &mut [T], size: usize, task: impl Fn(usize, &mut [T]) + Sync + Send) {
    let size = size.max(1);
    share(out.len().div_ceil(size), out.chunks_mut(size).enumerate(), |(i, piece)| task(i, piece));
}

/// As [`run_on`] over pieces of two buffers at once: task i gets piece i of each. Sizes are those of a
/// piece; both must make the same number of pieces.
pub fn run_on2(
    (a, size_a): (&mut [f32], usize),
    (b, size_b): (&mut [f32], usize),
    task: impl Fn(usize, [&mut [f32]; 2]) + Sync + Send,
) {
    let (size_a, size_b) = (size_a.max(1), size_b.max(1));
    let n = a.len().div_ceil(size_a);
    debug_assert_eq!(n, b.len().div_ceil(size_b));
    let pieces = a.chunks_mut(size_a).zip(b.chunks_mut(size_b));
    share(n, pieces.enumerate(), |(i, (a, b))| task(i, [a, b]));
}

/// As [`run_on2`] with three.
pub fn run_on3(
    (a, size_a): (&mut [f32], usize),
    (b, size_b): (&mut [f32], usize),
    (c, size_c): (&mut [f32], usize),
    task: impl Fn(usize, [&mut [f32]; 3]) + Sync + Send,
) {
    let (size_a, size_b, size_c) = (size_a.max(1), size_b.max(1), size_c.max(1));
    let n = a.len().div_ceil(size_a);
    debug_assert_eq!(n, b.len().div_ceil(size_b));
    debug_assert_eq!(n, c.len().div_ceil(size_c));
    let pieces = a.chunks_mut(size_a).zip(b.chunks_mut(size_b)).zip(c.chunks_mut(size_c));
    share(n, pieces.enumerate(), |(i, ((a, b), c))| task(i, [a, b, c]));
}
