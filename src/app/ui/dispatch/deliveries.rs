//! What the host brings: picked paths, read files, saved ones; and what is handed to it to be written.

use std::path::{Path, PathBuf};

use eframe::egui::Context;

use crate::{
    config::{Config, FileKind},
    labs,
    telemetry::Level,
    ui::{
        action::Action,
        app::App,
        figure::Figure,
        host::{Delivery, DialogKind, FileContent},
        mirror::Mirror,
        panels::picture::{Destination, Picture},
        theme::Theme,
    },
};

/// Width of a saved picture, points: words are as large beside the lines whatever its pixels are.
const PICTURE_WIDTH: f32 = 960.0;

impl App {
    pub(in crate::ui) fn take_deliveries(&mut self, ctx: &Context) {
        for delivery in self.host.deliveries() {
            match delivery {
                Delivery::Picked { dialog: DialogKind::SaveAs { suggested }, path } => {
                    self.save_dialog_ended(&suggested, path)
                }
                Delivery::Picked { dialog, path: Some(path) } => match dialog {
                    DialogKind::OpenText => self.set_picked(FileKind::Text, &path, ctx),
                    DialogKind::OpenTextFolder => self.set_picked(FileKind::TextFolder, &path, ctx),
                    DialogKind::OpenTokenizer => self.set_picked(FileKind::Tokenizer, &path, ctx),
                    DialogKind::OpenVocabulary => self.set_picked(FileKind::Vocabulary, &path, ctx),
                    DialogKind::OpenSentences => self.set_picked(FileKind::Sentences, &path, ctx),
                    DialogKind::OpenCheckpoint => self.set_picked(FileKind::Checkpoint, &path, ctx),
                    DialogKind::OpenMatrix => self.set_picked(FileKind::Matrix, &path, ctx),
                    DialogKind::OpenConfig => self.host.read_text(path),
                    DialogKind::OpenRun | DialogKind::OpenGraph => self.open_run(path, ctx),
                    DialogKind::SaveAs { .. } => {}
                },
                Delivery::Picked { path: None, .. } => self.toasts.push(
                    Level::Info,
                    "Nothing was chosen. If no dialog appeared, type the path: Ctrl O, or the field beside Browse."
                        .into(),
                ),
                Delivery::Text { path, content } => self.open_config_text(&path, &content, ctx),
                Delivery::Identified { path, content } => match content {
                    FileContent::Folder | FileContent::Graph => self.open_run(path, ctx),
                    FileContent::Named => self.open_file(path, ctx),
                    FileContent::Tokenizer => self.set_path(FileKind::Tokenizer, &path, ctx),
                    FileContent::Characters => self.set_path(FileKind::Vocabulary, &path, ctx),
                },
                Delivery::Saved { path } => {
                    if !self.recorded.remove(&path) {
                        self.toasts.push(Level::Info, format!("Saved {}", path.display()));
                    }
                    if self.transitions.take_if(|waiting| *waiting == path).is_some() {
                        self.open_transitions(&path, ctx);
                    }
                }
                Delivery::Runs(runs) => self.past_runs.set(runs),
                Delivery::RunTable { rows, whole } => self.runs.set(rows, whole),
                Delivery::Discarded { run, place } => {
                    self.runs.discarded(&run);
                    let name = run.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    let back = ("Undo".to_owned(), Action::TakeBack(place));
                    self.toasts.push_with(Level::Info, format!("{name} is in the trash."), back);
                }
                Delivery::Compared(Ok(runs)) => self.runs.compared(Some(*runs)),
                Delivery::Compared(Err(words)) => {
                    self.runs.compared(None);
                    self.toasts.push(Level::Error, words);
                }
                Delivery::Replayed(runs) => {
                    if let Some(words) = self.runs.replayed(runs) {
                        self.toasts.push(Level::Error, words);
                    }
                }
                Delivery::Found { link, run } => self.found_run(*link, run, ctx),
                Delivery::Sweeps(sweeps) => self.runs.sweeps = sweeps,
                Delivery::Sweep { folder, read } => self.sweep.set(&folder, read),
                Delivery::SweepMade(Ok(folder)) => {
                    if let Some(page) = self.page_mut() {
                        page.sweep = None;
                    }
                    self.open_sweep(folder);
                }
                Delivery::SweepMade(Err(words)) => match self.page_mut().and_then(|page| page.sweep.as_mut()) {
                    Some(draft) => draft.refuse(words),
                    None => self.toasts.push(Level::Error, words),
                },
                Delivery::SweepFolder(folder) => {
                    self.opening.retain(|run| run.replayed.as_ref() != Some(&folder));
                    self.open_sweep(folder);
                }
                Delivery::Restored => self.host.list_run_table(),
                Delivery::Failed { what } => self.toasts.push(Level::Error, what),
            }
        }
    }

