//! The actions that read a chosen file or write one.

use eframe::egui::Rect;

use crate::ui::{dialog::DialogKind, picture_order::PictureOrder};

#[derive(Debug, Clone, PartialEq)]
pub enum FileAction {
    Pick(DialogKind),
    /// Chooses a file for the setting with this key.
    PickFor(&'static str, DialogKind),
    /// Opens the sheet on which the size and the look of a picture are chosen.
    PictureSheet(PictureOrder),
    /// Draws that picture and asks for its place.
    SavePicture(PictureOrder),
    /// Writes this rectangle (points) of the next frame as PNG for export, without a message: one of a sequence.
    Record(Rect, String),
    /// Asks for a place and writes bytes there, under this name.
    Save(String, Vec<u8>),
    /// Writes bytes into the export folder, without asking.
    SaveInExports(String, Vec<u8>),
    /// Saves like [`FileAction::SaveInExports`] a matrix of transitions, and opens it as a generator of these states.
    OpenTransitions {
        name: String,
        bytes: Vec<u8>,
        states: usize,
    },
}
