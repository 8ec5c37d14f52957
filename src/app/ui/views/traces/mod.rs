//! The views of the Traces lab: the sentence under its traces, their decay, a swapped word.

mod sentence;
mod trace_decay;
mod trace_strips;
mod word_swap;

pub(super) use sentence::TRACE_NAMES;
pub use trace_decay::TraceDecay;
pub use trace_strips::TraceStrips;
pub use word_swap::WordSwap;