    pub(in crate::ui) fn open_config_text(&mut self, path: &Path, content: &str, ctx: &Context) {
        let lab = Config::lab_of(content).and_then(|id| labs::known(self.lists.labs, &id));
        let read = lab.and_then(|lab| Config::from_toml(content, lab.id, &(lab.knobs)()));
        match read {
            Ok(config) => self.open_config(config, ctx),
            Err(e) => self.toasts.push(Level::Error, format!("{} was not opened: {e}", path.display())),
        }
    }

    /// Draws the pictures that were ordered as soon as there is what paints them; drawings in lines need nothing.
    pub(in crate::ui) fn draw_pictures(&mut self, ctx: &Context) {
        for sheet in self.pictures.take_ready() {
            let Some(page) = self.open.and_then(|id| self.pages.get_mut(id)) else { continue };
            let nothing = Mirror::default();
            let (step, mut selection) = (page.shown_step(), page.selection.clone());
            let [width, height] = sheet.size.map(|side| side as f32);
            let scale = width / PICTURE_WIDTH;
            let theme = Theme::of(sheet.dark);
            let figure = Figure {
                view: sheet.view,
                mirror: page.run.as_ref().map_or(&nothing, |r| &r.mirror),
                step,
                config: &page.config,
                knobs: &page.knobs,
                theme: &theme,
                size: [width / scale, height / scale],
                pixels_per_point: scale,
            };
            let Some(view) = page.tiling.views.get_mut(&sheet.tile) else { continue };
            if !sheet.is_svg {
                self.pictures.paint(&sheet, ctx, |target| figure.lay_out(view.as_mut(), &mut selection, target));
            } else if let Some(text) = figure.svg_of(view.as_mut(), &mut selection) {
                self.save(sheet.file(), text.into_bytes());
            }
        }
    }

    /// A tile's picture is ready.
    pub(in crate::ui) fn take_picture(&mut self, picture: Picture) {
        match picture.destination {
            Destination::Dialog => self.save(picture.name, picture.png),
            Destination::Recorded => {
                let path = self.host.export_folder().join(picture.name);
                self.recorded.insert(path.clone());
                self.host.write(path, picture.png);
            }
        }
    }

    pub(in crate::ui) fn save(&mut self, name: String, bytes: Vec<u8>) {
        self.saving.insert(name.clone(), bytes);
        self.host.pick(DialogKind::SaveAs { suggested: name });
    }

    pub(in crate::ui) fn save_dialog_ended(&mut self, suggested: &str, path: Option<PathBuf>) {
        let Some(bytes) = self.saving.remove(suggested) else { return };
        match path {
            Some(path) => self.host.write(path, bytes),
            None => {
                let folder = self.host.export_folder();
                self.toasts.push_with(
                    Level::Info,
                    format!("{suggested} was not saved: no place was chosen."),
                    (format!("Save into {}", folder.display()), Action::SaveInExports(suggested.to_owned(), bytes)),
                );
            }
        }
    }
}
