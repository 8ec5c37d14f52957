//! Linear attention on the CPU in f32. Forward, a task is one (batch row, head), from the first layer to
//! what its neurons write, while they are in cache; scores are formed by blocks of rows up to the
//! diagonal. Back, a task is some batch rows of one head, whose weights' gradients it sums. Kept for the
//! way back: both layers, the normalised attention, and the scores unless they outgrow the neurons.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError},
};

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor, bail};

use super::{
    super::{
        matrix::{self, View, filled, product},
        packed::Packed,
        places::{Times, at_each},
        pool,
    },
    LinearAttentionSpec, angles, decays,
    kept::{Found, Sizes, Weights},
    rows::{gate, gate_back, normalise, normalise_back, relu, relu_back, turn},
};

/// Tasks that the way back aims at.
const TASKS: usize = 16;

/// v `(B, T, D)`, both encoders one after the other `(2 H, D, N)`, decoder `(H N, O)` -> `(B, T, O)`.
pub fn apply(v: &Tensor, encoders: &Tensor, decoder: &Tensor, spec: LinearAttentionSpec) -> Result<Tensor> {
    let ((b, t, d), (twice, _, n), (_, o)) = (v.dims3()?, encoders.dims3()?, decoder.dims2()?);
    let h = twice / 2;
    let keep = [v, encoders, decoder].iter().any(|x| x.track_op());
    let turns = if spec.rotary { Some(turns(t, n, &spec)) } else { None };
    let powers = |decay: f32| (0..t as i32).map(|k| decay.powi(k)).collect();
    let fading = if spec.damped { decays(h).into_iter().map(powers).collect() } else { vec![] };
    let sizes = Sizes { b, t, d, h, n, o };
    v.apply_op3(encoders, decoder, Op { spec, sizes, turns, fading, keep, kept: OnceLock::new() })
}

type Turns = Arc<(Vec<f32>, Vec<f32>)>;

/// By length, neurons a head and the address of the table of frequencies, which is kept with them so that
/// no other can lie there.
type Made = HashMap<(usize, usize, usize), (Turns, Option<Arc<[f32]>>)>;

/// Cosines and sines, each `(T, N / 2)`, made once for each size and table.
fn turns(t: usize, n: usize, spec: &LinearAttentionSpec) -> Turns {
    static MADE: LazyLock<Mutex<Made>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    // lengths of prompts while text is being written would pile up
    if made.len() > 16 {
        made.clear();
    }
    let table = spec.frequencies.clone();
    let at = table.as_ref().map_or(0, |t| t.as_ptr() as usize);
    made.entry((t, n, at)).or_insert_with(|| (Arc::new(angles(0..t, &spec.turns(n))), table)).0.clone()
}

struct Op {
    spec: LinearAttentionSpec,
    sizes: Sizes,
    turns: Option<Turns>,
    /// By head, what is left of a trace after 0, 1, 2 .. tokens; empty where nothing fades.
    fading: Vec<Vec<f32>>,
    keep: bool,
    /// Of all tasks, (batch row, head) by (batch row, head).
    kept: OnceLock<Vec<f32>>,
}

impl Op {
    /// x, its pairs turned; nothing where they do not turn.
    fn turned(&self, x: &[f32]) -> Option<Vec<f32>> {
        let turns = self.turns.as_ref()?;
        Some(filled(x.len(), |out| turn(x, out, (&turns.0, &turns.1), false)))
    }

    /// A row of scores (or of their gradients), of a token at `row` with all before it, fades by distance.
    fn fade(&self, i: usize, row: usize, scores: &mut [f32]) {
        if let Some(powers) = self.fading.get(i % self.sizes.h) {
            let left = powers[1..=row].iter().rev();
            scores[..row].iter_mut().zip(left).for_each(|(s, left)| *s *= left);
        }
    }

    /// Strictly lower triangle of q q^T of task i, by blocks.
    fn scores(&self, i: usize, q: &[f32], out: &mut [f32]) {
        let Sizes { t, n, .. } = self.sizes;
        let across = Packed::new(View::new(q, t, n).t()); // (N, T)
        for (start, end, at) in self.sizes.blocks() {
            let block = &mut out[at..][..(end - start) * end];
            across.part(block, View::new(&q[start * n..], end - start, n), 0..n, 0..end, 1.0); // (m, end)
            for (r, row) in block.chunks_exact_mut(end).enumerate() {
                row[start + r..].fill(0.0);
                self.fade(i, start + r, row);
            }
        }
    }

