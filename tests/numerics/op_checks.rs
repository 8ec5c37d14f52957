//! Helpers that compare two forms of an operation: values, gradients, finite differences.

use std::sync::{Mutex, MutexGuard};

use candle_core::{DType, Device, Tensor, Var};
use orrery_lab::nn::{Result, host, set_threads};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub type Op<'a> = &'a dyn Fn(&[Tensor]) -> Result<Tensor>;
/// A function that takes the fused form, the reference form and the shapes of the arguments.
pub type Check<'a> = &'a mut dyn FnMut(Op, Op, &[Vec<usize>]);

pub fn random(seed: u64, shape: &[usize]) -> Result<Tensor> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let values: Vec<f32> = (0..shape.iter().product()).map(|_| rng.random_range(-1.5..1.5)).collect();
    Tensor::from_vec(values, shape, &Device::Cpu)
}

/// Returns random variables of these shapes.
pub fn inputs(shapes: &[Vec<usize>], dtype: DType) -> Result<Vec<Var>> {
    shapes.iter().enumerate().map(|(i, s)| Var::from_tensor(&random(i as u64, s)?.to_dtype(dtype)?)).collect()
}

pub fn loss(op: Op, vars: &[Var]) -> Result<(Tensor, Tensor)> {
    let y = op(&vars.iter().map(|v| v.as_tensor().clone()).collect::<Vec<_>>())?;
    let weights = random(99, y.dims())?.to_dtype(y.dtype())?;
    Ok(((&y * weights)?.sum_all()?, y))
}

/// The value and every gradient. The backward pass runs twice and must give the same bits.
pub fn derive(op: Op, vars: &[Var]) -> Result<Vec<Tensor>> {
    let (loss, y) = loss(op, vars)?;
    let (first, second) = (loss.backward()?, loss.backward()?);
    let mut out = vec![y.detach()];
    for v in vars {
        let (Some(a), Some(b)) = (first.get(v), second.get(v)) else { panic!("a gradient is missing") };
        assert_eq!(host::to_f32(a)?, host::to_f32(b)?, "the second backward differs");
        out.push(a.clone());
    }
    Ok(out)
}

/// The largest absolute value; NaN if one number is NaN, so that every upper bound fails.
pub fn largest<T: Into<f64>>(numbers: impl IntoIterator<Item = T>) -> f64 {
    let sizes = numbers.into_iter().map(|v| f64::abs(v.into()));
    sizes.fold(0.0, |most, size| if size.is_nan() || size > most { size } else { most })
}

/// The largest |a - b|; NaN if one number is NaN.
pub fn apart<T: Copy + Into<f64>>(a: &[T], b: &[T]) -> f64 {
    assert_eq!(a.len(), b.len());
    let difference = |a: f64, b: f64| a - b;
    largest(a.iter().zip(b).map(|(a, b)| difference((*a).into(), (*b).into())))
}

/// The same as [`apart`] for tensors of one shape.
pub fn distance(a: &Tensor, b: &Tensor) -> Result<f64> {
    assert_eq!(a.dims(), b.dims());
    Ok(apart(&host::to_f64(a)?, &host::to_f64(b)?))
}

/// Compares the fused form in f32 with the reference in f64, relative to the largest value, so that only rounding
/// errors of the fused form remain.
pub fn check(fused: Op, reference: Op, shapes: &[Vec<usize>]) -> Result<()> {
    check_at(fused, reference, &inputs(shapes, DType::F32)?)
}

/// The same as [`check`] for given values.
pub fn check_at(fused: Op, reference: Op, vars: &[Var]) -> Result<()> {
    let shapes: Vec<_> = vars.iter().map(|v| v.dims()).collect();
    let exact = to_f64(vars)?;
    let (found, wanted) = (derive(fused, vars)?, derive(reference, &exact)?);
    for (i, (f, w)) in found.iter().zip(&wanted).enumerate() {
        let size = largest(host::to_f64(w)?).max(1e-3);
        let off = distance(f, w)? / size;
        // a larger error is allowed only if rounding the inputs, or computing in f32 near them, changes the reference
        // itself as much
        let mut allowed = 1e-5;
        if off >= allowed {
            let mut moved = vec![distance(&derive(reference, vars)?[i], w)?];
            for run in ROUNDING_RUNS {
                let rounded = changed(&exact, run, 0.5, DType::F64)?;
                moved.push(distance(&derive(reference, &rounded)?[i], w)?);
                let near = changed(&exact, run, 1.0, DType::F32)?;
                moved.push(distance(&derive(reference, &near)?[i], &derive(reference, &to_f64(&near)?)?[i])?);
            }
            allowed = 8.0 * largest(moved) / size;
        }
        assert!(off < allowed, "{shapes:?}: number {i} (0 is the value) is {off:e} off, more than {allowed:e}");
    }
    Ok(())
}

