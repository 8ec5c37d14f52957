//! A page with one tile and a run whose worker is played by the test, which decides what is answered and when.

use std::sync::Arc;

use crossbeam::channel::{Receiver, bounded};
use eframe::egui::{
    self, Context, Memory,
    accesskit::{Action, ActionData, ActionRequest, Node, NodeId, Role, TreeId},
};
use orrery::{
    config::Config,
    labs::Lab,
    telemetry::{
        Command, Event, Inbox, MEASUREMENTS, Question, QuestionState, RunHandle, RunInfo, RunState, Sample, StepStats,
    },
    ui::{
        mirror::Mirror,
        page::Page,
        run::{Run, RunOrigin},
    },
};

use crate::{
    recorded,
    stub_host::StubHost,
    truth::{Frame, frame, texts_at_rest},
};

pub const REASON: &str = "the sentence has only six tokens";

/// An event by which assistive technology performs an action on a widget.
pub fn request(target_node: NodeId, action: Action, data: Option<ActionData>) -> egui::Event {
    egui::Event::AccessKitActionRequest(ActionRequest { action, target_tree: TreeId::ROOT, target_node, data })
}

/// The answers that a recorded run has to a question, as measured at this step.
pub fn recorded_answers(recorded: &Mirror, question: &Question, step: u64) -> Vec<Sample> {
    let variant = question.variant.unwrap_or(0);
    let channels = MEASUREMENTS.iter().filter(|m| m.probe == question.probe).map(|m| m.channel);
    let known = channels.filter_map(|channel| {
        recorded.sample_at(variant, channel, u64::MAX).or(recorded.answer(variant, channel)).cloned()
    });
    known.map(|sample| Sample { step, request: Some(question.request), ..sample }).collect()
}

/// A page with a run whose worker is played by the test.
pub struct Stage {
    pub page: Page,
    ctx: Context,
    inbox: Arc<Inbox>,
    pub commands: Receiver<Command>,
    pub now: f64,
}

impl Stage {
    pub fn new(lab: &'static Lab, view: &str) -> Self {
        Self::with_fonts(lab, view, &Context::default())
    }

    /// A page that is drawn with the fonts that `fonts` has loaded, since loading them takes longer than drawing a tile
    /// many times. Nothing else that was drawn there is remembered, so one stage at a time may use it.
    pub fn with_fonts(lab: &'static Lab, view: &str, fonts: &Context) -> Self {
        fonts.memory_mut(|memory| *memory = Memory::default());
        fonts.disable_accesskit();
        let mut page = Page::new(lab, lab.config(None).unwrap());
        page.tiling.show(view);
        page.tiling.maximised = page.tiling.selected;
        let now = 1.0 + fonts.input(|input| input.time);
        Self { page, ctx: fonts.clone(), inbox: Arc::default(), commands: bounded(1).1, now }
    }

    /// Starts a run that has sent no event yet.
    pub fn launch(&mut self) {
        let (sender, receiver) = bounded(256);
        (self.inbox, self.commands) = (Arc::default(), receiver);
        let inbox = Arc::clone(&self.inbox);
        // without this, the page would keep the events of an earlier run
        self.page.run = None;
        let mut host =
            StubHost(move |_: &Config| Ok(RunHandle { commands: sender.clone(), inbox: Arc::clone(&inbox) }));
        self.page.launch(&mut host, &self.ctx);
    }

    /// Starts a run that has reached `step` without any measurement, and puts it into `state`.
    pub fn begin(&mut self, step: u64, state: RunState) {
        self.launch();
        let start = self.start();
        self.emit([start]);
        if step > 0 {
            self.emit([Event::Step(StepStats { step, variant: 0, scalars: vec![], wall_secs: 1.0 })]);
        }
        self.emit([Event::State(state)]);
    }

    /// The start event of a run with the page's settings.
    fn start(&self) -> Event {
        let config = self.page.config.clone();
        Event::Started(RunInfo { lab: config.lab.clone(), config, ..recorded::twins_info() }.into())
    }

    /// Shows an example whose record has no measurements.
    pub fn show_example(&mut self) {
        let (sender, receiver) = bounded(256);
        (self.inbox, self.commands) = (Arc::default(), receiver);
        let handle = RunHandle { commands: sender, inbox: Arc::clone(&self.inbox) };
        self.page.run = Some(Run::new(handle, Mirror::default(), RunOrigin::Example, &self.ctx));
        let start = self.start();
        self.emit([start, Event::State(RunState::Stopped)]);
    }

    pub fn emit<const N: usize>(&mut self, events: [Event; N]) {
        events.into_iter().for_each(|event| self.inbox.deliver(event));
        self.page.pump();
    }

    /// The texts of the tile one second later.
    pub fn words(&mut self) -> String {
        self.now += 1.0;
        texts_at_rest(&mut self.page, &self.ctx, self.now).0.join("\n")
    }

    /// Answers the view's questions from a recorded run until the view asks no more by itself; see [`Stage::answer`].
    pub fn settle(&mut self, recorded: &Mirror, samples: bool) {
        for _ in 0..4 {
            let _ = self.words();
            if self.answer(recorded, samples) == 0 {
                return;
            }
        }
    }

    /// The widgets of the tile that can be used, in no order.
    pub fn widgets(&mut self) -> Vec<(NodeId, Node)> {
        self.ctx.enable_accesskit();
        let mut all = self.frame(vec![]).widgets;
        all.retain(|(_, node)| !node.is_disabled());
        all
    }

    /// The buttons that can be pressed, in no order.
    pub fn buttons(&mut self) -> Vec<(NodeId, Node)> {
        let mut all = self.widgets();
        all.retain(|(_, node)| node.role() == Role::Button);
        all
    }

    /// Draws one frame with these input events.
    pub fn frame(&mut self, events: Vec<egui::Event>) -> Frame {
        frame(&mut self.page, &self.ctx, self.now, events)
    }

    /// Presses the button with this label; false if there is none that can be pressed.
    pub fn press(&mut self, label: &str) -> bool {
        let found = self.buttons().into_iter().find(|(_, button)| button.label() == Some(label));
        let Some((button, _)) = found else { return false };
        self.frame(vec![request(button, Action::Click, None)]);
        true
    }

    pub fn questions(&self) -> Vec<Question> {
        let asked = |command| if let Command::Measure(question) = command { Some(question) } else { None };
        self.commands.try_iter().filter_map(asked).collect()
    }

    /// Refuses all open questions with [`REASON`] and returns their number.
    pub fn refuse(&mut self) -> usize {
        let questions = self.questions();
        for question in &questions {
            let state = QuestionState::Refused(REASON.into());
            self.emit([Event::Question { request: question.request, state }]);
        }
        questions.len()
    }

    /// Answers all open questions and returns their number. The answers contain the recorded run's samples if `samples`
    /// is true, and none otherwise.
    pub fn answer(&mut self, recorded: &Mirror, samples: bool) -> usize {
        let questions = self.questions();
        for question in &questions {
            if samples {
                for sample in recorded_answers(recorded, question, self.page.newest()) {
                    self.emit([Event::Sample(sample)]);
                }
            }
            self.emit([Event::Question { request: question.request, state: QuestionState::Answered }]);
        }
        questions.len()
    }
}
