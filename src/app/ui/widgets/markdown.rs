//! Markdown as lessons use it: headings, paragraphs, lists, tables, code; bold in a bold face, sub- and superscripts of
//! formulas (`h_t`, `h_{t-1}`, `x^2`); a claim's id links to it. Nothing is fetched: pictures and links are words.

use std::ops::Range;

use eframe::egui::{
    Align, Color32, FontFamily, FontId, Frame, Grid, Label, Margin, ScrollArea, Ui,
    text::{CCursor, CharIndex, LayoutJob, TextFormat},
    vec2,
};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::column_widths::{longest_word, shared_widths};
use crate::{
    experiments::claims::ledger::is_claim,
    ui::{
        plot,
        theme::{self, BOLD, Theme},
    },
};

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct SpanStyle {
    strong: bool,
    emphasis: bool,
    code: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Block {
    Heading(u8, Vec<StyledText>),
    Paragraph(Vec<StyledText>),
    /// Depth from 0, its sign or number, its words.
    Item(usize, String, Vec<StyledText>),
    Code(String),
    /// Rows of cells, the head first.
    Table(Vec<Vec<Vec<StyledText>>>),
}

#[derive(Debug, Clone, PartialEq)]
struct StyledText {
    text: String,
    style: SpanStyle,
}

/// Draws a Markdown text; returns the id of the claim that was clicked in it.
pub fn markdown_ui(ui: &mut Ui, theme: &Theme, text: &str) -> Option<String> {
    ui.spacing_mut().item_spacing.y = 8.0;
    let clicked = blocks(text).into_iter().filter_map(|block| block_ui(ui, theme, &block));
    clicked.reduce(|_, last| last)
}

fn block_ui(ui: &mut Ui, theme: &Theme, block: &Block) -> Option<String> {
    match block {
        Block::Heading(level, runs) => {
            ui.add_space(6.0);
            let size = if *level == 1 { theme::HEADING } else { theme::TITLE };
            linked_text_ui(ui, theme, linked_text(theme, runs, size, theme.text))
        }
        Block::Paragraph(runs) => linked_text_ui(ui, theme, linked_text(theme, runs, theme::BODY, theme.text)),
        Block::Item(depth, sign, runs) => {
            let item_ui = |ui: &mut Ui| {
                ui.spacing_mut().item_spacing.x = 6.0;
                ui.add_space(14.0 * *depth as f32);
                let mut mark = LayoutJob::default();
                mark.append(sign, 0.0, TextFormat::simple(FontId::proportional(theme::BODY), theme.secondary));
                ui.label(mark);
                linked_text_ui(ui, theme, linked_text(theme, runs, theme::BODY, theme.text))
            };
            ui.horizontal_top(item_ui).inner
        }
        Block::Code(text) => {
            let run = StyledText { text: text.clone(), style: SpanStyle { code: true, ..SpanStyle::default() } };
            let frame = Frame::NONE.fill(theme.raised).corner_radius(theme::CORNER);
            let code_ui = |ui: &mut Ui| linked_text_ui(ui, theme, linked_text(theme, &[run], theme::BODY, theme.text));
            frame.inner_margin(Margin::symmetric(8, 4)).show(ui, code_ui).inner
        }
        Block::Table(rows) => table_ui(ui, theme, rows),
    }
}

#[derive(Default)]
struct LinkedText {
    job: LayoutJob,
    /// The byte ranges of claim ids in the text.
    ids: Vec<Range<usize>>,
}

/// Draws a text with its claim ids as links; returns the id that was clicked.
fn linked_text_ui(ui: &mut Ui, theme: &Theme, LinkedText { mut job, ids }: LinkedText) -> Option<String> {
    if ids.is_empty() {
        ui.add(Label::new(job).wrap());
        return None;
    }
    let width = ui.available_width();
    let label = ui.add(Label::new(job.clone()).wrap());
    // egui's label does not return where its letters are; laid out again in the same way, they are at the same places
    job.wrap.max_width = width;
    let galley = ui.painter().layout_job(job);
    let cursor = |byte: usize, prefer_next_row: bool| {
        let index = CharIndex(galley.text()[..byte].chars().count());
        galley.pos_from_cursor(CCursor { index, prefer_next_row })
    };
    let mut clicked = None;
    for id in ids {
        let rect = cursor(id.start, true).union(cursor(id.end, false)).translate(label.rect.min.to_vec2());
        let (place, claim) = (format!("{:?} {}", label.id, id.start), &galley.text()[id]);
        if plot::claim_link_ui(ui, theme, rect, claim, "in the text", &place) {
            clicked = Some(claim.to_owned());
        }
    }
    clicked
}

/// The places of the ids of claims in a text, in bytes.
fn ids_of_claims(text: &str) -> Vec<Range<usize>> {
    let is_gap = |c: char| !c.is_alphanumeric() && c != '_';
    let mut at = 0;
    let words = text.split_inclusive(is_gap).map(|piece| {
        let start = at;
        at += piece.len();
        start..start + piece.trim_end_matches(is_gap).len()
    });
    words.filter(|word| is_claim(&text[word.clone()])).collect()
}

/// Columns share the width: nothing is cut, what is long continues below. Where the longest words have no room beside
/// one another, the table is scrolled. Returns the id of the claim that was clicked.
fn table_ui(ui: &mut Ui, theme: &Theme, rows: &[Vec<Vec<StyledText>>]) -> Option<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let gap = 8.0;
    let cell_text = |row: usize, cell: &[StyledText]| {
        linked_text(theme, cell, theme::SMALL, if row == 0 { theme.secondary } else { theme.text })
    };
    let mut least = vec![32.0_f32; columns];
    for (i, row) in rows.iter().enumerate() {
        for (cell, least) in row.iter().zip(&mut least) {
            *least = least.max(longest_word(&ui.painter().layout_job(cell_text(i, cell).job)));
        }
    }
    let room = ui.available_width() - gap * (columns - 1) as f32;
    let widths = shared_widths(room, &least);
    let id = ui.next_auto_id();
    let mut clicked = None;
    let mut grid_ui = |ui: &mut Ui| {
        Grid::new(id).num_columns(columns).spacing([gap, 6.0]).show(ui, |ui| {
            for (i, row) in rows.iter().enumerate() {
                for (cell, width) in row.iter().zip(&widths) {
                    ui.allocate_ui(vec2(*width, 0.0), |ui| {
                        ui.set_width(*width);
                        clicked = linked_text_ui(ui, theme, cell_text(i, cell)).or(clicked.take());
                    });
                }
                ui.end_row();
            }
        });
    };
    match widths.iter().sum::<f32>() <= room + 0.5 {
        true => grid_ui(ui),
        false => _ = ScrollArea::horizontal().id_salt((id, "columns")).show(ui, grid_ui),
    }
    clicked
}

