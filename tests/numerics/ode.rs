//! Tests properties of the ODE solvers for different fields: order of convergence, counts of evaluations, policies,
//! errors.

use std::cell::{Cell, RefCell};

use candle_core::{DType, Device, Result, Tensor};
use orrery_lab::{
    nn::host,
    ode::{Field, Method, Policy, Solution, SolveError, SolveFailure, SolverOptions, Span, solve, solve_at},
};
use proptest::prelude::*;

use crate::op_checks;

const CPU: &Device = &Device::Cpu;

fn vector(values: &[f64]) -> Tensor {
    Tensor::new(values, CPU).unwrap()
}

/// dy = (tanh y1 + sin t, -y0 cos y1): nonlinear, time-dependent, and without a blow-up.
fn bent(t: f64, y: &Tensor) -> Result<Tensor> {
    let v = host::to_f64(y)?;
    Tensor::new(&[v[1].tanh() + t.sin(), -v[0] * v[1].cos()], CPU)
}

fn values(t: &Tensor) -> Vec<f64> {
    host::to_f64(t).unwrap()
}

fn distance(a: &Tensor, b: &Tensor) -> f64 {
    op_checks::distance(a, b).unwrap()
}

fn solved(field: &dyn Field, y0: &[f64], t1: f64, options: &SolverOptions) -> Solution {
    solve(field, &vector(y0), Span { start: 0.0, end: t1 }, options).unwrap()
}

fn refused(field: &dyn Field, y0: &[f64], t1: f64, options: &SolverOptions) -> SolveError {
    solve(field, &vector(y0), Span { start: 0.0, end: t1 }, options).unwrap_err()
}

/// A linear field that rotates and contracts, with which a method's order is measured most precisely.
fn linear(_: f64, y: &Tensor) -> Result<Tensor> {
    let v = host::to_f64(y)?;
    Tensor::new(&[-0.6 * v[0] + 2.0 * v[1], -2.0 * v[0] - 0.4 * v[1]], CPU)
}

/// The state at t = 1 after `steps` equal steps. For an adaptive method, each step is a solve whose first step has this
/// length and whose tolerance is so large that the step is accepted.
fn even_steps(field: &dyn Field, method: Method, start: &[f64], steps: usize) -> Tensor {
    if !method.is_adaptive() {
        return solved(field, start, 1.0, &SolverOptions::fixed(method, steps)).end;
    }
    let mut y = vector(start);
    for i in 0..steps {
        let h = 1.0 / steps as f64;
        let options = SolverOptions { first_step: Some(h), ..SolverOptions::adaptive(method, Policy::Clip, 1e6) };
        let span = Span { start: i as f64 * h, end: (i + 1) as f64 * h };
        let solution = solve(field, &y, span, &options).unwrap();
        assert_eq!(solution.trace.attempts.len(), 1);
        y = solution.end;
    }
    y
}

#[test]
fn every_method_converges_at_its_order() {
    let fine = SolverOptions { max_attempts: 100_000, ..SolverOptions::adaptive(Method::DOPRI5, Policy::Clip, 1e-13) };
    // summed over several starts, because the error of a single one may be close to a change of sign
    let starts = [[0.7, 0.9], [-1.0, 0.4], [0.2, -1.3], [1.5, 0.1], [-0.6, -0.8], [1.1, 1.4]];
    for &method in Method::ALL {
        let order = f64::from(method.tableau().order);
        let found = |field: &dyn Field| {
            let off = |start: &[f64], steps| {
                distance(&even_steps(field, method, start, steps), &solved(field, start, 1.0, &fine).end)
            };
            let [coarse, fine] = [24, 48].map(|steps| -> f64 { starts.iter().map(|start| off(start, steps)).sum() });
            (coarse / fine).log2()
        };
        let (plain, curved) = (found(&linear), found(&bent));
        // the leading error term of Tsitouras' method is so small that the next one is still visible
        assert!(plain > order - 0.25 && plain < order + 0.35, "{method}: order {plain}, not {order}");
        // with a nonlinear field, the leading error term may be smaller than the next one, which increases the measured
        // order
        assert!(curved > order - 0.25, "{method}: order {curved}, not {order}");
    }
}

