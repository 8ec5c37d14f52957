//! The vocabulary of panels: their parts of egui, the page and shell that they see, and the actions that they put.

pub(super) use std::{collections::HashMap, path::PathBuf, sync::Arc};

pub(super) use eframe::egui::{
    self, Align, Align2, Button, Color32, ComboBox, Context, DragValue, FontId, Frame, Grid, Id, Label, Layout, Margin,
    Order, Panel, Pos2, Rect, Response, RichText, ScrollArea, Sense, Shape, Slider, Stroke, StrokeKind, TextEdit, Ui,
    UiBuilder, Vec2, WidgetInfo, pos2, vec2,
};

pub(super) use super::{Shell, quiet_ui};
pub(super) use crate::{
    config::{Applies, FileKind, Knob, Value, counted},
    experiments::{
        run_table::{RowState, RunRow},
        sweep::results::{NumberId, SweepResults, order::PointOrder},
    },
    labs::Lab,
    telemetry::RunState,
    ui::{
        action::{
            Action, ExportFormat, FileAction, LookAction, MessageAction, OpenAction, PageAction, RunAction, RunsAction,
            SettingAction,
        },
        dialog::DialogKind,
        mirror::Mirror,
        page::Page,
        picture_order::PictureOrder,
        plot::{ChartState, Scale, value_label},
        run::Run,
        seed_series::variant_colour,
        sweep_pictures::steps_label,
        theme::{self, Theme},
        view::{LOCKED, lockable_ui},
        widgets::{
            choice_menu::list_box,
            notes::{capitalised, note_ui, small_text, wrapped_ui},
            number,
        },
    },
};