fn linked_text(theme: &Theme, runs: &[StyledText], size: f32, colour: Color32) -> LinkedText {
    let LinkedText { mut job, mut ids } = LinkedText::default();
    for run in runs {
        for (text, script) in scripts(&run.text) {
            let size = size * if script == Script::None { 1.0 } else { 0.75 };
            let mut format = text_format(theme, run.style, size, colour);
            format.valign = match script {
                Script::Super => Align::TOP,
                Script::Sub | Script::None => Align::BOTTOM,
            };
            let (before, mut at) = (job.text.len(), 0);
            let found = if script == Script::None { ids_of_claims(&text) } else { vec![] };
            for id in found {
                ids.push(before + id.start..before + id.end);
                job.append(&text[at..id.start], 0.0, format.clone());
                job.append(&text[id.clone()], 0.0, TextFormat { color: theme.accent, ..format.clone() });
                at = id.end;
            }
            if at < text.len() {
                job.append(&text[at..], 0.0, format);
            }
        }
    }
    LinkedText { job, ids }
}

fn text_format(theme: &Theme, style: SpanStyle, size: f32, colour: Color32) -> TextFormat {
    let family = match style {
        SpanStyle { code: true, .. } => FontFamily::Monospace,
        SpanStyle { strong: true, .. } => FontFamily::Name(BOLD.into()),
        _ => FontFamily::Proportional,
    };
    let mut format = TextFormat::simple(FontId::new(size, family), colour);
    format.italics = style.emphasis;
    if style.code {
        (format.background, format.font_id.size) = (theme.raised, size * 0.92);
    }
    format
}

