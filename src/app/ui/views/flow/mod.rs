//! The views of the ODE flow. They share the settings of one question and its answer.

mod along;
mod answer;
pub(super) mod camera;
mod claims;
mod motion;
mod pad;
mod paths;
mod settings;
pub(super) mod sheet;
mod solver;
mod steer;
pub(super) mod streaks;
mod sweep;
mod training;

pub use along::FlowAlongView;
pub use claims::Claims;
pub use paths::Paths;
pub use settings::FlowSettings;
pub use solver::Solver;
pub use steer::SteerView;
pub use sweep::Sweep;
pub use training::Training;

/// The text of every view of the flow while there is no answer.
const EMPTY: &str = "No flow has answered yet. A model with one learns the language, then to be steered, and answers from \
                     the first step on: press Space.";
