//! The actions on the tiles, the selection and the history of the page in front.

use egui_tiles::TileId;

use super::ExportFormat;

#[derive(Debug, Clone, PartialEq)]
pub enum PageAction {
    Undo,
    /// Undoes the last step that changed settings, whatever was selected or moved since.
    UndoSettings,
    Redo,
    /// Selects the variant, by its index, that views of one model show.
    Focus(usize),
    SelectTile(usize),
    /// Maximises the selected tile, or puts it back.
    Maximise,
    /// Selects this tile, then as [`PageAction::Maximise`].
    MaximiseTile(TileId),
    CloseTile(TileId),
    ShowView(&'static str),
    ResetLayout,
    /// Saves what a tile shows; for a picture a sheet opens first.
    Export(TileId, ExportFormat),
    /// Keeps the run's curves visible, drawn faintly behind those of later runs.
    PinRun,
    UnpinRun,
    /// Opens the draft of a sweep over the settings, or closes it.
    DraftSweep,
}
