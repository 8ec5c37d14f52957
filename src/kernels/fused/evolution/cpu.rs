//! The coupled evolution as a candle operation on the CPU in f32.

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor};

use super::{super::storage, EvolutionSizes, rows::Kernel};
use crate::buffers::build_vec;

pub(super) struct Evolution {
    pub(super) spec: EvolutionSizes,
}

impl CustomOp3 for Evolution {
    fn name(&self) -> &'static str {
        "coupled"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        lx: &Layout,
        f: &CpuStorage,
        lf: &Layout,
        tau: &CpuStorage,
        lt: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (x, f, tau) = (storage::values(x, lx)?, storage::values(f, lf)?, storage::values(tau, lt)?);
        let mut out = x.to_vec();
        Kernel::new(self.spec, f, tau, false).evolve(&mut out);
        Ok((CpuStorage::F32(out), lx.shape().clone()))
    }

    fn bwd(
        &self,
        x: &Tensor,
        f: &Tensor,
        tau: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let (dx, mut df) = storage::read_all(&[x, f, tau, grad], |[x, f, tau, grad]| {
            let kernel = Kernel::new(self.spec, f, tau, true);
            let positions = x.len() / (3 * self.spec.heads * self.spec.head_dim);
            let starts = build_vec(kernel.saved_len(positions), |starts| kernel.save(x, starts));
            let mut dx = grad.to_vec();
            let df = kernel.backward(&mut dx, &starts);
            Ok((dx, df))
        })?;
        let dtau = df.split_off(f.elem_count());
        let made = |v: Vec<f32>, like: &Tensor| Tensor::from_vec(v, like.shape(), like.device()).map(Some);
        Ok((made(dx, x)?, made(df, f)?, made(dtau, tau)?))
    }
}
