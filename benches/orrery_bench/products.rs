//! `orrery-bench --products`: our matrix products against the `gemm` crate's, at the shapes of the labs' models. Both are
//! timed in turn in many short rounds. The shortest counts, because other work on the machine only makes a round
//! longer. It uses no model; the shapes are a list.

use std::time::Instant;

use super::case::median;
use orrery::nn::{
    kernels::{
        matmul::{matmul_rows, weight_grad_accumulate},
        matrix::View,
        packed::gemm,
    },
    set_threads,
};

/// Rounds; both sides run in each.
const ROUNDS: usize = 150;
/// Multiplications in a timed run, about: short products are repeated.
const WORK: usize = 1 << 25;

/// What is multiplied, row-major matrices all.
#[derive(Clone, Copy)]
enum ProductKind {
    /// x W^T: x (m, k), W (n, k).
    Forward,
    /// g W: g (m, k), W (k, n).
    InputGrad,
    /// g^T x: g (k, m), x (k, n).
    WeightGrad,
    /// A product within a task, of one thread: x W^T as in forward.
    Task,
}

/// A product (m, k) x (k, n) that some model computes.
struct Shape {
    of: &'static str,
    kind: ProductKind,
    mkn: [usize; 3],
}

const fn shape(of: &'static str, kind: ProductKind, mkn: [usize; 3]) -> Shape {
    Shape { of, kind, mkn }
}

/// Batches of 1024 tokens: fast-slow and dense have 128 channels, the flow and its baselines 128 with four times as
/// many hidden units, BDH 64 channels and 512 neurons per head.
const SHAPES: &[Shape] = &[
    shape("attention in", ProductKind::Forward, [1024, 128, 256]),
    shape("GPT attention in", ProductKind::Forward, [1024, 128, 384]),
    shape("attention out", ProductKind::Forward, [1024, 128, 128]),
    shape("MLP up", ProductKind::Forward, [1024, 128, 512]),
    shape("gate and up", ProductKind::Forward, [1024, 128, 1024]),
    shape("MLP down", ProductKind::Forward, [1024, 512, 128]),
    shape("head", ProductKind::Forward, [1024, 128, 320]),
    shape("MLP up, slow path", ProductKind::Forward, [256, 128, 512]),
    shape("one token, MLP up", ProductKind::Forward, [1, 128, 512]),
    shape("one token, MLP down", ProductKind::Forward, [1, 512, 128]),
    shape("one token, W by rows", ProductKind::InputGrad, [1, 128, 512]),
    shape("four tokens, MLP up", ProductKind::Forward, [4, 128, 512]),
    shape("MLP up, of x", ProductKind::InputGrad, [1024, 512, 128]),
    shape("MLP down, of x", ProductKind::InputGrad, [1024, 128, 512]),
    shape("MLP up, of W", ProductKind::WeightGrad, [512, 1024, 128]),
    shape("MLP down, of W", ProductKind::WeightGrad, [128, 1024, 512]),
    shape("head, of W", ProductKind::WeightGrad, [320, 1024, 128]),
    shape("scores", ProductKind::Task, [64, 32, 256]),
    shape("weighted values", ProductKind::Task, [64, 256, 32]),
    shape("BDH encoder", ProductKind::Task, [128, 64, 512]),
    shape("BDH scores", ProductKind::Task, [64, 512, 128]),
    shape("BDH decoder", ProductKind::Task, [128, 512, 64]),
];

/// Prints the table.
pub fn report() {
    println!("product               (m, k) x (k, n)        threads  ours GFLOP/s  gemm GFLOP/s   ratio  of medians");
    for threads in [1, 2] {
        set_threads(threads);
        for shape in SHAPES.iter().filter(|s| threads == 1 || !matches!(s.kind, ProductKind::Task)) {
            let [m, k, n] = shape.mkn;
            let found = shape.measure(threads);
            let gflops = |seconds: f64| 2e-9 * (m * k * n) as f64 / seconds;
            println!(
                "{:<22}{:<22}{threads:>8}{:>14.1}{:>14.1}{:>8.2}{:>12.2}",
                shape.of,
                format!("({m}, {k}) x ({k}, {n})"),
                gflops(found.ours),
                gflops(found.crates),
                found.crates / found.ours,
                found.median_ratio,
            );
        }
    }
}

