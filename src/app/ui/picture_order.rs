//! A request for a picture of a view: its size, ground and format.

use egui_tiles::TileId;

/// The smallest size that prints well, pixels: that of a picture at first.
pub const MIN_PICTURE_SIZE: [u32; 2] = [1600, 1000];

#[derive(Debug, Clone, PartialEq)]
pub struct PictureOrder {
    pub tile: TileId,
    pub view: &'static str,
    pub title: String,
    /// Name of the file, without its ending.
    pub name: String,
    /// Width and height, pixels.
    pub size: [u32; 2],
    pub dark: bool,
    pub is_svg: bool,
}

impl PictureOrder {
    pub fn file(&self) -> String {
        format!("{}.{}", self.name, if self.is_svg { "svg" } else { "png" })
    }
}

/// The name of a picture's file without its ending: ASCII letters and digits, `-`, `_` and `.`, and `_` for all else.
pub fn file_stem(words: &str) -> String {
    words.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}
