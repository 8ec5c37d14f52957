//! The sheet that opens files and folders by path if there is no file dialog, and the hint shown while a file is
//! dragged over the window.

use eframe::egui::LayerId;

use crate::ui::panels::prelude::*;

#[derive(Debug, Default)]
pub struct OpenSheet {
    path: String,
    begun: bool,
}

impl OpenSheet {
    pub fn ui(&mut self, ui: &mut Ui, shell: &mut Shell<'_>) {
        ui.label(RichText::new("Open").text_style(theme::title_style()));
        let words = "A text file to train on, a config (.toml), a tokenizer.json, a trained BDH (.safetensors, .pt, .pth), a run folder to replay, a log of TensorBoard, W&B, Lightning or Trackio, the folder of a sweep, a graph (.gexf, .graphml, .gml, node-link .json, .csv of edges), or a copied link (orrery:\u{2026}). Dropping a file on the window does the same.";
        quiet_ui(ui, shell.theme, words);
        ui.horizontal(|ui| {
            for (words, dialog) in [
                ("Text…", DialogKind::Open(FileKind::Text)),
                ("Config…", DialogKind::OpenConfig),
                ("Run folder…", DialogKind::OpenRun),
                ("Graph…", DialogKind::OpenGraph),
                ("Tokenizer…", DialogKind::Open(FileKind::Tokenizer)),
                ("Checkpoint…", DialogKind::Open(FileKind::Checkpoint)),
            ] {
                shell.on_click(ui.button(words), FileAction::Pick(dialog));
            }
        });
        ui.add_space(8.0);
        let label = note_ui(ui, shell.theme, "or its path, or a link");
        let field = TextEdit::singleline(&mut self.path).desired_width(f32::INFINITY);
        let field = ui.add(field).labelled_by(label.id);
        if !self.begun {
            self.begun = true;
            field.request_focus();
        }
        let entered = field.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
        ui.horizontal(|ui| {
            let typed = self.path.trim();
            let open = ui.add_enabled(!typed.is_empty(), Button::new("Open"));
            if (open.clicked() || entered) && !typed.is_empty() {
                let path = PathBuf::from(typed);
                shell.act(OpenAction::Back);
                shell.act(OpenAction::Path(path));
            }
            shell.on_click(ui.button("Cancel"), OpenAction::Back);
        });
    }
}

/// A text file was dropped on the gallery: which lab shall train on it?
pub fn choose_lab_ui(ui: &mut Ui, shell: &mut Shell<'_>, path: &str) {
    ui.label(RichText::new("In which lab?").text_style(theme::title_style()));
    quiet_ui(ui, shell.theme, path);
    let labs = shell.lists.labs;
    for lab in labs.iter().filter(|l| takes_files(l)) {
        shell.on_click(ui.button(lab.title).on_hover_text(lab.question), OpenAction::Lab(lab.id));
    }
    shell.on_click(ui.button("Cancel"), OpenAction::Back);
}

/// True if a lab has a control that takes a file.
pub fn takes_files(lab: &crate::labs::Lab) -> bool {
    lab.file_key(FileKind::Text).is_some()
}

pub fn drop_hint_ui(ctx: &Context, theme: &Theme, on_page: bool) {
    let painter = ctx.layer_painter(LayerId::new(Order::Foreground, Id::unique("drop")));
    let rect = ctx.content_rect().shrink(8.0);
    painter.rect_filled(rect, theme::CORNER, Color32::from_black_alpha(120));
    painter.rect_stroke(rect, theme::CORNER, Stroke::new(2.0, theme.accent), StrokeKind::Inside);
    let words = match on_page {
        true => "Drop it: a text to train on, a config, a tokenizer.json, a checkpoint, a graph or a run folder",
        false => "Drop it: a config, a run folder, a checkpoint of BDH, a graph, or a text (you choose the lab)",
    };
    painter.text(rect.center(), Align2::CENTER_CENTER, words, FontId::proportional(theme::HEADING), Color32::WHITE);
}
