//! The imports between modules: every `crate::`, `self::` and `super::` path is resolved to the module that it names.
//! The tests forbid cycles among the modules of a folder.
//!
//! **Rule.** A module of a folder uses another module of the folder if any file in the first names anything
//! in the second. What their common parent (`mod.rs`) defines itself is not an import among siblings, since a
//! parent holds what its children share and lists them. What a parent merely re-exports (`pub use child::X`)
//! is followed to the child that defines it, so that a cycle cannot hide behind the parent.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::{algo::tarjan_scc, graph::DiGraph};

use super::sources::{Source, sources};

/// A path of modules and, perhaps, an item: `["ui", "plot", "Chart"]`.
type Path = Vec<String>;

/// The modules of the crate and their imports.
pub struct Imports {
    modules: BTreeSet<Path>,
    /// Pairs of an importing and an imported module.
    edges: BTreeSet<(Path, Path)>,
}

impl Imports {
    /// Reads the imports of the crate's present source files.
    pub fn of_crate() -> Self {
        Self::from_sources(&sources())
    }

    pub fn from_sources(sources: &[Source]) -> Self {
        let modules: BTreeSet<Path> = sources.iter().map(|s| s.module.clone()).collect();
        let re_exports = sources.iter().map(|s| (s.module.clone(), re_exports(s, &modules))).collect();
        let resolver = Resolver { modules: &modules, re_exports };
        let mut edges = BTreeSet::new();
        for source in sources {
            for path in absolute_paths(&source.code, &source.module) {
                let named = resolver.module(&source.module, path);
                if named != source.module {
                    edges.insert((source.module.clone(), named));
                }
            }
        }
        Self { modules, edges }
    }

    /// Pairs of a file's module and a top-level module other than its own that it names.
    pub fn across(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.edges.iter().filter_map(|(from, to)| {
            let (own, used) = (from.first()?, to.first()?);
            (own != used).then_some((from, used.as_str()))
        })
    }

    /// Every module that has children.
    pub fn folders(&self) -> BTreeSet<Path> {
        self.modules.iter().filter_map(|m| m.split_last().map(|(_, parent)| parent.to_vec())).collect()
    }

    /// The modules of a folder and which uses which.
    pub fn siblings(&self, folder: &[String]) -> DiGraph<String, ()> {
        let below = |path: &Path| -> Option<String> {
            (path.len() > folder.len() && path.starts_with(folder)).then(|| path[folder.len()].clone())
        };
        let mut graph = DiGraph::new();
        let names: BTreeSet<String> = self.modules.iter().filter_map(below).collect();
        let nodes: BTreeMap<String, _> = names.into_iter().map(|name| (name.clone(), graph.add_node(name))).collect();
        for (from, to) in &self.edges {
            if let (Some(from), Some(to)) = (below(from), below(to))
                && from != to
            {
                graph.update_edge(nodes[&from], nodes[&to], ());
            }
        }
        graph
    }

    /// The import cycles of a folder: sets of modules that all reach one another.
    pub fn cycles(&self, folder: &[String]) -> Vec<Vec<String>> {
        let graph = self.siblings(folder);
        let mut cycles: Vec<Vec<String>> = tarjan_scc(&graph)
            .into_iter()
            .filter(|component| component.len() > 1)
            .map(|component| component.into_iter().map(|node| graph[node].clone()).collect())
            .collect();
        cycles.iter_mut().for_each(|cycle| cycle.sort());
        cycles
    }
}

struct Resolver<'a> {
    modules: &'a BTreeSet<Path>,
    /// The re-exports of each module: the public name and the path of the definition.
    re_exports: BTreeMap<Path, BTreeMap<String, Path>>,
}

impl Resolver<'_> {
    /// The module that `path`, written in `from`, names; re-exports of the ancestors of `from` are followed.
    fn module(&self, from: &[String], path: Path) -> Path {
        let mut path = path;
        // a re-export may lead to another one; the limit avoids an endless loop
        for _ in 0..8 {
            let length = (0..=path.len()).rev().find(|n| self.modules.contains(&path[..*n])).unwrap_or(0);
            let (module, rest) = path.split_at(length);
            let target = rest.first().and_then(|item| self.re_exports.get(module)?.get(item));
            match target {
                Some(target) if from.starts_with(module) => path = target.clone(),
                _ => return module.to_vec(),
            }
        }
        path
    }
}

/// The `pub use` of a module: the name offered, and the absolute path of what it stands for.
fn re_exports(source: &Source, modules: &BTreeSet<Path>) -> BTreeMap<String, Path> {
    let mut found = BTreeMap::new();
    for (at, _) in source.code.match_indices("use ") {
        let line = source.code[..at].rsplit('\n').next().unwrap_or_default().trim();
        if !line.starts_with("pub") {
            continue;
        }
        for path in paths(&source.code[at + "use ".len()..]) {
            let Some(first) = path.first() else { continue };
            let mut child = source.module.clone();
            child.push(first.clone());
            let absolute = match first.as_str() {
                "crate" | "self" | "super" => resolve_prefix(&path, &source.module),
                _ if modules.contains(&child) => source.module.iter().cloned().chain(path.clone()).collect(),
                _ => continue,
            };
            if let Some(name) = absolute.last() {
                found.insert(name.clone(), absolute.clone());
            }
        }
    }
    found
}