/// Least seconds of either side, and the ratio of the medians: our speed over the crate's.
struct ProductTiming {
    ours: f64,
    crates: f64,
    median_ratio: f64,
}

impl Shape {
    fn measure(&self, threads: usize) -> ProductTiming {
        let [m, k, n] = self.mkn;
        let values = |len: usize| (0..len).map(|i| ((i * 7919) % 1009) as f32 / 5000.0 - 0.1).collect::<Vec<_>>();
        let (a, b, mut out) = (values(m * k), values(k * n), vec![0f32; m * n]);
        let repeats = (WORK / (m * k * n)).max(1);
        let mut times = [vec![], vec![]];
        for _ in 0..=ROUNDS {
            let began = Instant::now();
            (0..repeats).for_each(|_| self.ours(&a, &b, &mut out));
            let between = Instant::now();
            (0..repeats).for_each(|_| self.crates(&a, &b, &mut out, threads));
            times[0].push((between - began).as_secs_f64() / repeats as f64);
            times[1].push(between.elapsed().as_secs_f64() / repeats as f64);
        }
        // the first round warms up
        let [ours, crates] = times.map(|mut t| {
            t.remove(0);
            t.sort_by(f64::total_cmp);
            t
        });
        ProductTiming { ours: ours[0], crates: crates[0], median_ratio: median(&crates) / median(&ours) }
    }

    /// As an operation multiplies, packing included; a result of its own, where it makes one.
    fn ours(&self, a: &[f32], b: &[f32], out: &mut [f32]) {
        let [m, k, n] = self.mkn;
        match self.kind {
            ProductKind::Forward => drop(std::hint::black_box(matmul_rows(a, View::new(b, n, k).t(), None))),
            ProductKind::InputGrad => drop(std::hint::black_box(matmul_rows(a, View::new(b, k, n), None))),
            ProductKind::WeightGrad => weight_grad_accumulate(out, [m, n], &[[a, b]], false),
            ProductKind::Task => gemm(out, View::new(a, m, k), View::new(b, n, k).t(), 1.0, false),
        }
    }

    fn crates(&self, a: &[f32], b: &[f32], out: &mut [f32], threads: usize) {
        let [m, k, n] = self.mkn;
        // distance between columns and between rows
        let [a_steps, b_steps] = match self.kind {
            ProductKind::Forward | ProductKind::Task => [[1, k], [k, 1]],
            ProductKind::InputGrad => [[1, k], [1, n]],
            ProductKind::WeightGrad => [[m, 1], [1, n]],
        };
        let parallelism = if threads > 1 { gemm::Parallelism::Rayon(threads) } else { gemm::Parallelism::None };
        assert!(a.len() == m * k && b.len() == k * n && out.len() == m * n);
        // SAFETY: the slices hold m k, k n and m n values (checked above), which the strides of a row-major matrix or
        // of its transpose exactly cover; `out` is borrowed exclusively.
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                out.as_mut_ptr(),
                1,
                n as isize,
                false,
                a.as_ptr(),
                a_steps[0] as isize,
                a_steps[1] as isize,
                b.as_ptr(),
                b_steps[0] as isize,
                b_steps[1] as isize,
                0.0,
                1.0,
                false,
                false,
                false,
                parallelism,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_compute_the_same_product() {
        for shape in SHAPES {
            let [m, k, n] = shape.mkn;
            let values = |len: usize, by: f32| (0..len).map(|i| (i as f32 * by).sin()).collect::<Vec<_>>();
            let (a, b, mut crates) = (values(m * k, 0.37), values(k * n, 0.71), vec![f32::NAN; m * n]);
            shape.crates(&a, &b, &mut crates, 1);
            let mut ours = vec![f32::NAN; m * n];
            match shape.kind {
                ProductKind::Forward => ours = matmul_rows(&a, View::new(&b, n, k).t(), None),
                ProductKind::InputGrad => ours = matmul_rows(&a, View::new(&b, k, n), None),
                _ => shape.ours(&a, &b, &mut ours),
            }
            let off = ours.iter().zip(&crates).fold(0f32, |off, (a, b)| off.max((a - b).abs()));
            assert!(off < 1e-3, "{}: {off}", shape.of);
        }
    }
}
