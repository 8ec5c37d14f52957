//! The lab's result: how much each mechanism closes of the gap.

use crate::labs::headline::{
    Headline,
    common::{ACCURACY, BESIDE_FIRST, LOSS, PERPLEXITY},
};

pub static ALL: &[Headline] = &[LOSS, PERPLEXITY, ACCURACY, BESIDE_FIRST];
