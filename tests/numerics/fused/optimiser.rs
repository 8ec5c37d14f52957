//! Compares the fused optimizer step with its reference: weights, moments and the norm, for many parameters of odd
//! sizes and any number of threads.

use candle_core::{DType, Device, Tensor, Var};
use orrery_lab::nn::{
    Result,
    fused::adamw::{self, Coefficients, Slot},
    host, set_threads,
};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const RULE: Coefficients =
    Coefficients { beta1: 0.9, beta2: 0.95, eps: 1e-8, decay_factor: 0.999, rate: 0.02, root: 0.3, scale: 0.7 };

fn random(rng: &mut ChaCha8Rng, n: usize, dtype: DType) -> Result<Tensor> {
    let values: Vec<f64> = (0..n).map(|_| rng.random_range(-1.5..1.5)).collect();
    Tensor::from_vec(values, n, &Device::Cpu)?.to_dtype(dtype)
}

struct State {
    vars: Vec<[Var; 3]>,
    grads: Vec<Tensor>,
}

impl State {
    fn new(sizes: &[usize], dtype: DType) -> Result<Self> {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let (mut vars, mut grads) = (vec![], vec![]);
        for &n in sizes {
            let mut var = |square: bool| -> Result<Var> {
                // drawn in f32, so that both types start with the same numbers
                let x = random(&mut rng, n, DType::F32)?.to_dtype(dtype)?;
                Var::from_tensor(&if square { x.sqr()? } else { x })
            };
            vars.push([var(false)?, var(false)?, var(true)?]);
            grads.push(random(&mut rng, n, DType::F32)?.to_dtype(dtype)?);
        }
        Ok(Self { vars, grads })
    }

    fn slots(&self) -> Vec<Slot<'_>> {
        self.vars
            .iter()
            .zip(&self.grads)
            .map(|([weights, mean, square], grad)| Slot { weights, mean, square, grad: grad.clone() })
            .collect()
    }

    fn norm(&self) -> Result<f64> {
        adamw::global_norm(&self.grads.iter().collect::<Vec<_>>())
    }

    fn values(&self) -> Result<Vec<f64>> {
        let all: Vec<Vec<f64>> =
            self.vars.iter().flatten().map(|v| host::to_f64(v.as_tensor())).collect::<Result<_>>()?;
        Ok(all.concat())
    }
}

fn check(sizes: &[usize], dtype: DType, tolerance: f64) -> Result<()> {
    let (fused, plain) = (State::new(sizes, dtype)?, State::new(sizes, DType::F64)?);
    for _ in 0..2 {
        adamw::update(&fused.slots(), &RULE)?;
        adamw::reference(&plain.slots(), &RULE)?;
    }
    let start = State::new(sizes, DType::F64)?.values()?;
    let (found, wanted) = (fused.values()?, plain.values()?);
    let still = found.iter().zip(&start).filter(|(f, s)| f == s).count();
    assert!(still <= 1 + found.len() / 1000, "{still} of {} numbers have not moved", found.len());
    for (i, (f, w)) in found.iter().zip(&wanted).enumerate() {
        assert!((f - w).abs() <= tolerance * (1.0 + w.abs()), "{sizes:?}: number {i} is {f}, not {w}");
    }
    let squares = plain.grads.iter().map(host::to_f64).collect::<Result<Vec<_>>>()?.concat();
    let wanted = squares.iter().map(|g| g * g).sum::<f64>().sqrt();
    assert!((fused.norm()? - wanted).abs() < 1e-12 * wanted, "the norm is {}, not {wanted}", fused.norm()?);
    Ok(())
}

#[test]
fn sizes_at_the_edges_in_both_types() -> Result<()> {
    // a parameter with more than 16,384 values is cut into chunks, and `many` has more parameters than are processed at
    // a time
    let many: Vec<usize> = (1..80).collect();
    for sizes in [&[1][..], &[7, 1, 16_384, 3], &[16_385, 40_000], &many] {
        check(sizes, DType::F32, 1e-5)?;
        check(sizes, DType::F64, 1e-13)?;
    }
    Ok(())
}

#[test]
fn large_gradients_do_not_overflow_the_norm() -> Result<()> {
    let large = Tensor::full(1e30f32, 3, &Device::Cpu)?.contiguous()?;
    let norm = adamw::global_norm(&[&large])?;
    assert!((norm / 3f64.sqrt() / 1e30 - 1.0).abs() < 1e-6, "{norm}");
    assert_eq!(adamw::global_norm(&[])?, 0.0);
    Ok(())
}

#[test]
fn threads_change_no_bit() -> Result<()> {
    let _threads = crate::op_checks::lock_threads();
    let mut runs = vec![];
    for threads in [1, 2, 3] {
        set_threads(threads);
        let state = State::new(&[50_000, 17, 20_000, 128, 1], DType::F32)?;
        for _ in 0..3 {
            adamw::update(&state.slots(), &Coefficients { scale: 1.0 / state.norm()?, ..RULE })?;
        }
        let mut bits: Vec<u64> = state.values()?.into_iter().map(f64::to_bits).collect();
        bits.push(state.norm()?.to_bits());
        runs.push(bits);
    }
    set_threads(1);
    assert!(runs[0] == runs[1] && runs[1] == runs[2]);
    Ok(())
}

#[test]
fn a_gradient_of_another_shape_is_refused() -> Result<()> {
    let state = State::new(&[5], DType::F32)?;
    let mut slots = state.slots();
    slots[0].grad = Tensor::zeros(4, DType::F32, &Device::Cpu)?;
    assert!(adamw::update(&slots, &RULE).unwrap_err().to_string().contains("shape"));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_fused_optimiser_equals_its_reference_at_any_size(sizes in prop::collection::vec(1usize..3000, 1..8)) {
        check(&sizes, DType::F32, 1e-5).unwrap();
    }
}
