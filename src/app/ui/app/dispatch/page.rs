//! The effect of actions on the tiles, the selection and the history of the page in front.

use super::{dispatch as dispatch_any, open_run::open_run};
use crate::ui::{
    app::prelude::*,
    page::{
        ShownRun, example, left_run,
        undo::{self, UndoKind},
    },
    pinned::run_name,
    sweep_draft::SweepDraftState,
};

pub(super) fn dispatch(app: &mut App, action: PageAction, ctx: &Context) {
    // deleted runs come back where no lab is in front, or one whose last step is older than the last deletion
    let takes_back = || app.page().is_none_or(|page| page.history.newer_deletion(&app.trash).is_some());
    if action == PageAction::Undo && takes_back() {
        return restore_deleted_run(app, ctx);
    }
    let Some(page) = app.page_mut() else { return };
    match action {
        PageAction::Undo => step_back(app, UndoKind::Undo, ctx),
        PageAction::UndoSettings => step_back(app, UndoKind::UndoSettings, ctx),
        PageAction::Redo => step_back(app, UndoKind::Redo, ctx),
        PageAction::Focus(variant) => page.selection.variant = variant,
        PageAction::SelectTile(number) => page.tiling.select(number),
        PageAction::Maximise => page.tiling.toggle_maximised(),
        PageAction::MaximiseTile(id) => {
            page.tiling.selected = Some(id);
            page.tiling.toggle_maximised();
        }
        PageAction::CloseTile(id) => page.tiling.close(id),
        PageAction::ShowView(id) => page.tiling.show(id),
        PageAction::ResetLayout => page.tiling.reset(page.lab.id, page.lab.panes),
        PageAction::PinRun => {
            let pinned =
                page.run.as_mut().and_then(|run| if run.mirror.pin() { run.mirror.info.clone() } else { None });
            let words = match pinned {
                Some(info) => format!("Pinned: {}. Its curves stay behind those of later runs.", run_name(&info)),
                None => "There is no curve to pin yet: Space runs the lab.".to_owned(),
            };
            app.toasts.push(Level::Info, words);
        }
        PageAction::UnpinRun => {
            if let Some(run) = &mut page.run {
                run.mirror.unpin();
            }
        }
        PageAction::Export(tile, format) => page.export(tile, format),
        PageAction::DraftSweep => {
            page.sweep = page.sweep.is_none().then(|| SweepDraftState::new(page.lab, &page.config));
            app.session.show_controls();
        }
    }
}

fn step_back(app: &mut App, kind: UndoKind, ctx: &Context) {
    let (action, verb) = match kind {
        UndoKind::Undo => (PageAction::Undo, "undo"),
        UndoKind::UndoSettings => (PageAction::UndoSettings, "undo"),
        UndoKind::Redo => (PageAction::Redo, "redo"),
    };
    let label = |name: &str| format!("{verb} \u{201c}{name}\u{201d}");
    let ends = app.page().and_then(|page| Some((page.lab.id, undo::step_that_ends_run(page, kind).map(label)?)));
    if ends.is_some_and(|(lab, label)| app.must_wait(lab, &label)) {
        app.waiting = Some(PendingAction::Action(action.into()));
        return;
    }
    let Some(page) = app.open.and_then(|id| app.pages.get_mut(id)) else { return };
    let awaited = left_run::take_awaited(page, &mut app.opening);
    let words = undo::step_back(page, kind, ctx.input(|i| i.time)).unwrap_or_else(|| kind.empty_message().to_owned());
    match left_run::take_wanted_run(page) {
        Some(run) if undo::is_on_page(page, &run) => {}
        Some(ShownRun::Recorded(folder)) => {
            open_run(app, folder.clone(), ctx);
            app.consented_run = app.has_stop_consent.then_some(folder);
        }
        Some(ShownRun::Example) => example::show_again(page, app.host.as_mut(), ctx),
        Some(ShownRun::New) => page.begin(app.host.as_mut(), ctx, |_| {}),
        None => app.opening.extend(awaited),
    }
    app.toasts.push(Level::Info, words);
}

/// The run that was deleted last comes back.
fn restore_deleted_run(app: &mut App, ctx: &Context) {
    let Some(run) = app.trash.last().cloned() else {
        return app.toasts.push(Level::Info, UndoKind::Undo.empty_message().to_owned());
    };
    app.toasts.push(Level::Info, format!("Undid: deleted {}", run.title));
    dispatch_any(app, RunsAction::TakeBack(run.place), ctx);
}
