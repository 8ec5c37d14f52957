//! Compares the fused CPU forms of attention, cross-entropy and embedding with their reference forms: values,
//! gradients, numbers of threads, and the path without gradients.

use candle_core::{DType, Device, Tensor, Var};
use orrery_lab::nn::{
    IGNORE, Result,
    fused::{
        attention::{self, AttentionSpec},
        cross_entropy::{self, cross_entropy, head_cross_entropy},
        embedding::{self, embedding},
        linear,
    },
    host, set_threads,
};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::op_checks::{distance, largest, lock_threads, random};

fn ids(seed: u64, n: usize, below: u32, ignored: f64) -> Vec<u32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|_| if rng.random_bool(ignored) { IGNORE } else { rng.random_range(0..below) }).collect()
}

fn bits(t: &Tensor) -> Result<Vec<u32>> {
    Ok(host::to_f32(t)?.iter().map(|v| v.to_bits()).collect())
}

/// The largest difference relative to the largest value, which counts as at least 1e-3, so that gradients that cancel
/// to rounding noise are not compared relative to their own size.
fn apart(found: &Tensor, wanted: &Tensor) -> Result<f64> {
    Ok(distance(found, wanted)? / largest(host::to_f64(wanted)?).max(1e-3))
}

/// The value of y and the gradients of the sum of y with fixed random weights.
fn derive(vars: &[&Var], y: &Tensor) -> Result<Vec<Tensor>> {
    let weights = random(99, y.dims())?;
    let grads = (y * weights)?.sum_all()?.backward()?;
    let mut out = vec![y.detach()];
    for v in vars {
        out.push(grads.get(v).cloned().map_or_else(|| v.zeros_like(), Ok)?);
    }
    Ok(out)
}

fn same(found: &[Tensor], wanted: &[Tensor], what: &str) -> Result<()> {
    for (i, (f, w)) in found.iter().zip(wanted).enumerate() {
        let apart = apart(f, w)?;
        assert!(apart < 2e-5, "{what}: number {i} (0 is the value) is {apart:e} off");
    }
    Ok(())
}

struct Case {
    qkv: Var,
    q_norm: Var,
    k_norm: Var,
    spec: AttentionSpec,
}

impl Case {
    fn new(b: usize, t: usize, (kv, group): (usize, usize), head_dim: usize, window: Option<usize>) -> Result<Self> {
        let spec = AttentionSpec {
            heads: kv * group,
            kv_heads: kv,
            head_dim,
            theta: Some(1e4),
            window,
            eps: 1e-6,
            alibi: false,
        };
        let width = (kv * group + 2 * kv) * head_dim;
        let norm = |seed| Var::from_tensor(&(random(seed, &[head_dim])? * 0.3)?.affine(1.0, 1.0)?);
        Ok(Self {
            qkv: Var::from_tensor(&random(t as u64, &[b, t, width])?)?,
            q_norm: norm(1)?,
            k_norm: norm(2)?,
            spec,
        })
    }

    fn norms(&self) -> Option<[&Tensor; 2]> {
        Some([&self.q_norm, &self.k_norm])
    }

    fn attend(&self) -> Result<Tensor> {
        attention::attention(&self.qkv, &self.q_norm, &self.k_norm, self.spec)
    }

    fn fused(&self) -> Result<Vec<Tensor>> {
        derive(&[&self.qkv, &self.q_norm, &self.k_norm], &self.attend()?)
    }

    /// Checks the case without and with ALiBi.
    fn check(&self) -> Result<()> {
        let other = Self {
            qkv: self.qkv.clone(),
            q_norm: self.q_norm.clone(),
            k_norm: self.k_norm.clone(),
            spec: AttentionSpec { alibi: true, ..self.spec },
        };
        self.check_one()?;
        other.check_one()
    }

    fn check_one(&self) -> Result<()> {
        let wanted = derive(
            &[&self.qkv, &self.q_norm, &self.k_norm],
            &attention::reference(&self.qkv, self.norms(), self.spec)?.0,
        )?;
        same(&self.fused()?, &wanted, &format!("attention {:?} of {:?}", self.spec, self.qkv.dims()))
    }
}