/// Every path in `code` that begins at the crate, at the module itself or above it, made absolute.
fn absolute_paths(code: &str, module: &[String]) -> Vec<Path> {
    let mut found = vec![];
    for start in ["crate::", "self::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_none_or(|c| !(c.is_alphanumeric() || c == '_' || c == ':')) {
                found.extend(paths(&code[at..]).iter().map(|path| resolve_prefix(path, module)));
            }
        }
    }
    found
}

/// Replaces `crate`, `self` and `super` at the beginning of a path.
fn resolve_prefix(path: &[String], module: &[String]) -> Path {
    let mut absolute = module.to_vec();
    for segment in path {
        match segment.as_str() {
            "crate" => absolute.truncate(usize::from(module.first().is_some_and(|top| top == "kernels"))),
            "self" => {}
            "super" => drop(absolute.pop()),
            name => absolute.push(name.to_owned()),
        }
    }
    absolute
}

/// The paths of the `use` tree or single path with which `text` begins: `a::{b, c::D}` is `a::b`, `a::c::D`.
fn paths(text: &str) -> Vec<Path> {
    let mut prefix = vec![];
    let mut rest = text.trim_start();
    loop {
        if let Some(group) = rest.strip_prefix('{') {
            let with_prefix = |path: Path| prefix.iter().cloned().chain(path).collect();
            return items(group).iter().flat_map(|item| paths(item)).map(with_prefix).collect();
        }
        let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        rest = &rest[word.len()..];
        if !word.is_empty() {
            prefix.push(word);
        }
        match rest.strip_prefix("::") {
            Some(after) => rest = after,
            None => return vec![prefix],
        }
    }
}

/// The items of a `{..}` group, split at its own commas only. `group` begins after the brace.
fn items(group: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0;
    for c in group.chars() {
        match c {
            '}' if depth == 0 => break,
            ',' if depth == 0 => items.push(String::new()),
            _ => {
                depth += i32::from(c == '{') - i32::from(c == '}');
                items.last_mut().unwrap().push(c);
            }
        }
    }
    items.retain(|item| !item.trim().is_empty());
    items
}

#[test]
fn no_modules_import_each_other() {
    let imports = Imports::of_crate();
    let mut found = vec![];
    for folder in imports.folders() {
        for cycle in imports.cycles(&folder) {
            found.push(format!("in `{}`: {}", folder.join("::"), cycle.join(", ")));
        }
    }
    found.sort();
    assert!(found.is_empty(), "modules that import each other: {found:#?}");
}

/// A crate of these files; each is (module, code).
#[cfg(test)]
fn crate_of(files: &[(&str, &str)]) -> Imports {
    let source = |(module, code): &(&str, &str)| Source {
        module: module.split("::").filter(|s| !s.is_empty()).map(str::to_owned).collect(),
        file: Default::default(),
        code: (*code).to_owned(),
    };
    Imports::from_sources(&files.iter().map(source).collect::<Vec<_>>())
}

fn path(text: &str) -> Path {
    text.split("::").map(str::to_owned).collect()
}

#[test]
fn groups_and_single_paths_are_read() {
    let code = "use crate::{\n    config::{Config, Knob},\n    nn,\n    telemetry::{self, Event},\n};\nlet x = crate::models::Spec;";
    let found = absolute_paths(code, &path("a"));
    let found: Vec<String> = found.iter().map(|p| p.join("::")).collect();
    assert_eq!(found, ["config::Config", "config::Knob", "nn", "telemetry", "telemetry::Event", "models::Spec"]);
}

#[test]
fn super_and_self_paths_are_resolved() {
    let code = "use super::{x::Y, w};\nself::inner::f();\nsuper::super::b::g();";
    let mut found: Vec<String> = absolute_paths(code, &path("a::c")).iter().map(|p| p.join("::")).collect();
    found.sort();
    assert_eq!(found, ["a::c::inner::f", "a::w", "a::x::Y", "b::g"]);
}

#[test]
fn a_circle_through_super_paths_is_found() {
    let imports = crate_of(&[
        ("a", ""),
        ("a::x", "use super::y::Y;"),
        ("a::y", "use crate::a::z;"),
        ("a::z", "fn f() { super::x::g() }"),
        ("a::alone", "use super::x;"),
    ]);
    assert_eq!(imports.cycles(&path("a")), [["x", "y", "z"]]);
}

#[test]
fn a_circle_behind_a_re_export_is_found() {
    let files = [("a", "mod x;\nmod y;\npub use y::Y;\npub struct Own;"), ("a::y", "use super::x::X;")];
    let hidden = crate_of(&[files[0], files[1], ("a::x", "use super::Y;")]);
    assert_eq!(hidden.cycles(&path("a")), [["x", "y"]]);
    let own = crate_of(&[files[0], files[1], ("a::x", "use super::Own;")]);
    assert!(own.cycles(&path("a")).is_empty(), "what a parent defines itself is not an import of a sibling");
}

#[test]
fn a_super_path_out_of_a_folder_is_an_import() {
    let imports = crate_of(&[("a", ""), ("a::x", "use super::super::b::B;"), ("b", "")]);
    assert_eq!(imports.across().collect::<Vec<_>>(), [(&path("a::x"), "b")]);
}
