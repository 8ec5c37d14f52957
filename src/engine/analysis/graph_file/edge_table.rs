//! A table of edges: a line each, source, target and, if there is one, weight; with or without a
//! header, whose other columns are values of the edges and whose column `type` may say Directed or Undirected, as
//! Gephi writes; comma, semicolon or tab. Reading needs more than the csv crate tells: which fields were quoted (a
//! quoted `#` or header is a name), and where a quote began that never ends.

use std::collections::HashSet;

use csv::{QuoteStyle, WriterBuilder};

use super::{
    AttributeValue, Edges, FileNode, GraphFile, GraphFileError, MAX_NAME, Nodes, PendingEdge, add_value, check_count,
    number, short, value,
};
use crate::config::counted;

/// Columns of a line.
const MAX_COLUMNS: usize = 1024;

pub fn write(graph: &GraphFile) -> String {
    let id = |i: usize| graph.nodes.get(i).map_or("", |n| n.id.as_str());
    let mut seen = HashSet::new();
    let names = graph.edges.iter().flat_map(|e| &e.values).map(|(name, _)| name.as_str());
    let names: Vec<&str> = names.filter(|name| has_own_column(name) && seen.insert(*name)).collect();
    // A reader would trim a bare name, skip a line of empty ones, or take one for a comment: then every name is quoted.
    let is_plain = |text: &str| !text.is_empty() && text.trim() == text && !text.contains([';', '\t', '#']);
    let plain = graph.nodes.iter().all(|n| is_plain(&n.id)) && names.iter().all(|n| is_plain(n));
    let style = if plain { QuoteStyle::Necessary } else { QuoteStyle::NonNumeric };
    let mut rows = WriterBuilder::new().quote_style(style).from_writer(vec![]);
    // the first three are unquoted, since the header could not be recognised otherwise
    let mut out = String::from("source,target,weight");
    if !graph.directed {
        out.push_str(",type");
    }
    names.iter().for_each(|name| out.push_str(&format!(",\"{}\"", name.replace('"', "\"\""))));
    out.push('\n');
    for e in &graph.edges {
        let weight = if e.is_unweighted { String::new() } else { e.weight.to_string() };
        let mut row = vec![id(e.from).to_owned(), id(e.to).to_owned(), weight];
        row.extend((!graph.directed).then(|| "Undirected".to_owned()));
        row.extend(names.iter().map(|name| value(&e.values, name).map_or(String::new(), |v| v.to_string())));
        let written = rows.write_record(&row);
        debug_assert!(written.is_ok(), "writing into memory failed: {written:?}");
    }
    out + &String::from_utf8(rows.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// False for an edge's value that is not written, because a second column of its name would be taken for the first.
fn has_own_column(name: &str) -> bool {
    Column::from_header(name).is_none()
}

/// What a table of edges does not hold of a graph: "2 nodes without edges", "positions of nodes", "`age` of nodes".
pub fn left_out(graph: &GraphFile) -> Vec<String> {
    let nodes = &graph.nodes;
    let isolated = nodes.len().saturating_sub(graph.linked_nodes());
    let mut seen = HashSet::new();
    let of_nodes = nodes.iter().flat_map(|n| &n.values).map(|(name, _)| (name, "nodes"));
    let of_edges = graph.edges.iter().flat_map(|e| &e.values).map(|(name, _)| (name, "edges"));
    let of_edges = of_edges.filter(|(name, _)| !has_own_column(name));
    let of_graph = graph.values.iter().map(|(name, _)| (name, "the graph"));
    let named = of_nodes.chain(of_edges).chain(of_graph).filter(|value| seen.insert(*value));
    let named = named.map(|(name, owner)| format!("`{}` of {owner}", short(name)));
    let parts = [
        (isolated > 0, format!("{} without edges", counted(isolated, "node"))),
        (nodes.iter().any(|n| n.name() != n.id), "labels of nodes".to_owned()),
        (nodes.iter().any(|n| n.position.is_some()), "positions of nodes".to_owned()),
        (nodes.iter().any(|n| n.colour.is_some()), "colours of nodes".to_owned()),
        (nodes.iter().any(|n| n.size.is_some()), "sizes of nodes".to_owned()),
        (!graph.title.is_empty(), "the title".to_owned()),
    ];
    let parts = parts.into_iter().filter(|(is_lost, _)| *is_lost).map(|(_, part)| part);
    parts.chain(named).collect()
}

/// The meaning of a column, as the header names it.
#[derive(Debug, Clone, PartialEq)]
enum Column {
    Source,
    Target,
    Weight,
    /// The column that holds Directed or Undirected.
    Direction,
    Value(String),
}

impl Column {
    /// The column of a header that has a meaning in edge tables.
    fn from_header(name: &str) -> Option<Self> {
        Some(match name.trim().to_lowercase().as_str() {
            "source" | "from" => Self::Source,
            "target" | "to" => Self::Target,
            "weight" => Self::Weight,
            "type" => Self::Direction,
            _ => return None,
        })
    }
}

pub fn read(text: &str) -> Result<GraphFile, GraphFileError> {
    let mut graph = GraphFile { directed: true, ..GraphFile::default() };
    let (mut nodes, mut kind) = (Nodes::default(), Edges::default());
    let first = text.lines().find(|l| !l.trim().is_empty()).unwrap_or_default();
    // a separator in a quoted name is part of it; a quote inside a bare name opens none
    let anywhere = |c: char| first.matches(c).count();
    let outside_quotes = |c: char| first.split('"').step_by(2).map(|part| part.matches(c).count()).sum::<usize>();
    let separators = [',', ';', '\t'].into_iter();
    let separator = separators.max_by_key(|c| (outside_quotes(*c), anywhere(*c))).unwrap_or(',');
    let (mut columns, mut begun) = (vec![Column::Source, Column::Target, Column::Weight], false);
    // a first line of words, until a later line has one too: with numbers alone below, these are names of columns
    let mut unknown_header = None;
    for (line, fields) in (FieldRows { text, separator, line: 1 }) {
        let fields = fields?;
        let empty = fields.iter().all(|f| f.text.is_empty() && !f.quoted);
        if empty || fields.first().is_some_and(|f| f.text.starts_with('#') && !f.quoted) {
            continue;
        }
        let is_word = |f: &Field| f.quoted || !f.text.is_empty() && f.text.trim().parse::<f64>().is_err();
        if std::mem::replace(&mut begun, true) {
            unknown_header = unknown_header.filter(|_| !fields.iter().any(is_word));
        } else if let Some(found) = header(&fields, line)? {
            columns = found;
            continue;
        } else if fields.iter().all(|field| is_word(field) && !field.quoted) {
            unknown_header = Some(line);
        }
        let (edge, directed) = edge(&fields, &columns, line)?;
        kind.set_directed(directed.unwrap_or(graph.directed), line)?;
        check_count(graph.edges.len(), line)?;
        // every line brings its nodes, so that nothing waits for them
        for id in &edge.ends {
            if !nodes.index_by_id.contains_key(id.as_str()) {
                nodes.add(FileNode { id: id.clone(), ..FileNode::default() }, line)?;
            }
        }
        graph.edges.push(edge.resolve(&nodes)?);
    }
    if let Some(line) = unknown_header.filter(|_| graph.edges.len() > 1) {
        let message = "only this line has words, so that they are names of columns: call those of the nodes `source` and \
                       `target`, or put the words in quotes if they are nodes";
        return Err(GraphFileError::new(line, message));
    }
    graph.directed = kind.directed.unwrap_or(graph.directed);
    graph.nodes = nodes.all;
    Ok(graph)
}

/// Reads an edge, with its direction if it has one.
fn edge(fields: &[Field], columns: &[Column], line: usize) -> Result<(PendingEdge, Option<bool>), GraphFileError> {
    let (mut from, mut to, mut weight, mut values, mut directed) = (None, None, None, vec![], None);
    for (field, column) in fields.iter().zip(columns) {
        let is_given = field.quoted || !field.text.trim().is_empty();
        match column {
            Column::Source if is_given => from = Some(field.text.clone()),
            Column::Target if is_given => to = Some(field.text.clone()),
            Column::Weight if !field.text.trim().is_empty() => weight = Some(number(&field.text, "the weight", line)?),
            Column::Direction if is_given => {
                directed = Some(match field.text.trim().to_lowercase().as_str() {
                    "directed" => true,
                    "undirected" => false,
                    _ => {
                        let message = format!("the type `{}` should be Directed or Undirected", short(&field.text));
                        return Err(GraphFileError::new(line, message));
                    }
                });
            }
            Column::Value(name) if is_given => {
                let value = match field.quoted {
                    true => AttributeValue::Text(field.text.clone()),
                    false => AttributeValue::infer(&field.text),
                };
                add_value(&mut values, name, value, line)?;
            }
            _ => {}
        }
    }
    let (Some(from), Some(to)) = (from, to) else {
        let found = short(&fields.iter().map(|f| f.text.as_str()).collect::<Vec<_>>().join(" "));
        let message =
            format!("`{found}` does not name two nodes; write source, target and perhaps weight on each line");
        return Err(GraphFileError::new(line, message));
    };
    Ok((PendingEdge { ends: [from, to], weight, values, line }, directed))
}

/// The meaning of each column, if this line names source and target. The first of two columns with one meaning has it.
fn header(fields: &[Field], line: usize) -> Result<Option<Vec<Column>>, GraphFileError> {
    let mut columns: Vec<Column> = vec![];
    for field in fields {
        let known = Column::from_header(&field.text).filter(|column| !field.quoted && !columns.contains(column));
        if field.text.len() > MAX_NAME {
            // the file has no header, or one that cannot be displayed
            return Ok(None);
        }
        columns.push(known.unwrap_or_else(|| Column::Value(field.text.clone())));
    }
    if !(columns.contains(&Column::Source) && columns.contains(&Column::Target)) {
        return Ok(None);
    }
    let mut seen = HashSet::new();
    for column in &columns {
        if let Column::Value(name) = column
            && !seen.insert(name)
        {
            let message = format!("two columns are called `{}`; give each its own name", short(name));
            return Err(GraphFileError::new(line, message));
        }
    }
    Ok(Some(columns))
}

struct Field {
    text: String,
    quoted: bool,
}

/// Lines as fields; quotes may hold separators and line breaks.
struct FieldRows<'a> {
    text: &'a str,
    separator: char,
    line: usize,
}

impl Iterator for FieldRows<'_> {
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
            let is_wide = fields.len() > MAX_COLUMNS;
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
            let message = "a quote that begins here never ends; close it or remove it";
            return Some((began, Err(GraphFileError::new(began, message))));
        }
        if fields.len() > MAX_COLUMNS {
            let message = format!("a line of more than {MAX_COLUMNS} columns; a table of edges has two or three");
            return Some((began, Err(GraphFileError::new(began, message))));
        }
        fields.iter_mut().filter(|f| !f.quoted).for_each(|field| field.text = field.text.trim().to_owned());
        Some((began, Ok(fields)))
    }
}
