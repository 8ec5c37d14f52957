//! The names that the pictures of a sweep share: what they show, and what they are painted with.

pub(super) use std::{collections::BTreeMap, sync::Arc};

pub(super) use eframe::egui::{
    self, Align2, Color32, Pos2, Rect, Response, Sense, Stroke, StrokeKind, Ui, Vec2, pos2, vec2,
};

pub(super) use super::{
    MAX_BANDS, OWN_COLOURS, PointedAt, SweepView, band_legend, colour_legend, empty_picture, figure_text,
    handle_pointer, nearest_point, number_label, point_colours, seeds_legend, selected_dot, sheet_ui,
};
pub(super) use crate::{
    experiments::sweep::results::{
        AxisKind, Number, NumberId, ResultAxis, SweepResults, ValuesAtStep,
        brush::{Brush, Dimension},
        plane::Cells,
    },
    gpu::colour::ColourMap,
    ui::{
        plot::{ChartState, Scale, drawing},
        theme::{self, Theme},
        widgets::{
            number,
            truncated::{text_width, truncated, without_shared},
        },
    },
};