    /// `room` has space for a [`Found`]; `read` gets what the task's neurons write, `(T, O)`.
    fn forward(&self, i: usize, v: &[f32], weights: &[Weights], room: &mut [f32], read: &mut [f32]) {
        let Sizes { t, d, h, n, .. } = self.sizes;
        let (v, weights) = (View::new(&v[i / h * t * d..], t, d), &weights[i % h]);
        let room = self.sizes.write(room);
        weights.e.product(room.x, v, 1.0); // (T, N)
        relu(room.x);
        let turned = self.turned(room.x);
        let mut own = vec![];
        let q = turned.as_deref().unwrap_or(room.x);
        if self.sizes.keeps_scores() {
            self.scores(i, q, room.scores);
        } else {
            own = filled(self.sizes.scores(), |scores| self.scores(i, q, scores));
        }
        let scores = if own.is_empty() { &*room.scores } else { &own };
        let v = Packed::new(v);
        for (start, end, at) in self.sizes.blocks() {
            let scores = View::new(&scores[at..], end - start, end);
            v.part(&mut room.a[start * d..], scores, 0..end, 0..d, 1.0); // (m, D)
        }
        normalise(room.a, room.inv);
        weights.ev.product(room.u, View::new(room.a, t, d), 1.0); // (T, N)
        let y = filled(t * n, |y| gate(room.u, room.x, y));
        weights.dec.product(read, View::new(&y, t, n), 1.0); // (T, O)
    }

    /// One batch row of one head. `sums`: gradients of the encoders, `(D, N)`, and of the decoder, `(N, O)`,
    /// added to unless `first`; `dv` `(T, D)` is written.
    fn backward(
        &self,
        i: usize,
        (v, weights, grad): (&[f32], &[Weights], &[f32]),
        kept: &[f32],
        sums: [&mut [f32]; 3],
        (dv, first): (&mut [f32], bool),
    ) {
        let Sizes { t, d, h, n, o, .. } = self.sizes;
        let ([de, dev, ddec], weights) = (sums, &weights[i % h]);
        let (v, grad) = (&v[i / h * t * d..][..t * d], View::new(&grad[i / h * t * o..], t, o));
        let all = self.sizes.found();
        let Found { x, u, a, inv, scores } = self.sizes.read(&kept[i * all..][..all]);

        let y = filled(t * n, |y| at_each::<_, _, _, 1>([u, x], [y], Times));
        product(ddec, View::new(&y, t, n).t(), grad, 1.0, !first); // (N, O)
        let mut du = y; // its room
        let mut dx = filled(t * n, |dx| weights.dec.product(dx, grad, 1.0)); // of y first, (T, N)
        gate_back([u, x], [&mut du, &mut dx]);
        product(dev, View::new(a, t, d).t(), View::new(&du, t, n), 1.0, !first); // (D, N)
        let mut da = filled(t * d, |da| weights.ev.product(da, View::new(&du, t, n), 1.0)); // (T, D)
        normalise_back(&mut da, a, inv);

        let turned = self.turned(x);
        let q = turned.as_deref().unwrap_or(x);
        dv.fill(0.0);
        if self.spec.through_past {
            let mut own = vec![];
            if !self.sizes.keeps_scores() {
                own = filled(self.sizes.scores(), |scores| self.scores(i, q, scores));
            }
            let scores = if own.is_empty() { scores } else { &own };
            for (start, end, at) in self.sizes.blocks() {
                let (scores, da) =
                    (View::new(&scores[at..], end - start, end), View::new(&da[start * d..], end - start, d));
                product(dv, scores.t(), da, 1.0, true); // (end, D)
            }
        }
        let dscores = self.dscores(i, &da, v);
        let dq = &mut du; // its room
        product(dq, View::new(&dscores, t, t), View::new(q, t, n), 1.0, false); // (T, N)
        match &self.turns {
            Some(turns) => {
                let back = filled(t * n, |out| turn(dq, out, (&turns.0, &turns.1), true));
                relu_back(&mut dx, &back, x);
            }
            None => relu_back(&mut dx, dq, x),
        }
        let dx = View::new(&dx, t, n);
        product(de, View::new(v, t, d).t(), dx, 1.0, !first); // (D, N)
        weights.e.added(dv, dx); // (T, D)
    }

