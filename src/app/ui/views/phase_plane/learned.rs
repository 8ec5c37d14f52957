//! The queries and keys of a model as points and a force in f64, and how far this integration is from the model's.

use crate::{
    analysis::query_key_flow::{Evolution, Force, Integrator, PhasePoint},
    telemetry::{
        Array,
        measurements::{IntegrationScheme, QueryKeyEvolution},
    },
};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stepping {
    pub integrator: Integrator,
    pub dt: f64,
    pub steps: usize,
}

/// One head along a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Learned {
    pub force: Force,
    /// The starts, one per token.
    pub starts: Vec<PhasePoint>,
    /// The ends of the model's own evolution.
    pub ends: Vec<PhasePoint>,
    pub model_stepping: Stepping,
    /// For each token, the distance between the end of the model's evolution and that of the same steps in f64; `None`
    /// if either overflows.
    pub f64_distances: Vec<Option<f64>>,
}

impl Learned {
    /// # Errors
    /// If the parts do not fit together; the message names them.
    pub fn new(e: &QueryKeyEvolution) -> Result<Self, String> {
        let &[tokens, width] = e.start_q.shape() else {
            return Err("The measured queries are not a table of tokens and coordinates.".to_owned());
        };
        let fits = |a: &Array| a.shape() == [tokens, width];
        if tokens == 0 || width == 0 || ![&e.start_k, &e.end_q, &e.end_k].into_iter().all(fits) {
            return Err(format!(
                "The measured queries and keys do not belong together: of {tokens} tokens with {width} numbers each, not \
                 all arrays are."
            ));
        }
        let force = Force::learned(e.first.data(), e.second.data(), width).map_err(|why| why.to_string())?;
        if !e.dt.is_finite() {
            return Err("The step size of this head is not a finite number, so nothing can be integrated.".to_owned());
        }
        let points = |q: &Array, k: &Array| -> Vec<PhasePoint> {
            let wide = |row: &[f32]| row.iter().map(|v| f64::from(*v)).collect::<Vec<f64>>();
            let rows = q.data().chunks(width).zip(k.data().chunks(width));
            rows.map(|(q, k)| PhasePoint::new(wide(q), wide(k))).collect()
        };
        let (starts, ends) = (points(&e.start_q, &e.start_k), points(&e.end_q, &e.end_k));
        let integrator = match e.scheme {
            IntegrationScheme::Euler => Integrator::Euler,
            IntegrationScheme::Leapfrog => Integrator::Leapfrog,
        };
        let model_stepping = Stepping { integrator, dt: e.dt, steps: e.steps.min(MAX_STEPS) };
        let evolution = Evolution { force: &force, integrator, dt: e.dt };
        let distance = |(start, end): (&PhasePoint, &PhasePoint)| {
            let here = evolution.end(start, model_stepping.steps).filter(|_| end.is_finite())?;
            Some(here.distance(end))
        };
        let f64_distances = starts.iter().zip(&ends).map(distance).collect();
        Ok(Self { force, starts, ends, model_stepping, f64_distances })
    }

    pub fn width(&self) -> usize {
        self.starts.first().map_or(0, |p| p.q.len())
    }

    /// All points, first the starts, then the ends.
    pub fn points(&self) -> Vec<&PhasePoint> {
        self.starts.iter().chain(&self.ends).collect()
    }

    /// The largest of [`Learned::f64_distances`], of tokens that have one.
    pub fn max_error(&self) -> Option<f64> {
        self.f64_distances.iter().copied().flatten().reduce(f64::max)
    }
}

/// A foreign file may hold any number; no model makes more steps.
const MAX_STEPS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn evolution() -> QueryKeyEvolution {
        let rows = |v: f32| Array::new([2, 3], vec![v, 0.1, -0.2, 0.3, 0.4, v]).unwrap();
        let weight = Array::new([3, 3], vec![0.0; 9]).unwrap();
        QueryKeyEvolution {
            start_q: rows(1.0),
            start_k: rows(2.0),
            end_q: rows(1.0),
            end_k: rows(2.0),
            first: weight.clone(),
            second: weight,
            dt: 0.5,
            steps: 1,
            scheme: IntegrationScheme::Euler,
        }
    }

    #[test]
    fn the_distance_to_the_models_end_is_that_of_the_same_steps() {
        let learned = Learned::new(&evolution()).unwrap();
        // Without a force q moves by dt k, whereas the recorded ends equal the start.
        let moved = 0.5 * (2.0f64.powi(2) + 0.1f64.powi(2) + 0.2f64.powi(2)).sqrt();
        assert!((learned.f64_distances[0].unwrap() - moved).abs() < 1e-6, "{:?}", learned.f64_distances);
    }

    #[test]
    fn arrays_that_do_not_belong_together_are_reported() {
        let short = Array::new([1, 3], vec![0.0; 3]).unwrap();
        let words = Learned::new(&QueryKeyEvolution { end_k: short.clone(), ..evolution() }).unwrap_err();
        assert!(words.contains("2 tokens"), "{words}");
        assert!(Learned::new(&QueryKeyEvolution { first: short, ..evolution() }).is_err());
        let nothing = Array::new([0, 3], vec![]).unwrap();
        assert!(Learned::new(&QueryKeyEvolution { start_q: nothing, ..evolution() }).is_err());
    }

    #[test]
    fn an_end_that_is_no_number_has_no_distance() {
        let lost = Array::new([2, 3], vec![f32::NAN, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
        let learned = Learned::new(&QueryKeyEvolution { end_q: lost, ..evolution() }).unwrap();
        assert_eq!(learned.f64_distances[0], None);
        assert!(learned.f64_distances[1].is_some());
    }
}
