//! Reads the fonts of the system that have Chinese, Japanese and Korean characters, from where systems keep them.

use super::prelude::*;
use crate::ui::system_fonts;

/// The maximum size of a font's file, bytes.
const MAX_FONT: u64 = 128 << 20;
/// The first existing file of each list is read; the second list completes the fonts of macOS and Windows.
const FONT_PATHS: [&[&str]; 2] = [
    &[
        "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
        "/usr/share/fonts/noto-cjk/NotoSansCJK-Regular.ttc",
        "/usr/share/fonts/google-noto-sans-cjk-fonts/NotoSansCJK-Regular.ttc",
        "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
        "/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc",
        "/System/Library/Fonts/PingFang.ttc",
        "/System/Library/Fonts/Hiragino Sans GB.ttc",
        r"C:\Windows\Fonts\msyh.ttc",
    ],
    &["/System/Library/Fonts/AppleSDGothicNeo.ttc", r"C:\Windows\Fonts\malgun.ttf"],
];

/// The message where the system has none. It is printed in the terminal and covers nothing in the window, since a model
/// that is not trained yet writes such characters too.
const NO_FONT_ADVICE: &str = "no font of this system has the Chinese, Japanese or Korean characters that are shown as boxes: \
                      install one, such as fonts-noto-cjk, and start again";

/// The files of the fonts. Where the system has none, a message says so.
pub fn read() -> Vec<Vec<u8>> {
    let first = |places: &&[&str]| places.iter().find_map(|path| files::read(Path::new(path), MAX_FONT).ok());
    let fonts: Vec<Vec<u8>> = FONT_PATHS.iter().filter_map(first).collect();
    if fonts.is_empty() {
        notice!("{NO_FONT_ADVICE}");
    }
    fonts
}

/// Reads them if a figure needs them.
pub fn load_if_needed(figure: &Figure<'_>) -> Result<(), Failure> {
    if system_fonts::installed().is_none() && figure.lacks_characters().map_err(Failure::run)? {
        system_fonts::take(read());
    }
    Ok(())
}
