//! AdamW with clipping of the gradient's global norm. The learning rate comes with each step.

mod clipping;

use candle_core::{Result, Tensor, Var, backprop::GradStore};

pub use clipping::{ClipRule, ZClip};

use super::{
    Params,
    fused::adamw::{self, Coefficients, Slot},
};

/// Settings of [`AdamW`]; the learning rate comes with each step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamWSpec {
    /// Decay of the running mean of the gradient in one step.
    pub beta1: f64,
    /// Decay of the running mean of the squared gradient in one step.
    pub beta2: f64,
    /// Added to the denominator of the update.
    pub eps: f64,
    /// Decoupled, applied to every weight that its model does not exempt.
    pub weight_decay: f64,
    /// Global gradient norm is clipped to this; 0 for none.
    pub clip: f64,
    /// A further limit, which follows from the norms so far.
    pub clip_rule: ClipRule,
}

impl Default for AdamWSpec {
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.95, eps: 1e-8, weight_decay: 0.1, clip: 1.0, clip_rule: ClipRule::Norm }
    }
}

/// Running means of one parameter's gradient and its square, of the parameter's shape.
struct Moments {
    m: Var,
    v: Var,
}

/// Decoupled weight decay (Loshchilov & Hutter 2019, algorithm 2) with bias correction.
pub struct AdamW {
    /// The numbers of the update.
    pub spec: AdamWSpec,
    /// Updates done.
    pub step: u64,
    /// A pair of moments for each parameter, in order; buffers have none.
    moments: Vec<Moments>,
    /// The norms so far, if the clipping rule needs them.
    zclip: Option<ZClip>,
}

/// The name of the state of clipping among the moments.
const CLIP_STATE: &str = "clip.state";

/// Returns all parameters except for the buffers, which no gradient updates.
fn learning(params: &Params) -> impl Iterator<Item = (&str, &Var)> {
    params.iter().filter(|(name, _)| !params.is_buffer(name))
}

impl AdamW {
    /// An optimiser of these parameters with moments of 0.
    pub fn new(params: &Params, spec: AdamWSpec) -> Result<Self> {
        let zeros = |var: &Var| Var::zeros(var.shape(), var.dtype(), var.device());
        let moments =
            learning(params).map(|(_, var)| Ok(Moments { m: zeros(var)?, v: zeros(var)? })).collect::<Result<_>>()?;
        let zclip = (spec.clip_rule == ClipRule::ZClip).then(ZClip::default);
        Ok(Self { spec, step: 0, moments, zclip })
    }

    /// An optimiser for a model that learns by a rule of its own: it counts updates and holds no moments.
    pub fn without_moments(spec: AdamWSpec) -> Self {
        Self { spec, step: 0, moments: vec![], zclip: None }
    }

    /// One update; returns the global gradient norm before clipping. Frozen parameters stay as they
    /// are and do not count in the norm. Where the norm is not finite, every weight is left as it was.
    ///
    /// # Errors
    /// A parameter that no gradient reached, by name; every weight is left as it was.
    pub fn step(&mut self, params: &Params, grads: &GradStore, lr: f64) -> Result<f64> {
        let (mut slots, mut exempt) = (Vec::with_capacity(self.moments.len()), vec![]);
        for ((name, var), moments) in learning(params).zip(&self.moments) {
            if params.is_frozen(name) {
                continue;
            }
            let Some(grad) = grads.get(var) else {
                candle_core::bail!("no gradient reached parameter `{name}`; freeze it or use it in the loss")
            };
            let of_rule = if params.is_exempt_from_decay(name) { &mut exempt } else { &mut slots };
            of_rule.push(Slot { weights: var, mean: &moments.m, square: &moments.v, grad: grad.contiguous()? });
        }
        let norm = adamw::global_norm(&slots.iter().chain(&exempt).map(|s| &s.grad).collect::<Vec<_>>())?;
        if !norm.is_finite() {
            return Ok(norm);
        }
        self.step += 1;
        let s = self.spec;
        let fixed = if s.clip > 0.0 { s.clip } else { f64::INFINITY };
        let limit = self.zclip.as_mut().and_then(|z| z.limit(norm)).map_or(fixed, |limit| limit.min(fixed));
        // The 1e-6 keeps the quotient finite, as in torch.nn.utils.clip_grad_norm_.
        let scale = (limit / (norm + 1e-6)).min(1.0);
        let t = i32::try_from(self.step).unwrap_or(i32::MAX);
        let coefficients = Coefficients {
            beta1: s.beta1,
            beta2: s.beta2,
            eps: s.eps,
            decay_factor: 1.0 - lr * s.weight_decay,
            rate: lr / (1.0 - s.beta1.powi(t)),
            root: (1.0 - s.beta2.powi(t)).sqrt(),
            scale,
        };
        adamw::update(&slots, &coefficients)?;
        if !exempt.is_empty() {
            adamw::update(&exempt, &Coefficients { decay_factor: 1.0, ..coefficients })?;
        }
        Ok(norm)
    }

