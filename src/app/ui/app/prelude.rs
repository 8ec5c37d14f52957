//! The names that the modules of the app share: the app, its actions, the page, the run, and messages to the user.

pub(super) use std::path::{Path, PathBuf};

pub(super) use eframe::egui::Context;

pub(super) use super::{App, PendingAction};
pub(super) use crate::{
    config::{Config, FileKind, Value},
    labs::{Lab, lesson::LessonLink, restrictions::Restrictions},
    telemetry::{Command, Level, RunState},
    ui::{
        action::{
            Action, FileAction, LessonAction, LookAction, MessageAction, OpenAction, PageAction, RunAction, RunsAction,
            SettingAction, TimeAction,
        },
        dialog::DialogKind,
        host::ChosenFile,
        mirror::Mirror,
        page::{Page, link, play},
        panels::Overlay,
        run::Run,
        session::{LabSession, SharedSession},
        theme::Theme,
        tiling::Tiling,
        widgets::number::grouped,
    },
};
