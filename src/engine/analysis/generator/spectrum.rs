//! The eigenvalues of a generator and the gap that sets the pace. It follows no flow.

use super::Generator;
use crate::analysis::eigenvalues::eigenvalues;

/// The eigenvalues, and what they say about the pace.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    /// Eigenvalues as (real, imaginary): first those of the kernel, 0 up to rounding, then by falling real part.
    pub eigenvalues: Vec<[f64; 2]>,
    /// The number of eigenvalues of the kernel.
    pub kernel: usize,
    /// -Re of the slowest eigenvalue outside of the kernel: errors fall as e^(-gap t). NaN where there is none.
    pub gap: f64,
}

/// The spectrum of a generator with this many closed classes; `None` where the eigenvalues cannot be found.
pub fn spectrum(a: &Generator, closed_classes: usize) -> Option<Spectrum> {
    let n = a.len();
    let mut found = eigenvalues(n, a.matrix())?;
    // The kernel is semisimple: as many eigenvalues are 0 as there are closed classes, and rounding moves them least.
    found.sort_by(|a, b| a[0].hypot(a[1]).total_cmp(&b[0].hypot(b[1])));
    let kernel = closed_classes.min(n);
    found[kernel..].sort_by(|a, b| b[0].total_cmp(&a[0]).then(b[1].total_cmp(&a[1])));
    let gap = found.get(kernel).map_or(f64::NAN, |slowest| -slowest[0]);
    Some(Spectrum { eigenvalues: found, kernel, gap })
}

/// The largest |1 + dt lambda| over the eigenvalues outside of the kernel: the factor by which the error of forward Euler
/// falls (or grows) in a step.
pub fn second_modulus(spectrum: &Spectrum, dt: f64) -> f64 {
    let modulus = |l: &[f64; 2]| (1.0 + dt * l[0]).hypot(dt * l[1]);
    spectrum.eigenvalues[spectrum.kernel..].iter().map(modulus).fold(f64::NAN, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::generator::{Topology, TopologySettings, classes, closed_classes};

    #[test]
    fn every_eigenvalue_lies_in_a_gershgorin_disc_and_only_the_kernel_touches_the_axis() {
        for topology in Topology::ALL {
            for states in [2, 5, 12, 64] {
                let a = TopologySettings { topology, states, sparsity: 0.3 }.draw(9).unwrap();
                let closed = closed_classes(&classes(&a));
                let s = spectrum(&a, closed).unwrap();
                let scale = 1.0 / a.step_bound();
                for (k, [re, im]) in s.eigenvalues.iter().enumerate() {
                    // the disc of column j has its centre at A_jj and the radius -A_jj, so that all touch 0
                    let mut discs = (0..states).map(|j| a.rate(j, j));
                    let is_held = discs.any(|d| (re - d).hypot(*im) <= -d + 1e-9 * scale);
                    assert!(is_held, "{topology:?} of {states}: {re} + {im} i");
                    assert_eq!(k < s.kernel, re.hypot(*im) < 1e-10 * scale, "{topology:?} of {states}: {re} + {im} i");
                }
                assert!(states == 2 || s.gap > 0.0 || closed == states);
            }
        }
    }

    #[test]
    fn two_states_relax_with_the_sum_of_their_rates() {
        let a = Generator::from_rates(2, vec![0.0, 0.3, 0.9, 0.0]).unwrap();
        let s = spectrum(&a, 1).unwrap();
        assert!((s.gap - 1.2).abs() < 1e-12);
        assert!((second_modulus(&s, 0.5) - 0.4).abs() < 1e-12);
        assert!((second_modulus(&s, 2.0) - 1.4).abs() < 1e-12, "beyond the bound it grows");
    }
}
