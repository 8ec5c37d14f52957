//! Linear attention on the CPU in f32. In forward a task is one (batch row, head), from the first layer to what its neurons
//! write, while they are in the cache; scores are computed in blocks of rows up to the diagonal. In backward a task is
//! some batch rows of one head, over which it sums the gradients of the weights. Saved for backward are both layers, the
//! normalised attention, and the scores unless they outgrow the neurons.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, OnceLock},
};

use super::{
    super::custom_op,
    LinearAttentionSpec, angles, decays,
    inference_pass::{InferencePass, Inputs},
    rows::{apply_decay, gate, gate_backward, normalise, normalise_backward, relu, relu_backward, rope},
    saved::{Saved, Sizes, Weights},
};
use crate::{
    elementwise::{Mul, apply_all},
    fused::prelude::*,
    matrix::{self, View},
    packed::{Packed, gemm},
    reduce,
};

/// Tasks that backward aims at.
const TASKS: usize = 16;

/// v `(B, T, D)`, both encoders one after the other `(2 H, D, N)`, decoder `(H N, O)` -> `(B, T, O)`.
pub fn apply(v: &Tensor, encoders: &Tensor, decoder: &Tensor, spec: LinearAttentionSpec) -> Result<Tensor> {
    let ((b, t, d), (twice, _, n), (_, o)) = (v.dims3()?, encoders.dims3()?, decoder.dims2()?);
    let h = twice / 2;
    let needs_backward = [v, encoders, decoder].iter().any(|x| x.track_op());
    let rope_table = if spec.rotary { Some(rope_table(t, n, &spec)) } else { None };
    let powers = |decay: f32| (0..t as i32).map(|k| decay.powi(k)).collect();
    let decay_powers = if spec.damped { decays(h).into_iter().map(powers).collect() } else { vec![] };
    let sizes = Sizes { b, t, d, h, n, o };
    let saved_for_backward = OnceLock::new();
    let op = Op { spec, sizes, rope_table, decay_powers, needs_backward, saved_for_backward };
    v.apply_op3(encoders, decoder, custom_op::Op(op))
}

type RopeTable = Arc<(Vec<f32>, Vec<f32>)>;

/// Tables by length, neurons per head and the address of the table of frequencies, which is stored too so that no other
/// can lie there.
type TableCache = HashMap<(usize, usize, usize), (RopeTable, Option<Arc<[f32]>>)>;

/// Cosines and sines, each `(T, N / 2)`, cached by size and frequencies.
fn rope_table(t: usize, n: usize, spec: &LinearAttentionSpec) -> RopeTable {
    static CACHE: LazyLock<Mutex<TableCache>> = LazyLock::new(Mutex::default);
    let mut cache = threads::lock(&CACHE);
    // while text is generated every length of prompt would be added
    if cache.len() > 16 {
        cache.clear();
    }
    let table = spec.frequencies.clone();
    let at = table.as_ref().map_or(0, |t| t.as_ptr() as usize);
    cache.entry((t, n, at)).or_insert_with(|| (Arc::new(angles(0..t, &spec.pair_frequencies(n))), table)).0.clone()
}

struct Op {
    spec: LinearAttentionSpec,
    sizes: Sizes,
    rope_table: Option<RopeTable>,
    /// For each head the powers 0, 1, 2 .. of its decay factor; empty without decay.
    decay_powers: Vec<Vec<f32>>,
    needs_backward: bool,
    /// The saved values of all tasks, in the order of (batch row, head).
    saved_for_backward: OnceLock<Vec<f32>>,
}

impl Op {
    /// x with rotary embedding; `None` without.
    fn rotated(&self, x: &[f32]) -> Option<Vec<f32>> {
        let table = self.rope_table.as_ref()?;
        Some(build_vec(x.len(), |out| rope(x, out, (&table.0, &table.1), false)))
    }

    /// Multiplies a row of scores (or of their gradients), of the token at `row` with all before it, by the decay.
    fn apply_decay(&self, i: usize, row: usize, scores: &mut [f32]) {
        apply_decay(self.decay_powers.get(i % self.sizes.h), row, scores);
    }

