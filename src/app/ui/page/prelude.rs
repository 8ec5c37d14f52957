//! The names that the modules of a page share: the page with its settings and its run, and what the window gives it.

pub(super) use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
};

pub(super) use eframe::egui::Context;
pub(super) use egui_tiles::TileId;

pub(super) use super::Page;
pub(super) use crate::{
    config::{Applies, Config, ConfigError, FileKind, Knob, Value},
    labs::{Lab, restrictions::SEED},
    telemetry::{Command, RunState},
    ui::{
        host::Host,
        mirror::Mirror,
        run::{Run, RunOrigin},
        selection::Selection,
        session::preset_of,
        tiling::{Layout, Tiling},
        view::LOCKED,
    },
};
