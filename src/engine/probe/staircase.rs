//! The staircase: one coordinate of the fast stream and of the upsampled slow stream along a
//! sentence. The slow one moves in steps of P tokens.

use crate::{
    analysis::pca::{self, PrincipalComponent},
    probe::prelude::*,
};

/// A model with a fast and a slow stream.
pub type StreamsModel<'m> = (&'m dyn Model, TwoTimescales);

/// The first principal component is that of both streams together, each centred on its own mean, so
/// that their distance does not stand for it; the tokens of the first block, where y_up is zero by
/// construction, are left out of the fit but drawn.
impl Probe for StaircaseArgs {
    type Answer = Staircase;
    type Subject<'m> = StreamsModel<'m>;

    fn ask(&self, subject: StreamsModel<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let (model, streams) = subject;
        let passage = Prompt::read(cx, &self.text, self.passage, Prompt::MAX_TOKENS)?;
        let last = streams.rounds.saturating_sub(1);
        let round = self.round.map_or(last, |r| r.min(last));
        let (fast, slow) = (streams.fast_tap(round), streams.slow_tap(round));
        let mut tap = Tap::on(&[&fast, &slow]);
        model.logits(&passage.tensor(cx.device)?, &mut tap)?;
        let (fast, slow) = (StateRows::read(&tap, &fast)?, StateRows::read(&tap, &slow)?);

        let first = if passage.ids.len() > streams.pool { streams.pool } else { 0 };
        let (coordinate, lines, explained) = match self.coordinate {
            None => {
                let (lines, explained) = along_component(&fast, &slow, first);
                ("first principal component".to_owned(), lines, explained)
            }
            Some(c) if c < streams.width => {
                (format!("channel {c}"), [fast.channel(c), slow.channel(c)], share(&fast, &slow, first, c))
            }
            Some(c) => bail!("coordinate `{c}` is not a channel of 0..{}", streams.width),
        };
        let [fast, slow] = lines.map(Into::into);
        let about = format!("{}, round {round}, {coordinate}", passage.about);
        let staircase = Staircase { pool: streams.pool, round, coordinate, explained, fast, slow };
        Ok(Answer::new(staircase, about, passage.tokens))
    }
}

/// The states of a stream along the passage: T rows of D values.
struct StateRows {
    values: Vec<f32>,
    dims: usize,
}

impl StateRows {
    fn read(tap: &Tap, path: &str) -> Result<Self> {
        let found = tap.require(path)?; // (1,T,D)
        Ok(Self { values: host::to_f32(found)?, dims: found.dim(2)? })
    }

    fn rows(&self) -> Vec<&[f32]> {
        self.values.chunks(self.dims).collect()
    }

    fn channel(&self, c: usize) -> Vec<f64> {
        self.rows().iter().map(|r| f64::from(r[c])).collect()
    }

    /// All rows, centred on the mean of those from `first` on.
    fn centred(&self, first: usize) -> Vec<Vec<f64>> {
        let rows = self.rows();
        let mean = pca::mean(&rows[first..], self.dims);
        rows.iter().map(|r| r.iter().zip(&mean).map(|(v, m)| f64::from(*v) - m).collect()).collect()
    }
}

fn along_component(fast: &StateRows, slow: &StateRows, first: usize) -> ([Vec<f64>; 2], f64) {
    let (fast_rows, slow_rows) = (fast.centred(first), slow.centred(first));
    let fit: Vec<Vec<f64>> = fast_rows[first..].iter().chain(&slow_rows[first..]).cloned().collect();
    let PrincipalComponent { direction, explained_variance } = pca::first_component(&fit, fast.dims);
    let along = |rows: &[Vec<f64>]| rows.iter().map(|r| dot(r, &direction)).collect();
    ([along(&fast_rows), along(&slow_rows)], explained_variance)
}

/// Share of the total variance of both streams that one channel holds.
fn share(fast: &StateRows, slow: &StateRows, first: usize, channel: usize) -> f64 {
    let (mut one, mut all) = (0.0, 0.0);
    for stream in [fast, slow] {
        for row in &stream.centred(first)[first..] {
            one += row[channel].powi(2);
            all += row.iter().map(|v| v * v).sum::<f64>();
        }
    }
    if all > 0.0 { one / all } else { 0.0 }
}
