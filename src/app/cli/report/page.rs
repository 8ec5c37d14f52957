//! The page of a report: text, tables, and the places of curves and pictures.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{
    super::{figures, summary},
    curves::CurvesData,
    pictures::Pictures,
};
use crate::{
    cli::prelude::*,
    experiments::{
        headline_values::HeadlineValues,
        run_table::{changed_at_last, value_label},
        run_terms::RunTerms,
    },
    labs::lesson::Lesson,
    store::Environment,
    telemetry::RunNote,
    ui::large_numbers::{LargeNumbers, ReadNumber},
};

const STYLE: &str = include_str!("../../../../assets/report/report.css");
const SCRIPT: &str = include_str!("../../../../assets/report/report.js");

/// The largest number of sentences that are listed one by one.
const MAX_LISTED: usize = 60;

/// The run, or the runs, that a page is about.
pub struct Report<'a> {
    pub lab: &'static Lab,
    pub config: &'a Config,
    pub mirror: &'a Mirror,
    pub found: &'a HeadlineValues,
    /// A person's name and note of the run.
    pub note: &'a RunNote,
    /// The programs and machines that made the parts of the run.
    pub machines: &'a [Environment],
    /// The parts of the record that are not on the page.
    pub lost: &'a Damage,
}

/// Text inside of an element or an attribute.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Inside of a script element, without any `<`: a name from a run could end the element, or begin another script.
fn script_json(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

/// Lets the page run its own script and show pictures that it holds, and nothing else.
fn policy() -> String {
    let script = STANDARD.encode(Sha256::digest(format!("\n{SCRIPT}")));
    format!("default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{script}'")
}

/// The beginning of a page: its heading, the question that it answers, if there is one, and a note.
pub fn head(title: &str, question: &str, note: &str) -> String {
    let (title, question, note) = (escaped(title), escaped(question), escaped(note));
    let question = if question.is_empty() { question } else { format!("<p class=\"question\">{question}</p>\n") };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{question}\
         <p class=\"note\">{note}</p>\n",
        policy()
    )
}

/// Says what a page lacks of a record that is damaged; nothing of a whole one.
pub fn lost_parts(out: &mut String, sentences: &[String]) {
    if !sentences.is_empty() {
        out.push_str("<p><strong>The record is damaged.</strong> This page shows what can be read of it.</p>\n");
        list(out, sentences);
    }
}

/// Writes sentences as a list, of very many the first.
pub fn list(out: &mut String, sentences: &[String]) {
    out.push_str("<ul>\n");
    for sentence in sentences.iter().take(MAX_LISTED) {
        let _ = writeln!(out, "<li>{}</li>", escaped(sentence));
    }
    if let Some(more) = sentences.len().checked_sub(MAX_LISTED).filter(|n| *n > 0) {
        let _ = writeln!(out, "<li>and {more} more</li>");
    }
    out.push_str("</ul>\n");
}

/// The end of a page: what its script draws, and the script.
pub fn finish(out: &mut String, curves: &Value, views: &Value) {
    let _ = write!(
        out,
        "<script type=\"application/json\" id=\"curve-data\">{}</script>\n<script \
         type=\"application/json\" id=\"view-data\">{}</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        script_json(curves),
        script_json(views)
    );
}

