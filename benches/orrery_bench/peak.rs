//! The machine's peak: fused multiply-adds of registers, on the code path of the kernels.

use std::{hint::black_box, sync::Barrier, time::Instant};

use orrery::nn::kernels::arch;
use pulp::{Simd, WithSimd};

/// Chains that do not wait for one another: enough to hide a multiply-add's latency, and few enough for AVX2's registers.
const CHAINS: usize = 12;
/// Multiply-adds of a chain in a timed run: some ten milliseconds.
const LENGTH: usize = 4_000_000;
/// Timed runs. The fastest counts, because other work on the machine only makes a run longer.
const ROUNDS: usize = 7;

struct Chains;

impl WithSimd for Chains {
    /// Operations made, and what keeps them from being left out.
    type Output = (f64, f32);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let half = simd.splat_f32s(black_box(0.5));
        let mut sums = [half; CHAINS];
        for _ in 0..LENGTH {
            for sum in &mut sums {
                *sum = simd.mul_add_f32s(*sum, half, half);
            }
        }
        let total: f32 = sums.iter().map(|sum| simd.reduce_sum_f32s(*sum)).sum();
        ((2 * CHAINS * LENGTH * S::F32_LANES) as f64, total)
    }
}

/// GFLOP/s of this many threads together.
pub fn gflops(threads: usize) -> f64 {
    (0..ROUNDS).map(|_| round(threads)).fold(0.0, f64::max)
}

/// From the first thread's start to the last one's end: the thread that waits for them may wake late.
fn round(threads: usize) -> f64 {
    let start = Barrier::new(threads);
    let chains = || {
        start.wait();
        let began = Instant::now();
        let (operations, total) = arch::arch().dispatch(Chains);
        black_box(total);
        (operations, began, Instant::now())
    };
    let timings: Vec<(f64, Instant, Instant)> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(chains)).collect();
        running.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let operations: f64 = timings.iter().map(|(operations, ..)| operations).sum();
    let ends = timings.iter().map(|(_, began, _)| *began).min().zip(timings.iter().map(|(.., ended)| *ended).max());
    ends.map_or(0.0, |(began, ended)| operations * 1e-9 / ended.duration_since(began).as_secs_f64())
}