#[test]
fn tables_are_consistent() {
    for &method in Method::ALL {
        let t = method.tableau();
        let sum = |row: &[f64]| row.iter().sum::<f64>();
        assert!((sum(t.weights) - 1.0).abs() < 1e-14, "{method}");
        for (node, row) in t.nodes.iter().zip(t.rows) {
            assert!((sum(row) - node).abs() < 1e-13, "{method}: a row sums to {}, its node is {node}", sum(row));
        }
        if method.is_adaptive() {
            assert!(sum(t.error).abs() < 1e-14, "{method}");
            assert!((sum(t.mid) - 0.5).abs() < 1e-9, "{method}");
            assert_eq!((t.error.len(), t.mid.len()), (t.weights.len(), t.weights.len()));
        }
        assert_eq!(Method::from_id(method.id()), Some(method));
    }
    assert_eq!(Method::from_id("rk45"), None);
}

/// A step is at most ten times as long as the one before, so a field without any error still needs several steps.
#[test]
fn steps_over_a_constant_field_grow_at_most_tenfold() {
    let nfe = |c: f64| {
        let field = move |_: f64, y: &Tensor| y.ones_like()? * c;
        let options = SolverOptions::adaptive(Method::DOPRI5, Policy::Interpolate, 1e-3);
        let solution = solved(&field, &[1.0], 1.0, &options);
        assert!((values(&solution.end)[0] - 1.0 - c).abs() < 1e-12);
        let trace = solution.trace;
        assert!(trace.attempts.iter().all(|a| a.growth_capped && a.accepted));
        // with y = 1 the scale is 2e-3, d1 is c / scale, and the second difference is zero
        assert!((trace.d1 / (c / 2e-3) - 1.0).abs() < 1e-12 && (trace.d0 - 500.0).abs() < 1e-9);
        let h = (0.01 / trace.d1).powf(0.2);
        assert!((trace.h_init / h - 1.0).abs() < 1e-6, "{} is not {h}", trace.h_init);
        // with tenfold growth, k steps reach t = 1 if and only if h_init (10^k - 1) / 9 >= 1
        let k = (1..10).find(|k| h * (10f64.powi(*k) - 1.0) / 9.0 >= 1.0).unwrap() as usize;
        assert_eq!(trace.nfe, 2 + 6 * k);
        trace.nfe
    };
    assert_eq!((nfe(3.20), nfe(3.25)), (14, 20));
}

#[test]
fn counts_follow_from_the_trace() {
    for method in Method::ALL.iter().copied().filter(|m| m.is_adaptive()) {
        for policy in Policy::ALL {
            let trace = solved(&bent, &[0.7, 0.9], 20.0, &SolverOptions::adaptive(method, policy, 1e-5)).trace;
            assert!(trace.rejected() > 0, "{method} {policy:?}: nothing was rejected, so the count shows little");
            let again =
                if policy == Policy::Clip && method == Method::ADAPTIVE_HEUN { trace.accepted() - 1 } else { 0 };
            let s = method.tableau().nodes.len();
            assert_eq!(trace.nfe, 2 + s * trace.attempts.len() + again, "{method} {policy:?}");
        }
    }
    let given = SolverOptions { first_step: Some(0.1), ..SolverOptions::default() };
    let trace = solved(&bent, &[0.7, 0.9], 1.0, &given).trace;
    assert_eq!(trace.nfe, 1 + 6 * trace.attempts.len());
    assert_eq!((trace.h_init, trace.d0), (0.1, 0.0));
    for (method, s) in [(Method::EULER, 1), (Method::MIDPOINT, 2), (Method::HEUN2, 2), (Method::RK4, 4)] {
        assert_eq!(solved(&bent, &[0.7, 0.9], 1.0, &SolverOptions::fixed(method, 7)).trace.nfe, 7 * s);
    }
}

