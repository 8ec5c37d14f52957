//! The effect of actions on lessons.

use super::open_lab::open_lab;
use crate::ui::{app::prelude::*, page::lesson, session::Tab};

pub(super) fn dispatch(app: &mut App, action: LessonAction, ctx: &Context) {
    match action {
        LessonAction::Step(i) => take_step(app, i, ctx),
        LessonAction::Next => follow_step(app, |i| Some(i.map_or(0, |i| i + 1)), ctx),
        LessonAction::Previous => follow_step(app, |i| i?.checked_sub(1), ctx),
        // chosen in this window: what the page's own link restricts stays
        LessonAction::Open(link) => open_step(app, &link, ctx),
    }
}

/// Follows the step of the lesson that `step` derives from the current one, and shows it; does nothing if there is no
/// such step.
fn follow_step(app: &mut App, step: fn(Option<usize>) -> Option<usize>, ctx: &Context) {
    let Some(lesson) = app.page().map(|page| &page.lesson) else { return };
    if let Some(i) = step(lesson.current).filter(|i| *i < lesson.lesson.steps.len()) {
        // the controls stay folded where they are
        let session = &mut app.session;
        (session.inspector_open, session.inspector_first, session.tab) = (true, true, Tab::Lesson);
        take_step(app, i, ctx);
    }
}

fn take_step(app: &mut App, i: usize, ctx: &Context) {
    let Some(page) = app.page() else { return };
    let (lab, begins_run) = (page.lab.id, lesson::step_begins_run(page, i));
    if begins_run && app.must_wait(lab, &format!("begin step {} of the lesson", i + 1)) {
        app.waiting = Some(PendingAction::Action(LessonAction::Step(i).into()));
    } else if let Some((page, host)) = app.page_and_host() {
        // the step that is open already may be clicked by mistake
        let left = page.recorded_folder().filter(|_| page.lesson.current == Some(i));
        let outcome = lesson::take_step(page, i, host, ctx);
        let is_left = left.is_some() && page.recorded_folder() != left;
        app.warn_on_error(outcome);
        if is_left {
            app.toasts.push(Level::Info, "The step began a new run. Ctrl Z opens the previous run again.".into());
        }
    }
}

/// Opens the lesson that a link names; the link's restrictions replace those in force.
pub(in crate::ui) fn open_lesson(app: &mut App, link: &LessonLink, ctx: &Context) {
    if let Some(lab) = app.lists.lab(&link.lab) {
        open_lab(app, lab.id, ctx);
    }
    if app.page().is_some_and(|page| page.lab.id == link.lab) {
        // before the step is taken, whose own settings pass the locks
        restrict(app, Restrictions { opened_step: link.step.checked_sub(1), ..link.restrictions.clone() });
    }
    open_step(app, link, ctx);
}

pub(super) fn restrict(app: &mut App, restrictions: Restrictions) {
    if let Some(page) = app.page_mut() {
        page.restrictions = restrictions;
    }
}

/// Opens a lab at a step of its lesson, with the controls that the step needs where no link has chosen others.
fn open_step(app: &mut App, link: &LessonLink, ctx: &Context) {
    let Some(lab) = app.lists.lab(&link.lab) else {
        let known = app.lists.labs.iter().map(|l| l.id).collect::<Vec<_>>().join(", ");
        let words = format!("There is no lab \u{201c}{}\u{201d}; the labs are {known}.", link.lab);
        return app.toasts.push(Level::Error, words);
    };
    open_lab(app, lab.id, ctx);
    app.session.show_lesson();
    let i = link.step.saturating_sub(1);
    take_step(app, i, ctx);
    if let Some(page) = app.page_mut() {
        page.lesson.scroll_to = Some(i);
        let is_free = page.restrictions.locked.is_empty() && page.restrictions.hidden.is_empty();
        let step = page.lesson.lesson.steps.get(i).filter(|_| is_free);
        page.lesson.is_focused = step.is_some_and(|s| s.does.needed_controls().next().is_some());
    }
}