    /// Gradients of the scores, `(T, T)`; those with respect to keys, which are queries too, are added as
    /// the transpose, so that one product serves both.
    fn dscores(&self, i: usize, da: &[f32], v: &[f32]) -> Vec<f32> {
        let Sizes { t, d, .. } = self.sizes;
        let mut out = vec![0f32; t * t];
        let across = Packed::new(View::new(v, t, d).t()); // (D, T)
        for (start, end, _) in self.sizes.blocks() {
            let mut block = filled((end - start) * end, |block| {
                across.part(block, View::new(&da[start * d..], end - start, d), 0..d, 0..end, 1.0);
            });
            for (row, values) in (start..end).zip(block.chunks_exact_mut(end)) {
                self.fade(i, row, values);
                out[row * t..][..row].copy_from_slice(&values[..row]);
                if self.spec.through_past {
                    values[..row].iter().enumerate().for_each(|(column, g)| out[column * t + row] = *g);
                }
            }
        }
        out
    }

    /// Gradients of v, of the encoders and of the decoder.
    fn back(&self, given: (&[f32], &[Weights], &[f32]), kept: &[f32]) -> [Vec<f32>; 3] {
        let Sizes { b, t, d, h, n, o } = self.sizes;
        let each = b.div_ceil(TASKS.div_ceil(h)); // batch rows of a task
        let groups = b.div_ceil(each);
        let (part, read) = (d * n, n * o);
        let (mut dvs, mut devs, mut ddecs) = (vec![], vec![], vec![]);
        let des = filled(h * groups * part, |des| {
            devs = filled(h * groups * part, |devs| {
                ddecs = filled(h * groups * read, |ddecs| {
                    dvs = filled(h * b * t * d, |dvs| {
                        let rows = dvs.chunks_exact_mut(b * t * d).flat_map(|head| head.chunks_mut(each * t * d));
                        let encoders = des.chunks_exact_mut(part).zip(devs.chunks_exact_mut(part));
                        let sums = encoders.zip(ddecs.chunks_exact_mut(read));
                        pool::share(h * groups, rows.zip(sums).enumerate(), |(task, (rows, ((de, dev), ddec)))| {
                            let (head, from) = (task / groups, task % groups * each);
                            for (k, dv) in rows.chunks_exact_mut(t * d).enumerate() {
                                let (i, sums) = ((from + k) * h + head, [&mut *de, &mut *dev, &mut *ddec]);
                                self.backward(i, given, kept, sums, (dv, k == 0));
                            }
                        });
                    });
                });
            });
        });
        let encoders = filled(2 * h * part, |out| {
            let (e, ev) = out.split_at_mut(h * part);
            matrix::totals(e, part, &des);
            matrix::totals(ev, part, &devs);
        });
        [matrix::total(&dvs, b * t * d), encoders, filled(h * read, |out| matrix::totals(out, read, &ddecs))]
    }
}

impl CustomOp3 for Op {
    fn name(&self) -> &'static str {
        "linear-attention"
    }

    fn cpu_fwd(
        &self,
        s1: &CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
        s3: &CpuStorage,
        l3: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let s = self.sizes;
        let weights = Weights::of_heads(matrix::values(s2, l2)?, matrix::values(s3, l3)?, s, false);
        let (v, weights) = (matrix::values(s1, l1)?, &weights[..]);
        let (tasks, found, read) = (s.b * s.h, s.found(), s.t * s.o);
        let mut kept = vec![];
        let reads = filled(tasks * read, |reads| {
            if self.keep {
                kept = filled(tasks * found, |kept| {
                    pool::run_on2((reads, read), (kept, found), |i, [read, room]| {
                        self.forward(i, v, weights, room, read);
                    });
                });
            } else {
                pool::run_on(reads, read, |i, read| {
                    filled(found, |room| self.forward(i, v, weights, room, read));
                });
            }
        });
        let _ = self.kept.set(kept); // a forward pass runs once
        // what the heads of a row write, in order
        let out = filled(s.b * read, |out| matrix::totals(out, read, &reads));
        Ok((CpuStorage::F32(out), (s.b, s.t, s.o).into()))
    }

    fn bwd(
        &self,
        v: &Tensor,
        encoders: &Tensor,
        decoder: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let kept = match self.kept.get() {
            Some(kept) if self.keep => kept,
            _ => bail!("linear attention is asked for gradients that nothing tracked"),
        };
        let [dv, de, ddec] = matrix::read_all(&[v, encoders, decoder, grad], |[v, encoders, decoder, grad]| {
            Ok(self.back((v, &Weights::of_heads(encoders, decoder, self.sizes, true), grad), kept))
        })?;
        let made = |values: Vec<f32>, like: &Tensor| Tensor::from_vec(values, like.shape(), like.device()).map(Some);
        Ok((made(dv, v)?, made(de, encoders)?, made(ddec, decoder)?))
    }
}