/// The field counts its evaluations, in solves without a rejected step.
#[test]
fn stated_evaluations_are_the_counted_ones() {
    for &method in Method::ALL {
        for policy in Policy::ALL {
            let counted = Cell::new(0);
            let field = |_: f64, y: &Tensor| {
                counted.set(counted.get() + 1);
                y.ones_like()
            };
            let steps = SolverOptions { method, policy, steps: 5, first_step: Some(0.01), ..SolverOptions::default() };
            let trace = solved(&field, &[1.0], 1.0, &steps).trace;
            assert!(trace.rejected() == 0 && trace.accepted() > 2, "{method} {policy:?}");
            let start = usize::from(method.carries_slope(policy));
            let stated = start + trace.accepted() * method.evaluations_per_step(policy);
            assert_eq!((counted.get(), trace.nfe), (stated, stated), "{method} {policy:?}");
        }
    }
}

#[test]
fn the_list_names_every_method_once() {
    for facts in [Method::id, Method::name] {
        let mut listed: Vec<&str> = Method::ALL.iter().map(|m| facts(*m)).collect();
        listed.sort_unstable();
        listed.dedup();
        assert_eq!(listed.len(), Method::ALL.len(), "{listed:?}");
    }
    assert!(Method::ALL.is_sorted_by_key(|m| !m.is_adaptive()), "adaptive methods stand first");
    for method in [Method::BOSH3, Method::DOPRI5, Method::TSIT5] {
        assert!(method.tableau().ends_at_result(), "{method}");
    }
    for method in [Method::ADAPTIVE_HEUN, Method::EULER, Method::MIDPOINT, Method::HEUN2, Method::RK4] {
        assert!(!method.tableau().ends_at_result(), "{method}");
    }
}

#[test]
fn solver_attempts_form_one_contiguous_path() {
    for &method in Method::ALL {
        for policy in Policy::ALL {
            let options =
                SolverOptions { method, policy, rtol: 1e-4, atol: 1e-6, steps: 9, ..SolverOptions::default() };
            let trace = solved(&bent, &[0.7, 0.9], 6.0, &options).trace;
            let mut t = 0.0;
            for a in &trace.attempts {
                assert_eq!(a.t, t);
                assert_eq!(a.accepted, a.error <= 1.0);
                if a.accepted {
                    t = a.t + a.h;
                }
            }
            let clipped = policy == Policy::Clip || !method.is_adaptive();
            assert!(if clipped { (t - 6.0).abs() < 1e-12 } else { t >= 6.0 }, "{method} {policy:?} went to {t}");
        }
    }
}

#[test]
fn saved_states_lie_on_the_path() {
    let fine = SolverOptions::adaptive(Method::DOPRI5, Policy::Clip, 1e-12);
    for &method in Method::ALL {
        for policy in Policy::ALL {
            let options =
                SolverOptions { method, policy, rtol: 1e-7, atol: 1e-7, steps: 400, keep_states: true, ..fine };
            let solution = solved(&bent, &[0.7, 0.9], 2.0, &options);
            let states = &solution.states;
            let (first, last) = (&states[0], states.last().unwrap());
            assert_eq!((first.0, values(&first.1)), (0.0, vec![0.7, 0.9]));
            assert_eq!((last.0, values(&last.1)), (2.0, values(&solution.end)));
            assert!(states.windows(2).all(|w| w[0].0 < w[1].0));
            assert_eq!(states.len(), solution.trace.accepted() + 1);
            for (t, y) in &states[1..] {
                let off = distance(y, &solved(&bent, &[0.7, 0.9], *t, &fine).end);
                // the larger error is that of Euler's method with 400 steps
                assert!(off < if method == Method::EULER { 2e-2 } else { 1e-4 }, "{method} at {t}: {off:e} off");
            }
        }
    }
    assert!(solved(&bent, &[0.7, 0.9], 2.0, &SolverOptions::default()).states.is_empty());
}