    /// The strictly lower triangle of q q^T of task i, by blocks.
    fn scores(&self, i: usize, q: &[f32], out: &mut [f32]) {
        let Sizes { t, n, .. } = self.sizes;
        let across = Packed::new(View::new(q, t, n).t()); // (N, T)
        for (start, end, at) in self.sizes.blocks() {
            let block = &mut out[at..][..(end - start) * end]; // (m, end)
            matmul_up_to_diagonal(&across, block, View::new(&q[start * n..], end - start, n));
            for (r, row) in block.chunks_exact_mut(end).enumerate() {
                row[start + r..].fill(0.0);
                self.apply_decay(i, start + r, row);
            }
        }
    }

    /// Runs one task: `room` has the length of a [`Saved`]; `read` receives the neurons' output, `(T, O)`.
    fn forward(&self, i: usize, v: &[f32], weights: &[Weights], room: &mut [f32], read: &mut [f32]) {
        let Sizes { t, d, h, n, .. } = self.sizes;
        let (v, weights) = (View::new(&v[i / h * t * d..], t, d), &weights[i % h]);
        let room = self.sizes.write(room);
        weights.e.matmul(room.x, v, 1.0); // (T, N)
        relu(room.x);
        let rotated = self.rotated(room.x);
        let mut own = vec![];
        let q = rotated.as_deref().unwrap_or(room.x);
        if self.sizes.saves_scores() {
            self.scores(i, q, room.scores);
        } else {
            own = build_vec(self.sizes.scores(), |scores| self.scores(i, q, scores));
        }
        let scores = if own.is_empty() { &*room.scores } else { &own };
        let v = Packed::new(v);
        for (start, end, at) in self.sizes.blocks() {
            let scores = View::new(&scores[at..], end - start, end);
            v.matmul_part(&mut room.a[start * d..], scores, 0..end, 0..d, 1.0); // (m, D)
        }
        normalise(room.a, room.inv);
        weights.ev.matmul(room.u, View::new(room.a, t, d), 1.0); // (T, N)
        let y = build_vec(t * n, |y| gate(room.u, room.x, y));
        weights.dec.matmul(read, View::new(&y, t, n), 1.0); // (T, O)
    }

    /// The backward of task `i`, one batch row of one head. `sums`: gradients of the encoders, `(D, N)`, and of the
    /// decoder, `(N, O)`, which are accumulated unless `first`; `dv` `(T, D)` is written. Gradients of what is not tracked
    /// stay as they are.
    fn backward(
        &self,
        i: usize,
        BackwardInputs { v, weights, grad, saved, tracked }: BackwardInputs,
        sums: [&mut [f32]; 3],
        dv: &mut [f32],
        first: bool,
    ) {
        let Sizes { t, d, h, n, o, .. } = self.sizes;
        let ([de, dev, ddec], weights) = (sums, &weights[i % h]);
        let (v, grad) = (&v[i / h * t * d..][..t * d], View::new(&grad[i / h * t * o..], t, o));
        let all = self.sizes.saved_len();
        let Saved { x, u, a, inv, scores } = self.sizes.read(&saved[i * all..][..all]);

        let [tracks_v, tracks_encoders, tracks_decoder] = tracked;
        let mut y = build_vec(t * n, |_| ());
        if tracks_decoder {
            apply_all::<_, _, _, 1>([u, x], [&mut y], Mul);
            gemm(ddec, View::new(&y, t, n).t(), grad, 1.0, !first); // (N, O)
        }
        if !tracks_v && !tracks_encoders {
            return;
        }
        let mut du = y; // reuses the buffer
        let mut dx = build_vec(t * n, |dx| weights.dec.matmul(dx, grad, 1.0)); // gradient of y at first, (T, N)
        gate_backward([u, x], [&mut du, &mut dx]);
        if tracks_encoders {
            gemm(dev, View::new(a, t, d).t(), View::new(&du, t, n), 1.0, !first); // (D, N)
        }
        let mut da = build_vec(t * d, |da| weights.ev.matmul(da, View::new(&du, t, n), 1.0)); // (T, D)
        normalise_backward(&mut da, a, inv);

        let rotated = self.rotated(x);
        let q = rotated.as_deref().unwrap_or(x);
        dv.fill(0.0);
        if tracks_v && self.spec.through_past {
            let mut own = vec![];
            if !self.sizes.saves_scores() {
                own = build_vec(self.sizes.scores(), |scores| self.scores(i, q, scores));
            }
            let scores = if own.is_empty() { scores } else { &own };
            for (start, end, at) in self.sizes.blocks() {
                let (scores, da) =
                    (View::new(&scores[at..], end - start, end), View::new(&da[start * d..], end - start, d));
                gemm(dv, scores.t(), da, 1.0, true); // (end, D)
            }
        }
        let dscores = self.dscores(i, &da, v);
        let dq = &mut du; // reuses the buffer
        gemm(dq, View::new(&dscores, t, t), View::new(q, t, n), 1.0, false); // (T, N)
        match &self.rope_table {
            Some(table) => {
                let back = build_vec(t * n, |out| rope(dq, out, (&table.0, &table.1), true));
                relu_backward(&mut dx, &back, x);
            }
            None => relu_backward(&mut dx, dq, x),
        }
        let dx = View::new(&dx, t, n);
        if tracks_encoders {
            gemm(de, View::new(v, t, d).t(), dx, 1.0, !first); // (D, N)
        }
        if tracks_v {
            weights.e.matmul_accumulate(dv, dx); // (T, D)
        }
    }

