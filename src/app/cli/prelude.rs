//! The vocabulary of commands: paths and arguments, what a command fails with, how it prints, and what most of them read.

pub(super) use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::{Display, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

pub(super) use clap::{Args, ValueEnum};
pub(super) use serde_json::json;

pub(super) use super::{
    choice::{one_by_id, one_by_name},
    failure::{Failure, ensure, usage},
    output::{self, print_line},
    shell::quoted,
    sweep_names::is_sweep,
    terminal::{notice, one_line, path_label},
};
pub(super) use crate::{
    analysis::distinct::distinct,
    config::{Config, ConfigError, FileKind, Knob, Value, counted, did_you_mean, nearest},
    corpus::NamedTokenizer,
    experiments::{
        run_rows,
        run_table::{RowState, RunRow},
    },
    files::{self, FileError},
    gpu::offscreen::Offscreen,
    labs::{self, Lab},
    models::ModelSpec,
    nn::{self, Device},
    probe::Progress,
    store::{self, Damage, Reader, StoreError, Writer, snapshots, tensors},
    telemetry::{Event, FOREIGN, Level, RunInfo, RunState, Sample, Sink, channels},
    trainer,
    ui::{
        figure::Figure,
        mirror::Mirror,
        table::{Table, optional_field},
        theme::Theme,
    },
};