#[test]
fn more_output_times_cost_nothing() {
    let fine = SolverOptions::adaptive(Method::DOPRI5, Policy::Clip, 1e-12);
    let times: Vec<f64> = (1..=16).map(|i| f64::from(i) / 8.0).collect();
    for &method in Method::ALL {
        for policy in Policy::ALL {
            let options = SolverOptions { method, policy, rtol: 1e-7, atol: 1e-7, steps: 400, ..fine };
            let plain = solved(&bent, &[0.7, 0.9], 2.0, &options);
            let many = solve_at(&bent, &vector(&[0.7, 0.9]), &times, &options).unwrap();
            assert_eq!((many.trace.nfe, values(&many.end)), (plain.trace.nfe, values(&plain.end)));
            assert_eq!(many.states.iter().map(|s| s.0).collect::<Vec<_>>(), times);
            for (t, y) in &many.states {
                let off = distance(y, &solved(&bent, &[0.7, 0.9], *t, &fine).end);
                assert!(off < if method == Method::EULER { 2e-2 } else { 1e-4 }, "{method} at {t}: {off:e} off");
            }
        }
    }
}

#[test]
fn solver_errors_name_the_reason_and_the_time() {
    let fine = SolverOptions::default();
    let still = |_: f64, y: &Tensor| y.zeros_like();
    let adaptive = |change: fn(&mut SolverOptions)| {
        let mut options = SolverOptions::default();
        change(&mut options);
        refused(&still, &[1.0], 1.0, &options)
    };
    let said = |failure: SolveError, reason: SolveFailure, t: f64| {
        assert_eq!((&failure.reason, failure.t), (&reason, t), "{failure}");
        assert!(failure.to_string().contains(&format!("t = {t}")), "{failure}");
    };
    for value in [0.0, -1e-3, f64::NAN, f64::INFINITY] {
        for (name, failure) in [
            ("rtol", solve(&still, &vector(&[1.0]), Span::UNIT, &SolverOptions { rtol: value, ..fine.clone() })),
            ("atol", solve(&still, &vector(&[1.0]), Span::UNIT, &SolverOptions { atol: value, ..fine.clone() })),
        ] {
            let failure = failure.unwrap_err();
            assert!(matches!(failure.reason, SolveFailure::Tolerance { name: n, .. } if n == name), "{failure}");
        }
    }
    for t1 in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(refused(&still, &[1.0], t1, &fine).reason, SolveFailure::Span { .. }), "{t1}");
    }
    said(refused(&still, &[1.0], 1.0, &SolverOptions::fixed(Method::RK4, 0)), SolveFailure::NoSteps, 0.0);
    said(adaptive(|o| o.first_step = Some(0.0)), SolveFailure::FirstStep { value: 0.0 }, 0.0);
    said(adaptive(|o| o.max_attempts = 0), SolveFailure::TooManyAttempts { max: 0 }, 0.0);
    said(refused(&still, &[f64::NAN], 1.0, &fine), SolveFailure::NonFiniteStart, 0.0);
    let empty = solve(&still, &Tensor::zeros(0, DType::F64, CPU).unwrap(), Span::UNIT, &fine).unwrap_err();
    assert!(matches!(empty.reason, SolveFailure::State(_)), "{empty}");
    let words = solve(&still, &Tensor::zeros(2, DType::U32, CPU).unwrap(), Span::UNIT, &fine).unwrap_err();
    assert!(matches!(words.reason, SolveFailure::State(_)), "{words}");
    let times = solve_at(&still, &vector(&[1.0]), &[0.5, 0.5], &fine).unwrap_err();
    assert_eq!(times.reason, SolveFailure::Times { value: 0.5 });

    let narrow = |_: f64, _: &Tensor| Tensor::zeros(3, DType::F64, CPU);
    let failure = refused(&narrow, &[1.0, 2.0], 1.0, &fine);
    assert!(matches!(&failure.reason, SolveFailure::Field(what) if what.contains("[3]")), "{failure}");
    let broken = |_: f64, _: &Tensor| candle_core::bail!("no such layer");
    let failure = refused(&broken, &[1.0], 1.0, &fine);
    assert!(failure.to_string().contains("no such layer"));
    assert!(matches!(failure.reason, SolveFailure::Failed(_)), "{failure}");
    assert_eq!(std::error::Error::source(&failure).unwrap().to_string().lines().next(), Some("no such layer"));
}

