//! Names that most measurements use.

pub(super) use super::measurement;
pub(super) use crate::{
    config::{arguments, choices},
    telemetry::{
        Array,
        number::{self, Number, Numbers},
    },
};
pub(super) use schemars::JsonSchema;
pub(super) use serde::{Deserialize, Serialize};
