//! The part of an earlier layer's output that later layers can still read: ridge regression from each later
//! state to what the layer added.

use nalgebra::DMatrix;
use rand::seq::SliceRandom;

use crate::{
    analysis::linear_readout::LinearReadout,
    probe::{prelude::*, refuse_beyond_memory},
};

/// The penalty of the regression, as a share of the features' mean variance.
const RIDGE: f64 = 1e-3;
/// The number of permutations of the null model.
const PERMUTATIONS: usize = 4;
/// Windows that are read at once.
const BATCH: usize = 8;

impl Probe for LayerReadoutArgs {
    type Answer = LayerReadout;
    type Subject<'m> = (&'m dyn Model, ResidualLayers);
    const IS_SLOW: bool = true;

    fn ask(&self, subject: Self::Subject<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let (model, stack) = subject;
        let layers = stack.layers;
        ensure!(self.layer <= layers, "the model has no layer {}; choose 1 to {layers}", self.layer);
        let wanted = ResidualLayers::added_tap(self.layer - 1);
        let readers = stack.input_taps().split_off(self.layer);
        let states = States::read(model, cx, self, wanted, &readers)?;
        let mut rng = ChaCha8Rng::seed_from_u64(cx.seed);
        let (mut found, mut permuted) = (vec![], vec![]);
        for (done, features) in states.read.iter().enumerate() {
            cx.progress.at(done, readers.len())?;
            let readout = {
                let [fitted, judged] = halves(features);
                LinearReadout::new(&fitted, &judged, RIDGE)
            };
            let explained = |added: &DMatrix<f64>| {
                let [fitted, judged] = halves(added);
                readout.r_squared(&fitted, &judged)
            };
            found.push(explained(&states.added));
            let null = (0..PERMUTATIONS).map(|_| explained(&states.permuted(&mut rng)));
            permuted.push(null.sum::<f64>() / PERMUTATIONS as f64);
        }
        let tokens = states.added.nrows() / 2;
        let about = format!("{} held-out windows, a linear map fitted to half of them", states.windows);
        let measured = LayerReadout {
            layer: self.layer,
            readers: (self.layer + 1..=layers + 1).collect(),
            explained: found.into(),
            permuted: permuted.into(),
            tokens,
        };
        Ok(Answer::new(measured, about, vec![]))
    }
}

/// States of the same tokens, `(tokens, D)`.
struct States {
    added: DMatrix<f64>,
    /// A matrix for each reader.
    read: Vec<DMatrix<f64>>,
    windows: usize,
}

impl States {
    /// The inputs of the layers and the output of the requested one, on held-out windows.
    fn read(
        model: &dyn Model,
        cx: &ProbeInputs<'_>,
        args: &LayerReadoutArgs,
        wanted: String,
        readers: &[String],
    ) -> Result<Self> {
        let held_out = cx.corpus.held_out(args.windows, args.window)?;
        let windows = held_out.rows / 2 * 2; // two halves
        ensure!(
            windows > 0,
            "the held-out text is too short for two windows of {} tokens; make them shorter",
            args.window
        );
        let paths = [&[wanted], readers].concat();
        let mut values: Vec<Vec<f64>> = vec![vec![]; paths.len()];
        for (done, batch) in cx.batches(&held_out, BATCH).enumerate() {
            let tokens = batch?.tokens;
            let mut tap = Tap::on(&paths);
            model.logits(&tokens, &mut tap)?;
            for (path, values) in paths.iter().zip(&mut values) {
                values.extend(host::to_f64(tap.require(path)?)?);
            }
            if done == 0 {
                check_states_fit(&values, tokens.dim(0)?, held_out.rows)?;
            }
        }
        let tokens = windows * held_out.len;
        let matrix = |values: Vec<f64>| {
            let width = values.len() / (held_out.rows * held_out.len);
            DMatrix::from_row_iterator(tokens, width, values.into_iter().take(tokens * width))
        };
        let mut matrices = values.into_iter().map(matrix);
        let added = matrices.next().unwrap_or_else(|| DMatrix::zeros(0, 0));
        Ok(Self { added, read: matrices.collect(), windows })
    }

    /// The added values, exchanged between tokens.
    fn permuted(&self, rng: &mut ChaCha8Rng) -> DMatrix<f64> {
        let mut order: Vec<usize> = (0..self.added.nrows()).collect();
        order.shuffle(rng);
        self.added.select_rows(&order)
    }
}

/// Refuses states that do not fit in memory, estimated from those of the first rows of all `rows`. Besides the states a
/// fit holds about four copies of one reader's.
fn check_states_fit(first: &[Vec<f64>], first_rows: usize, rows: usize) -> Result<()> {
    let held: usize = first.iter().map(Vec::len).sum();
    let one = first.first().map_or(0, Vec::len);
    let needed = ((held + 4 * one) * rows / first_rows.max(1)).saturating_sub(held) * size_of::<f64>();
    let what = format!("the states that {} layers read take", first.len().saturating_sub(1));
    refuse_beyond_memory(needed as u64, &what, "ask for fewer or shorter windows")
}

/// The first half of the tokens fits a map, the second judges it.
fn halves(rows: &DMatrix<f64>) -> [DMatrix<f64>; 2] {
    let half = rows.nrows() / 2;
    [0, half].map(|from| rows.rows(from, half).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{models::gpt::AlibiGptSpec, nn::residual_mixing::ResidualMixing};

    fn ask(residual: ResidualMixing, layer: i64) -> Result<LayerReadout> {
        let sizes = AlibiGptSpec { d_model: 16, heads: 2, layers: 5, residual, ..AlibiGptSpec::default() };
        let (mut model, corpus) = testing::model(&ModelSpec::AlibiGpt(sizes))?;
        let args = [("layer", Value::Int(layer)), ("windows", Value::Int(12))];
        testing::measured(model.as_mut(), &corpus, &args)
    }

    #[test]
    fn a_layer_is_read_by_those_after_it_better_than_by_chance() -> Result<()> {
        for residual in [ResidualMixing::Fixed, ResidualMixing::Learned, ResidualMixing::Attention] {
            let m = ask(residual, 1)?;
            assert_eq!((m.layer, m.readers.as_slice(), m.tokens), (1, [2, 3, 4, 5, 6].as_slice(), 384));
            assert!(m.explained.iter().zip(m.permuted.iter()).all(|(r, null)| *r > null + 0.1), "{residual:?}: {m:?}");
            assert!(m.explained.iter().all(|r| *r <= 1.0) && m.permuted.iter().all(|r| *r < 0.05));
        }
        Ok(())
    }

    #[test]
    fn the_last_layer_is_read_by_the_norm_alone_and_no_further_one_exists() -> Result<()> {
        assert_eq!(ask(ResidualMixing::Fixed, 5)?.readers, [6]);
        let refused = ask(ResidualMixing::Fixed, 6).unwrap_err().to_string();
        assert!(refused.contains("choose 1 to 5"), "{refused}");
        Ok(())
    }

    #[test]
    fn a_readout_larger_than_memory_is_refused() {
        assert!(refuse_beyond_memory(0, "nothing takes", "").is_ok());
        if crate::nn::memory::available_memory().is_some() {
            let words = refuse_beyond_memory(u64::MAX, "all takes", "ask for less").unwrap_err().to_string();
            assert!(words.starts_with("all takes about") && words.contains("free: ask for less"), "{words}");
        }
    }
}
