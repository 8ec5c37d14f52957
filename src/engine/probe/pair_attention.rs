//! The layers and heads that find a pair: attention from a question to the place where its answer was given, by layer and
//! head.

use super::tapped::AttendingModel;
use crate::probe::prelude::*;

/// Examples read at once, which bounds the maps that are held.
const BATCH_EXAMPLES: usize = 4;

/// Returns no answer if the corpus has no questions.
impl Probe for PairAttentionArgs {
    type Answer = Option<PairAttention>;
    type Subject<'m> = AttendingModel<'m>;

    fn subject(model: &mut dyn Trainable) -> Option<AttendingModel<'_>> {
        AttendingModel::with_layers(model, |l| l.tokens_per_position == 1)
    }

    fn ask(&self, model: AttendingModel<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        if cx.corpus.chance_accuracy().is_none() {
            return Ok(Answer::default());
        }
        let windows = cx.corpus.held_out(self.examples, self.window)?;
        let questions = questions(&windows);
        ensure!(
            !questions.is_empty(),
            "no question of this text repeats the key of a pair that comes before it: choose a corpus of associative \
             recall, such as mqar_easy"
        );
        let layers = &model.layers;
        let mut sums: Vec<LayerSums> = layers.iter().cloned().map(LayerSums::new).collect();
        for (batch, first) in cx.batches(&windows, BATCH_EXAMPLES).zip((0..).step_by(BATCH_EXAMPLES)) {
            let rows = first..first + BATCH_EXAMPLES;
            let asked: Vec<&PairQuery> = questions.iter().filter(|q| rows.contains(&q.row)).collect();
            let found = model.weights(&batch?.tokens, layers)?;
            let (got, all) = (found.len(), layers.len());
            ensure!(got >= all, "the model gives attention weights of {got} layers, not of {all}");
            for (sum, (_, weights)) in sums.iter_mut().zip(&found) {
                let (_, heads, _, _) = weights.dims4()?; // (B, H, T, T)
                let asked = asked.iter().map(|q| (q.row - rows.start, **q));
                sum.add(&host::to_f32(weights)?, heads, windows.len, asked);
            }
        }
        let count = questions.len();
        let layers = sums.into_iter().map(|s| s.mean(&questions)).collect();
        let about = format!("{count} questions of {} held-out examples", windows.rows);
        Ok(Answer::new(Some(PairAttention { questions: count, layers }), about, vec![]))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PairQuery {
    row: usize,
    /// The key's second place, whose target is the value.
    at: usize,
    key: usize,
    value: usize,
}

/// Finds every question whose key and answer are adjacent earlier in the window; the first such occurrence is the pair.
fn questions(windows: &Windows) -> Vec<PairQuery> {
    let answers = windows.answers.as_deref().unwrap_or_default();
    let of_row = |row: usize| {
        let first = row * windows.len;
        let inputs = &windows.inputs[first..first + windows.len];
        let asked = (0..windows.len).filter(move |at| answers.get(first + at) == Some(&true));
        asked.filter_map(move |at| {
            let pair = [inputs[at], windows.targets[first + at]];
            let key = inputs[..at].windows(2).position(|two| two == pair)?;
            Some(PairQuery { row, at, key, value: key + 1 })
        })
    };
    (0..windows.rows).flat_map(of_row).collect()
}

struct LayerSums {
    layer: AttentionLayer,
    to_value: Vec<f64>,
    to_key: Vec<f64>,
}

impl LayerSums {
    fn new(layer: AttentionLayer) -> Self {
        Self { layer, to_value: vec![], to_key: vec![] }
    }

    /// `weights` is `(B, H, T, T)`; each question comes with its row among these.
    fn add(&mut self, weights: &[f32], heads: usize, len: usize, asked: impl Iterator<Item = (usize, PairQuery)>) {
        self.to_value.resize(heads, 0.0);
        self.to_key.resize(heads, 0.0);
        for (row, question) in asked {
            for head in 0..heads {
                let from = ((row * heads + head) * len + question.at) * len;
                let weight = |to: usize| weights.get(from + to).map_or(f64::NAN, |w| f64::from(*w));
                self.to_value[head] += weight(question.value);
                self.to_key[head] += weight(question.key);
            }
        }
    }

    fn mean(self, questions: &[PairQuery]) -> LayerPairAttention {
        let count = questions.len().max(1) as f64;
        let seen = |q: &PairQuery| self.layer.seen(q.at).max(1) as f64;
        let mean = |sums: Vec<f64>| sums.into_iter().map(|sum| sum / count).collect::<Vec<f64>>().into();
        LayerPairAttention {
            uniform: questions.iter().map(|q| 1.0 / seen(q)).sum::<f64>() / count,
            path: self.layer.path,
            to_value: mean(self.to_value),
            to_key: mean(self.to_key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "A1 B2 . B A": keys 10 and 20, values 1 and 2; answers follow their questions.
    fn windows() -> Windows {
        let inputs = vec![10, 1, 20, 2, 0, 20, 2, 10, 1];
        let mut targets = vec![u32::MAX; 9];
        let mut answers = vec![false; 9];
        for (at, value) in [(5, 2), (7, 1)] {
            targets[at] = value;
            answers[at] = true;
        }
        Windows { rows: 1, len: 9, inputs, targets, answers: Some(answers) }
    }

    #[test]
    fn a_question_is_led_to_its_pair() {
        let expected = [PairQuery { row: 0, at: 5, key: 2, value: 3 }, PairQuery { row: 0, at: 7, key: 0, value: 1 }];
        assert_eq!(questions(&windows()), expected);
        assert!(questions(&Windows { answers: None, ..windows() }).is_empty());
    }

    #[test]
    fn planted_attention_is_found_in_its_head() {
        let asked = questions(&windows());
        let (heads, len) = (2, 9);
        // Head 0 is even over the past; head 1 looks at the value with 0.75 and at the key with 0.25.
        let mut weights = vec![0.0f32; heads * len * len];
        (0..len).for_each(|at| weights[at * len..=at * len + at].fill(1.0 / (at + 1) as f32));
        for q in &asked {
            let from = (len + q.at) * len;
            weights[from + q.value] = 0.75;
            weights[from + q.key] = 0.25;
        }
        let mut sums = LayerSums::new(AttentionLayer::at_token_rate("layers.0", None));
        sums.add(&weights, heads, len, asked.iter().map(|q| (0, *q)));
        let found = sums.mean(&asked);
        let uniform = (1.0 / 6.0 + 1.0 / 8.0) / 2.0;
        assert!((found.uniform - uniform).abs() < 1e-12);
        for (measured, expected) in [(&found.to_value, [uniform, 0.75]), (&found.to_key, [uniform, 0.25])] {
            for (a, b) in measured.iter().zip(expected) {
                assert!((a - b).abs() < 1e-7, "{measured:?} is not {expected:?}");
            }
        }
        let windowed = LayerSums::new(AttentionLayer::at_token_rate("layers.0", Some(2)));
        assert!((windowed.mean(&asked).uniform - 0.5).abs() < 1e-12);
    }
}
