//! The views of models whose blocks read the past through traces: a text, the use of units, and what traces keep.

mod autocorrelation;
mod reading;
mod unit_usage;

pub use autocorrelation::Autocorrelation;
pub use reading::TraceReadingView;
pub use unit_usage::UnitUsage;

use crate::ui::views::{prelude::*, traces::TRACE_NAMES};

/// The largest number of blocks that have a button each; more are a list.
const MAX_BUTTONS: usize = 4;

/// Chooses one of the blocks with these paths.
fn block_ui(ui: &mut Ui, chosen: &mut usize, paths: &[&str]) {
    *chosen = (*chosen).min(paths.len().saturating_sub(1));
    if paths.len() <= MAX_BUTTONS {
        paths.iter().enumerate().for_each(|(block, path)| _ = ui.selectable_value(chosen, block, block_name(path)));
        return;
    }
    let now = paths.get(*chosen).map_or(String::new(), |path| block_name(path));
    choice_box(ui, "block", 90.0, &now, chosen, paths.iter().map(|path| block_name(path)).enumerate());
}

/// Names a block "block 2" if its path holds only the number, and by its whole path otherwise.
fn block_name(path: &str) -> String {
    path.strip_prefix("blocks.").map_or_else(|| path.to_owned(), |place| format!("block {place}"))
}
