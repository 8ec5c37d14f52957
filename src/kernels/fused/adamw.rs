//! AdamW with clipping by the global norm, over all parameters at once. The fused form makes two passes over the
//! gradients, one for the norm and one for the update, in chunks that all threads share; a card has kernels of its own.

use std::cell::RefCell;

use candle_core::{CpuStorage, InplaceOp1, Layout, Var, WithDType};

#[cfg(feature = "cuda")]
use crate::cuda;
use crate::{fused::prelude::*, host, threads::CHUNK};

/// Parameters that are borrowed at one time; each takes two or three stack frames.
const MAX_BORROWED: usize = 32;

/// One parameter with its moments and its gradient, all of one shape and type. No two slots share a variable.
pub struct Slot<'a> {
    /// The parameter itself.
    pub weights: &'a Var,
    /// Running mean of the gradient.
    pub mean: &'a Var,
    /// Running mean of the squared gradient.
    pub square: &'a Var,
    /// The gradient of the loss.
    pub grad: Tensor,
}

impl Slot<'_> {
    fn tensors(&self) -> [&Tensor; 4] {
        [self.weights.as_tensor(), self.mean.as_tensor(), self.square.as_tensor(), &self.grad]
    }
}

/// The numbers of one update (Loshchilov & Hutter 2019, algorithm 2).
#[derive(Debug, Clone, Copy)]
pub struct Coefficients {
    /// Decay of the running mean of the gradient in one step.
    pub beta1: f64,
    /// Decay of the running mean of the squared gradient in one step.
    pub beta2: f64,
    /// Added to the denominator of the update.
    pub eps: f64,
    /// 1 - learning rate times weight decay.
    pub decay_factor: f64,
    /// Learning rate over the bias correction of the mean, 1 - beta1^t.
    pub rate: f64,
    /// Square root of the bias correction of the square, 1 - beta2^t.
    pub root: f64,
    /// Factor of the gradient, from clipping.
    pub scale: f64,
}

/// m = beta1 m + (1 - beta1) s g; v = beta2 v + (1 - beta2) (s g)^2; p = decay p - rate m / (sqrt(v) / root + eps)
pub fn update(slots: &[Slot], coefficients: &Coefficients) -> Result<()> {
    #[cfg(feature = "cuda")]
    if let Some(card) = cuda::card(slots.iter().flat_map(Slot::tensors)) {
        let r = coefficients;
        let (new1, new2, inverse_root) = (1.0 - r.beta1, 1.0 - r.beta2, 1.0 / r.root);
        let numbers = [r.beta1, new1, r.beta2, new2, r.decay_factor, r.rate, inverse_root, r.eps, r.scale];
        return cuda::adamw::update(&card, slots.iter().map(Slot::tensors), numbers);
    }
    match fusible(slots.iter().flat_map(Slot::tensors)) {
        Some(DType::F32) => slots.chunks(MAX_BORROWED).try_for_each(|slots| fused::<f32>(slots, coefficients)),
        Some(DType::F64) => slots.chunks(MAX_BORROWED).try_for_each(|slots| fused::<f64>(slots, coefficients)),
        _ => reference(slots, coefficients),
    }
}

/// The reference form in plain candle, with the arguments of [`update`].
pub fn reference(slots: &[Slot], r: &Coefficients) -> Result<()> {
    for s in slots {
        let g = (&s.grad * r.scale)?;
        let fresh = |old: &Var, beta: f64, new: Tensor| -> Result<Tensor> {
            let mean = ((old.as_tensor().detach() * beta)? + (new * (1.0 - beta))?)?;
            old.set(&mean)?;
            Ok(mean)
        };
        let mean = fresh(s.mean, r.beta1, g.clone())?;
        let square = fresh(s.square, r.beta2, g.sqr()?)?;
        let step = (mean / ((square.sqrt()? / r.root)? + r.eps)?)?;
        s.weights.set(&((s.weights.as_tensor().detach() * r.decay_factor)? - (step * r.rate)?)?)?;
    }
    Ok(())
}

/// Square root of the sum of squares over all tensors, summed in f64 in host memory.
pub fn global_norm(grads: &[&Tensor]) -> Result<f64> {
    #[cfg(feature = "cuda")]
    if cuda::card(grads.iter().copied()).is_some() {
        return cuda::adamw::global_norm(grads);
    }
    match fusible(grads.iter().copied()) {
        Some(DType::F32) => norm_of::<f32>(grads),
        Some(DType::F64) => norm_of::<f64>(grads),
        _ => {
            let sums = grads.iter().map(|g| host::total(&g.sqr()?)?.to_dtype(DType::F32));
            let sums = sums.collect::<Result<Vec<_>>>()?;
            if sums.is_empty() {
                return Ok(0.0);
            }
            Ok(host::to_f64(&Tensor::stack(&sums, 0)?)?.iter().sum::<f64>().sqrt())
        }
    }
}

/// The common type of all tensors, if they have one, are in host memory and are row-major.
fn fusible<'a>(tensors: impl Iterator<Item = &'a Tensor>) -> Option<DType> {
    let mut found = None;
    for t in tensors {
        let fits = t.device().is_cpu() && t.layout().is_contiguous();
        if !fits || *found.get_or_insert(t.dtype()) != t.dtype() {
            return None;
        }
    }
    found
}

/// The number types of the fused form.
trait Real: WithDType + Into<f64> {
    fn root(self) -> Self;
    fn slice(storage: &mut CpuStorage) -> Option<&mut [Self]>;
}