/// A sentence about a setting or a number, with its code (in backticks) and the names in it (`*Gate*`) as on a page. All else
/// is as it stands: such sentences are not Markdown.
pub fn sentence_job(theme: &Theme, text: &str, size: f32, colour: Color32) -> LayoutJob {
    let mut job = LayoutJob::default();
    for span in spans(text) {
        job.append(&span.text, 0.0, text_format(theme, span.style, size, colour));
    }
    job
}

/// The text cut at its code and its names.
fn spans(text: &str) -> Vec<StyledText> {
    let (mut out, mut plain, mut rest) = (vec![], String::new(), text);
    let span = |text: String, style| StyledText { text, style };
    while let Some((before, after)) = rest.split_once(['`', '*']) {
        let is_code = rest[before.len()..].starts_with('`');
        plain.push_str(before);
        let length = if is_code { code_length(after) } else { name_length(plain.chars().next_back(), after) };
        let Some(length) = length else {
            plain.push(if is_code { '`' } else { '*' });
            rest = after;
            continue;
        };
        let style = SpanStyle { code: is_code, emphasis: !is_code, strong: false };
        out.extend((!plain.is_empty()).then(|| span(std::mem::take(&mut plain), SpanStyle::default())));
        out.push(span(after[..length].to_owned(), style));
        rest = &after[length + 1..];
    }
    plain.push_str(rest);
    out.extend((!plain.is_empty()).then(|| span(plain, SpanStyle::default())));
    out
}

/// The length in bytes of the code that the text after a backtick begins with; `None` where it is never closed.
fn code_length(after: &str) -> Option<usize> {
    after.find('`').filter(|length| *length > 0)
}