    /// Moments by name (`m.<param>`, `v.<param>`), for a checkpoint. The tensors are the live state:
    /// write them before the next step.
    pub fn state(&self, params: &Params) -> Vec<(String, Tensor)> {
        let named = |(name, _): (&str, &Var), s: &Moments| {
            [(format!("m.{name}"), s.m.as_tensor().detach()), (format!("v.{name}"), s.v.as_tensor().detach())]
        };
        let moments = learning(params).zip(&self.moments).flat_map(|(p, s)| named(p, s));
        moments.chain(self.zclip.iter().filter_map(|z| Some((CLIP_STATE.to_owned(), z.state().ok()?)))).collect()
    }

    /// Restores what [`AdamW::state`] gave, bit for bit. An error names what is missing.
    pub fn load_state(&mut self, params: &Params, step: u64, get: &dyn Fn(&str) -> Option<Tensor>) -> Result<()> {
        for ((name, _), s) in learning(params).zip(&self.moments) {
            for (key, var) in [(format!("m.{name}"), &s.m), (format!("v.{name}"), &s.v)] {
                let Some(value) = get(&key) else {
                    candle_core::bail!("the checkpoint has no optimiser state `{key}`")
                };
                if value.shape() != var.shape() {
                    let (here, there) = (var.shape(), value.shape());
                    candle_core::bail!("optimiser state `{key}` has shape {there:?} in the checkpoint, {here:?} here");
                }
                var.set(&value.to_device(var.device())?.to_dtype(var.dtype())?.contiguous()?)?;
            }
        }
        if self.zclip.is_some() {
            let Some(state) = get(CLIP_STATE) else {
                candle_core::bail!("the checkpoint has no optimiser state `{CLIP_STATE}`")
            };
            self.zclip = Some(ZClip::from_state(&state)?);
        }
        self.step = step;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::*;
    use crate::nn::host;

    fn quadratic() -> Result<(Params, Tensor)> {
        let mut params = Params::new(3, &Device::Cpu, DType::F32);
        let w = params.normal("w", (5, 3), 1.0)?;
        Ok((params, w))
    }

    #[test]
    fn a_spike_moves_the_weights_less_and_is_restored() -> Result<()> {
        let rule = |clip_rule| AdamWSpec { clip: 0.0, clip_rule, ..AdamWSpec::default() };
        let moved = |clip_rule, restores: bool| -> Result<Vec<f32>> {
            let (params, w) = quadratic()?;
            let mut adam = AdamW::new(&params, rule(clip_rule))?;
            for i in 0..30 {
                // norms that vary a little
                adam.step(&params, &(&w * (1.0 + 0.1 * f64::from(i % 3)))?.sum_all()?.backward()?, 1e-3)?;
            }
            if restores {
                let saved = adam.state(&params);
                adam = AdamW::new(&params, rule(clip_rule))?;
                adam.load_state(&params, 30, &|key| saved.iter().find(|(n, _)| n == key).map(|(_, t)| t.clone()))?;
            }
            adam.step(&params, &(&w * 1e3)?.sum_all()?.backward()?, 1e-3)?;
            host::to_f32(&adam.moments[0].m)
        };
        let (free, held) = (moved(ClipRule::Norm, false)?, moved(ClipRule::ZClip, false)?);
        assert!(free[0] > 90.0 && held[0] < 2.0, "{} {}", free[0], held[0]);
        assert_eq!(moved(ClipRule::ZClip, true)?, held);
        Ok(())
    }

    #[test]
    fn bad_gradients_leave_the_weights() -> Result<()> {
        let (params, w) = quadratic()?;
        let start = host::to_f32(&w)?;
        let mut adam = AdamW::new(&params, AdamWSpec::default())?;
        let nan = (&w * f64::NAN)?.sum_all()?.backward()?;
        assert!(adam.step(&params, &nan, 0.1)?.is_nan());
        let unreached = Tensor::zeros((), DType::F32, &Device::Cpu)?.backward()?;
        assert!(adam.step(&params, &unreached, 0.1).unwrap_err().to_string().contains("`w`"));
        assert_eq!((host::to_f32(&w)?, adam.step), (start, 0));
        assert!(adam.load_state(&params, 1, &|_| None).unwrap_err().to_string().contains("`m.w`"));
        Ok(())
    }
}
