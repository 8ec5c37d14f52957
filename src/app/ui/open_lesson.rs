//! Opening a lesson by its link: the lab, at the step, with the controls that the step needs.

use eframe::egui::Context;

use super::{action::Action, app::App, session::Tab};
use crate::{labs::lesson::LessonLink, telemetry::Level};

impl App {
    pub(super) fn open_lesson(&mut self, link: &LessonLink, ctx: &Context) {
        let Some(lab) = self.lists.lab(&link.lab) else {
            let known = self.lists.labs.iter().map(|l| l.id).collect::<Vec<_>>().join(", ");
            return self.toasts.push(Level::Error, format!("There is no lab `{}`; the labs are {known}.", link.lab));
        };
        self.open_lab(lab.id, ctx);
        self.session.inspector_open = true;
        self.session.controls_open = true;
        self.session.tab = Tab::Lesson;
        let i = link.step.saturating_sub(1);
        if let Some(page) = self.page_mut() {
            page.lesson.sought = Some(i);
            page.lesson.is_focused = page.lesson.lesson.steps.get(i).is_some_and(|s| s.does.needs().next().is_some());
        }
        self.dispatch(Action::LessonStep(i), ctx);
    }
}
