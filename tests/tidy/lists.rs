//! Checks that the lists over which tests loop are complete: every declaration in a source file is in the list of its
//! kind. An attention or a measurement that is not listed does not compile, so these kinds are not checked here.

use super::sources::{Source, sources};

/// A kind of declaration that must be in a list.
struct Kind {
    /// The beginning of the paths of modules with such declarations.
    folder: &'static [&'static str],
    /// Returns the end of the path under which the list names the declaration in a line, if there is one.
    declared: fn(&Source, &str) -> Option<String>,
    /// The line after which the list begins.
    opening: &'static str,
    /// The list ends at the first line that begins with this text.
    closing: &'static str,
}

const KINDS: &[Kind] = &[
    Kind {
        folder: &["models"],
        declared: |_, line| implemented(line, "impl FamilySpec for "),
        opening: "families! {",
        closing: "}",
    },
    Kind {
        folder: &["analysis", "runge_kutta"],
        declared: |_, line| {
            let (name, _) = line.trim().strip_prefix("pub const ")?.split_once(": Self = Self(")?;
            Some(format!("::{name}"))
        },
        opening: "    pub const ALL: &[Self] = &[",
        closing: "    ];",
    },
    Kind {
        folder: &["probe"],
        declared: |_, line| implemented(line, "impl Probe for "),
        opening: "probes! {",
        closing: "}",
    },
    Kind {
        folder: &["ui", "views"],
        declared: |_, line| implemented(line, "impl View for ").or_else(|| implemented(line, "impl PanelView for ")),
        opening: "pub static VIEWS: &[ViewEntry] = views! {",
        closing: "};",
    },
    Kind {
        folder: &["labs"],
        // the labs that make no runs of their own are offered where there is such a run, or a graph file
        declared: |source, line| {
            let module = source.module.last().filter(|module| !["foreign", "graph_file"].contains(&module.as_str()))?;
            line.starts_with("pub static LAB: Lab").then(|| format!("{module}::LAB"))
        },
        opening: "pub static LABS: &[&Lab] = &[",
        closing: "];",
    },
];

/// The end of a path to the type of `impl Trait for Type {`.
fn implemented(line: &str, before: &str) -> Option<String> {
    let name = line.strip_prefix(before)?.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
    Some(format!("::{name}"))
}

#[test]
fn every_declared_item_is_in_its_list() {
    let sources = sources();
    for Kind { folder, declared, opening, closing } in KINDS {
        let is_here = |source: &&Source| {
            let parts = source.module.iter().map(String::as_str);
            parts.take(folder.len()).eq(folder.iter().copied())
        };
        let lists = sources.iter().filter_map(|source| source.code.split_once(&format!("{opening}\n")));
        let lists: Vec<&str> = lists.filter_map(|(_, rest)| rest.split(&format!("\n{closing}")).next()).collect();
        assert_eq!(lists.len(), 1, "one file has the line `{opening}`");
        let paths = lists[0].split(|c: char| !(c.is_alphanumeric() || "_:".contains(c)));
        let listed: Vec<String> = paths.map(|path| format!("::{path}")).collect();
        let mut names: Vec<String> = vec![];
        for source in sources.iter().filter(is_here) {
            names.extend(source.code.lines().filter_map(|line| declared(source, line)));
        }
        assert!(names.len() > 5, "{folder:?} declares {names:?} alone");
        let missing: Vec<&String> =
            names.iter().filter(|name| !listed.iter().any(|path| path.ends_with(name.as_str()))).collect();
        assert!(missing.is_empty(), "`{opening}` lacks {missing:?}, which no test will look at");
    }
}
