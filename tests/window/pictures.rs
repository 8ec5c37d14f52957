//! Compares rendered pictures with stored ones: every view with recorded telemetry, the gallery and each lab's page.
//! The module `views` tests views at other sizes and with an empty run.

use std::{collections::BTreeSet, fs, time::Duration};

use eframe::egui::{Color32, Key};
use egui_kittest::{Harness, kittest::Queryable};
use image::RgbaImage;
use orrery::{
    cli::{host::DesktopHost, runs::Runs},
    gpu::Offscreen,
    labs::LABS,
    ui::{
        app::{App, Opening, Start},
        figure::Figure,
        mirror::Mirror,
        theme::Theme,
        views::VIEWS,
    },
};

use crate::{
    adapter, claims, recorded, runs,
    snapshot::{self, Comparison},
    sweep,
    tessellation::view_ids,
    ui,
    waiting::until_within,
    walk,
};

/// Views whose pictures are also compared in the light theme. Together they cover every kind of drawing.
const IN_LIGHT: [&str; 8] = [
    "losses",
    "attention",
    "attention_by_layer",
    "attention_side_by_side",
    "reading",
    "neuron_graph",
    "flow_paths",
    "phase_plane",
];
/// A view that is scrolled where it is low, and would have its answers out of sight in its picture.
const HIGH: &str = "steer";
/// The size of the application's pages, in points and in pixels.
const PAGE: [f32; 2] = [1280.0, 800.0];
/// The name of the picture of compared runs.
const COMPARED: &str = "runs-compared";
/// The names of the pictures of the table of runs, and whether each has the dark theme.
const RUNS: [(&str, bool); 2] = [("runs-dark", true), ("runs-light", false)];
/// The names of the pictures of the page of claims, and whether each has the dark theme.
const CLAIMS: [(&str, bool); 2] = [("claims-dark", true), ("claims-light", false)];
/// The names of the pictures of a sweep's page, and whether each has the dark theme.
const SWEEPS: [(&str, bool); 2] = [("sweep-dark", true), ("sweep-light", false)];

fn view_name(view: &str, dark: bool) -> String {
    format!("view-{view}-{}", if dark { "dark" } else { "light" })
}

/// The themes in which a view's picture is compared: true for dark.
fn themes(view: &str) -> &'static [bool] {
    if IN_LIGHT.contains(&view) { &[true, false] } else { &[true] }
}

fn view_picture(offscreen: &mut Offscreen, view: &str, mirror: &Mirror, dark: bool) -> RgbaImage {
    let (theme, config, knobs) = (Theme::new(dark), recorded::config(), recorded::knobs());
    let figure = Figure {
        step: recorded::STEPS,
        size: [480.0, if view == HIGH { 600.0 } else { 300.0 }],
        pixels_per_point: 1.0,
        ..Figure::new(view, mirror, &config, &knobs, &theme)
    };
    let image = figure.image(offscreen).unwrap_or_else(|e| panic!("{view}: {e}"));
    RgbaImage::from_raw(image.width, image.height, image.rgba).unwrap()
}

#[test]
fn every_view_looks_as_stored() {
    let Some(mut offscreen) = adapter::offscreen() else { return };
    let twins = recorded::twins();
    let mut comparison = Comparison::default();
    for view in view_ids() {
        for dark in themes(view) {
            let image = view_picture(&mut offscreen, view, &twins, *dark);
            comparison.check(&view_name(view, *dark), &image);
        }
    }
    comparison.finish();
}

/// The gallery in both themes and the sheet of keys: name, lab, key pressed.
fn pages() -> [(&'static str, Option<&'static str>, Option<Key>); 3] {
    [
        ("gallery-dark", None, None),
        ("gallery-light", None, Some(Key::D)),
        ("help", Some(LABS[0].id), Some(Key::Questionmark)),
    ]
}

fn lab_name(lab: &str) -> String {
    format!("lab-{lab}")
}