impl Report<'_> {
    pub fn html(&self, curves: &CurvesData, pictures: &Pictures) -> String {
        let title = format!("{}: {}", self.lab.title, self.preset_title());
        let title = match figures::given_name(self.note) {
            name if name.is_empty() => title,
            name => format!("{name} \u{b7} {title}"),
        };
        let mut out = head(&title, self.lab.question, &self.facts());
        self.note(&mut out);
        lost_parts(&mut out, &self.lost.0);
        self.headlines(&mut out);
        self.views(pictures, &mut out);
        self.curves(curves, &mut out);
        self.settings(&mut out);
        self.changes(&mut out);
        self.lesson(&mut out);
        finish(&mut out, &json!(curves.charts), &view_data(pictures));
        out
    }

    /// The text of the person's note, its lines as they were written.
    fn note(&self, out: &mut String) {
        let text = escaped(self.note.note.trim());
        if !text.is_empty() {
            let lines: Vec<&str> = text.lines().collect();
            let _ = writeln!(out, "<p><strong>Note.</strong> {}</p>", lines.join("<br>\n"));
        }
    }

    fn preset_title(&self) -> String {
        let preset = self.lab.preset(&self.config.preset);
        match preset {
            Some(preset) => preset.title.to_owned(),
            // the name that another program gave its run
            None if !self.lab.makes_runs() && !self.config.preset.is_empty() => self.config.preset.clone(),
            None => "settings of its own".to_owned(),
        }
    }

    /// One line with the seed, the steps, the way the run ended and the device, as far as they are recorded.
    fn facts(&self) -> String {
        let info = self.mirror.info.as_ref();
        let state = match &self.mirror.state {
            Some(RunState::Finished) => "finished".to_owned(),
            Some(RunState::Failed { message }) => format!("failed: {message}"),
            Some(RunState::Stopped) => "stopped".to_owned(),
            _ => "without an end".to_owned(),
        };
        // a program that logs no seed leaves it at 0, which would be shown as if it were recorded
        let seed = (self.lab.makes_runs() || self.config.seed > 0).then(|| format!("seed {}", self.config.seed));
        let total = info.map(|i| i.total_steps).filter(|total| *total > 0);
        let total = total.map_or(String::new(), |total| format!(" of {total}"));
        let steps = format!("step {}{total}, {state}", self.mirror.step);
        let machines = distinct(self.machines.iter().map(Environment::label).filter(|label| !label.is_empty()));
        let recorded = (!machines.is_empty()).then(|| format!("recorded by {}", machines.join("; ")));
        let report = format!("report by Orrery {}", env!("CARGO_PKG_VERSION"));
        let source = Some(self.lab.source.to_owned()).filter(|source| !source.is_empty());
        let facts = [seed, Some(steps), info.and_then(|i| i.device_label()), recorded, source, Some(report)];
        facts.into_iter().flatten().collect::<Vec<_>>().join(" \u{b7} ")
    }

    fn headlines(&self, out: &mut String) {
        let keys = self.found.keys();
        let Some(info) = self.mirror.info.as_deref().filter(|_| !keys.is_empty()) else { return };
        let (terms, mut large) = (RunTerms::from(info), LargeNumbers::default());
        let large = large.at(self.lab, self.mirror, self.mirror.step);
        out.push_str("<h2>Result</h2>\n<table>\n<tr><th></th>");
        terms.groups.iter().for_each(|(_, label)| _ = write!(out, "<th class=\"number\">{}</th>", escaped(label)));
        out.push_str("<th></th></tr>\n");
        for key in keys {
            let Some(headline) = self.lab.headline(key) else { continue };
            let _ = write!(out, "<tr><th>{}</th>", escaped(&terms.heading(headline, key)));
            for (group, _) in &terms.groups {
                let other_step = self.found.step(key, group).filter(|step| *step != self.mirror.step);
                let cell = summary::cell_at(headline, self.found.group(key, group).as_ref(), other_step);
                let answers = self.found.answer_count(key, group).map(|count| count.label(headline.digits));
                let note = explanation_html(large, key, group, answers);
                let _ = write!(out, "<td class=\"number\">{}{note}</td>", escaped(&cell));
            }
            let about = format!("{} ({})", terms.about(headline), headline.better.label());
            let _ = writeln!(out, "<td class=\"note\">{}</td></tr>", escaped(&about));
        }
        out.push_str("</table>\n");
    }

    fn views(&self, pictures: &Pictures, out: &mut String) {
        if pictures.views.is_empty() {
            return;
        }
        out.push_str("<h2>What was seen</h2>\n");
        if pictures.steps.len() > 1 {
            let last = pictures.steps.len() - 1;
            let _ = writeln!(
                out,
                "<div class=\"scrubber\" id=\"scrubber\" hidden><span>Step</span><input type=\"range\" min=\"0\" \
                 max=\"{last}\" value=\"{last}\" aria-label=\"step shown\"><output></output></div>"
            );
        }
        out.push_str("<div class=\"grid\">\n");
        for view in &pictures.views {
            let last =
                view.at.iter().flatten().next_back().and_then(|at| view.pictures.get(*at)).map_or("", String::as_str);
            let title = escaped(view.view.title);
            let about = escaped(view.measured.as_deref().unwrap_or(view.view.description()));
            let _ = writeln!(
                out,
                "<figure><h3>{title}</h3><img id=\"view-{}\" alt=\"{title}\" src=\"{last}\"><figcaption>{about}</figcaption></figure>",
                view.view.id
            );
        }
        out.push_str("</div>\n");
    }

    fn curves(&self, curves: &CurvesData, out: &mut String) {
        if curves.charts.is_empty() {
            return;
        }
        let every = match curves.every {
            1 => String::new(),
            n => format!(" Of this long run every {n}th recorded step is here."),
        };
        let about =
            "Every scalar of the run, by its channel; the numbers are those of <code>orrery export --csv</code>.";
        write_curves_placeholder(out, &format!("{about}{every}"));
    }

    fn settings(&self, out: &mut String) {
        let last: BTreeMap<_, _> =
            self.mirror.changes.iter().map(|(_, key, value)| (key.clone(), value.clone())).collect();
        let value = |key: &str| value_label(key, self.config.get(key), last.get(key));
        if !self.lab.makes_runs() {
            // another program recorded them, so that there are no knobs with labels and defaults
            out.push_str("<h2>Settings</h2>\n<table>\n");
            self.config.iter().for_each(|(key, _)| setting_row(out, key, &value(key), ""));
            return out.push_str("</table>\n");
        }
        let knobs = (self.lab.knobs)();
        let usual = changed_at_last(self.lab, self.config, &last);
        let is_moved = |key: &str| last.get(key).is_some_and(|last| self.config.get(key) != Some(last));
        let changed: Vec<&Knob> =
            knobs.iter().filter(|knob| usual.contains_key(knob.key) || is_moved(knob.key)).collect();
        let row = |knob: &Knob, out: &mut String| {
            let value = shared_label(knob, &value(knob.key));
            let label = format!("<td class=\"note\">{}</td>", escaped(knob.label));
            setting_row(out, knob.key, &value, &label);
        };
        let _ = writeln!(out, "<h2>Settings</h2>\n<p>Preset <code>{}</code>, ", escaped(&self.config.preset));
        match changed.is_empty() {
            true => out.push_str("nothing changed.</p>\n"),
            false => {
                out.push_str("with these changes:</p>\n<table>\n");
                changed.into_iter().for_each(|knob| row(knob, out));
                out.push_str("</table>\n");
            }
        }
        out.push_str("<details><summary>All settings</summary>\n<table>\n");
        knobs.iter().for_each(|knob| row(knob, out));
        out.push_str("</table>\n</details>\n");
    }

    /// The settings that were changed while the run trained; of several changes at one step the last.
    fn changes(&self, out: &mut String) {
        let changes = &self.mirror.changes;
        if changes.is_empty() {
            return;
        }
        let mut present = self.config.clone();
        out.push_str("<p>Changed while training:</p>\n<ul>\n");
        for (i, (step, key, value)) in changes.iter().enumerate() {
            if changes.iter().skip(i + 1).any(|(later, other, _)| later == step && other == key) {
                continue;
            }
            let before = present.get(key).map(ToString::to_string).unwrap_or_default();
            let [key_text, before, after] = [key, &before, &value.to_string()].map(|text| escaped(text));
            let _ = writeln!(out, "<li><code>{key_text}</code> {before} \u{2192} {after} at step {step}</li>");
            present.replace(key, value.clone());
        }
        out.push_str("</ul>\n");
    }

    /// The beginning of the lab's text; what follows is about the window.
    fn lesson(&self, out: &mut String) {
        let Ok(lesson) = Lesson::parse(self.lab.id, self.lab.lesson) else { return };
        out.push_str("<h2>About the lab</h2>\n");
        // the heading of the page is the lab's
        let parser = pulldown_cmark::Parser::new_ext(lesson.opening(), pulldown_cmark::Options::ENABLE_TABLES);
        let lowered = parser.map(lowered);
        pulldown_cmark::html::push_html(out, lowered);
    }
}

