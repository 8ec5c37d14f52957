//! The vocabulary of commands: paths and arguments, what a command fails with, how it prints, and what most of them read.

pub(super) use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

pub(super) use clap::{Args, ValueEnum};
pub(super) use serde_json::json;

pub(super) use super::{
    failure::Failure,
    output::{self, print_line},
    terminal::notice,
};
pub(super) use crate::{
    config::{Config, ConfigError, FileKind},
    experiments::run_table::RunRow,
    files::{self, FileError},
    gpu::offscreen::Offscreen,
    labs::{self, Lab},
    nn::{self, Device},
    store::{self, Reader, StoreError, tensors},
    telemetry::{Event, RunState, Sink, channels},
    trainer,
    ui::{
        figure::Figure,
        mirror::Mirror,
        table::{Table, optional_field},
        theme::Theme,
    },
};
