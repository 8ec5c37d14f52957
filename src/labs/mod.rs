//! A lab is a value: its question, knobs, presets, plan, panes. One lab a file; the one list is here.

pub mod bdh;
mod bdh_physics;
pub mod common;
mod fast_slow;
pub mod merging;
mod neuron_graph;
mod ode_flow;
mod synapses;
mod traces;

use crate::{
    config::{Config, ConfigError, Knob},
    trainer::Plan,
};

/// A ready-made config, shipped as a file of `configs/`.
pub struct Preset {
    /// The file's stem, and what `orrery run` takes: `fast_slow_needed`. Named `<lab>_<view>` it brings that
    /// view to the front.
    pub id: &'static str,
    pub title: &'static str,
    /// One sentence: what it shows.
    pub about: &'static str,
    pub toml: &'static str,
}

/// A view on the lab's page.
pub struct Pane {
    /// Id in `ui::views::VIEWS`.
    pub view: &'static str,
    /// Where it starts: column and its share of the column's height.
    pub column: usize,
    pub share: f32,
    /// Stands behind the pane before it, as a tab of the same tile.
    pub tab: bool,
}

pub struct Lab {
    pub id: &'static str,
    pub title: &'static str,
    /// The question it answers, one sentence.
    pub question: &'static str,
    pub source: &'static str,
    /// A page of Markdown for the lesson panel.
    pub lesson: &'static str,
    /// Knob groups in order: (key prefix, heading).
    pub groups: &'static [(&'static str, &'static str)],
    pub knobs: fn() -> Vec<Knob>,
    /// The first is the default.
    pub presets: &'static [Preset],
    pub plan: fn(&Config) -> Result<Plan, ConfigError>,
    pub panes: &'static [Pane],
    /// Whether opening the lab makes a run at once (paused, models ready to be asked).
    pub opens_with_run: bool,
}

/// Every lab.
pub static LABS: &[&Lab] =
    &[&fast_slow::LAB, &traces::LAB, &ode_flow::LAB, &synapses::LAB, &neuron_graph::LAB, &bdh_physics::LAB];

/// The lab with this id.
pub fn find(id: &str) -> Option<&'static Lab> {
    LABS.iter().copied().find(|l| l.id == id)
}

impl Lab {
    /// The view on this lab's page that a preset is named after.
    pub fn front(&self, preset: &str) -> Option<&'static str> {
        let named = preset.strip_prefix(self.id)?.strip_prefix('_')?;
        self.panes.iter().map(|p| p.view).find(|view| *view == named)
    }

    /// The preset with this id, or the default one.
    pub fn config(&self, preset: Option<&str>) -> Result<Config, ConfigError> {
        let knobs = (self.knobs)();
        let chosen = match preset {
            None => self.presets.first(),
            Some(id) => Some(self.presets.iter().find(|p| p.id == id).ok_or_else(|| {
                ConfigError::Inconsistent(format!(
                    "the lab `{}` has no preset `{id}`; it has {}",
                    self.id,
                    self.presets.iter().map(|p| p.id).collect::<Vec<_>>().join(", ")
                ))
            })?),
        };
        match chosen {
            Some(p) => {
                let mut config = Config::from_toml(p.toml, self.id, &knobs)?;
                config.preset = p.id.to_owned();
                Ok(config)
            }
            None => Ok(Config::defaults(self.id, &knobs)),
        }
    }
}
