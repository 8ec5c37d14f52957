//! Names that most probes use, with the statistics of plain slices, every capability of a model and every measurement.
//! A name that a capability and a measurement share stands for the one that is spelt out.

pub(super) use candle_core::{D, bail};
pub(super) use rand::{Rng, SeedableRng};
pub(super) use rand_chacha::ChaCha8Rng;

pub(super) use super::{
    Answer, FromModel, FromShared, Probe, ProbeInputs, Progress,
    prompt::{Prompt, WindowBatch, likely_tokens, nats_at, next_token_losses, padded, text_batch},
};
pub(super) use crate::{
    analysis::statistics::{self, *},
    corpus::{Corpus, Windows},
    models::{
        Model, Trainable,
        capabilities::{AttentionLayer, FlowControl, *},
    },
    nn::{Batch, Device, Error, Result, Tap, Tensor, host},
    telemetry::{
        Array, Synapse,
        measurements::{self, TextLoss, *},
        neuron_name,
        number::{Number, Numbers},
    },
};

#[cfg(test)]
pub(super) use crate::{config::Value, models::ModelSpec, probe::testing};