/// The errors of one pattern may cancel in a sum such as the gradient of a scalar; the largest of several tells how far
/// rounding moves it.
const ROUNDING_RUNS: [usize; 4] = [1, 2, 3, 5];

/// The values changed by this many times the epsilon of f32: `run` of them up, as many down, and so on.
fn changed(exact: &[Var], run: usize, by: f64, dtype: DType) -> Result<Vec<Var>> {
    let by = by * f64::from(f32::EPSILON);
    let turned = |v: &Var| {
        let values = host::to_f64(v)?.into_iter().enumerate();
        let values: Vec<f64> =
            values.map(|(i, x)| x * (1.0 + if (i / run).is_multiple_of(2) { by } else { -by })).collect();
        Var::from_tensor(&Tensor::from_vec(values, v.shape(), v.device())?.to_dtype(dtype)?)
    };
    exact.iter().map(turned).collect()
}

fn to_f64(vars: &[Var]) -> Result<Vec<Var>> {
    vars.iter().map(|v| Var::from_tensor(&v.as_tensor().to_dtype(DType::F64)?)).collect()
}

/// Compares the reference's gradients with central differences in f64 along a random direction.
pub fn check_reference(op: Op, shapes: &[Vec<usize>]) -> Result<()> {
    check_reference_at(op, &inputs(shapes, DType::F64)?)
}

/// Same as [`check_reference`], at these values.
pub fn check_reference_at(op: Op, vars: &[Var]) -> Result<()> {
    let derived = derive(op, vars)?;
    for (i, v) in vars.iter().enumerate() {
        let start = v.as_tensor().copy()?.detach();
        let way = random(50 + i as u64, v.dims())?.to_dtype(DType::F64)?;
        let at = |h: f64| -> Result<f64> {
            v.set(&(&start + (&way * h)?)?)?;
            host::scalar(&loss(op, vars)?.0)
        };
        let rise = |h: f64| -> Result<f64> { Ok(at(h)? - at(-h)?) };
        let slope = (8.0 * rise(1e-5)? - rise(2e-5)?) / 12e-5; // of fourth order in the step
        at(0.0)?;
        let derivative = host::scalar(&(&derived[i + 1] * way)?.sum_all()?)?;
        assert!((slope - derivative).abs() < 1e-6 * (1.0 + slope.abs()), "argument {i}: {slope} and {derivative}");
    }
    Ok(())
}

/// Checks that a frozen argument gets no gradient, and that the others keep every bit of theirs.
pub fn check_frozen(op: Op, shapes: &[Vec<usize>]) -> Result<()> {
    let given = shapes.iter().enumerate().map(|(i, s)| random(i as u64, s)).collect::<Result<Vec<_>>>()?;
    let bits = |x: &Tensor| -> Result<Vec<u32>> { Ok(host::to_f32(x)?.into_iter().map(f32::to_bits).collect()) };
    let gradients = |trained: &[bool]| -> Result<Vec<Option<Vec<u32>>>> {
        let pairs = given.iter().zip(trained);
        let args = pairs.map(|(x, trained)| match *trained {
            true => Var::from_tensor(x).map(Var::into_inner),
            false => Ok(x.clone()),
        });
        let args = args.collect::<Result<Vec<Tensor>>>()?;
        let grads = op(&args)?.sqr()?.sum_all()?.backward()?;
        args.iter().map(|x| grads.get(x).map(bits).transpose()).collect()
    };
    let all = gradients(&vec![true; given.len()])?;
    for mask in 1..1usize << given.len() {
        let trained: Vec<bool> = (0..given.len()).map(|i| (mask >> i) & 1 == 1).collect();
        for (i, (found, wanted)) in gradients(&trained)?.into_iter().zip(&all).enumerate() {
            assert_eq!(found.as_ref(), wanted.as_ref().filter(|_| trained[i]), "argument {i}, trained are {trained:?}");
        }
    }
    Ok(())
}

/// A lock for tests that change the number of threads, which is a setting of the whole process.
pub fn lock_threads() -> MutexGuard<'static, ()> {
    static THREADS: Mutex<()> = Mutex::new(());
    THREADS.lock().unwrap_or_else(|e| e.into_inner())
}

/// Checks that one, two and three threads give the same bits.
pub fn check_threads(fused: Op, shapes: &[Vec<usize>]) -> Result<()> {
    let _threads = lock_threads();
    let vars = inputs(shapes, DType::F32)?;
    let mut runs = vec![];
    for n in [1, 2, 3] {
        set_threads(n);
        let all = derive(fused, &vars)?.iter().map(host::to_f32).collect::<Result<Vec<_>>>()?.concat();
        runs.push(all.into_iter().map(f32::to_bits).collect::<Vec<_>>());
    }
    set_threads(1);
    assert!(runs[0] == runs[1] && runs[1] == runs[2], "{shapes:?}");
    Ok(())
}