#[test]
fn plain_attention_equals_its_reference() -> Result<()> {
    for (b, t, heads, d) in [(1, 1, 1, 1), (3, 1, 2, 4), (1, 64, 4, 32), (2, 65, 2, 7), (1, 200, 3, 16), (8, 20, 4, 8)]
    {
        let qkv = Var::from_tensor(&random(t as u64, &[b, t, 3 * heads * d])?)?;
        let spec = AttentionSpec::plain(heads * d, heads);
        let fused = derive(&[&qkv], &attention::attend(&qkv, None, spec)?)?;
        let wanted = derive(&[&qkv], &attention::reference(&qkv, None, spec)?.0)?;
        same(&fused, &wanted, &format!("plain attention of {:?} with {heads} heads", qkv.dims()))?;
        let free = attention::attend(&qkv.detach(), None, spec)?;
        assert_eq!(bits(&free)?, bits(&fused[0])?, "without gradients");
    }
    let odd = random(1, &[1, 3, 10])?;
    let error = attention::attend(&odd, None, AttentionSpec::plain(3, 2)).unwrap_err();
    assert!(error.to_string().contains("2 query"), "{error}");
    Ok(())
}

/// Checks the case without norms, without rotary embedding, and without both.
fn check_bare(case: &Case) -> Result<()> {
    let all = [(false, Some(1e4), false), (true, None, false), (false, None, false), (false, None, true)];
    for (normed, theta, alibi) in all {
        let spec = AttentionSpec { theta, alibi, ..case.spec };
        let (vars, norms) = match normed {
            true => (vec![&case.qkv, &case.q_norm, &case.k_norm], case.norms()),
            false => (vec![&case.qkv], None),
        };
        let found = attention::attend(&case.qkv, norms, spec)?;
        let wanted = attention::reference(&case.qkv, norms, spec)?.0;
        let what = format!("attention, norms {normed}, {spec:?} of {:?}", case.qkv.dims());
        same(&derive(&vars, &found)?, &derive(&vars, &wanted)?, &what)?;
    }
    Ok(())
}

#[test]
fn attention_at_the_edges() -> Result<()> {
    for (b, t, heads, d, window) in [
        (1, 1, (1, 1), 2, None),
        (3, 1, (2, 2), 4, Some(1)),
        (1, 64, (1, 2), 32, None),
        (2, 65, (2, 1), 16, None),
        (1, 200, (2, 2), 32, None),
        (1, 200, (1, 3), 10, Some(7)),
        (1, 150, (1, 2), 16, Some(64)),
        (1, 130, (1, 1), 8, Some(65)),
        (2, 90, (2, 1), 8, Some(1)),
        (1, 70, (1, 1), 6, Some(1000)),
    ] {
        let case = Case::new(b, t, heads, d, window)?;
        case.check()?;
        check_bare(&case)?;
    }
    Ok(())
}

/// With equal keys, the weights depend on the distance only.
#[test]
fn with_alibi_weights_halve_at_the_distance_of_the_slope() -> Result<()> {
    let (t, heads) = (40, 4);
    let qkv = Tensor::ones((1, t, 3 * heads * 2), DType::F32, &Device::Cpu)?;
    let spec = AttentionSpec { alibi: true, ..AttentionSpec::plain(heads * 2, heads) };
    let weights = host::to_f64(&attention::reference(&qkv, None, spec)?.1)?;
    for (h, slope) in [0.25f64, 0.0625, 0.015625, 0.00390625].into_iter().enumerate() {
        assert_eq!(attention::alibi_slopes(heads)[h], slope as f32);
        for (q, k) in [(1, 0), (39, 38), (39, 20), (39, 0)] {
            let at = |k: usize| weights[(h * t + q) * t + k];
            let wanted = (-slope * (q - k) as f64).exp();
            assert!((at(k) / at(q) - wanted).abs() < 1e-5, "head {h}, {q} to {k}: {}, {wanted}", at(k) / at(q));
        }
    }
    Ok(())
}

/// The scores of a row differ so much that a softmax would under- or overflow if it did not subtract the row's maximum.
#[test]
fn large_scores_are_shifted_by_their_largest() -> Result<()> {
    for scale in [30.0, -30.0] {
        let mut case = Case::new(2, 75, (1, 2), 8, None)?;
        case.qkv = Var::from_tensor(&(case.qkv.as_tensor().detach() * scale)?)?;
        let spec = AttentionSpec { theta: None, ..case.spec };
        let found = attention::attend(&case.qkv, None, spec)?;
        let wanted = attention::reference(&case.qkv.to_dtype(DType::F64)?, None, spec)?.0;
        assert!(apart(&found, &wanted)? < 2e-4, "{}", apart(&found, &wanted)?);
    }
    Ok(())
}

