//! The actions on the clipboard and on messages.

#[derive(Debug, Clone, PartialEq)]
pub enum MessageAction {
    CopySession,
    PasteSession,
    /// Copies a link to what is shown: settings, seed, step, selection and views.
    CopyLink,
    CopyText(String),
    Toast(String),
    /// Takes a message away, by its number.
    Dismiss(u64),
}
