//! The parts of a model that probes tap while it reads: layers of attention, a map that refines a state, blocks of traces.

use crate::probe::prelude::*;

/// A model whose attention weights can be tapped.
pub struct AttendingModel<'m> {
    model: &'m dyn Model,
    /// The layers in the order of a forward pass, at least one.
    pub layers: Vec<AttentionLayer>,
    /// The number of learned positions, which no text may be longer than.
    pub positions: Option<usize>,
}

impl<'m> FromShared<'m> for AttendingModel<'m> {
    fn from_shared(model: &'m dyn Trainable) -> Option<Self> {
        Self::with_layers(model, |_| true)
    }
}

impl<'m> AttendingModel<'m> {
    /// The model with those of its layers that `fits`; `None` where there are none.
    pub fn with_layers(model: &'m dyn Trainable, fits: impl Fn(&AttentionLayer) -> bool) -> Option<Self> {
        let Capabilities { token_model, attention_layers, positions, .. } = model.capabilities();
        let layers: Vec<_> = attention_layers.into_iter().filter(fits).collect();
        token_model.filter(|_| !layers.is_empty()).map(|model| Self { model, layers, positions })
    }

    /// Reads tokens `(B, T)`; returns those of the layers that gave their weights `(B, H, T, T)`, with them, in order.
    pub fn weights<'a>(
        &self,
        tokens: &Tensor,
        layers: &'a [AttentionLayer],
    ) -> Result<Vec<(&'a AttentionLayer, Tensor)>> {
        let paths: Vec<String> = layers.iter().map(AttentionLayer::tap_path).collect();
        let mut tap = Tap::on(&paths);
        self.model.logits(tokens, &mut tap)?;
        let found = layers.iter().zip(&paths).filter_map(|(layer, path)| Some((layer, tap.get(path)?.clone())));
        Ok(found.collect())
    }
}

/// A model whose forward pass refines a state.
pub struct RefiningModel<'m> {
    model: &'m dyn Model,
    pub map: &'m dyn FixedPointModel,
}

impl<'m> FromShared<'m> for RefiningModel<'m> {
    fn from_shared(model: &'m dyn Trainable) -> Option<Self> {
        let Capabilities { token_model, fixed_point, .. } = model.capabilities();
        Some(Self { model: token_model?, map: fixed_point? })
    }
}

impl RefiningModel<'_> {
    /// Reads tokens `(B, T)`; returns the state `(B, T, D)` that each round begins to refine, in order.
    pub fn round_starts(&self, tokens: &Tensor) -> Result<Vec<Tensor>> {
        self.states(tokens, self.map.start_tap())
    }

    /// The vectors that were injected into the state that each round begins to refine, in order.
    pub fn injections(&self, tokens: &Tensor) -> Result<Vec<Tensor>> {
        let (after, before) = (self.round_starts(tokens)?, self.states(tokens, self.map.before_tap())?);
        after.iter().zip(&before).map(|(after, before)| after - before).collect()
    }

    fn states(&self, tokens: &Tensor, prefix: &str) -> Result<Vec<Tensor>> {
        let mut tap = Tap::on(&[prefix]);
        self.model.logits(tokens, &mut tap)?;
        Ok(tap.recorded().iter().map(|(_, state)| state.clone()).collect())
    }
}

/// A model of blocks that read the past through moving averages.
pub type TraceModel<'m> = (&'m dyn Model, TraceBlocks);
