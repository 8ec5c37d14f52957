//! The fused CPU forms of linear maps, MLPs and norms against their reference forms: values,
//! gradients, finite differences, threads, and a second way back.

use candle_core::{DType, Device, Tensor, Var};
use orrery::nn::{
    Result,
    fused::{
        linear::{self, linear},
        mlp::{self, Act},
        norm, set_threads,
    },
    host,
};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

type Op<'a> = &'a dyn Fn(&[Tensor]) -> Result<Tensor>;
/// Takes the fused form, the reference and the shapes of its arguments.
type Check<'a> = &'a mut dyn FnMut(Op, Op, &[Vec<usize>]);

fn random(seed: u64, shape: &[usize]) -> Result<Tensor> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let values: Vec<f32> = (0..shape.iter().product()).map(|_| rng.random_range(-1.5..1.5)).collect();
    Tensor::from_vec(values, shape, &Device::Cpu)
}

/// Variables, and the numbers that weigh the result into a loss.
fn inputs(shapes: &[Vec<usize>], dtype: DType) -> Result<Vec<Var>> {
    shapes.iter().enumerate().map(|(i, s)| Var::from_tensor(&random(i as u64, s)?.to_dtype(dtype)?)).collect()
}

fn loss(op: Op, vars: &[Var]) -> Result<(Tensor, Tensor)> {
    let y = op(&vars.iter().map(|v| v.as_tensor().clone()).collect::<Vec<_>>())?;
    let weights = random(99, y.dims())?.to_dtype(y.dtype())?;
    Ok(((&y * weights)?.sum_all()?, y))
}

/// The value and every gradient; taken twice, because a graph may be gone back over again.
fn derive(op: Op, vars: &[Var]) -> Result<Vec<Tensor>> {
    let (loss, y) = loss(op, vars)?;
    let (first, second) = (loss.backward()?, loss.backward()?);
    let mut out = vec![y.detach()];
    for v in vars {
        let (Some(a), Some(b)) = (first.get(v), second.get(v)) else { panic!("a gradient is missing") };
        assert_eq!(host::to_f32(a)?, host::to_f32(b)?, "the second way back differs");
        out.push(a.clone());
    }
    Ok(out)
}

/// Against the reference in f64, by the largest value: rounding of the fused form alone.
fn check(fused: Op, reference: Op, shapes: &[Vec<usize>]) -> Result<()> {
    let vars = inputs(shapes, DType::F32)?;
    let exact: Vec<Var> =
        vars.iter().map(|v| Var::from_tensor(&v.as_tensor().to_dtype(DType::F64)?)).collect::<Result<_>>()?;
    let (found, wanted) = (derive(fused, &vars)?, derive(reference, &exact)?);
    for (i, (f, w)) in found.iter().zip(&wanted).enumerate() {
        assert_eq!(f.dims(), w.dims());
        let (f, w) = (host::to_f64(f)?, host::to_f64(w)?);
        let size = w.iter().fold(1e-3f64, |a, v| a.max(v.abs()));
        let off = f.iter().zip(&w).fold(0f64, |a, (f, w)| if f.is_finite() { a.max((f - w).abs()) } else { f64::NAN });
        assert!(off / size < 1e-5, "{shapes:?}: number {i} (0 is the value) is {:e} off", off / size);
    }
    Ok(())
}

/// The reference's gradients by central differences in f64, along one direction.
fn check_reference(op: Op, shapes: &[Vec<usize>]) -> Result<()> {
    let vars = inputs(shapes, DType::F64)?;
    let derived = derive(op, &vars)?;
    for (i, v) in vars.iter().enumerate() {
        let start = v.as_tensor().copy()?.detach();
        let way = random(50 + i as u64, v.dims())?.to_dtype(DType::F64)?;
        let at = |h: f64| -> Result<f64> {
            v.set(&(&start + (&way * h)?)?)?;
            host::scalar(&loss(op, &vars)?.0)
        };
        let slope = (at(1e-5)? - at(-1e-5)?) / 2e-5;
        at(0.0)?;
        let told = host::scalar(&(&derived[i + 1] * way)?.sum_all()?)?;
        assert!((slope - told).abs() < 1e-6 * (1.0 + slope.abs()), "argument {i}: {slope} and {told}");
    }
    Ok(())
}

