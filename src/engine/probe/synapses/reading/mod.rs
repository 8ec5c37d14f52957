//! A text read token by token, and what chosen synapses hold meanwhile: sigma(i, j) = sum over s <= t of
//! y_{s, l-1}(i) x_{s, l}(j), turned by U^(t-s) or raw: the paper's equation (16) before the last U, which the next token's
//! query adds. The full sigma has n^2 entries and is never formed: the pairs of a few dozen neurons with large values are
//! followed.

mod paths;
mod written;

use paths::{X, Y, first_pass, second_pass};

use crate::probe::prelude::*;

/// The number of neurons followed at each end.
const FOLLOWED_NEURONS: usize = 48;

impl Probe for ReadingArgs {
    type Answer = SynapseReading;
    type Subject<'m> = &'m dyn SynapseModel;

    fn subject(model: &mut dyn Trainable) -> Option<&dyn SynapseModel> {
        model.capabilities().synapses.filter(|m| m.shape().layers > 1)
    }

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let question = ReadingQuery::new(model, self, cx)?;
        let ids = question.continued_ids()?;
        Ok(question.answer(question.read(&ids)?, &ids))
    }
}

struct ReadingQuery<'a> {
    model: &'a dyn SynapseModel,
    args: &'a ReadingArgs,
    cx: &'a ProbeInputs<'a>,
    passage: Prompt,
    /// The layer of x.
    layer: usize,
    /// The synapse that is followed whatever its rank.
    synapse: Option<Synapse>,
}

impl<'a> ReadingQuery<'a> {
    /// # Errors
    /// If a neuron is not one of the model's, or the text has no tokens.
    fn new(model: &'a dyn SynapseModel, args: &'a ReadingArgs, cx: &'a ProbeInputs<'a>) -> Result<Self> {
        let (neurons, last) = (model.shape().neurons, model.shape().layers - 1);
        if let Some(none) = [args.i, args.j].into_iter().flatten().find(|n| *n >= neurons) {
            bail!("neuron {none} is not one of 0..{neurons}");
        }
        let passage = Prompt::read(cx, &args.text, args.passage, args.longest)?;
        let layer = args.layer.map_or(last, |l| l.min(last));
        let synapse = args.i.zip(args.j).map(|(i, j)| Synapse { layer, i, j });
        Ok(Self { model, args, cx, passage, layer, synapse })
    }

    /// The values of synapses while these tokens are read, which begin with the text.
    fn read(&self, ids: &[u32]) -> Result<SynapseReading> {
        let (peaks, firing, loss) = first_pass(self, ids)?;
        let mut ends = peaks.map(|p| statistics::largest(&p, FOLLOWED_NEURONS));
        if let Some(synapse) = self.synapse {
            for (end, neuron) in ends.iter_mut().zip([synapse.i, synapse.j]) {
                if !end.contains(&neuron) {
                    end.push(neuron);
                }
            }
        }
        let paths = second_pass(self, ids, &ends)?;
        let chosen = paths.choose(self.args.rank, self.synapse);
        let shape = self.model.shape();
        let rotation = |j: usize| if self.args.rotated { Rotation::for_neuron(shape, j) } else { Rotation::NONE };
        let trace = |s: &Synapse| SynapseTrace { i: s.i, j: s.j, sigma: paths.sigma(*s, rotation(s.j)).into() };
        Ok(SynapseReading {
            layer: self.layer,
            per_head: shape.per_head(),
            written: ids.len() - self.passage.ids.len(),
            temperature: self.args.temperature,
            synapses: chosen.iter().map(trace).collect(),
            y: paths.traces(Y, chosen.iter().map(|s| s.i)),
            x: paths.traces(X, chosen.iter().map(|s| s.j)),
            firing,
            loss: loss.into(),
        })
    }

    fn answer(&self, reading: SynapseReading, ids: &[u32]) -> Answer<SynapseReading> {
        let how = if self.args.rotated { "as the model sees it" } else { "without rotation" };
        let read = match reading.written {
            0 => self.passage.about.clone(),
            written => format!("{}, then {written} that it wrote", self.passage.about),
        };
        let layer = reading.layer;
        let asked = self.args.layer.filter(|asked| *asked != layer);
        let lacking = asked.map_or(String::new(), |asked| format!(" (the model has no layer {asked})"));
        let about = format!("{read}, synapses from y of layer {} to x of layer {layer}{lacking}, {how}", layer - 1);
        Answer::new(reading, about, self.cx.corpus.token_texts(ids))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::bdh::{BdhSpec, Position};

    fn sizes(neurons: usize) -> BdhSpec {
        BdhSpec { d_model: 8, heads: 1, neurons, layers: 2, ..BdhSpec::default() }
    }

    /// Neurons turn in pairs only where there is a rotation; without one a head may have an odd number of them.
    #[test]
    fn a_model_with_an_odd_number_of_neurons_is_read() -> Result<()> {
        let spec = ModelSpec::Bdh(BdhSpec { position: Position::Nothing, ..sizes(9) });
        let (mut model, corpus) = testing::model(&spec)?;
        let args = [("longest", Value::Int(24)), ("i", Value::Int(0)), ("j", Value::Int(8))];
        let found: SynapseReading = testing::measured(model.as_mut(), &corpus, &args)?;
        assert_eq!((found.synapses[0].j, found.synapses[0].sigma.len()), (8, 24));
        Ok(())
    }

    #[test]
    fn a_layer_that_the_model_lacks_is_named() -> Result<()> {
        let (mut model, corpus) = testing::model(&ModelSpec::Bdh(sizes(8)))?;
        let about = |layer: i64, model: &mut dyn Trainable| -> Result<String> {
            let args = [("longest", Value::Int(24)), ("layer", Value::Int(layer))];
            Ok(testing::answers("reading", model, &corpus, &args)?[0].about.clone())
        };
        assert!(about(30, model.as_mut())?.contains("to x of layer 1 (the model has no layer 30),"));
        assert!(about(1, model.as_mut())?.contains("to x of layer 1, as the model"));
        Ok(())
    }
}