macro_rules! real {
    ($t:ty, $kind:ident) => {
        impl Real for $t {
            #[inline(always)]
            fn root(self) -> Self {
                self.sqrt()
            }

            fn slice(storage: &mut CpuStorage) -> Option<&mut [Self]> {
                if let CpuStorage::$kind(values) = storage { Some(values) } else { None }
            }
        }
    };
}

real!(f32, F32);
real!(f64, F64);

fn norm_of<T: Real>(grads: &[&Tensor]) -> Result<f64> {
    let open: Vec<_> = grads.iter().map(|g| g.storage_and_layout()).collect();
    let values = open.iter().map(|(s, layout)| storage::cpu_values::<T>(s, layout)).collect::<Result<Vec<_>>>()?;
    let chunks: Vec<&[T]> = values.iter().flat_map(|x| x.chunks(CHUNK)).collect();
    let sums = threads::map(chunks.len(), |i| arch().dispatch(SumOfSquares(chunks[i])));
    Ok(sums.iter().sum::<f64>().sqrt())
}

struct SumOfSquares<'a, T>(&'a [T]);

impl<T: Real> WithSimd for SumOfSquares<'_, T> {
    type Output = f64;

    /// Eight partial sums, for vector code; the order is fixed.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let mut partial = [0f64; 8];
        let (chunks, rest) = self.0.as_chunks::<8>();
        let rest = rest.iter().fold(0.0, |sum, &v| sum + v.into() * v.into());
        for chunk in chunks {
            for (p, &v) in partial.iter_mut().zip(chunk) {
                let v: f64 = v.into();
                *p += v * v;
            }
        }
        partial.iter().sum::<f64>() + rest
    }
}

/// Borrows all values, cuts them into chunks, and shares these among the threads.
fn fused<T: Real>(slots: &[Slot], coefficients: &Coefficients) -> Result<()> {
    let vars: Vec<&Var> = slots.iter().flat_map(|s| [s.weights, s.mean, s.square]).collect();
    let grads: Vec<_> = slots.iter().map(|s| s.grad.storage_and_layout()).collect();
    let grads = grads.iter().map(|(s, layout)| storage::cpu_values::<T>(s, layout)).collect::<Result<Vec<_>>>()?;
    open(&vars, vec![], &|mut values: Vec<&mut [T]>| {
        let mut chunks = vec![];
        for ([p, m, v], grad) in values.as_chunks_mut().0.iter_mut().zip(&grads) {
            if [p.len(), m.len(), v.len()] != [grad.len(); 3] {
                bail!("a gradient's shape must be that of its parameter");
            }
            let (p, m, v) = (p.chunks_mut(CHUNK), m.chunks_mut(CHUNK), v.chunks_mut(CHUNK));
            chunks.extend(p.zip(m).zip(v).zip(grad.chunks(CHUNK)).map(|(((p, m), v), g)| ([p, m, v], g)));
        }
        threads::for_each(chunks.len(), chunks.into_iter(), |(values, grad)| {
            arch().dispatch(AdamWStep { coefficients: *coefficients, values, grad });
        });
        Ok(())
    })
}

struct AdamWStep<'a, T> {
    coefficients: Coefficients,
    /// Weights, mean, square.
    values: [&'a mut [T]; 3],
    grad: &'a [T],
}

impl<T: Real> WithSimd for AdamWStep<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (r, [p, m, v]) = (self.coefficients, self.values);
        let t = T::from_f64;
        let (decay, rate, by, eps, scale) = (t(r.decay_factor), t(r.rate), t(1.0 / r.root), t(r.eps), t(r.scale));
        let ((old1, new1), (old2, new2)) = ((t(r.beta1), t(1.0 - r.beta1)), (t(r.beta2), t(1.0 - r.beta2)));
        for (((p, m), v), &g) in p.iter_mut().zip(m).zip(v).zip(self.grad) {
            let g = g * scale;
            *m = *m * old1 + g * new1;
            *v = *v * old2 + g * g * new2;
            *p = *p * decay - rate * *m / ((*v).root() * by + eps);
        }
    }
}

/// A function that is called with the values of all variables.
type VarsFn<'a, T> = &'a dyn Fn(Vec<&mut [T]>) -> Result<()>;

/// Borrows the values of one variable and, while it holds them, those of the variables left; then calls `then` with all.
/// candle lends the values of a variable only to an in-place operation, so that several at once need nested ones.
struct OpenTensors<'a, T> {
    left: &'a [&'a Var],
    open: RefCell<Vec<&'a mut [T]>>,
    then: VarsFn<'a, T>,
}

fn open<'a, T: Real>(vars: &'a [&'a Var], open: Vec<&'a mut [T]>, then: VarsFn<'a, T>) -> Result<()> {
    match vars.split_first() {
        Some((first, left)) => first.inplace_op1(&OpenTensors { left, open: RefCell::new(open), then }),
        None => then(open),
    }
}

impl<T: Real> InplaceOp1 for OpenTensors<'_, T> {
    fn name(&self) -> &'static str {
        "adamw"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let (Some((from, to)), Some(values)) = (layout.contiguous_offsets(), T::slice(storage)) else {
            bail!("the optimiser needs row-major parameters of one type")
        };
        let mut all: Vec<&mut [T]> = self.open.take();
        all.push(&mut values[from..to]);
        open(self.left, all, self.then)
    }
}
