//! The interaction kernel of definition 1, equation (3): species that act on one another by rules of non-negative rates. Where a
//! rule feeds one of the two that meet it is replicator dynamics up to normalisation, and so Lotka and Volterra's.

use super::Curves;
use crate::analysis::statistics::normalise;

/// The rule `q_i, q_j -> q_k` with its rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelRule {
    /// The indices i and j of the species that interact.
    pub reactants: [usize; 2],
    /// The index k of the species that grows.
    pub product: usize,
    /// The rate r, at least 0.
    pub rate: f64,
}

/// A ruleset of z species.
#[derive(Debug, Clone, PartialEq)]
pub struct InteractionKernel {
    /// The rules; those that are left out have the rate 0.
    pub rules: Vec<KernelRule>,
    /// d of each species, 0 to 1.
    pub decay: Vec<f64>,
}

impl InteractionKernel {
    /// q_k' = (1 - d_k) q_k + sum_ij r_ijk q_i q_j. Rules of species that there are not are left out.
    pub fn step(&self, q: &[f64]) -> Vec<f64> {
        let mut next: Vec<f64> = q.iter().zip(&self.decay).map(|(q, d)| (1.0 - d) * q).collect();
        for KernelRule { reactants: [i, j], product, rate } in &self.rules {
            if let (Some(a), Some(b), Some(k)) = (q.get(*i), q.get(*j), next.get_mut(*product)) {
                *k += rate * a * b;
            }
        }
        next
    }
}

/// Rates of prey and predator: y_1' = y_1 (a - b y_2), y_2' = y_2 (d y_1 - c).
const PREY: [f64; 2] = [1.0, 1.2];
const PREDATOR: [f64; 2] = [0.8, 1.0];
const INITIAL_STATE: [f64; 2] = [1.6, 0.5];
/// Time of the curves: somewhat more than two turns.
const TIME: f64 = 16.0;
/// Points of a curve.
const CURVE_POINTS: usize = 160;

/// The replicator dynamics that is Lotka and Volterra's system of these rates, as a kernel of three species: the third is what the
/// first two are counted in (Hofbauer and Sigmund 1998, section 7.5). A constant for each column, which changes no
/// share, makes its payoffs positive. `h`: length of a step.
pub fn predator_kernel(h: f64) -> InteractionKernel {
    let ([a, b], [c, d]) = (PREY, PREDATOR);
    let payoffs = [[0.0, 0.0, a + c], [d, b, 0.0], [0.0, b, c]];
    let rule = |k: usize, j: usize| KernelRule { reactants: [k, j], product: k, rate: h * payoffs[k][j] };
    let rules = (0..3).flat_map(|k| (0..3).map(move |j| rule(k, j))).filter(|rule| rule.rate > 0.0).collect();
    InteractionKernel { rules, decay: vec![0.0; 3] }
}

/// Slopes of prey and predator.
fn lotka_volterra([prey, predator]: [f64; 2]) -> [f64; 2] {
    let ([a, b], [c, d]) = (PREY, PREDATOR);
    [prey * (a - b * predator), predator * (d * prey - c)]
}

/// A step of the classical method of fourth order.
fn rk4(y: [f64; 2], dt: f64) -> [f64; 2] {
    let along = |k: [f64; 2], share: f64| [y[0] + share * dt * k[0], y[1] + share * dt * k[1]];
    let first = lotka_volterra(y);
    let second = lotka_volterra(along(first, 0.5));
    let third = lotka_volterra(along(second, 0.5));
    let fourth = lotka_volterra(along(third, 1.0));
    std::array::from_fn(|i| y[i] + dt / 6.0 * (first[i] + 2.0 * second[i] + 2.0 * third[i] + fourth[i]))
}

/// Prey and predator over time, by the kernel in steps of 2 / n, normalised after each, and by their equation in the same
/// steps of time, which is h times the third species' share.
pub fn replicator(n: usize) -> Curves {
    let h = 2.0 / n.max(1) as f64;
    let kernel = predator_kernel(h);
    let total = INITIAL_STATE[0] + INITIAL_STATE[1] + 1.0;
    let mut shares = vec![INITIAL_STATE[0] / total, INITIAL_STATE[1] / total, 1.0 / total];
    let (mut exact, mut time) = (INITIAL_STATE, 0.0);
    let (mut x, mut curves) = (vec![], [vec![], vec![], vec![], vec![]]);
    loop {
        if time >= TIME * x.len() as f64 / CURVE_POINTS as f64 {
            x.push(time);
            let now = [shares[0] / shares[2], shares[1] / shares[2], exact[0], exact[1]];
            curves.iter_mut().zip(now).for_each(|(curve, value)| curve.push(value));
        }
        if time >= TIME || x.len() > CURVE_POINTS {
            break;
        }
        let dt = h * shares[2];
        exact = rk4(exact, dt);
        time += dt;
        shares = kernel.step(&shares);
        normalise(&mut shares);
    }
    let names = ["prey, kernel", "predator, kernel", "prey, Lotka and Volterra", "predator, Lotka and Volterra"];
    Curves::new(x, names.into_iter().zip(curves))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the largest difference between the kernel's curves and those of the equation.
    fn max_difference(n: usize) -> f64 {
        let found = replicator(n);
        let gap = |k: usize| {
            let pairs = found.curves[k].values.iter().zip(&found.curves[k + 2].values);
            pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        gap(0).max(gap(1))
    }

    #[test]
    fn positive_rules_follow_predators_and_prey() {
        let [coarse, fine] = [128, 256].map(max_difference);
        assert!(fine < 0.15 && (1.6..2.6).contains(&(coarse / fine)), "{coarse} {fine}: the error is of first order");
        let found = replicator(256);
        let prey = &found.curves[2].values;
        let turns = prey.windows(3).filter(|w| w[1] > w[0] && w[1] > w[2]).count();
        assert!((2..=3).contains(&turns), "{turns} peaks of prey");
        assert!(predator_kernel(0.1).rules.iter().all(|rule| rule.rate > 0.0), "no rule takes away");
    }

    #[test]
    fn rules_of_missing_species_are_left_out() {
        let rule = |reactants, product| KernelRule { reactants, product, rate: 0.5 };
        let kernel =
            InteractionKernel { rules: vec![rule([0, 1], 1), rule([0, 2], 1), rule([1, 0], 7)], decay: vec![0.1, 0.2] };
        let next = kernel.step(&[0.4, 0.6]);
        assert!((next[0] - 0.36).abs() < 1e-15 && (next[1] - (0.48 + 0.5 * 0.24)).abs() < 1e-15, "{next:?}");
    }
}