/// A lab's page as it opens, with its recorded example.
fn opened(lab: &str) -> RgbaImage {
    let folder = tempfile::tempdir().unwrap();
    let host = DesktopHost::new(folder.path().to_owned(), Runs::new()).with_examples();
    let start = Start { opening: Some(Opening::Lab(lab.into())), ..Start::default() };
    let builder = Harness::builder().with_size(PAGE).with_step_dt(0.05).wgpu();
    let mut app = builder.build_eframe(move |cc| App::new(cc, Box::new(host), start));
    let is_read = |app: &App| app.page()?.run.as_ref()?.has_ended().then_some(());
    until_within(Duration::from_secs(60), &mut app, lab, is_read);
    // with reduced motion a graph's layout comes to rest at once, and not after as many frames as were drawn until now
    app.get_by_label("Menu").click();
    app.run_steps(3);
    app.get_by_label_contains("Reduced motion").click();
    // a second and a half, after which all animations have ended
    walk::picture_after(&mut app, 30)
}

/// The image over the page's colour, because a window has this background and a test renders onto a transparent one.
pub fn over(page: Color32, mut image: RgbaImage) -> RgbaImage {
    let page = page.to_array();
    // nearly all pixels are opaque or empty, and the arithmetic is not optimised here
    for pixel in image.chunks_exact_mut(4).filter(|pixel| pixel[3] < 255) {
        if pixel == [0; 4] {
            pixel.copy_from_slice(&page);
            continue;
        }
        let rest = u16::from(255 - pixel[3]);
        for (value, ground) in pixel.iter_mut().zip(page) {
            *value = value.saturating_add((u16::from(ground) * rest / 255) as u8);
        }
    }
    image
}

#[test]
fn gallery_and_every_labs_page_look_as_stored() {
    if !adapter::exists() {
        return;
    }
    let mut comparison = Comparison::default();
    for (name, lab, key) in pages() {
        let dark = name != "gallery-light";
        comparison.check(name, &over(Theme::new(dark).page, ui::picture_of(lab, PAGE, key)));
    }
    for lab in LABS {
        comparison.check(&lab_name(lab.id), &opened(lab.id));
    }
    comparison.check(COMPARED, &over(Theme::new(true).page, runs::comparison_picture()));
    for (name, dark) in RUNS {
        comparison.check(name, &over(Theme::new(dark).page, runs::picture(dark)));
    }
    for (name, dark) in CLAIMS {
        comparison.check(name, &over(Theme::new(dark).page, claims::picture(dark)));
    }
    for (name, dark) in SWEEPS {
        comparison.check(name, &over(Theme::new(dark).page, sweep::picture(dark, PAGE)));
    }
    comparison.finish();
}

/// Every stored picture belongs to a comparison, so that a renamed view leaves no picture behind, and all pictures
/// together stay small.
#[test]
fn stored_pictures_are_those_compared_and_small() {
    let views = VIEWS.iter().flat_map(|v| themes(v.id).iter().map(|dark| view_name(v.id, *dark)));
    let pages = pages().map(|(name, ..)| name.to_owned()).into_iter().chain(LABS.iter().map(|lab| lab_name(lab.id)));
    let pages = pages.chain(RUNS.map(|(name, _)| name.to_owned()));
    let pages = pages.chain(CLAIMS.map(|(name, _)| name.to_owned()));
    let pages = pages.chain(SWEEPS.map(|(name, _)| name.to_owned()));
    let pages = pages.chain([COMPARED.to_owned()]).chain(walk::PICTURES.map(str::to_owned));
    let expected: BTreeSet<String> = views.chain(pages).collect();
    let mut bytes = 0;
    let mut stored = BTreeSet::new();
    for entry in fs::read_dir(snapshot::folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".png").filter(|n| !n.contains('.')) {
            bytes += fs::metadata(&path).unwrap().len();
            stored.insert(name.to_owned());
        }
    }
    assert_eq!(stored, expected);
    // that of *Logged* has all channels, and is the largest
    assert!(bytes < 15 << 19, "{bytes} bytes of pictures");
}
