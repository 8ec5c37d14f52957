//! The thread pool of the fused operations.
//!
//! Work is cut into tasks whose results do not depend on the number of threads, so that the numbers are the same bit for
//! bit with one or many: sums are cut by sizes alone, and the cut may follow the number of threads only where every
//! value is computed by one task. The calling thread takes tasks as the others do, so that an operation never waits
//! for another thread to wake.
//!
//! Work that is shared from within a task runs on that task's thread alone, since the others have tasks of their own.

use std::{
    cell::Cell,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::buffers::build_vec;

/// The helper threads that work in addition to the calling one; `None` if one thread is set.
static HELPERS: Mutex<Option<Arc<ThreadPool>>> = Mutex::new(None);

thread_local! {
    /// True while this thread is running a task.
    static IN_TASK: Cell<bool> = const { Cell::new(false) };
}

/// Locks a mutex, also if it is poisoned because a thread panicked while holding it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives fused operations this many threads from now on (at least one). The helpers of the previous
/// setting end when their last operation does.
pub fn set_threads(n: usize) {
    let mut helpers = lock(&HELPERS);
    let now = helpers.as_ref().map_or(0, |p| p.current_num_threads());
    let wanted = n.saturating_sub(1);
    if wanted != now {
        *helpers = match wanted {
            0 => None,
            // should the threads not start, the caller does all the work
            n => {
                ThreadPoolBuilder::new().num_threads(n).thread_name(|i| format!("fused {i}")).build().ok().map(Arc::new)
            }
        };
    }
}

/// Threads that an operation may use; within a task, one.
pub fn count() -> usize {
    if IN_TASK.get() {
        return 1;
    }
    1 + lock(&HELPERS).as_ref().map_or(0, |p| p.current_num_threads())
}

/// Calls `work` with each of the n items, in any order, and returns when all are done: each thread takes the next item
/// until none is left.
pub fn for_each<I: Iterator + Send>(n: usize, items: I, work: impl Fn(I::Item) + Sync + Send) {
    let helpers = if n > 1 && !IN_TASK.get() { lock(&HELPERS).clone() } else { None };
    let Some(helpers) = helpers else { return items.for_each(work) };
    let items = Mutex::new(items);
    let drain = || {
        let _guard = TaskGuard::enter();
        loop {
            let item = lock(&items).next();
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

/// Marks the thread as running a task while it lives.
struct TaskGuard;

impl TaskGuard {
    fn enter() -> Self {
        IN_TASK.set(true);
        Self
    }
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        IN_TASK.set(false);
    }
}

/// Values of a task in an elementwise pass.
pub const CHUNK: usize = 1 << 14;

/// Cuts `out` into chunks of `size` values (the last may be shorter) and calls `task` with the number and the chunk of
/// each, in any order.
pub fn run_chunks<T: Send>(out: &mut [T], size: usize, task: impl Fn(usize, &mut [T]) + Sync + Send) {
    let size = size.max(1);
    for_each(out.len().div_ceil(size), out.chunks_mut(size).enumerate(), |(i, chunk)| task(i, chunk));
}

/// The results of `work` for each of 0..n, in order; each is a task.
pub fn map<R: Send>(n: usize, work: impl Fn(usize) -> R + Sync + Send) -> Vec<R> {
    let mut results: Vec<Option<R>> = (0..n).map(|_| None).collect();
    run_chunks(&mut results, 1, |i, result| result[0] = Some(work(i)));
    results.into_iter().flatten().collect()
}

/// A vector of `len` values whose chunks `task` writes, as in [`run_chunks`].
pub fn build_chunks(len: usize, size: usize, task: impl Fn(usize, &mut [f32]) + Sync + Send) -> Vec<f32> {
    build_vec(len, |values| run_chunks(values, size, task))
}

/// Same as [`run_chunks`], over several buffers, each with the size of its chunks: task i gets chunk i of each. All must
/// have the same number of chunks.
pub fn run_all_chunks<const N: usize>(
    buffers: [&mut [f32]; N],
    sizes: [usize; N],
    task: impl Fn(usize, [&mut [f32]; N]) + Sync + Send,
) {
    let mut sizes = sizes.into_iter().map(|size| size.max(1));
    let mut parts = buffers.map(|values| values.chunks_mut(sizes.next().unwrap_or(1)));
    let counts = parts.each_ref().map(|chunks| chunks.len());
    debug_assert!(counts.iter().all(|n| *n == counts[0]));
    let chunks = (0..counts[0]).map(move |i| (i, parts.each_mut().map(|p| p.next().unwrap_or_default())));
    for_each(counts[0], chunks, |(i, chunks)| task(i, chunks));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_several_buffers_go_together() {
        let (mut a, mut b) = ([0f32; 7], [0f32; 3]);
        run_all_chunks([&mut a, &mut b], [3, 1], |i, [a, b]| {
            a.fill(i as f32);
            b[0] = a.len() as f32;
        });
        assert_eq!((a, b), ([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0], [3.0, 3.0, 1.0]));
    }
}
