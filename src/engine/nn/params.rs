//! A model's parameters: ordered by creation, seeded by name.

use candle_core::{DType, Device, Result, Shape, Tensor, Var};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::random::{hash, standard_normals};

/// Named variables. The initial value of each depends on (seed, name) alone, so that models with a common part
/// initialise it identically, whatever else they contain.
pub struct Params {
    seed: u64,
    device: Device,
    dtype: DType,
    vars: Vec<(String, Var)>,
    frozen: Vec<String>,
    exempt_from_decay: Vec<String>,
    /// While true, existing parameters are returned detached from the graph, and no new ones are created.
    returns_detached: bool,
    buffers: Vec<String>,
    /// Initial values that are not drawn, by name.
    given: Vec<(String, Tensor)>,
}

impl Params {
    /// No parameters yet; values are drawn from `seed` and the name of each.
    pub fn new(seed: u64, device: &Device, dtype: DType) -> Self {
        Self {
            seed,
            device: device.clone(),
            dtype,
            vars: vec![],
            frozen: vec![],
            exempt_from_decay: vec![],
            returns_detached: false,
            buffers: vec![],
            given: vec![],
        }
    }

    /// Gives parameters of these names these initial values, if the shapes agree. No random values are drawn for them, which
    /// would take a second for each 25 million weights.
    pub fn set_initial_values(&mut self, values: impl IntoIterator<Item = (String, Tensor)>) {
        self.given.extend(values);
    }

    /// The device of all parameters.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The type of all parameters.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Normal with mean 0 and this standard deviation.
    pub fn normal(&mut self, name: &str, shape: impl Into<Shape>, std: f64) -> Result<Tensor> {
        self.normal_with(name, shape, std, Ok)
    }

