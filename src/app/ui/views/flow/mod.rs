//! The views of the ODE flow, and what they share: the settings that one question is asked with, and what
//! they make of its answer.

mod along;
mod answer;
pub(super) mod camera;
mod claims;
mod method;
mod motion;
mod pad;
mod paths;
mod scene;
mod settings;
mod solver;
mod steer;
mod step_growth_bound;
pub(super) mod streaks;
mod sweep;
mod training;
mod word_bars;

pub use along::Along;
pub use claims::Claims;
pub use paths::Paths;
pub use settings::FlowSettings;
pub use solver::Solver;
pub use steer::Steer;
pub use sweep::Sweep;
pub use training::Training;

/// What every view of the flow says when nobody has answered yet.
const EMPTY: &str = "No flow has answered yet. Open the ODE flow lab and press Space: it learns the language, then to \
                     be steered, and answers from the first step on.";
