//! Tests against closed forms, and against asymptotics of the literature.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;

fn system(equations: Equations, a: f64) -> FastSlowPlane {
    FastSlowPlane { equations, a }
}

fn formulas(f: &str, g: &str) -> FastSlowPlane {
    system(Equations::Formulas(Arc::new(Formulas::parse(f, g).unwrap())), 0.5)
}

/// One of each kind, with a stretch of a stable branch.
fn systems() -> [FastSlowPlane; 4] {
    [
        system(Equations::VanDerPol, 0.5),
        system(Equations::FitzHughNagumo, 0.5),
        system(Equations::CubicFold, 1.0),
        formulas("-x - 0.5*sin(x) + y", "1 + 0.2*x"),
    ]
}

fn traced(plane: &FastSlowPlane) -> CriticalManifold {
    CriticalManifold::trace(plane, &plane.bounds()).unwrap()
}

fn limits(plane: &FastSlowPlane, epsilon: f64, until: f64) -> SolveLimits {
    SolveLimits {
        epsilon,
        tolerance: 1e-8,
        until,
        longest_step: f64::INFINITY,
        max_steps: 100_000,
        bounds: plane.bounds().expanded(2.0),
    }
}

#[test]
fn folds_of_van_der_pol_stand_at_one() {
    let manifold = traced(&system(Equations::VanDerPol, 0.3));
    let mut folds = manifold.folds.clone();
    folds.sort_by(|p, q| p[0].total_cmp(&q[0]));
    for (fold, known) in folds.iter().zip([[-1.0, -2.0 / 3.0], [1.0, 2.0 / 3.0]]) {
        assert!((fold[0] - known[0]).abs() < 1e-9 && (fold[1] - known[1]).abs() < 1e-9, "{fold:?}");
    }
    let stable: Vec<bool> = manifold.branches.iter().map(|b| b.is_stable).collect();
    assert_eq!((folds.len(), stable), (2, vec![true, false, true]));
    for branch in &manifold.branches {
        for [x, y] in &branch.points {
            assert!((x - x.powi(3) / 3.0 - y).abs() < 1e-9, "{x} {y}");
            assert!(if branch.is_stable { x.abs() > 1.0 - 1e-9 } else { x.abs() < 1.0 + 1e-9 });
        }
    }
}

#[test]
fn the_parameter_moves_the_folds_of_the_cubic_until_they_are_gone() {
    for a in [0.25, 1.0, 1.7] {
        let folds = traced(&system(Equations::CubicFold, a)).folds;
        assert_eq!(folds.len(), 2, "{a}");
        for [x, y] in folds {
            let known = -x.signum() * 2.0 / 3.0 * a.powf(1.5);
            assert!((x.abs() - a.sqrt()).abs() < 1e-8 && (y - known).abs() < 1e-8, "{a}: {x} {y}");
        }
    }
    let none = traced(&system(Equations::CubicFold, -0.5));
    assert!(none.folds.is_empty() && none.branches.iter().all(|b| b.is_stable), "{:?}", none.folds);
}

#[test]
fn the_first_order_correction_is_the_closed_form() {
    let plane = system(Equations::VanDerPol, 0.4);
    for x in [-2.0, -1.3, 0.2, 1.5, 2.2f64] {
        let p = [x, x - x.powi(3) / 3.0];
        let known = (x - 0.4) / (1.0 - x * x).powi(2);
        assert!((first_order_correction(&plane, p) - known).abs() < 1e-12 * known.abs().max(1.0), "{x}");
    }
}

#[test]
fn distances_have_the_slopes_of_the_theorem() {
    for plane in systems() {
        let found = manifold_distances(&plane, &plane.bounds(), &traced(&plane)).unwrap();
        let [critical, first_order] = found.slopes;
        assert!((critical - 1.0).abs() < 0.06, "{found:?}");
        assert!((first_order - 2.0).abs() < 0.15, "{found:?}");
        assert_eq!(found.points.len(), 16, "{found:?}");
    }
}

#[test]
fn averaging_is_off_by_eps_and_splitting_by_its_step() {
    for plane in systems() {
        let found = multiscale_errors(&plane, &plane.bounds(), &traced(&plane)).unwrap();
        assert!((found.averaged_slope - 1.0).abs() < 0.06, "{found:?}");
        assert!((found.splitting_order - 1.0).abs() < 0.15, "{found:?}");
        assert!(found.points.len() == 16 && found.time > 0.05, "{found:?}");
        // averaging is better at long steps if the timescales are far apart, and splitting if they are not
        let [first, .., last] = found.points[..] else { panic!() };
        assert!(first.averaged < first.splitting[1] && last.averaged > last.splitting[1], "{found:?}");
        assert!((first.splitting[0] / found.points[5].splitting[0]).ln().abs() < 0.5, "{found:?}");
    }
}

