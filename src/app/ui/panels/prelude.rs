//! The vocabulary of panels: their parts of egui, the page and shell that they see, and the actions that they put.

pub(super) use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
};

pub(super) use eframe::egui::{
    self, Align, Align2, Area, Button, CentralPanel, Color32, ComboBox, Context, CursorIcon, DragValue, FontId, Frame,
    Galley, Grid, Id, Key, Label, Layout, Margin, Order, Panel, Popup, Pos2, Rect, Response, RichText, Role,
    ScrollArea, Sense, Shape, Slider, Stroke, StrokeKind, TextEdit, Ui, UiBuilder, Vec2, WidgetInfo, pos2, vec2,
};

pub(super) use super::{
    REREAD_SECONDS, Shell, area_from_top, bordered, borderless, cut, filter_ui, ground, hairline, is_read_again,
    main_button, quiet_ui, room_in_sheet, scroll_by_keys, section_ui, step_ui, text_field_ui, toggle,
};
pub(super) use crate::{
    config::{Applies, FileKind, Knob, Value, counted},
    experiments::{
        claims::entry::{ClaimEntry, ClaimRuns, ClaimState},
        run_table::{RowState, RunRow},
        sweep::results::{
            Number, NumberId, SweepProcess, SweepResults,
            brush::{Brush, Dimension},
            order::PointOrder,
        },
    },
    labs::{Lab, RunSettings},
    telemetry::{RunNote, RunState, parse_tags},
    ui::{
        action::{
            Action, Actions, ExportFormat, FileAction, LessonAction, LookAction, MessageAction, OpenAction, PageAction,
            RunAction, RunsAction, SettingAction, TimeAction,
        },
        dialog::DialogKind,
        host::PastRun,
        lists::Lists,
        mirror::Mirror,
        page::{Page, undo},
        picture_order::PictureOrder,
        plot::{ChartState, Scale, drawing, value_label},
        run::Run,
        seed_series::variant_colour,
        session::Session,
        sweep_pictures::{PictureChoices, Prepared, SweepView, steps_label},
        theme::{self, Theme},
        tiling::{Pane, Tiling},
        view::{LOCKED, ViewEntry, lockable_ui},
        widgets::{
            choice_menu::list_box,
            notes::{capitalised, note_ui, note_width, small_text, truncated_ui, wrapped_ui},
            number::{self, grouped},
            truncated::{text_width, truncated, without_middle},
        },
    },
};
