//! The views of models whose blocks read the past through traces: a text, the use of units, and what traces keep.

/// The names of the traces in legends, fast to slow.
const TRACES: [&str; 3] = ["fast", "medium", "slow"];

mod autocorrelation;
mod block_choice;
mod heat;
mod reading;
mod unit_usage;

pub use autocorrelation::Autocorrelation;
pub use reading::TraceReadingView;
pub use unit_usage::UnitUsage;
