//! Queries and keys of one head along a text before and after their evolution, and the weights of the evolution.

use crate::probe::prelude::*;

type EvolvingModel<'m> = (&'m dyn Model, &'m dyn QueryKeyDynamics);

/// Layers whose queries and keys do not evolve have a note.
impl Probe for QueryKeyPathsArgs {
    type Answer = QueryKeyPaths;
    type Subject<'m> = EvolvingModel<'m>;

    fn ask(&self, subject: EvolvingModel<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let (model, dynamics) = subject;
        let is_typed = !self.text.is_empty();
        let prompt = Prompt::read(cx, &self.text, self.passage, Prompt::limit(&self.text))?;
        let layer = self.layer.min(dynamics.layers().saturating_sub(1));
        let layers: Vec<Option<LayerDynamics>> =
            (0..dynamics.layers()).map(|l| dynamics.layer(l)).collect::<Result<_>>()?;
        let evolves: Vec<bool> = layers.iter().map(Option::is_some).collect();
        let of_layer = layers.into_iter().nth(layer).flatten();
        let heads = of_layer.as_ref().map_or(0, |d| d.dt.len());
        let head = self.head.min(heads.saturating_sub(1));
        let evolution = of_layer.map(|d| evolution(model, &prompt.tensor(cx.device)?, &d, layer, head)).transpose()?;
        let measured = QueryKeyPaths { is_typed, layer, head, heads, evolves, evolution };
        Ok(Answer::new(measured, prompt.about, prompt.tokens))
    }
}

/// tokens `(1, T)`.
fn evolution(
    model: &dyn Model,
    tokens: &Tensor,
    d: &LayerDynamics,
    layer: usize,
    head: usize,
) -> Result<QueryKeyEvolution> {
    let path = |name: &str| format!("layers.{layer}.attn.{name}");
    let mut tap = Tap::on(&["q0", "k0", "q", "k"].map(path));
    model.logits(tokens, &mut tap)?;
    let of_head = |name: &str| rows_of_head(tap.require(&path(name))?, head);
    let weight = |values: &[f32]| Array::new([d.head_dim, d.head_dim], values.to_vec());
    Ok(QueryKeyEvolution {
        start_q: of_head("q0")?,
        start_k: of_head("k0")?,
        end_q: of_head("q")?,
        end_k: of_head("k")?,
        first: weight(&d.first)?,
        second: weight(&d.second)?,
        dt: d.dt.get(head).copied().unwrap_or(f64::NAN),
        steps: d.steps,
        scheme: match d.scheme {
            Scheme::Euler => IntegrationScheme::Euler,
            Scheme::Leapfrog => IntegrationScheme::Leapfrog,
        },
    })
}

/// `(1, H, T, d)` -> `(T, d)`
fn rows_of_head(all: &Tensor, head: usize) -> Result<Array> {
    let (_, _, tokens, width) = all.dims4()?;
    let rows = all.narrow(1, head, 1)?.contiguous()?;
    Ok(Array::new([tokens, width], host::to_f32(&rows)?)?)
}
