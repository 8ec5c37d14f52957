//! Linear attention on the CPU in f32. Forward, a task is one (batch row, head), from the first layer to
//! the gated result, while its neurons are in cache; scores are formed by blocks of rows up to the
//! diagonal. Back, a task is some batch rows of one head, whose weights' gradients it sums. Kept for the
//! way back: both layers, the normalised attention, and the scores unless they outgrow the neurons.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError},
};

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor, bail};

use super::{
    super::{
        matrix::{self, Panel, View, filled, product},
        pool,
    },
    LinearAttentionSpec, angles, decays,
    rows::{gate, gate_back, normalise, normalise_back, relu, relu_back, turn},
};

/// Rows of scores that are formed at once.
const BLOCK: usize = 64;
/// Tasks that the way back aims at.
const TASKS: usize = 16;

pub fn apply(v: &Tensor, encoder: &Tensor, encoder_v: &Tensor, spec: LinearAttentionSpec) -> Result<Tensor> {
    let ((b, t, d), (h, _, n)) = (v.dims3()?, encoder.dims3()?);
    let keep = [v, encoder, encoder_v].iter().any(|x| x.track_op());
    let turns = if spec.rotary { Some(turns(t, n, &spec)) } else { None };
    let powers = |decay: f32| (0..t as i32).map(|k| decay.powi(k)).collect();
    let fading = if spec.damped { decays(h).into_iter().map(powers).collect() } else { vec![] };
    v.apply_op3(
        encoder,
        encoder_v,
        Op { spec, sizes: Sizes { b, t, d, h, n }, turns, fading, keep, kept: OnceLock::new() },
    )
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

#[derive(Clone, Copy)]
struct Sizes {
    b: usize,
    t: usize,
    d: usize,
    h: usize,
    n: usize,
}

impl Sizes {
    /// Rows from, rows to, and where the block's scores begin among all of a task's.
    fn blocks(self) -> impl Iterator<Item = (usize, usize, usize)> {
        let mut from = 0;
        (0..self.t).step_by(BLOCK).map(move |start| {
            let (end, at) = ((start + BLOCK).min(self.t), from);
            from += (end - start) * end;
            (start, end, at)
        })
    }

    /// Scores of one task.
    fn scores(self) -> usize {
        self.blocks().map(|(start, end, _)| (end - start) * end).sum()
    }

    /// Scores cost as much to form again as neurons to store, once they are as many.
    fn keeps_scores(self) -> bool {
        self.t <= self.n
    }
}

/// What one task finds and the way back needs.
struct Found<V> {
    x: V,      // (T, N)
    u: V,      // (T, N), before the gate
    a: V,      // (T, D)
    inv: V,    // (T)
    scores: V, // blocks, or none
}

impl Sizes {
    /// Values of a [`Found`]'s parts.
    fn lengths(self) -> [usize; 5] {
        let Sizes { t, d, n, .. } = self;
        [t * n, t * n, t * d, t, if self.keeps_scores() { self.scores() } else { 0 }]
    }

    fn found(self) -> usize {
        self.lengths().iter().sum()
    }

    fn read(self, all: &[f32]) -> Found<&[f32]> {
        let [x, u, a, inv, _] = self.lengths();
        let (x, all) = all.split_at(x);
        let (u, all) = all.split_at(u);
        let (a, all) = all.split_at(a);
        let (inv, scores) = all.split_at(inv);
        Found { x, u, a, inv, scores }
    }

    fn write(self, all: &mut [f32]) -> Found<&mut [f32]> {
        let [x, u, a, inv, _] = self.lengths();
        let (x, all) = all.split_at_mut(x);
        let (u, all) = all.split_at_mut(u);
        let (a, all) = all.split_at_mut(a);
        let (inv, scores) = all.split_at_mut(inv);
        Found { x, u, a, inv, scores }
    }
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
        let Sizes { n, .. } = self.sizes;
        for (start, end, at) in self.sizes.blocks() {
            let block = &mut out[at..][..(end - start) * end];
            let (rows, all) = (View::new(&q[start * n..], end - start, n), View::new(q, end, n));
            product(block, rows, all.t(), 1.0, false); // (m, end)
            for (r, row) in block.chunks_exact_mut(end).enumerate() {
                row[start + r..].fill(0.0);
                self.fade(i, start + r, row);
            }
        }
    }

    /// `room` has space for a [`Found`].
    fn forward(&self, i: usize, [v, e, ev]: [&[f32]; 3], room: &mut [f32], mut y: Panel) {
        let Sizes { t, d, h, n, .. } = self.sizes;
        let (v, weight) = (&v[i / h * t * d..][..t * d], i % h * d * n);
        let room = self.sizes.write(room);
        product(room.x, View::new(v, t, d), View::new(&e[weight..], d, n), 1.0, false); // (T, N)
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
        for (start, end, at) in self.sizes.blocks() {
            let scores = View::new(&scores[at..], end - start, end);
            product(&mut room.a[start * d..], scores, View::new(v, end, d), 1.0, false); // (m, D)
        }
        normalise(room.a, room.inv);
        product(room.u, View::new(room.a, t, d), View::new(&ev[weight..], d, n), 1.0, false); // (T, N)
        for (r, (u, x)) in room.u.chunks_exact_mut(n).zip(room.x.chunks_exact(n)).enumerate() {
            gate(u, x, y.row(r));
        }
    }

    /// One batch row of one head. `sums`: gradients of both weights, `(D, N)`, added to unless `first`;
    /// `dv` `(T, D)` is written.
    fn backward(
        &self,
        i: usize,
        [v, e, ev, grad]: [&[f32]; 4],
        kept: &[f32],
        sums: [&mut [f32]; 2],
        (dv, first): (&mut [f32], bool),
    ) {
        let Sizes { t, d, h, n, .. } = self.sizes;
        let ([de, dev], weight) = (sums, i % h * d * n);
        let v = &v[i / h * t * d..][..t * d];
        let all = self.sizes.found();
        let Found { x, u, a, inv, scores } = self.sizes.read(&kept[i * all..][..all]);
        let (e, ev) = (View::new(&e[weight..], d, n), View::new(&ev[weight..], d, n));

        let (mut du, mut da) = (vec![], vec![]);
        let mut dx = filled(t * n, |dx| {
            du = filled(t * n, |du| {
                for (r, (du, dx)) in du.chunks_exact_mut(n).zip(dx.chunks_exact_mut(n)).enumerate() {
                    let grad = &grad[(i / h * t + r) * h * n + i % h * n..][..n];
                    gate_back(grad, [&u[r * n..][..n], &x[r * n..][..n]], [du, dx]);
                }
            });
        });
        product(dev, View::new(a, t, d).t(), View::new(&du, t, n), 1.0, !first); // (D, N)
        da.extend(filled(t * d, |da| product(da, View::new(&du, t, n), ev.t(), 1.0, false))); // (T, D)
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
        let mut dq = filled(t * n, |dq| {
            product(dq, View::new(&dscores, t, t), View::new(q, t, n), 1.0, false); // (T, N)
        });
        if let Some(turns) = &self.turns {
            dq = filled(t * n, |out| turn(&dq, out, (&turns.0, &turns.1), true));
        }
        relu_back(&mut dx, &dq, x);
        let dx = View::new(&dx, t, n);
        product(de, View::new(v, t, d).t(), dx, 1.0, !first); // (D, N)
        product(dv, dx, e.t(), 1.0, true); // (T, D)
    }

    /// Gradients of the scores, `(T, T)`; those with respect to keys, which are queries too, are added as
    /// the transpose, so that one product serves both.
    fn dscores(&self, i: usize, da: &[f32], v: &[f32]) -> Vec<f32> {
        let Sizes { t, d, .. } = self.sizes;
        let mut out = vec![0f32; t * t];
        for (start, end, _) in self.sizes.blocks() {
            let mut block = filled((end - start) * end, |block| {
                product(block, View::new(&da[start * d..], end - start, d), View::new(v, end, d).t(), 1.0, false);
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

    /// Gradients of v and both weights.
    fn back(&self, given: [&[f32]; 4], kept: &[f32]) -> [Vec<f32>; 3] {
        let Sizes { b, t, d, h, n } = self.sizes;
        let each = b.div_ceil(TASKS.div_ceil(h)); // batch rows of a task
        let groups = b.div_ceil(each);
        let part = d * n;
        let mut dvs = vec![];
        let mut devs = vec![];
        let des = filled(h * groups * part, |des| {
            devs = filled(h * groups * part, |devs| {
                dvs = filled(h * b * t * d, |dvs| {
                    let rows = dvs.chunks_exact_mut(b * t * d).flat_map(|head| head.chunks_mut(each * t * d));
                    let sums = des.chunks_exact_mut(part).zip(devs.chunks_exact_mut(part));
                    pool::share(h * groups, rows.zip(sums).enumerate(), |(task, (rows, (de, dev)))| {
                        let (head, from) = (task / groups, task % groups * each);
                        for (k, dv) in rows.chunks_exact_mut(t * d).enumerate() {
                            let i = (from + k) * h + head;
                            self.backward(i, given, kept, [&mut *de, &mut *dev], (dv, k == 0));
                        }
                    });
                });
            });
        });
        let sum = |parts: &[f32]| {
            filled(h * part, |out| {
                pool::run_on(out, part, |head, out| {
                    let parts = &parts[head * groups * part..][..groups * part];
                    out.copy_from_slice(&parts[..part]);
                    for more in parts[part..].chunks_exact(part) {
                        out.iter_mut().zip(more).for_each(|(a, b)| *a += b);
                    }
                });
            })
        };
        [matrix::total(&dvs, b * t * d), sum(&des), sum(&devs)]
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
        let given = [matrix::values(s1, l1)?, matrix::values(s2, l2)?, matrix::values(s3, l3)?];
        let s = self.sizes;
        let (tasks, found) = (s.b * s.h, s.found());
        let mut kept = vec![];
        let out = filled(tasks * s.t * s.n, |out| {
            let panels = matrix::panels(out, s.t, &vec![s.n; s.h]).into_iter();
            if self.keep {
                kept = filled(tasks * found, |kept| {
                    let each = panels.zip(kept.chunks_exact_mut(found)).enumerate();
                    pool::share(tasks, each, |(i, (y, room))| self.forward(i, given, room, y));
                });
            } else {
                pool::share(tasks, panels.enumerate(), |(i, y)| {
                    filled(found, |room| self.forward(i, given, room, y));
                });
            }
        });
        let _ = self.kept.set(kept); // a forward pass runs once
        Ok((CpuStorage::F32(out), (s.b, s.t, s.h * s.n).into()))
    }

    fn bwd(
        &self,
        v: &Tensor,
        e: &Tensor,
        ev: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let kept = match self.kept.get() {
            Some(kept) if self.keep => kept,
            _ => bail!("linear attention is asked for gradients that nothing tracked"),
        };
        let [dv, de, dev] = matrix::read(v, |v_| {
            matrix::read(e, |e| {
                matrix::read(ev, |ev| matrix::read(grad, |grad| Ok(self.back([v_, e, ev, grad], kept))))
            })
        })?;
        let made = |values: Vec<f32>, like: &Tensor| Tensor::from_vec(values, like.shape(), like.device()).map(Some);
        Ok((made(dv, v)?, made(de, e)?, made(dev, ev)?))
    }
}
