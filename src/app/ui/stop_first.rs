//! What would end a training waits until a person has agreed: a preset, opened settings, a pasted session, trained
//! weights, a replay. A reset does not ask: to begin again is what it is called.

use eframe::egui::Context;

use super::{
    action::Action,
    app::App,
    panels::{Overlay, stop_sheet::StopSheet},
    run::Run,
    waiting::Waiting,
};

impl App {
    /// Whether something must wait until a person has agreed that the lab's training ends; then it is asked, and the
    /// caller leaves it in [`App::waiting`]. `doing` goes on from "to": "begin the preset Needed".
    pub(super) fn waits(&mut self, lab: &str, doing: &str) -> bool {
        if !self.is_training(lab) {
            return false;
        }
        let page = self.pages.get(lab);
        let (title, step) = page.map_or((lab, 0), |p| (p.lab.title, p.newest()));
        let total = page.map_or(0, |p| p.total());
        self.overlay =
            Some(Overlay::StopFirst(StopSheet { lab: title.to_owned(), step, total, doing: doing.to_owned() }));
        true
    }

    /// Whether the lab's run trains, and nobody has agreed that it ends.
    fn is_training(&self, lab: &str) -> bool {
        !self.has_agreed && self.pages.get(lab).and_then(|p| p.run.as_ref()).is_some_and(Run::is_running)
    }

    /// As [`App::waits`], for an action on the open page.
    pub(super) fn action_waits(&mut self, action: &Action) -> bool {
        let Some(page) = self.page() else { return false };
        let lab = page.lab.id;
        let doing = match action {
            Action::Preset(id) => {
                let title = page.lab.presets.iter().find(|p| p.id == id).map_or(id.as_str(), |p| p.title);
                format!("begin the preset \u{201c}{title}\u{201d}")
            }
            Action::LessonStep(i) if page.step_begins_run(*i) => format!("begin step {} of the lesson", i + 1),
            _ => return false,
        };
        let waits = self.waits(lab, &doing);
        if waits {
            self.waiting = Some(Waiting::Action(action.clone()));
        }
        waits
    }

    /// The training may end.
    pub(super) fn stop_and_go_on(&mut self, ctx: &Context) {
        self.overlay = None;
        let Some(waiting) = self.waiting.take() else { return };
        self.has_agreed = true;
        match waiting {
            Waiting::Action(action) => self.dispatch(action, ctx),
            Waiting::Settings(config, layout) => {
                self.open_settings(*config, layout.map(|layout| *layout), ctx);
            }
            Waiting::Replay(run) => self.show_replay(*run),
        }
        self.has_agreed = false;
    }
}
