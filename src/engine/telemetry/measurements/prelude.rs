//! Names that most measurements use.

pub(super) use super::measurement;
pub(super) use crate::{
    config::{arguments, choices},
    telemetry::{
        Array,
        number::{Number, Numbers},
    },
};