/// The explanation of a group's number, as HTML to put behind it: what it is measured on (`answers` for a share of
/// right answers), and what it means.
fn explanation_html(large: &[ReadNumber], key: &str, group: &str, answers: Option<String>) -> String {
    let number = large.iter().find(|read| read.number.key == key);
    let found = number.and_then(|read| read.groups.iter().find(|of| of.group.id == group));
    let of = answers.or_else(|| Some(format!("of {}", found?.measured_on.as_ref()?)));
    let meaning = found.map(|found| found.meaning.clone()).filter(|words| !words.is_empty());
    let words: Vec<String> = of.into_iter().chain(meaning).collect();
    if words.is_empty() {
        return String::new();
    }
    format!("<br><span class=\"note\">{}</span>", escaped(&words.join("; ")))
}

/// Writes the element in which the script draws the curves; `about` describes them in HTML.
pub fn write_curves_placeholder(out: &mut String, about: &str) {
    let _ = writeln!(
        out,
        "<h2>Curves</h2>\n<p class=\"note\">{about} Point at a curve to read it.</p>\n<div class=\"grid\" id=\"curves\"></div>\n\
         <noscript><p>Scripts are off, so the curves are not drawn.</p></noscript>"
    );
}

/// A row of a table of settings, with further cells in HTML.
pub fn setting_row(out: &mut String, key: &str, value: &str, further: &str) {
    let (key, value) = (escaped(key), escaped(value));
    let _ =
        writeln!(out, "<tr><td><code>{key}</code></td><td class=\"number\"><code>{value}</code></td>{further}</tr>");
}