#[test]
fn gradients_of_attention_are_those_of_its_values() -> Result<()> {
    let case = Case::new(1, 5, (1, 2), 4, Some(3))?;
    let found = case.fused()?;
    let step = 1e-3;
    for (var, grad) in [(&case.qkv, &found[1]), (&case.q_norm, &found[2]), (&case.k_norm, &found[3])] {
        let (at, grad) = (host::to_f32(var)?, host::to_f64(grad)?);
        for i in 0..at.len() {
            let value = |by: f32| -> Result<f64> {
                let mut moved = at.clone();
                moved[i] += by;
                var.set(&Tensor::from_vec(moved, var.shape(), &Device::Cpu)?)?;
                let y = case.attend()?;
                Ok(host::to_f64(&(&y * random(99, y.dims())?)?)?.iter().sum())
            };
            let slope = (value(step)? - value(-step)?) / (2.0 * f64::from(step));
            var.set(&Tensor::from_vec(at.clone(), var.shape(), &Device::Cpu)?)?;
            assert!((slope - grad[i]).abs() < 3e-3, "{i}: {slope} by differences, {}", grad[i]);
        }
    }
    Ok(())
}

/// Inputs, head and targets of `n` rows, width `d` and vocabulary `v`, with a share of ignored targets.
fn head_case(n: usize, d: usize, v: usize, ignored: f64) -> Result<(Var, Var, Tensor)> {
    let x = Var::from_tensor(&random(3, &[1, n, d])?)?;
    let head = Var::from_tensor(&random(4, &[v, d])?)?;
    Ok((x, head, Tensor::from_vec(ids(5, n, v as u32, ignored), (1, n), &Device::Cpu)?))
}

fn check_head(n: usize, d: usize, v: usize, ignored: f64) -> Result<()> {
    let (x, head, targets) = head_case(n, d, v, ignored)?;
    let wanted = derive(&[&x, &head], &cross_entropy::reference(&linear::reference(&x, &head)?, &targets)?)?;
    let what = format!("loss of {n} rows, {d} channels, {v} words, {ignored} ignored");
    same(&derive(&[&x, &head], &head_cross_entropy(&x, &head, &targets)?)?, &wanted, &what)?;
    let logits = Var::from_tensor(&linear::reference(&x, &head)?.detach())?;
    let wanted = derive(&[&logits], &cross_entropy::reference(&logits, &targets)?)?;
    same(&derive(&[&logits], &cross_entropy(&logits, &targets)?)?, &wanted, &format!("{what}, from logits"))
}

#[test]
fn losses_at_the_edges() -> Result<()> {
    for (n, d, v, ignored) in [
        (1, 1, 1, 0.0),
        (1, 3, 5, 0.0),
        (7, 4, 2, 1.0),
        (64, 8, 17, 0.0),
        (65, 8, 17, 0.5),
        (700, 16, 33, 0.1),
        (600, 5, 300, 0.98),
    ] {
        check_head(n, d, v, ignored)?;
    }
    Ok(())
}

#[test]
fn only_what_is_trained_gets_a_gradient_and_targets_are_checked() -> Result<()> {
    let (x, head, targets) = head_case(70, 8, 9, 0.2)?;
    let both = head_cross_entropy(&x, &head, &targets)?.backward()?;
    let alone = head_cross_entropy(&x, &head.detach(), &targets)?.backward()?;
    assert_eq!(bits(&both.get(&x).cloned().unwrap())?, bits(&alone.get(&x).cloned().unwrap())?);
    let alone = head_cross_entropy(&x.detach(), &head, &targets)?.backward()?;
    assert_eq!(bits(&both.get(&head).cloned().unwrap())?, bits(&alone.get(&head).cloned().unwrap())?);
    let wrong = Tensor::full(9u32, (1, 70), &Device::Cpu)?;
    assert!(head_cross_entropy(&x, &head, &wrong).unwrap_err().to_string().contains("vocabulary of 9"));
    assert!(embedding(&head, &wrong).unwrap_err().to_string().contains("vocabulary of 9"));
    Ok(())
}

