//! Compares pictures with the stored ones in `tests/window/snapshots`, whose `README.md` says how to replace one.

use std::{
    fs::File,
    io::BufWriter,
    path::{Path, PathBuf},
};

use egui_kittest::{SnapshotOptions, SnapshotResult, try_image_snapshot_options};
use image::{
    RgbaImage,
    codecs::png::{CompressionType, FilterType, PngEncoder},
};

/// The tolerated difference of a pixel (squared distance in YIQ; one level of grey is 0.5), because antialiased edges
/// differ by a few levels between versions of Mesa.
const THRESHOLD: f32 = 25.0;
/// The number of pixels that may differ by more than the threshold. A changed digit changes at least 30 pixels, so it
/// is detected.
const MAX_FAILED_PIXELS: usize = 20;

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/window/snapshots")
}

fn compare_in(folder: &Path, name: &str, image: &RgbaImage) -> SnapshotResult {
    let options = SnapshotOptions::new().output_path(folder).threshold(THRESHOLD).max_failed_pixels(MAX_FAILED_PIXELS);
    try_image_snapshot_options(&opaque(image), name, &options)?;
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        compress(&folder.join(format!("{name}.png"))).expect("the picture was just written");
    }
    Ok(())
}

/// Makes an image opaque, as if it were shown on black, because transparency is not compared.
fn opaque(image: &RgbaImage) -> RgbaImage {
    let mut image = image.clone();
    image.chunks_exact_mut(4).for_each(|pixel| pixel[3] = 255);
    image
}

/// Rewrites a PNG without transparency and with the best compression, because kittest's files are several times as
/// large.
fn compress(path: &Path) -> image::ImageResult<()> {
    let image = image::open(path)?.to_rgb8();
    let file = BufWriter::new(File::create(path)?);
    image.write_with_encoder(PngEncoder::new_with_quality(file, CompressionType::Best, FilterType::NoFilter))
}

/// Compares pictures by name, and fails once at the end with all that differ.
#[derive(Default)]
pub struct Comparison {
    failures: Vec<String>,
}

impl Comparison {
    /// Compares only on Linux, where CI draws with Mesa. Adapters of other systems blend text differently, and a
    /// tolerance for this would hide real changes.
    pub fn check(&mut self, name: &str, image: &RgbaImage) {
        if cfg!(not(target_os = "linux")) {
            return;
        }
        if let Err(e) = compare_in(&folder(), name, image) {
            self.failures.push(e.to_string());
        }
    }

    /// Reports all differences at once.
    ///
    /// # Panics
    /// If a picture differs from the stored one, or none is stored.
    pub fn finish(self) {
        assert!(self.failures.is_empty(), "{}", self.failures.join("\n"));
    }
}

#[test]
fn a_changed_word_fails_and_a_level_of_grey_passes() {
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        return; // while pictures are being replaced, every comparison passes
    }
    let folder = tempfile::tempdir().unwrap();
    let sheet = |grey: u8, mark: u8| {
        RgbaImage::from_fn(64, 64, |x, y| {
            let v = if (20..28).contains(&x) && (20..28).contains(&y) { mark } else { grey };
            image::Rgba([v, v, v, 255])
        })
    };
    sheet(30, 30).save(folder.path().join("sheet.png")).unwrap();
    assert!(compare_in(folder.path(), "sheet", &sheet(32, 31)).is_ok());
    assert!(compare_in(folder.path(), "sheet", &sheet(30, 60)).is_err());
    assert!(compare_in(folder.path(), "none", &sheet(30, 30)).is_err(), "a picture without a stored one");
}
