//! Checks that a view asks its questions in `needs`, which the page calls before it draws the view, and not while it is
//! drawn. A function with a `Ui` parameter counts as drawing.

use std::collections::BTreeSet;

use super::sources::{root, sources};

/// The calls that ask a question: methods of `ViewCx`, and functions of views with these names that call them.
const ASKS: &[&str] =
    &[".ask::<", ".ask_now::<", ".ask_with::<", ".ask_if_missing::<", ".ask(", ".request)(", "keep_fresh"];

/// Functions that draw and may ask a question, because they do so only after a click on a button.
const BUTTONS: &[(&str, &str)] = &[
    ("flow/sweep.rs", "controls_ui"),
    ("grammar_roles/role_accuracy.rs", "controls_ui"),
    ("program_questions.rs", "ui"),
    ("program_questions.rs", "question_ui"),
    ("streaming/mod.rs", "measure_ui"),
    ("synapses/merging.rs", "ask_ui"),
];

/// A function of a source file that rustfmt has laid out.
struct Function {
    name: String,
    draws: bool,
    body: String,
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn functions(code: &str) -> Vec<Function> {
    let lines: Vec<&str> = code.lines().map(str::trim_end).collect();
    let function = |(at, line): (usize, &&str)| {
        let (before, rest) = line.split_once("fn ")?;
        let before = before.trim();
        if !(before.is_empty() || before == "const" || before.starts_with("pub")) {
            return None;
        }
        let open = at + lines[at..].iter().position(|line| line.ends_with(['{', '}', ';']))?;
        let head = lines[at..=open].join(" ");
        let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
        let length = match lines[open].ends_with('{') {
            true => lines[open..].iter().position(|line| *line == end)?,
            false => 0,
        };
        Some(Function {
            name: rest.chars().take_while(|c| is_word(*c)).collect(),
            draws: head.split(|c: char| !is_word(c)).any(|word| word == "Ui"),
            // what stands on one line is head and body at once
            body: lines[open + usize::from(length > 0)..open + length.max(1)].join("\n"),
        })
    };
    lines.iter().enumerate().filter_map(function).collect()
}

/// True if the text calls a function of this name.
fn calls(body: &str, name: &str) -> bool {
    let call = format!("{name}(");
    body.match_indices(&call).any(|(at, _)| !body[..at].ends_with(is_word))
}

/// The functions of a file that draw and put a question, by themselves or through others of the file that do not draw.
fn ask_while_drawing(code: &str) -> Vec<String> {
    let all = functions(code);
    let mut asking: BTreeSet<&str> = BTreeSet::new();
    let asks = |f: &Function, asking: &BTreeSet<&str>| {
        ASKS.iter().any(|ask| f.body.contains(ask)) || asking.iter().any(|name| calls(&f.body, name))
    };
    loop {
        let found = all.iter().filter(|f| !f.draws && f.name != "needs" && asks(f, &asking));
        let found: BTreeSet<&str> = found.map(|f| f.name.as_str()).collect();
        if found == asking {
            break;
        }
        asking = found;
    }
    all.iter().filter(|f| f.draws && asks(f, &asking)).map(|f| f.name.clone()).collect()
}

#[test]
fn no_view_asks_while_it_is_drawn() {
    let folder = root().join("app/ui/views");
    let mut found = BTreeSet::new();
    for source in sources() {
        let Ok(file) = source.file.strip_prefix(&folder) else { continue };
        let file = file.to_string_lossy().replace('\\', "/");
        found.extend(ask_while_drawing(&source.code).into_iter().map(|name| (file.clone(), name)));
    }
    let known = BUTTONS.iter().map(|(file, name)| ((*file).to_owned(), (*name).to_owned()));
    let known: BTreeSet<(String, String)> = known.collect();
    let asking: Vec<_> = found.difference(&known).collect();
    assert!(asking.is_empty(), "ask in `needs`, or name the function here if a button asks: {asking:?}");
    let stale: Vec<_> = known.difference(&found).collect();
    assert!(stale.is_empty(), "named here, and asks nothing while it draws: {stale:?}");
}

#[test]
fn asking_while_drawing_is_found() {
    let code = "impl View for V {\n    fn needs(&mut self, cx: &mut ViewCx<'_>) {\n        self.put(cx);\n    }\n\n    \
                fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {\n        self.follow(cx);\n    }\n\n    \
                fn put(&self, cx: &mut ViewCx<'_>) {\n        cx.ask::<M>(None, &args, Freshness::OFTEN);\n    }\n\n    \
                fn follow(\n        &self,\n        cx: &mut ViewCx<'_>,\n    ) {\n        self.put(cx);\n    }\n\n    \
                fn footer_ui(ui: &mut Ui, output: &Output) {\n        output(ui);\n    }\n}\n";
    assert_eq!(ask_while_drawing(code), ["ui"]);
    assert_eq!(ask_while_drawing("fn one_ui(ui: &Ui, cx: &mut ViewCx<'_>) { keep_fresh(cx); }"), ["one_ui"]);
    assert!(ask_while_drawing(&code.replace("        self.follow(cx);\n", "")).is_empty());
}