/// All operations: fused, reference, shapes for (batch, tokens, d, f, o).
fn every(b: usize, t: usize, (d, f, o): (usize, usize, usize), run: Check) {
    let x = vec![b, t, d];
    run(&|a| linear(&a[0], &a[1]), &|a| linear::reference(&a[0], &a[1]), &[x.clone(), vec![o, d]]);
    for act in [Act::Gelu, Act::Silu] {
        run(
            &|a| mlp::mlp(&a[0], &a[1], &a[2], act),
            &|a| mlp::mlp_reference(&a[0], &a[1], &a[2], act),
            &[x.clone(), vec![f, d], vec![o, f]],
        );
        run(
            &|a| mlp::gated(&a[0], &a[1], &a[2], act),
            &|a| mlp::gated_reference(&a[0], &a[1], &a[2], act),
            &[x.clone(), vec![2 * f, d], vec![o, f]],
        );
    }
    run(
        &|a| norm::rms_norm(&a[0], &a[1], 1e-6),
        &|a| norm::rms_norm_reference(&a[0], &a[1], 1e-6),
        &[x.clone(), vec![d]],
    );
    run(
        &|a| norm::layer_norm(&a[0], Some(&a[1]), Some(&a[2]), 1e-2),
        &|a| norm::layer_norm_reference(&a[0], Some(&a[1]), Some(&a[2]), 1e-2),
        &[x.clone(), vec![d], vec![d]],
    );
    run(&|a| norm::layer_norm(&a[0], None, None, 1e-2), &|a| norm::layer_norm_reference(&a[0], None, None, 1e-2), &[x]);
}

#[test]
fn layers_at_the_edges() {
    for (b, t, sizes) in [(1, 1, (2, 1, 1)), (2, 128, (16, 64, 16)), (1, 129, (33, 17, 70)), (3, 200, (64, 130, 48))] {
        every(b, t, sizes, &mut |fused, reference, shapes| check(fused, reference, shapes).unwrap());
    }
}

#[test]
fn large_weights_are_cut_both_ways() {
    for sizes in [(48, 256, 40), (40, 40, 200), (200, 40, 40)] {
        every(2, 160, sizes, &mut |fused, reference, shapes| check(fused, reference, shapes).unwrap());
    }
}

#[test]
fn references_agree_with_finite_differences() {
    every(2, 3, (5, 7, 4), &mut |_, reference, shapes| check_reference(reference, shapes).unwrap());
}

#[test]
fn threads_change_no_bit() {
    every(2, 150, (48, 130, 48), &mut |fused, _, shapes| {
        let vars = inputs(shapes, DType::F32).unwrap();
        let runs = [1, 2, 3].map(|n| {
            set_threads(n);
            let all = derive(fused, &vars).unwrap();
            all.iter().flat_map(|t| host::to_f32(t).unwrap()).map(f32::to_bits).collect::<Vec<_>>()
        });
        set_threads(1);
        assert!(runs[0] == runs[1] && runs[1] == runs[2], "{shapes:?}");
    });
}

#[test]
fn layouts_are_honoured() -> Result<()> {
    let x = random(1, &[3, 7, 12])?;
    let (turned, part) = (x.transpose(0, 1)?, x.narrow(1, 2, 4)?);
    let (w, scale) = (random(2, &[5, 12])?, random(3, &[12])?);
    for x in [turned, part] {
        let dense = x.contiguous()?;
        assert_eq!(host::to_f32(&linear(&x, &w)?)?, host::to_f32(&linear(&dense, &w)?)?);
        let (a, b) = (norm::rms_norm(&x, &scale, 1e-6)?, norm::rms_norm(&dense, &scale, 1e-6)?);
        assert_eq!(host::to_f32(&a)?, host::to_f32(&b)?);
    }
    Ok(())
}

#[test]
fn without_gradients_the_values_are_the_same() -> Result<()> {
    let (x, up, down) = (random(1, &[2, 140, 24])?, random(2, &[64, 24])?, random(3, &[24, 32])?);
    let free = mlp::gated(&x, &up, &down, Act::Silu)?;
    let tracked = mlp::gated(Var::from_tensor(&x)?.as_tensor(), &up, &down, Act::Silu)?;
    assert!(!free.track_op() && tracked.track_op());
    assert_eq!(host::to_f32(&free)?, host::to_f32(&tracked)?);
    Ok(())
}

#[test]
fn sizes_that_do_not_fit_are_named() -> Result<()> {
    let (x, w) = (random(1, &[2, 5, 8])?, random(2, &[4, 7])?);
    assert!(linear(&x, &w).unwrap_err().to_string().contains("7 inputs"));
    assert!(norm::rms_norm(&x, &random(3, &[7])?, 1e-6).unwrap_err().to_string().contains("7 channels"));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn layers_of_any_size(b in 1usize..3, t in 1usize..150, d in 2usize..40, f in 1usize..70, o in 1usize..40) {
        every(b, t, (d, f, o), &mut |fused, reference, shapes| check(fused, reference, shapes).unwrap());
    }
}
