//! A table of edges: a line each, source, target and, if there is one, weight; with or without a
//! header; comma, semicolon or tab. Reading needs more than the csv crate tells: which fields were quoted (a
//! quoted `#` or header is a name), and where a quote began that never ends.

use csv::{QuoteStyle, WriterBuilder};

use super::{FileEdge, FileNode, GraphFile, GraphFileError, MOST_EDGES, Nodes, number, short};

/// Columns of a line.
const MOST_COLUMNS: usize = 1024;

pub fn write(graph: &GraphFile) -> String {
    let id = |i: usize| graph.nodes.get(i).map_or("", |n| n.id.as_str());
    // A reader would trim a bare name, or take it for a comment: then every name is quoted.
    let plain = graph.nodes.iter().all(|n| n.id.trim() == n.id && !n.id.contains([';', '\t', '#']));
    let style = if plain { QuoteStyle::Necessary } else { QuoteStyle::NonNumeric };
    let mut rows = WriterBuilder::new().quote_style(style).from_writer(b"source,target,weight\n".to_vec());
    for e in &graph.edges {
        let written = rows.write_record([id(e.from), id(e.to), &e.weight.to_string()]);
        debug_assert!(written.is_ok(), "writing into memory failed: {written:?}");
    }
    String::from_utf8(rows.into_inner().unwrap_or_default()).unwrap_or_default()
}

pub fn read(text: &str) -> Result<GraphFile, GraphFileError> {
    let mut graph = GraphFile { directed: true, ..GraphFile::default() };
    let mut nodes = Nodes::default();
    let first = text.lines().find(|l| !l.trim().is_empty()).unwrap_or_default();
    let separator = [',', ';', '\t'].into_iter().max_by_key(|c| first.matches(*c).count()).unwrap_or(',');
    let (mut columns, mut begun) = ([0usize, 1, 2], false);
    for (line, fields) in (Rows { text, separator, line: 1 }) {
        let fields = fields?;
        let empty = fields.iter().all(|f| f.text.is_empty() && !f.quoted);
        if empty || fields.first().is_some_and(|f| f.text.starts_with('#') && !f.quoted) {
            continue;
        }
        if !std::mem::replace(&mut begun, true)
            && let Some(found) = header(&fields)
        {
            columns = found;
            continue;
        }
        let field = |k: usize| fields.get(columns[k]).map(|f| f.text.as_str());
        let (Some(from), Some(to)) = (field(0), field(1)) else {
            let found = short(&fields.iter().map(|f| f.text.as_str()).collect::<Vec<_>>().join(" "));
            let words = format!("`{found}` names no two nodes; write source, target and perhaps weight on each line");
            return Err(GraphFileError::new(line, words));
        };
        let weight = field(2).filter(|w| !w.trim().is_empty());
        let weight = weight.map_or(Ok(1.0), |w| number(w, "the weight", line))?;
        if graph.edges.len() >= MOST_EDGES {
            return Err(GraphFileError::new(line, format!("more than {MOST_EDGES} edges")));
        }
        let mut ends = [0; 2];
        for (end, id) in ends.iter_mut().zip([from, to]) {
            *end = match nodes.places.get(id) {
                Some(place) => *place,
                None => {
                    let node = FileNode { id: id.to_owned(), label: id.to_owned(), ..FileNode::default() };
                    nodes.add(node, line)?
                }
            };
        }
        graph.edges.push(FileEdge { from: ends[0], to: ends[1], weight });
    }
    graph.nodes = nodes.all;
    Ok(graph)
}

/// Where source, target and weight stand, if this line names them.
fn header(fields: &[Field]) -> Option<[usize; 3]> {
    let names: Vec<String> =
        fields.iter().map(|f| if f.quoted { String::new() } else { f.text.trim().to_lowercase() }).collect();
    let find = |words: &[&str]| names.iter().position(|n| words.contains(&n.as_str()));
    let source = find(&["source", "from"])?;
    let target = find(&["target", "to"])?;
    Some([source, target, find(&["weight"]).unwrap_or(usize::MAX)])
}

struct Field {
    text: String,
    quoted: bool,
}

/// Lines as fields; quotes may hold separators and line breaks.
struct Rows<'a> {
    text: &'a str,
    separator: char,
    line: usize,
}

impl Iterator for Rows<'_> {
    type Item = (usize, Result<Vec<Field>, GraphFileError>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.text.is_empty() {
            return None;
        }
        let began = self.line;
        let mut fields = vec![Field { text: String::new(), quoted: false }];
        let (mut inside, mut end) = (false, self.text.len());
        let mut chars = self.text.char_indices().peekable();
        while let Some((i, c)) = chars.next() {
            self.line += usize::from(c == '\n');
            let fresh = fields.last().is_none_or(|f| f.text.is_empty() && !f.quoted);
            let is_wide = fields.len() > MOST_COLUMNS;
            let Some(field) = fields.last_mut() else { break };
            match c {
                '"' if inside && chars.peek().is_some_and(|(_, n)| *n == '"') => {
                    chars.next();
                    field.text.push('"');
                }
                '"' if inside => inside = false,
                '"' if fresh => (inside, field.quoted) = (true, true),
                '\n' if !inside => {
                    end = i + 1;
                    break;
                }
                '\r' if !inside => {}
                c if c == self.separator && !inside && is_wide => {
                    end = self.text.len();
                    break;
                }
                c if c == self.separator && !inside => fields.push(Field { text: String::new(), quoted: false }),
                c => field.text.push(c),
            }
        }
        self.text = self.text.get(end..).unwrap_or_default();
        if inside {
            let words = "a quote that begins here never ends; close it or remove it";
            return Some((began, Err(GraphFileError::new(began, words))));
        }
        if fields.len() > MOST_COLUMNS {
            let words = format!("a line of more than {MOST_COLUMNS} columns; a table of edges has two or three");
            return Some((began, Err(GraphFileError::new(began, words))));
        }
        for field in fields.iter_mut().filter(|f| !f.quoted) {
            field.text = field.text.trim().to_owned();
        }
        Some((began, Ok(fields)))
    }
}
