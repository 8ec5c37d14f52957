//! Re-exports the parts of egui, of the charts and of the widgets that most views are made of. A view imports this
//! whole module, and by name only what is specific to it: its measurements, its settings and its lab. `Stroke` and
//! `Mark` are those of charts; `painting` has egui's `Stroke` instead, and a token's mark is imported by name.

pub use std::{collections::HashMap, fmt::Write as _, sync::Arc};

pub use eframe::egui::{
    self, Align, Align2, Button, Color32, ComboBox, DragValue, FontId, Grid, Key, Label, Layout, Mesh, Painter, Pos2,
    Rect, Response, RichText, ScrollArea, Sense, Shape, Slider, StrokeKind, TextEdit, Ui, UiBuilder, Vec2, WidgetInfo,
    accesskit::Role, pos2, text::LayoutJob, vec2,
};

pub use crate::ui::{
    action::{FileAction, PageAction},
    identity::{KeyedCache, RunNumber, unique},
    mirror::Mirror,
    plot::{
        self, Axis, Chart, ChartResponse, ChartState, Curve, Line, Mark, NULL_BASELINE, Scale, Stroke, by_place, clip,
        colour_bar::{Colours, colour_bar},
        distance_to, drawing, fits_two,
        map::{MapFrame, MapState, MapUi, paint_map},
        map_cells::MapCells,
        note_table, over_steps, paint_mark, pairs, value_label, zoom_factor,
    },
    questions::Freshness,
    seed_series::{SeedGroup, SeedSeries, Seeds, SeriesStyle, groups, variant_colour},
    table::{Table, optional_field},
    theme::{self, Theme},
    view::{Arrangement, Measured, Panel, PanelView, Placement, View, ViewCx, joined, sample_subtitle, shown_drawings},
    widgets::{
        bars::{Bar, bars_ui},
        choice_menu::{choice_box, choice_buttons, choice_menu, controls_menu},
        fold::fold_ui,
        large_figure::{LargeFigure, large_figures_ui},
        notes::{canvas_ui, note_height, note_ui, small_text, wrapped_ui},
        number::{self, grouped, share, short},
        playhead::Playhead,
        token_strip::{drawable_text, position_label, quoted, token_strip_ui, visible_text},
        truncated::{paint_truncated, truncated},
        typed::{settled, text_field, text_line},
    },
};
pub use crate::{
    config::{Choice, Config, Settings, Value},
    gpu::{self, colour::ColourMap},
    telemetry::{
        MatrixView, Measurement, Payload, QuestionState, RunInfo, Sample, Synapse, channels, measurements, neuron_name,
    },
};
