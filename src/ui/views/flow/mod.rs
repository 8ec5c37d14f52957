//! The views of the ODE flow, and what they share: the dials one question is asked with, and its
//! answer read by name.

mod along;
mod answer;
mod camera;
mod claims;
mod dials;
mod ladder;
mod method;
mod motion;
mod pad;
mod paths;
mod scene;
mod solver;
mod steer;
mod streaks;
mod sweep;
mod training;

pub use along::Along;
pub use claims::Claims;
pub use dials::Dials;
pub use paths::Paths;
pub use solver::Solver;
pub use steer::Steer;
pub use sweep::Sweep;
pub use training::Training;

/// Answers to the probe `flow`: Bundle; see there for its parts.
pub const ANSWER: &str = "flow.answer";
/// Answers to the probe `flow_field`: Bundle of the field in the plane of the paths.
pub const FIELD: &str = "flow.field";
/// Answers to the probe `flow_along`: Series with the singular value, which takes longer.
pub const ALONG: &str = "flow.along";
/// Answers to the probe `flow_sweep`, a dot and its kind: Bundle of that sweep so far.
pub const SWEEP: &str = "flow.sweep";

/// What every view of the flow says when nobody has answered yet.
const EMPTY: &str = "No flow has answered yet. Open the ODE flow lab and press Space: it learns the language, then to \
                     be steered, and answers from the first step on.";
