//! Names that most probes use.

pub(super) use rand::{Rng, SeedableRng};
pub(super) use rand_chacha::ChaCha8Rng;

pub(super) use super::{
    Answer, FromModel, FromShared, Probe, ProbeInputs, Progress,
    held_out::WindowBatch,
    prompt::{Prompt, last_row, likely_tokens, one_text},
};
pub(super) use crate::{
    corpus::Corpus,
    models::{
        Model, Trainable,
        capabilities::{Capabilities, SynapseModel},
    },
    nn::{Device, Error, Result, Tap, Tensor, host},
    telemetry::{Array, measurements},
};
