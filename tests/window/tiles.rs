//! A harness for tests of a single view: it draws the view in a tile, sends it user input, and collects what the view
//! requests and exports.

use eframe::egui::{
    self, Modifiers, PointerButton, Pos2, Rect, Shape, Ui, Vec2,
    accesskit::Role,
    epaint::{ClippedShape, TextShape},
    vec2,
};
use egui_kittest::{Harness, HarnessBuilder, kittest::Queryable};
use orrery::{
    config::{Config, Knob},
    labs::restrictions::UNRESTRICTED,
    telemetry::{Command, Question},
    ui::{
        action::{Action, Actions, FileAction, OpenAction, PageAction, RunAction, SettingAction},
        mirror::Mirror,
        plot,
        questions::Questions,
        theme::{self, Theme},
        views::{self, Selection, View, ViewCx},
    },
};

/// Draws a view as in a tile of this size on a page, which notes what it has drawn and what has no room.
pub fn in_a_tile(size: Vec2) -> impl FnMut(&mut Ui, &mut Tile) {
    move |ui, tile| {
        plot::watch(ui.ctx());
        plot::begin_tile(ui.ctx(), 1);
        tile.ui(ui);
        plot::end_tile(ui.ctx(), size, size);
    }
}

/// A view with the data that it draws, and the actions that it has requested so far.
pub struct Tile {
    pub view: Box<dyn View>,
    pub mirror: Mirror,
    pub config: Config,
    pub preset: Config,
    pub knobs: Vec<Knob>,
    pub theme: Theme,
    /// True if the user asks for reduced motion.
    pub still: bool,
    pub selection: Selection,
    pub commands: Vec<Command>,
    pub questions: Questions,
    pub exports: Vec<FileAction>,
    /// The views that the tested view asked to bring to the front.
    pub fronts: Vec<&'static str>,
    /// The claims that the view asked to open.
    pub claims: Vec<String>,
    /// True to export the table and the SVG in every frame.
    pub writes: bool,
    pub subtitle: String,
    pub csv: Option<String>,
    pub svg: Option<String>,
}

impl Tile {
    /// A tile with the dark theme, reduced motion and no settings.
    pub fn new(view: &str, mirror: Mirror) -> Self {
        Self {
            view: (views::find(view).unwrap().make)(),
            mirror,
            config: Config::defaults("", &[]),
            preset: Config::defaults("", &[]),
            knobs: vec![],
            theme: Theme::dark(),
            still: true,
            selection: Selection::default(),
            commands: vec![],
            questions: Questions::default(),
            exports: vec![],
            fronts: vec![],
            claims: vec![],
            writes: true,
            subtitle: String::new(),
            csv: None,
            svg: None,
        }
    }

    /// Puts the tile into a harness and draws the first frame.
    pub fn shown(self, builder: HarnessBuilder<Self>) -> Harness<'static, Self> {
        let mut harness = builder.build_ui_state(|ui, t: &mut Self| t.ui(ui), self);
        harness.step();
        harness
    }

    /// Draws one frame and collects the view's actions.
    pub fn ui(&mut self, ui: &mut egui::Ui) {
        theme::apply(&self.theme, true, ui.ctx());
        ui.painter().rect_filled(ui.max_rect().expand(20.0), 0.0, self.theme.panel);
        let mut actions = Actions::default();
        self.questions.follow_run(&self.mirror);
        let mut cx = ViewCx {
            mirror: &self.mirror,
            step: self.mirror.step,
            follow: true,
            config: &self.config,
            knobs: &self.knobs,
            preset: &self.preset,
            restrictions: &UNRESTRICTED,
            theme: &self.theme,
            selection: &mut self.selection,
            actions: &mut actions,
            questions: &mut self.questions,
            all_views: views::VIEWS,
            still: self.still,
            has_controls: true,
        };
        self.view.needs(&mut cx);
        self.view.ui(ui, &mut cx);
        self.subtitle = self.view.subtitle(&cx);
        if self.writes {
            self.csv = self.view.csv(&cx);
            self.svg = self.view.svg(&cx);
        }
        actions.iter().for_each(|action| self.take(action.clone()));
    }

    /// Records an action, or applies it to the settings.
    fn take(&mut self, action: Action) {
        match action {
            Action::Run(RunAction::Ask(question)) => self.commands.push(Command::Measure(question)),
            Action::Run(RunAction::Cancel(request)) => self.commands.push(Command::Cancel(request)),
            Action::Run(RunAction::RunPause) => self.commands.push(Command::Run),
            // a view may be opened in a lab that lacks the view's settings
            Action::Setting(SettingAction::Change(key, value)) if self.knobs.iter().any(|k| k.key == key) => {
                self.config.set(&self.knobs, &key, value).unwrap();
            }
            Action::Setting(SettingAction::Change(..)) => {}
            Action::File(action) => self.exports.push(action),
            Action::Page(PageAction::ShowView(view)) => self.fronts.push(view),
            Action::Open(OpenAction::Claim(id)) => self.claims.push(id),
            other => panic!("no view asks for {other:?}"),
        }
    }
}

/// A builder for a tile of this size in points, drawn at sixty frames per second.
pub fn sized(width: f32, height: f32) -> HarnessBuilder<Tile> {
    Harness::builder().with_size(vec2(width, height)).with_step_dt(1.0 / 60.0)
}

/// Returns the questions among the commands that the test has not taken out yet.
pub fn questions(harness: &Harness<'_, Tile>) -> Vec<Question> {
    let asked = |c: &Command| if let Command::Measure(q) = c { Some(q.clone()) } else { None };
    harness.state().commands.iter().filter_map(asked).collect()
}

pub fn rect_of(harness: &Harness<'_, Tile>, canvas: &str) -> Rect {
    harness.get_by_role_and_label(Role::Canvas, canvas).rect()
}

pub fn press(harness: &mut Harness<'_, Tile>, at: Pos2, pressed: bool) {
    harness.event(egui::Event::PointerMoved(at));
    harness.event(egui::Event::PointerButton {
        pos: at,
        button: PointerButton::Primary,
        pressed,
        modifiers: Modifiers::NONE,
    });
    harness.step();
}

pub fn click(harness: &mut Harness<'_, Tile>, at: Pos2) {
    press(harness, at, true);
    press(harness, at, false);
    harness.step();
}

/// Every text of a frame, in the order in which they are painted.
pub fn texts(shapes: &[ClippedShape]) -> Vec<&TextShape> {
    fn read<'s>(shape: &'s Shape, into: &mut Vec<&'s TextShape>) {
        match shape {
            Shape::Vec(all) => all.iter().for_each(|s| read(s, into)),
            Shape::Text(text) => into.push(text),
            _ => {}
        }
    }
    let mut all = vec![];
    shapes.iter().for_each(|s| read(&s.shape, &mut all));
    all
}

/// The words of [`texts`].
pub fn words(shapes: &[ClippedShape]) -> Vec<String> {
    texts(shapes).into_iter().map(|text| text.galley.text().to_owned()).collect()
}

/// The words of the last frame.
pub fn painted<S>(harness: &Harness<'_, S>) -> Vec<String> {
    words(&harness.output().shapes)
}
