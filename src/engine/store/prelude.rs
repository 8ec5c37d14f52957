//! Names that most files about run folders use.

pub(super) use super::{
    error::{PathContext, StoreError},
    names::{self, CHECKPOINTS, CONFIG, EVENTS, METRICS, RUN, SAMPLES, SNAPSHOTS, name_of},
};
pub(super) use crate::{
    config::counted,
    files::{
        self, FileError, Replacement, check_memory, folder_inside, memory::size, open_inside, read_inside,
        read_text_inside,
    },
    telemetry::{Channel, Event, RunInfo, RunState, Sample},
};
pub(super) use candle_core::Device;
pub(super) use serde::{Deserialize, Serialize};
pub(super) use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
};
