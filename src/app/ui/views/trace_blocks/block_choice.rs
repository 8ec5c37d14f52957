//! Chooses the block of a model that is shown: one button a block, or a list where there are many.

use crate::ui::views::prelude::*;

/// The largest number of blocks that have a button each; more are a list.
const BUTTONS: usize = 4;

/// Chooses one of the blocks with these paths.
pub fn block_ui(ui: &mut Ui, chosen: &mut usize, paths: &[&str]) {
    *chosen = (*chosen).min(paths.len().saturating_sub(1));
    if paths.len() <= BUTTONS {
        paths.iter().enumerate().for_each(|(block, path)| _ = ui.selectable_value(chosen, block, name(path)));
        return;
    }
    let now = paths.get(*chosen).map_or(String::new(), |path| name(path));
    choice_box(ui, "block", 90.0, &now, chosen, paths.iter().map(|path| name(path)).enumerate());
}

/// "block 2" for a path that holds no more than the block's number.
pub fn name(path: &str) -> String {
    path.strip_prefix("blocks.").map_or_else(|| path.to_owned(), |place| format!("block {place}"))
}
