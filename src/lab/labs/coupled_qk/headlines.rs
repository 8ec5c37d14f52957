//! The lab's result: the race's losses, and whether seeds tell a variant from the first.

use crate::labs::headline::{
    Headline,
    common::{ACCURACY, BESIDE_FIRST, LOSS},
    large::{self, LargeNumber},
};

pub static ALL: &[Headline] = &[LOSS, BESIDE_FIRST, ACCURACY];

pub static LARGE: &[LargeNumber] = &[large::common::BESIDE_FIRST, large::common::LOSS, large::common::ACCURACY];
