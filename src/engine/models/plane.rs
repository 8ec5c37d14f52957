//! Flows in the plane, where everything can be seen: three written down, and a small network that learns one of them
//! from its velocities.

use crate::{models::prelude::*, nn::layers::SiluMlp, ode::Field};

/// Half the side of the square that the network learns on and that starts are taken from.
pub const HALF_WIDTH: f64 = 3.0;
/// Points of one update, and of a held-out measurement.
const BATCH_POINTS: usize = 256;
/// The damping mu of van der Pol's equation.
const MU: f64 = 1.5;

defaults! {
    /// Sizes and fields of a flow in the plane.
    pub struct PlaneSpec {
        /// The field that is shown by default.
        pub kind: PlanarField = PlanarField::VanDerPol,
        /// The field that the network learns; the network itself is not a target.
        pub target: PlanarField = PlanarField::VanDerPol,
        /// Hidden units of each of its two layers.
        pub hidden: usize = 64,
        /// Paths run over the times 0 ..= this.
        pub time: f64 = 6.0,
    }
}

impl FamilySpec for PlaneSpec {
    /// The points of an update are the model's own, whatever the batch.
    fn memory(&self, _step: &StepSizes) -> StepMemory {
        let (h, points) = (self.hidden as f64, BATCH_POINTS as f64);
        StepMemory { weights: h * h + 6.0 * h + 2.0, shared: 0.0, activations: points * (18.0 * h + 40.0) }
    }

    fn tiny() -> Self {
        Self::default()
    }
}

/// A playground. Its batches are points of the plane, drawn for each update from (seed, step); the
/// corpus plays no part in it.
pub struct Plane {
    spec: PlaneSpec,
    seed: u64,
    step: u64,
    params: Params,
    /// y `(N, 2)` -> dy/dt `(N, 2)`
    net: SiluMlp,
    inference_net: SiluMlp,
    /// The control; its third and fourth number stay 0.
    control: FlowControl,
}

impl Plane {
    /// Weights are drawn from `seed`.
    pub fn new(spec: &PlaneSpec, _vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        if spec.hidden == 0 || spec.target == PlanarField::Mlp || !(spec.time > 0.0 && spec.time.is_finite()) {
            candle_core::bail!(
                "a field of the plane needs hidden units, a time above 0, and one of the written fields to learn"
            );
        }
        let mut params = Params::new(seed, device, DType::F32);
        // spread over the square, so that the units do not all bend at its middle
        let spread = |inputs: usize| if inputs == 2 { 1.0 } else { 0.1 };
        let h = spec.hidden;
        let (net, inference_net) = params.build_twice(|p| SiluMlp::new(p, [2, h, 2], [2, h, h].map(spread)))?;
        Ok(Self { spec: spec.clone(), seed, step: 0, params, net, inference_net, control: FlowControl::default() })
    }

    /// alpha (f(y) + u) for states `(N, 2)`: u is a constant wind.
    fn rate(&self, which: PlanarField, [u0, u1]: [f64; 2], alpha: f64, y: &Tensor) -> Result<Tensor> {
        let f = match which {
            PlanarField::Mlp => self.inference_net.forward(y)?,
            written => velocity(written, y)?,
        };
        let wind = Tensor::new(&[u0, u1], y.device())?.to_dtype(y.dtype())?;
        f.broadcast_add(&wind)? * alpha
    }

    /// Mean squared error of the network's velocity over the target's mean square.
    fn error(&self, net: &SiluMlp, draw: u64) -> Result<Tensor> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ draw.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut coordinate = || rng.random_range(-HALF_WIDTH..HALF_WIDTH) as f32;
        let points: Vec<f32> = (0..2 * BATCH_POINTS).map(|_| coordinate()).collect();
        let y = Tensor::from_vec(points, (BATCH_POINTS, 2), self.params.device())?;
        let wanted = velocity(self.spec.target, &y)?;
        let size = wanted.sqr()?.mean_all()?;
        (net.forward(&y)? - wanted)?.sqr()?.mean_all()?.div(&size)
    }
}

/// A written field at states `(N, 2)`.
fn velocity(kind: PlanarField, y: &Tensor) -> Result<Tensor> {
    let (x, y) = (y.narrow(D::Minus1, 0, 1)?, y.narrow(D::Minus1, 1, 1)?);
    let (dx, dy) = match kind {
        PlanarField::Linear => ((&x / 3.0)?, (&y / -3.0)?),
        PlanarField::Spiral => (((&x * -0.25)? - (&y * 1.5)?)?, ((&x * 1.5)? - (&y * 0.25)?)?),
        PlanarField::VanDerPol => (y.clone(), ((x.sqr()?.affine(-MU, MU)? * &y)? - &x)?),
        PlanarField::Mlp => candle_core::bail!("the network's field is not a written one"),
    };
    Tensor::cat(&[dx, dy], D::Minus1)
}

impl Trainable for Plane {
    params_and_spec!(Plane);

    fn begin_step(&mut self, step: u64) -> Result<()> {
        self.step = step;
        Ok(())
    }

    /// The error on this update's points, as a share of the field's own size; reported as the loss.
    fn loss_into(&self, _: &Batch, _: Option<&GradAccumulator>) -> Result<Loss> {
        Ok(self.error(&self.net, self.step)?.into())
    }

    /// The error on held-out points, which no update draws.
    fn evaluate(&self, _: &Batch) -> Result<Tensor> {
        self.error(&self.inference_net, u64::MAX)
    }

    fn reads_text(&self) -> bool {
        false
    }

    fn runtime_params(&self) -> Vec<RuntimeParam> {
        self.control.runtime_params(2)
    }

    fn set_runtime_param(&mut self, name: &str, value: f64) -> bool {
        self.control.set(2, name, value)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { flow: Some(FlowModel::Planar(self)), ..Capabilities::default() }
    }
}

impl PlanarFlow for Plane {
    fn control(&self) -> FlowControl {
        self.control
    }

    fn dtype(&self) -> DType {
        self.params.dtype()
    }

    fn default_field(&self) -> PlanarField {
        self.spec.kind
    }

    fn field(&self, which: PlanarField, control: FlowControl) -> Box<dyn Field + '_> {
        let (u, rate) = ([control.u[0], control.u[1]], control.alpha * self.spec.time);
        Box::new(move |_: f64, y: &Tensor| self.rate(which, u, rate, y))
    }
}
