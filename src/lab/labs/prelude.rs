//! Names that most files of a lab use.

pub(crate) use super::{
    Lab, Pane, RunSettings, TrainSettings,
    corpus::{CorpusSettings, GeneratedCorpus, TokenKind},
    drawing::{Canvas, Drawing, Ink},
    experiment::{
        Experiment, Variant, ask_at_ends, ask_every, check_multiple, refuse_accumulation, refuse_if, schedules,
        transformer_of_size,
    },
    headline::{
        Better, Headline, Source, common, finite,
        large::{self, LargeNumber, Meaning},
        measured,
    },
};
pub(crate) use crate::{
    config::{Config, ConfigError, Settings, choices, settings, whole_numbers},
    models::ModelSpec,
    telemetry::{channels, measurements::*},
    trainer::{Plan, ProbeSchedule, Stage},
};
