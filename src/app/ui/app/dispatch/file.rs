//! The effect of actions on files: pictures are drawn, and files written where the user chose or for export.

use crate::ui::{
    app::prelude::*,
    figure::Figure,
    panels::picture::{Destination, Picture},
};

/// Width of a saved picture, points: words are as large beside the lines whatever its pixels are.
const PICTURE_WIDTH: f32 = 960.0;

pub(super) fn dispatch(app: &mut App, action: FileAction, ctx: &Context) {
    match action {
        FileAction::Pick(dialog) => app.host.pick(dialog),
        FileAction::PickFor(key, dialog) => {
            if let Some(page) = app.page_mut() {
                page.picking = Some(key);
            }
            app.host.pick(dialog);
        }
        FileAction::PictureSheet(order) => app.overlay = Some(Overlay::Picture(order)),
        FileAction::SavePicture(order) => {
            app.overlay = None;
            app.pictures.order(order, ctx);
        }
        FileAction::Record(rect, name) => app.pictures.ask(rect, name, ctx),
        FileAction::Save(name, bytes) => save(app, name, bytes),
        FileAction::SaveInExports(name, bytes) => _ = save_in_exports(app, name, bytes),
        FileAction::OpenTransitions { name, bytes, states } => {
            app.transitions = Some(MatrixExport { path: save_in_exports(app, name, bytes), states });
        }
    }
}

/// A matrix of transition probabilities whose file is being written.
pub struct MatrixExport {
    pub path: PathBuf,
    /// The number of its rows and of its columns.
    pub states: usize,
}

/// Writes into the export folder; returns the path.
fn save_in_exports(app: &mut App, name: String, bytes: Vec<u8>) -> PathBuf {
    let path = app.host.export_folder().join(name);
    app.host.write(path.clone(), bytes);
    path
}

/// Draws the pictures that were ordered as soon as there is what paints them; drawings in lines need nothing.
pub(in crate::ui) fn draw_pictures(app: &mut App, ctx: &Context) {
    for sheet in app.pictures.take_ready() {
        let Some(page) = app.open.and_then(|id| app.pages.get_mut(id)) else { continue };
        let nothing = Mirror::default();
        let (step, mut selection) = (page.shown_step(), page.selection.clone());
        let [width, height] = sheet.size.map(|side| side as f32);
        let scale = width / PICTURE_WIDTH;
        let theme = Theme::new(sheet.dark);
        let mirror = page.run.as_ref().map_or(&nothing, |r| &r.mirror);
        let figure = Figure::new(sheet.view, mirror, &page.config, &page.knobs, &theme);
        let (size, questions) = ([width / scale, height / scale], Some(&page.questions));
        let note = page.notes.get(&sheet.tile).map(String::as_str);
        let figure = Figure { step, size, pixels_per_point: scale, questions, note, ..figure };
        let Some(view) = page.tiling.views.get_mut(&sheet.tile) else { continue };
        if !sheet.is_svg {
            app.pictures.paint(&sheet, ctx, |target| figure.lay_out(view.as_mut(), &mut selection, target));
        } else {
            let text = figure.svg_of(view.as_mut(), &mut selection);
            save(app, sheet.file(), text.into_bytes());
        }
    }
}

pub(in crate::ui) fn take_picture(app: &mut App, picture: Picture) {
    match picture.destination {
        Destination::Dialog => save(app, picture.name, picture.png),
        Destination::Recorded => {
            let path = save_in_exports(app, picture.name, picture.png);
            app.recorded.insert(path);
        }
    }
}

pub(in crate::ui) fn save(app: &mut App, name: String, bytes: Vec<u8>) {
    app.saving.insert(name.clone(), bytes);
    app.host.pick(DialogKind::SaveAs { suggested: name });
}

pub(in crate::ui) fn save_dialog_ended(app: &mut App, suggested: &str, path: Option<PathBuf>) {
    let Some(bytes) = app.saving.remove(suggested) else { return };
    match path {
        Some(path) => app.host.write(path, bytes),
        None => {
            let folder = app.host.export_folder();
            let words = format!("{suggested} was not saved: no file was chosen, or no file dialog opens here.");
            let save = FileAction::SaveInExports(suggested.to_owned(), bytes).into();
            app.toasts.push_with(words, (format!("Save into {}", folder.display()), save));
        }
    }
}
