//! Fonts of the system for Chinese, Japanese and Korean, which the built-in ones lack. The interface reads no files: it
//! is given them once such a character was laid out.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use eframe::egui::{
    Context, FontData,
    epaint::text::{FallbackRequest, FontInsert},
};

static FOUND_FONTS: OnceLock<Vec<Arc<FontData>>> = OnceLock::new();

/// The fonts of the system; `None` before they were looked for.
pub fn installed() -> Option<&'static [Arc<FontData>]> {
    FOUND_FONTS.get().map(Vec::as_slice)
}

/// Takes the files of the fonts, for every context that gets its fonts from then on.
pub fn take(files: Vec<Vec<u8>>) {
    FOUND_FONTS.get_or_init(|| files.into_iter().map(|bytes| Arc::new(FontData::from_owned(bytes))).collect());
}

/// Notes whether a context has laid out a character that its fonts lack and fonts of the system may have.
pub struct MissedCharacters(Arc<AtomicBool>);

impl MissedCharacters {
    /// Starts to note characters that no font has.
    pub fn watch(ctx: &Context) -> Self {
        let missed = Arc::<AtomicBool>::default();
        let noted = Arc::clone(&missed);
        // egui asks a provider for each character that no font has, and remembers its answer
        ctx.add_font_provider(Arc::new(move |request: &FallbackRequest<'_>| -> Option<FontInsert> {
            noted.fetch_or(request.cluster.starts_with(is_east_asian), Ordering::Relaxed);
            None
        }));
        Self(missed)
    }

    /// True if a character without a font was shown.
    pub fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Characters of Chinese, Japanese and Korean, with their punctuation and full-width forms.
pub fn is_east_asian(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{a4cf}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use eframe::egui::RawInput;

    use super::*;
    use crate::ui::theme::{self, Theme};

    #[test]
    fn missing_characters_are_noticed_when_they_are_laid_out() {
        let missed = |text: &str| {
            let ctx = Context::default();
            theme::apply(&Theme::dark(), true, &ctx);
            let missed = MissedCharacters::watch(&ctx);
            ctx.run_ui(RawInput::default(), |ui| {
                ui.label(text);
                ui.monospace(text);
            })
            .drop_without_applying_deltas();
            missed.any()
        };
        assert!(!missed("the ferry, \u{e9}\u{3b3}\u{416} \u{2192} \u{1f600} \u{10ffff}"));
        for text in ["\u{6e21}\u{3057}", "a \u{d55c}\u{ae00}", "\u{ff21}"] {
            assert!(missed(text), "{text}");
        }
    }
}
