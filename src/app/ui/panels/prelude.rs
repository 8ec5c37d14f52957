//! The vocabulary of panels: the parts of egui that they are made of, the page and the shell that they see, and the actions
//! that they put.

pub(super) use std::sync::Arc;

pub(super) use eframe::egui::{
    self, Align, Align2, Button, Color32, ComboBox, Context, DragValue, FontId, Frame, Grid, Label, Layout, Margin,
    Panel, Pos2, Rect, Response, RichText, ScrollArea, Sense, Slider, Stroke, StrokeKind, TextEdit, Ui, UiBuilder,
    WidgetInfo, pos2, vec2,
};

pub(super) use super::Shell;
pub(super) use crate::{
    config::Knob,
    experiments::sweep::results::{NumberId, SweepResults},
    ui::{
        action::{
            Action, ExportFormat, FileAction, MessageAction, OpenAction, PageAction, RunAction, RunsAction,
            SettingAction,
        },
        page::Page,
        picture_order::PictureOrder,
        plot::ChartState,
        run::Run,
        theme::{self, Theme},
        widgets::{
            choice_menu::list_box,
            notes::{note_ui, small_text, wrapped_ui},
            number,
        },
    },
};