/// Makes every heading of a note one of level 3, below the page's own, and shows HTML as text.
fn lowered(event: pulldown_cmark::Event<'_>) -> pulldown_cmark::Event<'_> {
    use pulldown_cmark::{Event, HeadingLevel, Tag, TagEnd};
    match event {
        Event::Start(Tag::Heading { id, classes, attrs, .. }) => {
            Event::Start(Tag::Heading { level: HeadingLevel::H3, id, classes, attrs })
        }
        Event::End(TagEnd::Heading(_)) => Event::End(TagEnd::Heading(HeadingLevel::H3)),
        Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
        other => other,
    }
}

/// Names a file without the folders that lead to it, because the page is meant to be shared.
pub fn shared_label(knob: &Knob, value: &str) -> String {
    match knob.file_kind() {
        Some(_) => std::path::Path::new(value).file_name().map_or(String::new(), |n| n.to_string_lossy().into_owned()),
        None => value.to_owned(),
    }
}

/// The pictures of every view with their steps, for the scrubber.
fn view_data(pictures: &Pictures) -> Value {
    let view = |v: &super::pictures::ViewPictures| {
        (format!("view-{}", v.view.id), json!({ "pictures": v.pictures, "at": v.at }))
    };
    let views: Map<String, Value> = pictures.views.iter().map(view).collect();
    json!({ "steps": pictures.steps, "views": views })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{labs::LABS, ui::views::VIEWS};

    /// In a page that is mailed nothing can be clicked, so that no text of it may say so.
    #[test]
    fn no_text_asks_for_the_window() {
        const WINDOW: [&str; 9] = ["click", "clicks", "press", "drag", "drop", "hover", "type", "choose", "change one"];
        let lessons = LABS.iter().copied().chain(labs::find(FOREIGN)).map(|lab| {
            let lesson = Lesson::parse(lab.id, lab.lesson).unwrap();
            (lab.id, lesson.opening().to_owned())
        });
        let views = VIEWS.iter().map(|view| (view.id, view.description().to_owned()));
        for (id, text) in lessons.chain(views) {
            let words: Vec<&str> = text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect();
            let words = format!(" {} ", words.join(" ").to_lowercase());
            let found = WINDOW.iter().find(|word| words.contains(&format!(" {word} ")));
            assert_eq!(found, None, "{id}: {text}");
            assert!(!text.trim().is_empty(), "{id}");
        }
    }

    #[test]
    fn nothing_ends_the_page_early() {
        assert_eq!(escaped("<b> & \"c\""), "&lt;b&gt; &amp; &quot;c&quot;");
        for name in ["</script><script>", "x/<!--<script>"] {
            let held = script_json(&json!(name));
            assert!(!held.contains('<'), "{held}");
            assert_eq!(serde_json::from_str::<String>(&held).unwrap(), name);
        }
    }

    #[test]
    fn the_policy_lets_the_own_script_run() {
        let mut page = head("a", "", "");
        finish(&mut page, &json!(null), &json!(null));
        let script = page.split_once("<script>").unwrap().1.split_once("</script>").unwrap().0;
        let hash = STANDARD.encode(Sha256::digest(script));
        assert!(page.contains(&format!("script-src 'sha256-{hash}'")), "{page}");
    }
}