/// eps x' = y - x, y' = -x: the rest is x = y, so averaging solves y' = -y; both parts of the splitting are exponentials.
#[test]
fn averaging_and_splitting_of_a_linear_system_are_the_closed_forms() {
    let plane = formulas("y - x", "-x");
    let (h, steps): (f64, i32) = (0.1, 10);
    let path = averaged(&plane, [0.9, 0.8], h, steps as usize);
    assert_eq!(path.len(), steps as usize + 1);
    for (n, [x, y]) in path.into_iter().enumerate() {
        // the method's own growth of a step
        let known = 0.8 * (1.0 - h + h * h / 2.0 - h.powi(3) / 6.0 + h.powi(4) / 24.0).powi(n as i32);
        assert!((x - known).abs() < 1e-12 && (y - known).abs() < 1e-12, "{n}: {x} {y} and {known}");
    }
    for epsilon in [0.02, 0.5] {
        let limits = SolveLimits { tolerance: 1e-10, ..limits(&plane, epsilon, h) };
        let [x, y] = lie_splitting(&plane, [0.3, 0.8], &limits, steps as usize).unwrap();
        let (mut known_x, mut known_y) = (0.3f64, 0.8f64);
        for _ in 0..steps {
            known_x = known_y + (known_x - known_y) * (-h / epsilon).exp();
            known_y -= h * known_x;
        }
        assert!((x - known_x).abs() < 1e-7 && (y - known_y).abs() < 1e-7, "{epsilon}: {x} {y}, {known_x} {known_y}");
    }
}

#[test]
fn a_system_without_an_attracting_branch_has_no_errors() {
    let plane = formulas("x - y", "1");
    assert_eq!(multiscale_errors(&plane, &plane.bounds(), &traced(&plane)), None);
}

#[test]
fn a_linear_system_is_solved_to_the_third_order() {
    // eps x' = y - x, y' = 1 from (0, 0): x = t - eps + eps e^(-t/eps).
    let plane = formulas("y - x", "1");
    let (epsilon, until) = (0.1, 1.0f64);
    let known = until - epsilon + epsilon * (-until / epsilon).exp();
    let error = |tolerance: f64, longest_step: f64| {
        let limits = SolveLimits { tolerance, longest_step, ..limits(&plane, epsilon, until) };
        (solve(&plane, [0.0, 0.0], &limits).points.last().unwrap()[0] - known).abs()
    };
    assert!(error(1e-8, f64::INFINITY) < 1e-7, "{}", error(1e-8, f64::INFINITY));
    // Steps of a smooth nonlinear system halved: the error falls eightfold.
    let plane = formulas("y - x^3 - x", "cos(x)");
    let end = |longest_step: f64| {
        let limits = SolveLimits { tolerance: 1e3, longest_step, ..limits(&plane, 1.0, 1.0) };
        *solve(&plane, [0.5, 0.2], &limits).points.last().unwrap()
    };
    let truth = end(1e-4);
    let far = |p: Point| (p[0] - truth[0]).hypot(p[1] - truth[1]);
    let order = (far(end(0.02)) / far(end(0.01))).log2();
    assert!((order - 3.0).abs() < 0.3, "{order}");
}

#[test]
fn a_stiff_system_costs_few_steps() {
    let plane = system(Equations::VanDerPol, 0.0);
    let solved = solve(&plane, [2.0, -2.0 / 3.0], &limits(&plane, 1e-8, 0.5));
    assert_eq!(solved.end, StopReason::EndTime);
    assert!(solved.points.len() < 2000, "{} steps, where an explicit method takes 10^8", solved.points.len());
}

#[test]
fn the_relaxation_oscillation_has_the_known_period_and_amplitude() {
    // Grasman 1987 (Asymptotic Methods for Relaxation Oscillations), mu = eps^(-1/2), in slow time.
    let plane = system(Equations::VanDerPol, 0.0);
    let epsilon: f64 = 1e-3;
    let LongTermBehaviour::Cycle { period, amplitude } = long_term(&plane, [0.5, 0.0], epsilon) else {
        panic!("no cycle")
    };
    let known = 3.0 - 2.0 * 2.0f64.ln() + 7.014_32 * epsilon.powf(2.0 / 3.0);
    assert!((period - known).abs() < 0.01, "{period} and {known}");
    assert!((amplitude - 4.0).abs() < 0.03, "{amplitude}");
}

#[test]
fn beyond_the_hopf_point_the_system_rests() {
    let LongTermBehaviour::Rest(at) = long_term(&system(Equations::VanDerPol, 1.2), [0.5, 0.0], 0.05) else { panic!() };
    assert!((at[0] - 1.2).abs() < 1e-3, "{at:?}");
    assert_eq!(long_term(&system(Equations::CubicFold, 0.5), [2.0, 2.0], 0.05), LongTermBehaviour::Leaves);
}

