//! Re-exports the parts of egui, of the charts and of the widgets that most views are made of. A view imports this
//! whole module, with every measurement in it, and by name only what is specific to it: its settings and its lab.
//! `Stroke` and `Mark` are those of charts; egui's stroke is `Pen`, or `Stroke` in `painting`, and a token's mark
//! `TokenMark`.

pub use std::{collections::HashMap, fmt::Write as _, sync::Arc};

pub use eframe::egui::{
    self, Align, Align2, Button, Color32, ComboBox, DragValue, FontId, Grid, Key, Label, Layout, Mesh, Painter, Pos2,
    Rect, Response, RichText, ScrollArea, Sense, Shape, Slider, Stroke as Pen, StrokeKind, TextEdit, Ui, UiBuilder,
    Vec2, WidgetInfo, accesskit::Role, pos2, text::LayoutJob, vec2,
};

pub use crate::ui::{
    action::{FileAction, OpenAction, PageAction, RunAction},
    identity::{KeyedCache, RunNumber, unique},
    mirror::Mirror,
    plot::{
        self, Axis, Chart, ChartResponse, ChartState, Curve, Line, Mark, NULL_BASELINE, Scale, Stroke, by_place, clip,
        colour_bar::{Colours, colour_bar},
        distance_to, drawing, fits_two,
        map::{MapFrame, MapState, MapUi, paint_map},
        map_cells::MapCells,
        note_table, paint_mark, pairs, points_over_steps, value_label, zoom_factor,
    },
    questions::Freshness,
    seed_series::{SeedGroup, SeedSeries, Seeds, SeriesStyle, groups, spread_of, variant_colour},
    selection::Slot,
    table::{Table, optional_field},
    theme::{self, Theme},
    view::{
        Arrangement, Measured, Panel, PanelView, Placement, Selection, View, ViewCx, joined, sample_subtitle,
        shown_drawings,
    },
    widgets::{
        bars::{Bar, bars_ui, likely_bar, likely_tokens_label},
        choice_menu::{choice_box, choice_buttons, choice_menu, controls_menu, divider_ui},
        fold::fold_ui,
        large_figure::{LargeFigure, large_figures_ui},
        notes::{canvas_ui, caption_ui, note_height, note_ui, note_width, small_text, wrapped_ui},
        number::{self, abbreviated, finite_range, grouped, share, short},
        playhead::Playhead,
        token_strip::{Mark as TokenMark, drawable_text, position_label, quoted, token_strip_ui, visible_text},
        truncated::{paint_truncated, truncated},
        typed::{settled, text_field, text_line},
    },
};
pub use crate::{
    analysis::statistics::{mean_sd, upper_quantile},
    config::{Arguments, Choice, Config, Settings, Value, counted},
    gpu::{self, colour::ColourMap},
    labs::{TrainSettings, corpus::questions, headline::Digits},
    telemetry::{
        Args, Array, MatrixView, Measurement, Payload, QuestionState, RunInfo, RunState, Sample, Synapse, channels,
        measurements::{self, *},
        neuron_name,
    },
};