    /// Gradients of the scores, `(T, T)`. As queries are keys too, the transpose is added, so that one product gives both
    /// their gradients.
    fn dscores(&self, i: usize, da: &[f32], v: &[f32]) -> Vec<f32> {
        let Sizes { t, d, .. } = self.sizes;
        let mut out = vec![0f32; t * t];
        let across = Packed::new(View::new(v, t, d).t()); // (D, T)
        for (start, end, _) in self.sizes.blocks() {
            let mut block = build_vec((end - start) * end, |block| {
                matmul_up_to_diagonal(&across, block, View::new(&da[start * d..], end - start, d));
            });
            for (row, values) in (start..end).zip(block.chunks_exact_mut(end)) {
                self.apply_decay(i, row, values);
                out[row * t..][..row].copy_from_slice(&values[..row]);
                if self.spec.through_past {
                    values[..row].iter().enumerate().for_each(|(column, g)| out[column * t + row] = *g);
                }
            }
        }
        out
    }

    /// Gradients of v, of the encoders and of the decoder.
    fn backward_all(&self, inputs: BackwardInputs) -> [Vec<f32>; 3] {
        let Sizes { b, t, d, h, n, o } = self.sizes;
        let each = b.div_ceil(TASKS.div_ceil(h)); // batch rows of a task
        let groups = b.div_ceil(each);
        let (part, read) = (d * n, n * o);
        let lens = [h * groups * part, h * groups * part, h * groups * read, h * b * t * d];
        let [des, devs, ddecs, dvs] = build_vecs(lens, |[des, devs, ddecs, dvs]| {
            let rows = dvs.chunks_exact_mut(b * t * d).flat_map(|head| head.chunks_mut(each * t * d));
            let encoders = des.chunks_exact_mut(part).zip(devs.chunks_exact_mut(part));
            let sums = encoders.zip(ddecs.chunks_exact_mut(read));
            threads::for_each(h * groups, rows.zip(sums).enumerate(), |(task, (rows, ((de, dev), ddec)))| {
                let (head, from) = (task / groups, task % groups * each);
                for (k, dv) in rows.chunks_exact_mut(t * d).enumerate() {
                    let (i, sums) = ((from + k) * h + head, [&mut *de, &mut *dev, &mut *ddec]);
                    self.backward(i, inputs, sums, dv, k == 0);
                }
            });
        });
        let encoders = build_vec(2 * h * part, |out| {
            let (e, ev) = out.split_at_mut(h * part);
            reduce::sum_parts(e, part, &des);
            reduce::sum_parts(ev, part, &devs);
        });
        [reduce::sum_rows(&dvs, b * t * d), encoders, build_vec(h * read, |out| reduce::sum_parts(out, read, &ddecs))]
    }
}

/// Rows of a block that are multiplied at a time: whole tiles, and few, since the last of them decides how far the first
/// are computed beyond the diagonal.
const DIAGONAL_ROWS: usize = 24;

/// The last m of the first `end` rows of a square product, up to the diagonal; most of what lies beyond stays as it was.
/// block `(m, end)`, a `(m, k)`, across `(k, T)`.
fn matmul_up_to_diagonal(across: &Packed, block: &mut [f32], a: View) {
    let (m, k) = (a.rows(), a.cols());
    let end = block.len() / m;
    for mut panel in matrix::panels(block, m, &[end]) {
        for row in (0..m).step_by(DIAGONAL_ROWS) {
            let rows = DIAGONAL_ROWS.min(m - row);
            let cols = end - m + row + rows;
            across.matmul_part_into_panel(&mut panel, row, a.submatrix(row, 0, rows, k), 0..k, 0..cols);
        }
    }
}