    /// Same as [`Params::normal`], with the drawn values adjusted before they become the parameter.
    pub fn normal_with(
        &mut self,
        name: &str,
        shape: impl Into<Shape>,
        std: f64,
        adjust: impl FnOnce(Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let shape = shape.into();
        self.insert(name, shape.clone(), |p| {
            let mut rng = ChaCha8Rng::seed_from_u64(p.seed ^ hash(name));
            let values: Vec<f32> = standard_normals(&mut rng, shape.elem_count()).map(|z| (z * std) as f32).collect();
            adjust(Tensor::from_vec(values, shape, &p.device)?)
        })
    }

    /// Creates a parameter of one value.
    pub fn constant(&mut self, name: &str, shape: impl Into<Shape>, value: f64) -> Result<Tensor> {
        let shape = shape.into();
        self.insert(name, shape.clone(), |p| Tensor::full(value as f32, shape, &p.device)?.contiguous())
    }

    /// Creates a parameter of ones.
    pub fn ones(&mut self, name: &str, shape: impl Into<Shape>) -> Result<Tensor> {
        self.constant(name, shape, 1.0)
    }

    /// Creates a parameter of zeros.
    pub fn zeros(&mut self, name: &str, shape: impl Into<Shape>) -> Result<Tensor> {
        self.constant(name, shape, 0.0)
    }

    /// Creates a tensor of these values that is not a weight but must not be lost: it is in checkpoints, and is neither
    /// trained nor counted.
    pub fn buffer(&mut self, name: &str, shape: impl Into<Shape>, values: Vec<f32>) -> Result<Tensor> {
        let shape = shape.into();
        let tensor = self.insert(name, shape.clone(), |p| Tensor::from_vec(values, shape, &p.device))?;
        if !self.is_buffer(name) {
            self.buffers.push(name.to_owned());
        }
        Ok(tensor)
    }

    /// Builds a net twice over the same parameters: for training, and for inference. The second reads the
    /// same memory, so that it follows training, but what it computes records no graph and saves nothing
    /// for a backward pass. `build` must ask for the same parameters each time.
    pub fn build_twice<T>(&mut self, build: impl Fn(&mut Self) -> Result<T>) -> Result<(T, T)> {
        let net = build(self)?;
        self.returns_detached = true;
        let inference_net = build(self);
        self.returns_detached = false;
        Ok((net, inference_net?))
    }

    fn insert(&mut self, name: &str, shape: Shape, init: impl FnOnce(&Self) -> Result<Tensor>) -> Result<Tensor> {
        match self.get(name) {
            Some(var) if self.returns_detached && *var.shape() == shape => return Ok(var.as_tensor().detach()),
            Some(_) if !self.returns_detached => candle_core::bail!("parameter `{name}` is made twice"),
            None if !self.returns_detached => {}
            _ => candle_core::bail!("the inference net asks for `{name}` {shape:?}, which training does not have"),
        }
        let given = self.given.iter().position(|(n, value)| n == name && *value.shape() == shape);
        let value = match given {
            Some(at) => self.given.swap_remove(at).1.to_device(&self.device)?,
            None => init(self)?,
        };
        let var = Var::from_tensor(&value.to_dtype(self.dtype)?.contiguous()?)?;
        let tensor = var.as_tensor().clone();
        self.vars.push((name.to_owned(), var));
        Ok(tensor)
    }

    /// The parameter of this name.
    pub fn get(&self, name: &str) -> Option<&Var> {
        self.vars.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// The values of the parameter of this name, outside any graph; an error if there is none.
    pub fn detached(&self, name: &str) -> Result<Tensor> {
        match self.get(name) {
            Some(var) => Ok(var.as_tensor().detach()),
            None => candle_core::bail!("the model has no weight `{name}`"),
        }
    }

    /// All parameters in the order of creation.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Var)> {
        self.vars.iter().map(|(n, v)| (n.as_str(), v))
    }

    /// Keeps a parameter as it is: the optimiser neither updates nor decays it, and its gradient is
    /// computed but does not count in the global norm.
    pub fn freeze(&mut self, name: &str) -> Result<()> {
        ensure!(self.get(name).is_some(), "cannot freeze `{name}`: the model has no such parameter");
        self.frozen.push(name.to_owned());
        Ok(())
    }

    /// Exempts a parameter from weight decay, so that only its gradient changes it.
    pub fn exempt_from_decay(&mut self, name: &str) -> Result<()> {
        ensure!(self.get(name).is_some(), "cannot exempt `{name}` from decay: the model has no such parameter");
        self.exempt_from_decay.push(name.to_owned());
        Ok(())
    }

    /// Returns true if weight decay leaves the parameter alone.
    pub fn is_exempt_from_decay(&self, name: &str) -> bool {
        self.exempt_from_decay.iter().any(|n| n == name)
    }

    /// Freezes exactly the parameters that satisfy the predicate, and lets all others learn.
    pub fn freeze_where(&mut self, holds: impl Fn(&str) -> bool) {
        self.frozen = self.vars.iter().map(|(n, _)| n).filter(|n| holds(n)).cloned().collect();
    }

    /// Returns true if the parameter is frozen.
    pub fn is_frozen(&self, name: &str) -> bool {
        self.frozen.iter().chain(&self.buffers).any(|n| n == name)
    }

    /// Makes buffers of the parameters under this prefix: tensors that a run must not lose but that are
    /// no weights. They are in checkpoints, are never trained and are not counted.
    pub fn register_buffers(&mut self, prefix: &str) {
        let under = self.vars.iter().map(|(n, _)| n).filter(|n| n.starts_with(prefix));
        self.buffers.extend(under.cloned());
    }

    /// Returns true if this is a buffer, which is never trained.
    pub fn is_buffer(&self, name: &str) -> bool {
        self.buffers.iter().any(|n| n == name)
    }

    /// Number of scalars.
    pub fn count(&self) -> usize {
        let weights = self.vars.iter().filter(|(n, _)| !self.buffers.contains(n));
        weights.map(|(_, v)| v.elem_count()).sum()
    }

    /// Bytes of all parameters, buffers among them.
    pub fn bytes(&self) -> u64 {
        self.vars.iter().map(|(_, v)| (v.elem_count() * v.dtype().size_in_bytes()) as u64).sum()
    }

    /// Overwrites one parameter in place; an error names it if the shape differs.
    pub fn load(&self, name: &str, value: &Tensor) -> Result<()> {
        let Some(var) = self.get(name) else { candle_core::bail!("the model has no parameter `{name}`") };
        let fits = var.shape() == value.shape();
        ensure!(fits, "parameter `{name}` has shape {:?}, the file has {:?}", var.shape(), value.shape());
        var.set(&value.to_device(&self.device)?.to_dtype(self.dtype)?.contiguous()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::host;

    #[test]
    fn a_value_depends_on_seed_and_name_alone() -> Result<()> {
        let mut few = Params::new(7, &Device::Cpu, DType::F32);
        let mut many = Params::new(7, &Device::Cpu, DType::F32);
        many.normal("first", (5, 3), 1.0)?;
        let (a, b) = (few.normal("second", (4, 8), 0.5)?, many.normal("second", (4, 8), 0.5)?);
        assert_eq!(host::to_f32(&a)?, host::to_f32(&b)?);
        let other = Params::new(8, &Device::Cpu, DType::F32).normal("second", (4, 8), 0.5)?;
        assert_ne!(host::to_f32(&a)?, host::to_f32(&other)?);
        Ok(())
    }

    #[test]
    fn normals_have_the_asked_moments() -> Result<()> {
        let x = host::to_f64(&Params::new(1, &Device::Cpu, DType::F32).normal("x", 20_000, 0.5)?)?;
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let var = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / x.len() as f64;
        assert!(mean.abs() < 0.02 && (var.sqrt() - 0.5).abs() < 0.01, "mean {mean}, std {}", var.sqrt());
        Ok(())
    }

    #[test]
    fn freezing_by_rule_replaces_the_rule_before_and_a_memory_is_no_weight() -> Result<()> {
        let mut p = Params::new(1, &Device::Cpu, DType::F32);
        p.ones("field.w", 3)?;
        p.ones("head.w", 2)?;
        p.ones("before.w", 3)?;
        p.register_buffers("before.");
        p.freeze_where(|n| n.starts_with("field"));
        p.freeze_where(|n| n.starts_with("head"));
        let frozen = ["field.w", "head.w", "before.w"].map(|n| p.is_frozen(n));
        assert_eq!((frozen, p.count()), ([false, true, true], 5));
        Ok(())
    }

    #[test]
    fn an_inference_net_shares_weights_and_records_no_graph() -> Result<()> {
        let mut p = Params::new(1, &Device::Cpu, DType::F32);
        let (net, inference_net) = p.build_twice(|p| Ok((p.normal("a", (2, 3), 1.0)?, p.ones("b", 3)?)))?;
        assert_eq!(p.iter().count(), 2);
        assert!(net.0.broadcast_mul(&net.1)?.track_op());
        assert!(!inference_net.0.broadcast_mul(&inference_net.1)?.track_op());
        p.load("a", &Tensor::full(2f32, (2, 3), &Device::Cpu)?)?;
        assert_eq!(host::to_f32(&inference_net.0)?, [2.0; 6], "it follows training");
        assert!(p.ones("a", (2, 3)).is_err(), "afterwards a name is taken again");
        let sizes = std::cell::Cell::new(1);
        let grows = |p: &mut Params| p.ones("c", sizes.replace(2));
        assert!(p.build_twice(grows).unwrap_err().to_string().contains("`c`"));
        Ok(())
    }

    #[test]
    fn loading_names_what_does_not_fit() -> Result<()> {
        let mut p = Params::new(1, &Device::Cpu, DType::F32);
        p.ones("w", (2, 3))?;
        let wrong = Tensor::zeros((3, 2), DType::F32, &Device::Cpu)?;
        assert!(p.load("w", &wrong).unwrap_err().to_string().contains("`w`"));
        assert!(p.load("nothing", &wrong).unwrap_err().to_string().contains("`nothing`"));
        assert!(p.ones("w", (2, 3)).unwrap_err().to_string().contains("twice"));
        Ok(())
    }
}
