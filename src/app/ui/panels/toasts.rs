//! Messages in the lower right corner: they queue, they go by themselves, errors stay until dismissed. They are over
//! the right panel or the page's edge, never over the controls.

use super::{
    TRANSPORT_HEIGHT,
    icon::{Icon, icon_button},
};
use crate::{telemetry::Level, ui::panels::prelude::*};

const WIDTH: f32 = 264.0;
/// Most that are shown at once, and one fewer errors, which stay and must not hide what leaves; the others wait.
const MAX_SHOWN: usize = 4;
/// A message may quote a link or a name of any length, and must not cover the window.
const MAX_CHARS: usize = 1000;

#[derive(Debug)]
struct Toast {
    id: u64,
    level: Level,
    text: String,
    /// A button, with its label and its action.
    offer: Option<(String, Action)>,
    /// When it goes, egui's clock; set when it is first shown.
    until: Option<f64>,
    times: u32,
}

#[derive(Debug, Default)]
pub struct Toasts {
    queue: Vec<Toast>,
    next: u64,
}

impl Toasts {
    pub fn push(&mut self, level: Level, text: String) {
        let text = without_middle(&text, MAX_CHARS);
        if let Some(same) = self.queue.iter_mut().find(|t| t.text == text) {
            same.times += 1;
            same.until = None;
            return;
        }
        self.add(level, text, None);
    }

    /// Adds a toast with a button that acts on it; it stays long enough to be pressed.
    pub fn push_with(&mut self, text: String, offer: (String, Action)) {
        self.add(Level::Info, without_middle(&text, MAX_CHARS), Some(offer));
    }

    fn add(&mut self, level: Level, text: String, offer: Option<(String, Action)>) {
        self.next += 1;
        self.queue.push(Toast { id: self.next, level, text, offer, until: None, times: 1 });
    }

    pub fn dismiss(&mut self, id: u64) {
        self.queue.retain(|t| t.id != id);
    }

    /// Takes those away that offer an action which was done otherwise.
    pub fn withdraw(&mut self, done: &Action) {
        self.queue.retain(|t| t.offer.as_ref().is_none_or(|(_, offered)| offered != done));
    }

    /// Drops the old messages and asks for a frame when the next one expires.
    pub fn age(&mut self, ctx: &Context, now: f64) {
        for i in self.shown_indices() {
            let t = &mut self.queue[i];
            let seconds = match t.level {
                Level::Error => continue,
                _ if t.offer.is_some() => 30.0,
                Level::Warning => 12.0,
                Level::Info => 6.0,
            };
            t.until.get_or_insert(now + seconds);
        }
        self.queue.retain(|t| t.until.is_none_or(|u| u > now));
        if let Some(next) = self.queue.iter().filter_map(|t| t.until).min_by(f64::total_cmp) {
            ctx.request_repaint_after_secs((next - now).max(0.01) as f32);
        }
    }

    /// The indices in the queue of the toasts that are shown.
    fn shown_indices(&self) -> Vec<usize> {
        let mut errors = 0;
        let visible = self.queue.iter().enumerate().filter(|(_, toast)| {
            errors += usize::from(toast.level == Level::Error);
            toast.level != Level::Error || errors < MAX_SHOWN
        });
        visible.map(|(i, _)| i).take(MAX_SHOWN).collect()
    }

    pub fn ui(&self, ctx: &Context, shell: &mut Shell<'_>) {
        if self.queue.is_empty() {
            return;
        }
        Area::new(Id::unique("toasts"))
            .order(Order::Foreground)
            .anchor(Align2::RIGHT_BOTTOM, vec2(-12.0, -(TRANSPORT_HEIGHT + 12.0)))
            .interactable(true)
            .show(ctx, |ui| {
                ui.set_width(WIDTH);
                ui.spacing_mut().item_spacing.y = 8.0;
                let shown = self.shown_indices();
                shown.iter().for_each(|i| toast_ui(ui, shell, &self.queue[*i]));
                let hidden = self.queue.len() - shown.len();
                if hidden > 0 {
                    note_ui(ui, shell.theme, format!("{hidden} more wait"));
                }
            });
    }
}

fn toast_ui(ui: &mut Ui, shell: &mut Shell<'_>, toast: &Toast) {
    let (edge, sign) = match toast.level {
        Level::Info => (shell.theme.line, ""),
        Level::Warning => (shell.theme.accent, "Note: "),
        Level::Error => (shell.theme.error, "! "),
    };
    let margin = Margin { left: 12, right: 4, top: 4, bottom: 8 };
    bordered(shell.theme.raised, edge, margin).show(ui, |ui| {
        ui.set_width(WIDTH - 18.0);
        ui.horizontal_top(|ui| {
            ui.vertical(|ui| {
                ui.set_width(WIDTH - 58.0);
                ui.add_space(4.0);
                let times = if toast.times > 1 { format!("  (x{})", toast.times) } else { String::new() };
                ui.style_mut().interaction.selectable_labels = toast.level == Level::Error;
                ui.add(Label::new(RichText::new(format!("{sign}{}{times}", toast.text)).small()).wrap());
                if let Some((words, action)) = &toast.offer
                    && ui.button(RichText::new(words).small()).clicked()
                {
                    shell.act(action.clone());
                    shell.act(MessageAction::Dismiss(toast.id));
                }
            });
            shell.on_click(icon_button(ui, shell.theme, Icon::Close, "Dismiss"), MessageAction::Dismiss(toast.id));
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_stay_leave_room_for_notes() {
        let (ctx, mut toasts) = (Context::default(), Toasts::default());
        (0..6).for_each(|i| toasts.push(Level::Error, format!("error {i}")));
        toasts.push(Level::Info, "saved".into());
        let text = |toasts: &Toasts, i: &usize| toasts.queue[*i].text.clone();
        let shown = |toasts: &Toasts| toasts.shown_indices().iter().map(|i| text(toasts, i)).collect::<Vec<_>>();
        assert_eq!(shown(&toasts), ["error 0", "error 1", "error 2", "saved"]);
        for now in [0.0, 7.0] {
            toasts.age(&ctx, now);
        }
        assert_eq!(shown(&toasts), ["error 0", "error 1", "error 2"]);
        assert_eq!(toasts.queue.len(), 6, "no error left");
    }

    #[test]
    fn all_but_errors_leave_by_themselves() {
        let (ctx, mut toasts) = (Context::default(), Toasts::default());
        toasts.push(Level::Info, "saved".into());
        toasts.push_with("deleted".into(), ("Undo".into(), RunAction::Space.into()));
        toasts.push(Level::Error, "the disk is full".into());
        let mut left_at = |now| {
            toasts.age(&ctx, now);
            toasts.queue.iter().map(|t| t.text.clone()).collect::<Vec<_>>()
        };
        assert_eq!(left_at(0.0).len(), 3);
        assert_eq!(left_at(29.0), ["deleted", "the disk is full"], "there is time to press the button");
        assert_eq!(left_at(31.0), ["the disk is full"]);
    }

    #[test]
    fn a_message_without_end_is_shortened() {
        let mut toasts = Toasts::default();
        let link = format!("the link `orrery:{}` was not opened", "\u{44b}".repeat(100_000));
        (0..2).for_each(|_| toasts.push(Level::Error, link.clone()));
        toasts.push_with(link, ("Run".into(), RunAction::Space.into()));
        assert_eq!(toasts.queue.iter().map(|t| t.times).collect::<Vec<_>>(), [2, 1]);
        for Toast { text, .. } in toasts.queue {
            assert!(text.chars().count() <= MAX_CHARS && text.ends_with("was not opened"), "{text}");
        }
    }
}