#[derive(Clone, Copy)]
struct BackwardInputs<'a> {
    v: &'a [f32],
    /// The transposed weights of each head.
    weights: &'a [Weights],
    grad: &'a [f32],
    saved: &'a [f32],
    /// True for v, the encoders and the decoder if their gradients are needed.
    tracked: [bool; 3],
}

impl FusedOp<3> for Op {
    const NAME: &'static str = "linear-attention";

    fn forward(&self, [v, encoders, decoder]: [&[f32]; 3], _: [&Shape; 3]) -> Result<(Vec<f32>, Shape)> {
        let s = self.sizes;
        let (tasks, found, read) = (s.b * s.h, s.saved_len(), s.t * s.o);
        let mut saved = vec![];
        let reads = build_vec(tasks * read, |reads| {
            if !self.needs_backward && s.reads_in_blocks() {
                let inputs = Inputs { v, encoders, decoder };
                let rope_table = self.rope_table.as_ref().map(|table| (&table.0[..], &table.1[..]));
                let pass = InferencePass { sizes: s, rope_table, decay_powers: &self.decay_powers };
                threads::run_chunks(reads, read, |i, read| pass.read(i, inputs, read));
                return;
            }
            let weights = &Weights::per_head(encoders, decoder, s, false)[..];
            if self.needs_backward {
                saved = build_vec(tasks * found, |saved| {
                    threads::run_all_chunks([reads, saved], [read, found], |i, [read, room]| {
                        self.forward(i, v, weights, room, read);
                    });
                });
            } else {
                threads::run_chunks(reads, read, |i, read| {
                    build_vec(found, |room| self.forward(i, v, weights, room, read));
                });
            }
        });
        let _ = self.saved_for_backward.set(saved); // a forward pass runs once
        // the sum over heads, in order
        let out = build_vec(s.b * read, |out| reduce::sum_parts(out, read, &reads));
        Ok((out, (s.b, s.t, s.o).into()))
    }

    fn backward(&self, inputs: [&Tensor; 3], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let saved = match self.saved_for_backward.get() {
            Some(saved) if self.needs_backward => saved,
            _ => bail!("linear attention is asked for gradients that nothing tracked"),
        };
        let ([v, encoders, decoder], tracked) = (inputs, inputs.map(|x| x.track_op()));
        let gradients = storage::read_all(&[v, encoders, decoder, grad], |[v, encoders, decoder, grad]| {
            let weights = &Weights::per_head(encoders, decoder, self.sizes, true);
            Ok(self.backward_all(BackwardInputs { v, weights, grad, saved, tracked }))
        })?;
        gradients_like(gradients, inputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_up_to_the_diagonal_have_the_bits_of_the_whole_product() {
        let some = |n: usize, by: f32| -> Vec<f32> { (0..n).map(|i| (i as f32 * by).sin()).collect() };
        for (m, end, k) in [(1, 1, 3), (5, 5, 1), (24, 24, 40), (64, 64, 7), (64, 192, 300), (37, 101, 129)] {
            let t = end + 10;
            let (a, b) = (some(m * k, 0.37), some(k * t, 0.71));
            let (a, across) = (View::new(&a, m, k), Packed::new(View::new(&b, k, t)));
            let (mut whole, mut part) = (vec![f32::NAN; m * end], vec![f32::NAN; m * end]);
            across.matmul_part(&mut whole, a, 0..k, 0..end, 1.0);
            matmul_up_to_diagonal(&across, &mut part, a);
            for (r, (whole, part)) in whole.chunks_exact(end).zip(part.chunks_exact(end)).enumerate() {
                let seen = end - m + r + 1;
                let bits = |row: &[f32]| row[..seen].iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(whole), bits(part), "row {r} of {m} x {end}, {k} terms");
                let beyond = &part[(seen + DIAGONAL_ROWS).min(end)..];
                assert!(beyond.iter().all(|v| v.is_nan()), "row {r} of {m} x {end} is computed to its end");
            }
        }
    }
}