#[test]
fn a_field_that_stops_being_finite_is_an_error_at_that_time() {
    let late = |t: f64, y: &Tensor| y.ones_like()? * if t > 0.5 { f64::NAN } else { 1.0 };
    for &method in Method::ALL {
        for policy in Policy::ALL {
            let options = SolverOptions { method, policy, steps: 8, first_step: Some(0.1), ..SolverOptions::default() };
            let failure = refused(&late, &[1.0], 1.0, &options);
            assert_eq!(failure.reason, SolveFailure::NonFiniteField, "{method}: {failure}");
            let past = method.is_adaptive() && policy == Policy::Interpolate;
            assert!(failure.t > 0.5 && (past || failure.t <= 1.0), "{method}: {failure}");
            assert!(!failure.trace.attempts.is_empty() && failure.trace.nfe > 1, "{method}");
        }
    }
    let never = |_: f64, y: &Tensor| y.ones_like()? * f64::INFINITY;
    assert_eq!(refused(&never, &[1.0], 1.0, &SolverOptions::default()).t, 0.0);
}

/// A field with its own implementation of an Euler step.
struct Stepper<F>(F);

impl<F: Fn(f64, &Tensor) -> Result<Tensor>> Field for Stepper<F> {
    fn at(&self, t: f64, y: &Tensor) -> Result<Tensor> {
        self.0(t, y)
    }

    fn euler_step(&self, t: f64, y: &Tensor, h: f64) -> Result<Option<Tensor>> {
        (y + (self.0(t, y)? * h)?).map(Some)
    }
}

/// A field's own Euler steps give the same result and the same counts, and no other method uses them.
#[test]
fn a_field_may_provide_its_own_euler_step() {
    for &method in Method::ALL {
        let options = SolverOptions { method, steps: 7, ..SolverOptions::default() };
        let (own, plain) =
            (solved(&Stepper(bent), &[0.7, 0.9], 1.0, &options), solved(&bent, &[0.7, 0.9], 1.0, &options));
        assert_eq!((own.trace, values(&own.end)), (plain.trace, values(&plain.end)), "{method}");
    }
    let euler = SolverOptions::fixed(Method::EULER, 4);
    let late = |t: f64, y: &Tensor| y.ones_like()? * if t > 0.4 { f64::NAN } else { 1.0 };
    let failure = refused(&Stepper(late), &[1.0], 1.0, &euler);
    assert_eq!((failure.reason, failure.t, failure.trace.nfe), (SolveFailure::NonFiniteField, 0.5, 3));
    let grows = |_: f64, y: &Tensor| (y * 1e100)?.clamp(-1e300, 1e300);
    let failure = refused(&Stepper(grows), &[1e200], 4e9, &euler);
    assert_eq!((failure.reason, failure.t), (SolveFailure::Overflow, 0.0));
    struct Narrow;
    impl Field for Narrow {
        fn at(&self, _: f64, y: &Tensor) -> Result<Tensor> {
            y.zeros_like()
        }
        fn euler_step(&self, _: f64, _: &Tensor, _: f64) -> Result<Option<Tensor>> {
            Tensor::zeros(3, DType::F64, CPU).map(Some)
        }
    }
    let failure = refused(&Narrow, &[1.0, 2.0], 1.0, &euler);
    assert!(matches!(&failure.reason, SolveFailure::Field(what) if what.contains("[3]")), "{failure}");
}

/// y' = y^2 has no solution beyond t = 1, and no method may loop endlessly on the way there.
#[test]
fn an_explosion_ends_in_an_error() {
    let explodes = |_: f64, y: &Tensor| y.sqr();
    for method in Method::ALL.iter().copied().filter(|m| m.is_adaptive()) {
        for policy in Policy::ALL {
            let options = SolverOptions { rtol: 1e-6, atol: 1e-9, method, policy, ..SolverOptions::default() };
            let failure = refused(&explodes, &[1.0], 2.0, &options);
            assert!((failure.t - 1.0).abs() < 0.05, "{method} {policy:?}: {failure}");
            assert!(failure.trace.accepted() > 5);
        }
    }
    let grows = |_: f64, y: &Tensor| y * 1e200;
    let failure = refused(&grows, &[1.0], 4.0, &SolverOptions::fixed(Method::EULER, 4));
    assert!(matches!(failure.reason, SolveFailure::Overflow | SolveFailure::NonFiniteField), "{failure}");
}

