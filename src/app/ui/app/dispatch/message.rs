//! The effect of actions on the clipboard and on messages.

use eframe::egui::ViewportCommand;

use super::{
    link::{copy_link, link_of, open_link},
    open_lab::open_settings,
};
use crate::ui::{app::prelude::*, session::adopt};

pub(super) fn dispatch(app: &mut App, action: MessageAction, ctx: &Context) {
    match action {
        MessageAction::CopySession => copy_session(app, ctx),
        MessageAction::PasteSession => ctx.send_viewport_cmd(ViewportCommand::RequestPaste),
        MessageAction::CopyLink => copy_link(app, ctx),
        MessageAction::CopyText(text) => ctx.copy_text(text),
        MessageAction::Toast(text) => app.toasts.push(Level::Info, text),
        MessageAction::Dismiss(id) => app.toasts.dismiss(id),
    }
}

fn copy_session(app: &mut App, ctx: &Context) {
    let Some(page) = app.page() else {
        let words = "Open a lab first: a session is its settings, seed and layout.";
        return app.toasts.push(Level::Info, words.into());
    };
    match page.shared().to_text() {
        Ok(text) => {
            ctx.copy_text(text);
            app.toasts
                .push(Level::Info, "Copied: settings, seed and layout. Paste with Ctrl V, here or elsewhere.".into());
        }
        Err(words) => app.toasts.push(Level::Error, words),
    }
}

pub(in crate::ui) fn paste_session(app: &mut App, text: &str, ctx: &Context) {
    if let Some(link) = link_of(app, text) {
        return open_link(app, link, ctx);
    }
    let shared = match SharedSession::from_text(text) {
        Ok(shared) => shared,
        Err(words) => return app.toasts.push(Level::Error, words),
    };
    let Some(lab) = app.lists.lab(&shared.config.lab) else {
        return app.toasts.push(Level::Error, format!("This build has no lab \u{201c}{}\u{201d}.", shared.config.lab));
    };
    let (config, complaints) = adopt(lab, &(lab.knobs)(), &shared.config);
    let is_open = open_settings(app, SharedSession { config, ..shared }, ctx);
    complaints.into_iter().for_each(|words| app.toasts.push(Level::Warning, words));
    if is_open {
        app.toasts.push(Level::Info, "The pasted session is open. Space runs it.".into());
    }
}
