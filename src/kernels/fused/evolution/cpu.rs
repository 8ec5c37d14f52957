//! The coupled evolution as a candle operation on the CPU in f32.

use super::{EvolutionSizes, rows::Kernel};
use crate::fused::prelude::*;

pub(super) struct Evolution {
    pub(super) spec: EvolutionSizes,
}

impl FusedOp<3> for Evolution {
    const NAME: &'static str = "coupled";

    fn forward(&self, [x, f, tau]: [&[f32]; 3], [shape, ..]: [&Shape; 3]) -> Result<(Vec<f32>, Shape)> {
        let mut out = x.to_vec();
        Kernel::new(self.spec, f, tau, false).evolve(&mut out);
        Ok((out, shape.clone()))
    }

    fn backward(&self, [x, f, tau]: [&Tensor; 3], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let (dx, mut df) = storage::read_all(&[x, f, tau, grad], |[x, f, tau, grad]| {
            let kernel = Kernel::new(self.spec, f, tau, true);
            let positions = x.len() / (3 * self.spec.heads * self.spec.head_dim);
            let starts = build_vec(kernel.saved_len(positions), |starts| kernel.save(x, starts));
            let mut dx = grad.to_vec();
            let df = kernel.backward(&mut dx, &starts);
            Ok((dx, df))
        })?;
        let dtau = df.split_off(f.elem_count());
        gradients_like([dx, df, dtau], [x, f, tau])
    }
}