/// A noisy field meets no tolerance, so steps shrink until the solver gives up.
#[test]
fn impossible_tolerances_end_in_an_error() {
    let noisy = |t: f64, y: &Tensor| y.ones_like()? * (1e9 * (t * 1e12).sin());
    let options = SolverOptions { rtol: 1e-14, atol: 1e-300, max_attempts: 300, ..SolverOptions::default() };
    let failure = refused(&noisy, &[1.0], 1.0, &options);
    assert!(
        matches!(failure.reason, SolveFailure::Underflow { .. } | SolveFailure::TooManyAttempts { .. }),
        "{failure}"
    );
}

#[test]
fn the_state_may_have_any_shape_and_type() {
    let start: Vec<f64> = (0..24).map(|i| f64::from(i) * 0.1 - 1.0).collect();
    let field = |t: f64, y: &Tensor| (y.transpose(0, 2)?.tanh()? * 0.5)?.transpose(0, 2)? + t; // strided
    let wide = Tensor::from_vec(start, (2, 3, 4), CPU).unwrap();
    for &method in Method::ALL {
        let options = SolverOptions { method, rtol: 1e-6, atol: 1e-6, ..SolverOptions::default() };
        let exact = solve(&field, &wide, Span::UNIT, &options).unwrap();
        assert_eq!(exact.end.dims(), [2, 3, 4]);
        let half = solve(&field, &wide.to_dtype(DType::F32).unwrap(), Span::UNIT, &options).unwrap();
        assert_eq!((half.end.dtype(), half.end.dims()), (DType::F32, exact.end.dims()));
        assert!(distance(&half.end, &exact.end) < 1e-5, "{method}");
        // a start with other strides is the same state
        let turned = wide.transpose(0, 2).unwrap().contiguous().unwrap().transpose(0, 2).unwrap();
        assert!(distance(&solve(&field, &turned, Span::UNIT, &options).unwrap().end, &exact.end) < 1e-12, "{method}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// For any span, method and tolerance, the field is not evaluated outside the span.
    #[test]
    fn clipped_solves_stay_inside(
        t0 in -5.0..5.0f64,
        span in 1e-6..30.0f64,
        exponent in 1.0..5.0f64,
        stiffness in 0.0..20.0f64,
        method in prop::sample::select(Method::ALL.to_vec()),
    ) {
        let asked = RefCell::new(vec![]);
        let field = |t: f64, y: &Tensor| {
            asked.borrow_mut().push(t);
            (y.tanh()? * -stiffness)? + t.cos()
        };
        let t1 = t0 + span;
        let options = SolverOptions { steps: 50, ..SolverOptions::adaptive(method, Policy::Clip, 10f64.powf(-exponent)) };
        let solution = solve(&field, &vector(&[0.3, -2.0]), Span { start: t0, end: t1 }, &options);
        let asked = asked.borrow();
        prop_assert!(asked.iter().all(|t| (t0..=t1).contains(t)), "{:?} of [{t0}, {t1}]", asked);
        let solution = solution.map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(solution.trace.nfe, asked.len());
    }

    /// Both policies and all adaptive methods agree, up to an error that the tolerance determines.
    #[test]
    fn methods_agree(a in -1.5..1.5f64, b in -1.5..1.5f64, t1 in 0.1..4.0f64) {
        let fine = SolverOptions::adaptive(Method::DOPRI5, Policy::Clip, 1e-12);
        let truth = solved(&bent, &[a, b], t1, &fine).end;
        for method in Method::ALL.iter().copied().filter(|m| m.is_adaptive()) {
            for policy in Policy::ALL {
                let off = distance(&solved(&bent, &[a, b], t1, &SolverOptions::adaptive(method, policy, 1e-7)).end, &truth);
                // the tolerance does not control the quartic interpolant, whose midpoint is inaccurate for methods of
                // lower order
                let rough = policy == Policy::Interpolate && method.tableau().order < 5;
                prop_assert!(off < if rough { 1e-2 } else { 1e-4 }, "{} {:?}: {:e}", method, policy, off);
            }
        }
    }
}