#[test]
fn the_canard_explosion_is_exponentially_narrow() {
    let epsilon = 0.05;
    let amplitude = |a: f64| match long_term(&system(Equations::VanDerPol, a), [1.1, 0.6], epsilon) {
        LongTermBehaviour::Cycle { amplitude, .. } => amplitude,
        _ => 0.0,
    };
    let (mut large, mut small) = (0.98, 0.999);
    assert!(amplitude(large) > 3.5 && amplitude(small) < 1.5, "{} {}", amplitude(large), amplitude(small));
    while small - large > 1e-6 {
        let middle = f64::midpoint(large, small);
        if amplitude(middle) > 2.5 { large = middle } else { small = middle }
    }
    let known = canard_value(epsilon);
    assert!((large - known).abs() < 1e-4, "{large} and {known}");
    assert!(amplitude(large - 2e-5) > 3.0 && amplitude(small + 2e-5) < 2.0);
    assert!((canard_value(0.01) - 0.998_740_6).abs() < 1e-6);
}

#[test]
fn invalid_formulas_are_refused_with_a_reason() {
    let error = |f: &str, g: &str| Formulas::parse(f, g).unwrap_err();
    assert!(matches!(error("x - (y", "x"), PlaneError::Parse { formula: "f", .. }));
    assert!(matches!(error("x -", "x"), PlaneError::Parse { formula: "f", .. }));
    assert!(matches!(error("x", " "), PlaneError::Empty { formula: "g" }));
    assert!(matches!(error(&"x+".repeat(200), "x"), PlaneError::TooLong { .. }));
    assert_eq!(error("x - b", "x"), PlaneError::UnknownName { formula: "f", name: "b".into() });
    assert!(error("x - b", "x").to_string().contains("`b`"));
}

#[test]
fn a_field_without_values_is_refused() {
    let error = |f: &str, g: &str| {
        let plane = formulas(f, g);
        CriticalManifold::trace(&plane, &plane.bounds()).unwrap_err()
    };
    assert!(matches!(error("1/x - y", "1"), PlaneError::NotFinite { formula: "f", .. }));
    assert!(matches!(error("y - x", "ln(x)"), PlaneError::NotFinite { formula: "g", .. }));
    assert!(matches!(error("1/(x - 0.123)", "1"), PlaneError::Pole { .. }));
    assert_eq!(error("y^2 - 1", "x"), PlaneError::NoFastVariable);
}

#[test]
fn a_closed_manifold_is_one_ring_with_two_folds() {
    let plane = formulas("x^2 + y^2 - 1", "x");
    let manifold = traced(&plane);
    assert_eq!(manifold.folds.len(), 2);
    manifold.folds.iter().for_each(|[x, y]| assert!(x.abs() < 1e-9 && (y.abs() - 1.0).abs() < 1e-9, "{x} {y}"));
}

proptest! {
    #[test]
    fn derivatives_of_formulas_are_those_of_differences(x in -2.0..2.0f64, y in -2.0..2.0f64, a in -2.0..2.0f64) {
        for (f, g) in [
            ("x - x^3/3 - y", "x - a"),
            ("tanh(2*x) - y^2*x + a", "sin(x*y)"),
            ("exp(-x^2) - a*y/(1 + x^2)", "cos(y) + x^2*y"),
            ("a", "1"),
        ] {
            let plane = FastSlowPlane { a, ..formulas(f, g) };
            let j = plane.jacobian([x, y]);
            let h = 1e-5;
            let by = |of: &dyn Fn(Point) -> f64, dx: f64, dy: f64| {
                (of([x + dx, y + dy]) - of([x - dx, y - dy])) / (2.0 * h)
            };
            let differences = [
                (j.f_x, by(&|p| plane.f(p), h, 0.0)),
                (j.f_y, by(&|p| plane.f(p), 0.0, h)),
                (j.g_x, by(&|p| plane.g(p), h, 0.0)),
                (j.g_y, by(&|p| plane.g(p), 0.0, h)),
            ];
            for (exact, difference) in differences {
                prop_assert!((exact - difference).abs() < 1e-6 * (1.0 + exact.abs()), "{f}; {g}: {exact} {difference}");
            }
        }
    }

    #[test]
    fn formulas_of_van_der_pol_are_van_der_pol(x in -2.5..2.5f64, y in -2.0..2.0f64, a in -2.0..2.0f64) {
        let (own, known) = (FastSlowPlane { a, ..formulas("x - x^3/3 - y", "x - a") }, system(Equations::VanDerPol, a));
        let p = [x, y];
        prop_assert!((own.f(p) - known.f(p)).abs() < 1e-12 && (own.g(p) - known.g(p)).abs() < 1e-12);
        let (j, k) = (own.jacobian(p), known.jacobian(p));
        prop_assert!((j.f_x - k.f_x).abs() < 1e-12 && (j.f_y - k.f_y).abs() < 1e-12);
    }

    #[test]
    fn any_text_is_a_formula_or_an_error(text in "[xya0-9+*/^() .sincoexpb-]{0,40}") {
        if let Ok(read) = Formulas::parse(&text, "x") {
            let plane = system(Equations::Formulas(Arc::new(read)), 0.5);
            let _ = CriticalManifold::trace(&plane, &plane.bounds());
        }
    }
}
