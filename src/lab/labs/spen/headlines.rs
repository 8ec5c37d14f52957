//! The lab's result: how much each mechanism closes of the gap.

use crate::labs::headline::{
    Headline,
    common::{ACCURACY, BESIDE_FIRST, LOSS, PERPLEXITY},
    large::{self, LargeNumber},
};

pub static ALL: &[Headline] = &[LOSS, PERPLEXITY, ACCURACY, BESIDE_FIRST];

pub static LARGE: &[LargeNumber] = &[large::common::BESIDE_FIRST, large::common::ACCURACY, large::common::LOSS];