/// The same for a name after an asterisk, which in a formula stands between numbers or blanks.
fn name_length(before: Option<char>, after: &str) -> Option<usize> {
    let (name, behind) = after.split_once('*')?;
    let is_word = |c: char| c.is_alphanumeric();
    let is_name = !name.is_empty() && name == name.trim() && !name.contains('\n');
    (is_name && !before.is_some_and(is_word) && !behind.starts_with(is_word)).then_some(name.len())
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Script {
    None,
    Sub,
    Super,
}

/// The text cut where letters stand lower or higher: `h_t`, `h_{t-1}`, `(1 - a)^k`. A subscript follows a single
/// letter, so that names such as `fast_slow` stay as they are.
fn scripts(text: &str) -> Vec<(String, Script)> {
    let chars: Vec<char> = text.chars().collect();
    let mut out: Vec<(String, Script)> = vec![];
    let mut i = 0;
    while let Some(&c) = chars.get(i) {
        let script = match c {
            '_' if is_single_letter_before(&chars, i) => Script::Sub,
            '^' if i > 0 && !chars[i - 1].is_whitespace() => Script::Super,
            _ => Script::None,
        };
        if let Some((inner, next)) = script_at(&chars, i + 1).filter(|_| script != Script::None) {
            out.push((inner, script));
            i = next;
            continue;
        }
        match out.last_mut() {
            Some((plain, Script::None)) => plain.push(c),
            _ => out.push((c.to_string(), Script::None)),
        }
        i += 1;
    }
    out
}

fn is_single_letter_before(chars: &[char], at: usize) -> bool {
    let is_word = |c: &char| c.is_alphanumeric() || *c == '_' || *c == '.';
    at.checked_sub(1).is_some_and(|i| chars[i].is_alphabetic() && (i == 0 || !is_word(&chars[i - 1])))
}

/// Parses a subscript or superscript, in braces or one letter or digit; returns it and where the text continues.
fn script_at(chars: &[char], at: usize) -> Option<(String, usize)> {
    if chars.get(at) == Some(&'{') {
        let end = chars.iter().skip(at).position(|c| *c == '}')? + at;
        return Some((chars[at + 1..end].iter().collect(), end + 1));
    }
    let c = chars.get(at).filter(|c| c.is_alphanumeric())?;
    let ends = chars.get(at + 1).is_none_or(|next| !(next.is_alphanumeric() || *next == '_'));
    ends.then(|| (c.to_string(), at + 1))
}

#[derive(Default)]
struct Reader {
    blocks: Vec<Block>,
    runs: Vec<StyledText>,
    style: SpanStyle,
    /// For each open list, the number of the next item, if it has numbers.
    lists: Vec<Option<u64>>,
    /// The sign of the item whose text comes next.
    item: Option<String>,
    code: Option<String>,
    rows: Vec<Vec<Vec<StyledText>>>,
}

fn blocks(text: &str) -> Vec<Block> {
    let mut reader = Reader::default();
    Parser::new_ext(text, Options::ENABLE_TABLES).for_each(|event| reader.take(event));
    reader.blocks
}

impl Reader {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.begin(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.push(&text, self.style),
            },
            Event::Code(text) => self.push(&text, SpanStyle { code: true, ..self.style }),
            Event::SoftBreak => self.push(" ", self.style),
            Event::HardBreak => self.push("\n", self.style),
            _ => {}
        }
    }

    fn push(&mut self, text: &str, style: SpanStyle) {
        self.runs.push(StyledText { text: text.to_owned(), style });
    }

    fn begin(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Strong => self.style.strong = true,
            Tag::Emphasis => self.style.emphasis = true,
            Tag::List(first) => {
                self.flush_text();
                self.lists.push(first);
            }
            Tag::Item => {
                let sign = match self.lists.last_mut() {
                    Some(Some(n)) => {
                        *n += 1;
                        format!("{}.", *n - 1)
                    }
                    _ => "\u{2022}".to_owned(),
                };
                self.item = Some(sign);
            }
            Tag::CodeBlock(_) => self.code = Some(String::new()),
            Tag::TableHead | Tag::TableRow => self.rows.push(vec![]),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Strong => self.style.strong = false,
            TagEnd::Emphasis => self.style.emphasis = false,
            TagEnd::Heading(level) => {
                let runs = std::mem::take(&mut self.runs);
                let level = if level == HeadingLevel::H1 { 1 } else { 2 };
                self.blocks.push(Block::Heading(level, runs));
            }
            TagEnd::Paragraph | TagEnd::Item => self.flush_text(),
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                self.blocks.push(Block::Code(code.trim_end().to_owned()));
            }
            TagEnd::TableCell => {
                let runs = std::mem::take(&mut self.runs);
                if let Some(row) = self.rows.last_mut() {
                    row.push(runs);
                }
            }
            TagEnd::Table => {
                let rows = std::mem::take(&mut self.rows);
                self.blocks.push(Block::Table(rows));
            }
            _ => {}
        }
    }

    /// Ends a paragraph, or the text of a list's item.
    fn flush_text(&mut self) {
        let runs = std::mem::take(&mut self.runs);
        if runs.is_empty() {
            return;
        }
        let depth = self.lists.len().saturating_sub(1);
        self.blocks.push(match (self.item.take(), self.lists.is_empty()) {
            (Some(sign), _) => Block::Item(depth, sign, runs),
            (None, false) => Block::Item(depth, "  ".to_owned(), runs),
            (None, true) => Block::Paragraph(runs),
        });
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui;

    use super::*;

    fn cut(text: &str) -> String {
        let mark = |(text, script): (String, Script)| match script {
            Script::None => text,
            Script::Sub => format!("\u{2193}{text}"),
            Script::Super => format!("\u{2191}{text}"),
        };
        scripts(text).into_iter().map(mark).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn formulas_have_subscripts_and_names_have_none() {
        assert_eq!(cut("h_t = h_{t-1}"), "h|\u{2193}t| = h|\u{2193}t-1");
        assert_eq!(cut("(1 - a)^k of D_x."), "(1 - a)|\u{2191}k| of D|\u{2193}x|.");
        for name in ["fast_slow_needed", "train.eval_every", "a _ b", "x_"] {
            assert_eq!(cut(name), name);
        }
    }

    #[test]
    fn a_sentence_has_code_and_names_and_no_other_markup() {
        let cut = |text: &str| {
            let sign = |span: &StyledText| match span.style {
                SpanStyle { code: true, .. } => "code:",
                SpanStyle { emphasis: true, .. } => "name:",
                _ => "",
            };
            spans(text).iter().map(|span| format!("{}{}", sign(span), span.text)).collect::<Vec<_>>().join("|")
        };
        assert_eq!(
            cut("the strongest (`graph.matrix`, `graph.sign`)."),
            "the strongest (|code:graph.matrix|, |code:graph.sign|)."
        );
        assert_eq!(cut("*Gate* and *Residual penalty*."), "name:Gate| and |name:Residual penalty|.");
        for plain in ["products 2*x; h_t, x^2 # 1", "a * b * c", "one ` alone", "``", "* at\na line's end*", ""] {
            assert_eq!(cut(plain), plain);
        }
    }

    #[test]
    fn ids_of_the_ledger_alone_are_links() {
        let text = "A1, A20b (D11) and A0, A1x, h_A1, \u{3b1} B34.";
        let ids: Vec<&str> = ids_of_claims(text).into_iter().map(|id| &text[id]).collect();
        assert_eq!(ids, ["A1", "A20b", "D11", "B34"]);
    }

    #[test]
    fn a_page_is_headings_words_lists_and_tables() {
        let page = "# A\n\nSome **bold** words.\n\n- one\n- *two*\n\n1. first\n2. second\n\n| a | b |\n| --- | --- |\n| c | d |\n";
        let found = blocks(page);
        let kinds: Vec<&str> = found
            .iter()
            .map(|b| match b {
                Block::Heading(..) => "heading",
                Block::Paragraph(_) => "words",
                Block::Item(_, sign, _) if sign.ends_with('.') => "number",
                Block::Item(..) => "bullet",
                Block::Code(_) => "code",
                Block::Table(_) => "table",
            })
            .collect();
        assert_eq!(kinds, ["heading", "words", "bullet", "bullet", "number", "number", "table"]);
        let Block::Paragraph(runs) = &found[1] else { panic!("words") };
        assert!(runs.iter().any(|r| r.style.strong && r.text == "bold"));
        let Block::Item(_, sign, _) = &found[5] else { panic!("an item") };
        assert_eq!(sign, "2.");
    }

    #[test]
    fn no_word_of_a_narrow_table_is_broken() {
        let page = "| setting | meaning |\n| --- | --- |\n| extraordinarily | the counterrevolutionaries agree |\n";
        let theme = Theme::dark();
        let drawn = |width: f32| {
            let ctx = egui::Context::default();
            theme::apply(&theme, true, &ctx);
            let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, vec2(width, 400.0));
            let mut rows = vec![];
            for _ in 0..3 {
                let input = egui::RawInput { screen_rect: Some(screen), ..Default::default() };
                let mut output = ctx.run_ui(input, |ui| _ = markdown_ui(ui, &theme, page));
                rows.clear();
                for shape in std::mem::take(&mut output.shapes) {
                    if let egui::Shape::Text(text) = &shape.shape {
                        rows.extend(text.galley.rows.iter().map(|row| row.row.text()));
                    }
                }
                output.drop_without_applying_deltas();
            }
            rows
        };
        let words = ["setting", "meaning", "extraordinarily", "the", "counterrevolutionaries", "agree"];
        for width in [90.0, 140.0, 200.0, 600.0] {
            let rows = drawn(width).join(" ");
            let broken: Vec<&str> = rows.split_whitespace().filter(|word| !words.contains(word)).collect();
            assert!(broken.is_empty() && rows.contains("extraordinarily"), "at {width}: {rows}");
        }
        assert_eq!(drawn(600.0).join(" ").split_whitespace().count(), words.len());
    }
}