fn check_embedding(b: usize, t: usize, v: usize, d: usize) -> Result<()> {
    let weight = Var::from_tensor(&random(6, &[v, d])?)?;
    let ids = Tensor::from_vec(ids(7, b * t, v as u32, 0.0), (b, t), &Device::Cpu)?;
    let wanted = derive(&[&weight], &embedding::reference(&weight, &ids)?)?;
    same(&derive(&[&weight], &embedding(&weight, &ids)?)?, &wanted, "embedding")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn attention_of_any_shape(
        b in 1usize..3, t in 1usize..140, kv in 1usize..3, group in 1usize..4, half in 1usize..12,
        window in prop::option::of(1usize..160),
    ) {
        Case::new(b, t, (kv, group), 2 * half, window).and_then(|c| c.check()).unwrap();
    }

    #[test]
    fn losses_of_any_shape(n in 1usize..300, d in 1usize..40, v in 1usize..90, ignored in 0.0f64..=1.0) {
        check_head(n, d, v, ignored).unwrap();
    }

    #[test]
    fn embeddings_of_any_shape(b in 1usize..4, t in 1usize..50, v in 1usize..30, d in 1usize..20) {
        check_embedding(b, t, v, d).unwrap();
    }
}

/// The bits of all values and gradients of the three operations in training.
fn all_bits() -> Result<Vec<Vec<u32>>> {
    let mut out = Case::new(3, 150, (2, 2), 16, None)?.fused()?;
    let (x, head, targets) = head_case(900, 16, 50, 0.1)?;
    out.extend(derive(&[&x, &head], &head_cross_entropy(&x, &head, &targets)?)?);
    let logits = Var::from_tensor(&linear::reference(&x, &head)?.detach())?;
    out.extend(derive(&[&logits], &cross_entropy(&logits, &targets)?)?);
    out.iter().map(bits).collect()
}

#[test]
fn threads_change_no_bit() -> Result<()> {
    let _threads = lock_threads();
    let alone = all_bits()?;
    for threads in [2, 3, 1] {
        set_threads(threads);
        let found = all_bits();
        set_threads(1);
        assert_eq!(found?, alone, "{threads} threads");
    }
    Ok(())
}

#[test]
fn values_without_gradients_are_the_same_and_a_second_backward_works() -> Result<()> {
    let case = Case::new(2, 70, (2, 2), 8, Some(20))?;
    let y = case.attend()?;
    let still = attention::attention(&case.qkv.detach(), &case.q_norm.detach(), &case.k_norm.detach(), case.spec)?;
    assert_eq!(bits(&y)?, bits(&still)?);
    let (first, second) = (y.sum_all()?.backward()?, y.sum_all()?.backward()?);
    assert_eq!(bits(&first.get(&case.qkv).cloned().unwrap())?, bits(&second.get(&case.qkv).cloned().unwrap())?);

    let (x, head, targets) = head_case(200, 8, 30, 0.3)?;
    let loss = head_cross_entropy(&x, &head, &targets)?;
    assert_eq!(bits(&loss)?, bits(&head_cross_entropy(&x.detach(), &head.detach(), &targets)?)?);
    let (first, second) = (loss.backward()?, (&loss * 2.0)?.backward()?);
    let twice = (first.get(&head).cloned().unwrap() * 2.0)?;
    assert_eq!(bits(&twice)?, bits(&second.get(&head).cloned().unwrap())?);
    Ok(())
}

#[test]
fn other_types_and_layouts_take_the_reference_form() -> Result<()> {
    let case = Case::new(1, 20, (1, 2), 8, None)?;
    let y = case.attend()?;
    let wide = |t: &Tensor| t.to_dtype(DType::F64);
    let exact = attention::attention(&wide(&case.qkv)?, &wide(&case.q_norm)?, &wide(&case.k_norm)?, case.spec)?;
    assert_eq!(exact.dtype(), DType::F64);
    assert!(apart(&y, &exact.to_dtype(DType::F32)?)? < 2e-6);
    let turned = case.qkv.transpose(1, 2)?.contiguous()?.transpose(1, 2)?;
    assert!(apart(&attention::attend(&turned, case.norms(), case.spec)?, &y)? < 2e-6);
    let (x, head, targets) = head_case(20, 8, 30, 0.3)?;
    let loss = head_cross_entropy(&x, &head, &targets)?;
    let exact = head_cross_entropy(&wide(&x)?, &wide(&head)?, &targets)?;
    assert!(apart(&loss, &exact.to_dtype(DType::F32)?)? < 2e-6);
    Ok(())
}
