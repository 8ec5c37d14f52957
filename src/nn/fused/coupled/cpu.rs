//! The coupled evolution as a candle operation on the CPU in f32. It knows no arithmetic.

use std::sync::OnceLock;

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor, bail};

use super::{super::storage, CoupledSpec, rows::Kernel};
use crate::nn::kernels::buffers::build_vec;

pub(super) struct Evolution {
    pub(super) spec: CoupledSpec,
    saved_for_backward: OnceLock<Vec<f32>>,
}

impl Evolution {
    pub(super) fn new(spec: CoupledSpec) -> Self {
        Self { spec, saved_for_backward: OnceLock::new() }
    }
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
        let kernel = Kernel::new(self.spec, f, tau, false);
        let mut out = x.to_vec();
        let positions = x.len() / (3 * self.spec.heads * self.spec.head_dim);
        let saved = build_vec(kernel.saved_len(positions), |saved| kernel.forward(&mut out, saved));
        let _ = self.saved_for_backward.set(saved); // an operation runs forward once
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
        let Some(saved) = self.saved_for_backward.get() else { bail!("coupled: backward before forward") };
        let (dx, mut df) = storage::read_all(&[f, tau, grad], |[f, tau, grad]| {
            let mut dx = grad.to_vec();
            let df = Kernel::new(self.spec, f, tau, true).backward(&mut dx, saved);
            Ok((dx, df))
        })?;
        let dtau = df.split_off(f.elem_count());
        let made = |v: Vec<f32>, like: &Tensor| Tensor::from_vec(v, like.shape(), like.device()).map(Some);
        Ok((made(dx, x)?, made(df, f)?, made(dtau, tau)?))
    }
}
