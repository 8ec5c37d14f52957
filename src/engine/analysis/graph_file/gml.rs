//! GML (Himsolt, Graph Modelling Language): keys with integers, reals, strings in quotes and lists in brackets, as
//! networkx, igraph, Gephi and Newman's network data write it. Values within a list of a node or an edge are named
//! `list.key`; `graphics.x` and `graphics.y` are its position.

use std::{collections::HashSet, fmt::Write as _};

use super::{
    AttributeValue, Edges, FileNode, GraphFile, GraphFileError, NamedValue, Nodes, PendingEdge, add_value, short, take,
    value,
};

/// The limit of lists within lists.
const MAX_DEPTH: usize = 64;

pub fn write(graph: &GraphFile) -> String {
    let mut out = String::from("graph [\n");
    let _ = writeln!(out, "  directed {}", u8::from(graph.directed));
    if graph.is_multigraph() {
        out.push_str("  multigraph 1\n");
    }
    if !graph.title.is_empty() {
        write_value(&mut out, 2, "comment", &AttributeValue::Text(graph.title.clone()));
    }
    write_values(&mut out, 2, &graph.values, &["directed", "multigraph", "comment", "node", "edge"]);
    // GML's ids are integers: others become labels
    let are_numbers = graph.nodes.iter().all(|n| n.id.parse::<i32>().is_ok_and(|id| id.to_string() == n.id));
    for (i, node) in graph.nodes.iter().enumerate() {
        out.push_str("  node [\n");
        let (id, label) = if are_numbers { (node.id.clone(), node.name()) } else { (i.to_string(), node.id.as_str()) };
        let _ = writeln!(out, "    id {id}");
        write_value(&mut out, 4, "label", &AttributeValue::Text(label.to_owned()));
        if let Some(label) = node.label.as_ref().filter(|_| !are_numbers) {
            write_value(&mut out, 4, "title", &AttributeValue::Text(label.clone()));
        }
        node.known_values().into_iter().for_each(|(key, v)| write_value(&mut out, 4, key, &AttributeValue::Float(v)));
        write_values(&mut out, 4, &node.values, &["id", "label"]);
        out.push_str("  ]\n");
    }
    let id = |i: usize| graph.nodes.get(i).filter(|_| are_numbers).map_or_else(|| i.to_string(), |n| n.id.clone());
    for edge in &graph.edges {
        let _ = write!(out, "  edge [\n    source {}\n    target {}\n", id(edge.from), id(edge.to));
        if !edge.is_unweighted {
            write_value(&mut out, 4, "weight", &AttributeValue::Float(edge.weight));
        }
        write_values(&mut out, 4, &edge.values, &["source", "target", "weight"]);
        out.push_str("  ]\n");
    }
    out.push_str("]\n");
    out
}

/// Writes all values except those that are named in `meant`, which are written elsewhere.
fn write_values(out: &mut String, indent: usize, values: &[NamedValue], meant: &[&str]) {
    for (name, value) in values.iter().filter(|(name, _)| !meant.contains(&name.as_str())) {
        write_value(out, indent, name, value);
    }
}

fn write_value(out: &mut String, indent: usize, name: &str, value: &AttributeValue) {
    // keys are letters and digits
    let mut key: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if !key.starts_with(|c: char| c.is_ascii_alphabetic()) {
        key.insert(0, 'k');
    }
    let _ = write!(out, "{:indent$}{key} ", "");
    let _ = match value {
        AttributeValue::Integer(v) => writeln!(out, "{v}"),
        AttributeValue::Boolean(v) => writeln!(out, "{}", u8::from(*v)),
        AttributeValue::Float(v) => writeln!(out, "{}", real(*v)),
        AttributeValue::Text(text) | AttributeValue::Json(text) => writeln!(out, "\"{}\"", escaped(text)),
    };
}

/// Writes the number with a point, without which it would be an integer.
fn real(v: f64) -> String {
    let digits = format!("{v:?}");
    match digits.split_once('e') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
        _ => digits,
    }
}

/// Keeps printable ASCII; other characters become character references.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' '..='~' if !matches!(c, '&' | '"') => out.push(c),
            c => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
        }
    }
    out
}

pub fn read(text: &str) -> Result<GraphFile, GraphFileError> {
    let mut tokens = Tokens { text, at: 0, line: 1 };
    let mut graph = None;
    while let Some(token) = tokens.next()? {
        let Token::Key(key) = token else { return Err(tokens.error("a key should stand here, such as `graph [`")) };
        match tokens.value()? {
            Token::Open if key == "graph" && graph.is_none() => graph = Some(read_graph(&mut tokens)?),
            Token::Open => skip_list(&mut tokens)?,
            _ => {}
        }
    }
    graph.ok_or_else(|| GraphFileError::new(1, "there is no `graph [`; is this a GML file?"))
}

fn read_graph(tokens: &mut Tokens<'_>) -> Result<GraphFile, GraphFileError> {
    let (mut graph, mut nodes, mut edges) = (GraphFile::default(), Nodes::default(), Edges::default());
    while let Some(key) = tokens.key()? {
        match (key.as_str(), tokens.value()?) {
            ("node", Token::Open) => {
                let (node, line) = read_node(tokens)?;
                nodes.add(node, line)?;
            }
            ("edge", Token::Open) => edges.add(read_edge(tokens)?)?,
            (_, Token::Open) => read_list(tokens, &key, &mut graph.values, 1)?,
            ("directed", Token::Value(v)) => graph.directed = v.number() == Some(1.0),
            ("multigraph", Token::Value(_)) => {}
            ("comment", Token::Value(v)) => graph.title = v.to_string(),
            (_, Token::Value(v)) => add_value(&mut graph.values, &key, v, tokens.line)?,
            (_, Token::Key(_) | Token::Close) => return Err(tokens.missing_value_error(&key)),
        }
    }
    let mut graph = edges.finish(graph, nodes)?;
    name_by_labels(&mut graph);
    Ok(graph)
}

/// If all labels differ, they become the ids of the nodes, as in networkx, because the ids of GML are mere numbers.
fn name_by_labels(graph: &mut GraphFile) {
    let distinct: HashSet<&str> = graph.nodes.iter().map(FileNode::name).collect();
    if distinct.len() == graph.nodes.len() {
        graph.nodes.iter_mut().for_each(|node| node.id = node.label.take().unwrap_or(std::mem::take(&mut node.id)));
    }
}

/// The values of one list, under `prefix.` where there is a prefix, until it closes.
fn read_list(
    tokens: &mut Tokens<'_>,
    prefix: &str,
    into: &mut Vec<NamedValue>,
    depth: usize,
) -> Result<(), GraphFileError> {
    ensure!(
        depth <= MAX_DEPTH,
        tokens.error(format!("lists are nested more than {MAX_DEPTH} deep; this is not a graph"))
    );
    while let Some(key) = tokens.key()? {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        let fits = name.len() <= super::MAX_NAME;
        ensure!(fits, tokens.error(format!("`{}` is too long a name; shorten it", short(&name))));
        match tokens.value()? {
            Token::Open => read_list(tokens, &name, into, depth + 1)?,
            Token::Value(v) => add_value(into, &name, v, tokens.line)?,
            Token::Key(_) | Token::Close => return Err(tokens.missing_value_error(&key)),
        }
    }
    Ok(())
}

fn read_node(tokens: &mut Tokens<'_>) -> Result<(FileNode, usize), GraphFileError> {
    let (line, mut values) = (tokens.line, vec![]);
    read_list(tokens, "", &mut values, 1)?;
    let id = take(&mut values, "id");
    let Some(id) = id.map(|id| id.to_string()) else {
        return Err(GraphFileError::new(line, "a node has no `id`; every one needs it"));
    };
    let label = take(&mut values, "label").map(|label| label.to_string()).filter(|label| *label != id);
    let node = FileNode { id, label, ..FileNode::default() }.with_values(values);
    let graphics = |name: &str| value(&node.values, name).filter(|v| v.is_number()).and_then(AttributeValue::number);
    // the y axis of a screen points downwards
    let drawn = graphics("graphics.x").zip(graphics("graphics.y")).map(|(x, y)| [x, -y]);
    let place = node.position.or(drawn);
    Ok((FileNode { position: place, ..node }, line))
}

fn read_edge(tokens: &mut Tokens<'_>) -> Result<PendingEdge, GraphFileError> {
    let (line, mut values) = (tokens.line, vec![]);
    read_list(tokens, "", &mut values, 1)?;
    let mut end = |name: &str| {
        let id = take(&mut values, name).map(|id| id.to_string());
        id.ok_or_else(|| GraphFileError::new(line, format!("an edge has no `{name}`; every one needs it")))
    };
    let ends = [end("source")?, end("target")?];
    let is_number = value(&values, "weight").is_some_and(|v| v.is_number());
    let weight = if is_number { take(&mut values, "weight").and_then(|v| v.number()) } else { None };
    Ok(PendingEdge { ends, weight, values, line })
}

/// Reads past a list that is open.
fn skip_list(tokens: &mut Tokens<'_>) -> Result<(), GraphFileError> {
    let mut depth = 1;
    while depth > 0 {
        match tokens.next()? {
            Some(Token::Open) => depth += 1,
            Some(Token::Close) => depth -= 1,
            Some(_) => {}
            None => return Err(tokens.unexpected_end()),
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq)]
enum Token {
    Key(String),
    Value(AttributeValue),
    Open,
    Close,
}

/// The tokens of the file, in order.
struct Tokens<'a> {
    text: &'a str,
    at: usize,
    /// The line number, from 1.
    line: usize,
}

impl Tokens<'_> {
    fn error(&self, message: impl Into<String>) -> GraphFileError {
        GraphFileError::new(self.line, message)
    }

    fn unexpected_end(&self) -> GraphFileError {
        self.error("the file ends in the middle of a list; it may be cut off")
    }

    fn missing_value_error(&self, key: &str) -> GraphFileError {
        self.error(format!("`{}` has no value; write a number, a string in quotes or a list in brackets", short(key)))
    }

    /// The next key of a list; `None` at its end.
    fn key(&mut self) -> Result<Option<String>, GraphFileError> {
        match self.next()? {
            Some(Token::Key(key)) => Ok(Some(key)),
            Some(Token::Close) => Ok(None),
            Some(Token::Open | Token::Value(_)) => Err(self.error("a key should stand here, or `]`")),
            None => Err(self.unexpected_end()),
        }
    }

    /// The value that follows a key.
    fn value(&mut self) -> Result<Token, GraphFileError> {
        self.next()?.ok_or_else(|| self.unexpected_end())
    }

    fn next(&mut self) -> Result<Option<Token>, GraphFileError> {
        loop {
            let rest = &self.text[self.at..];
            let Some(first) = rest.chars().next() else { return Ok(None) };
            match first {
                '#' => self.at += rest.find('\n').unwrap_or(rest.len()),
                '"' => return self.quoted().map(Some),
                '[' | ']' => {
                    self.at += 1;
                    return Ok(Some(if first == '[' { Token::Open } else { Token::Close }));
                }
                c if c.is_whitespace() => {
                    self.line += usize::from(c == '\n');
                    self.at += c.len_utf8();
                }
                _ => return self.word().map(Some),
            }
        }
    }

    /// A key or a number.
    fn word(&mut self) -> Result<Token, GraphFileError> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '[' | ']' | '"' | '#')).unwrap_or(rest.len());
        let word = &rest[..end];
        self.at += end;
        if word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            let fits = word.len() <= super::MAX_NAME;
            ensure!(fits, self.error(format!("`{}` is too long a key; shorten it", short(word))));
            return Ok(Token::Key(word.to_owned()));
        }
        match AttributeValue::infer(word) {
            AttributeValue::Text(_) => {
                let message = format!("`{}` is neither a key nor a number; write strings in quotes", short(word));
                Err(self.error(message))
            }
            number => Ok(Token::Value(number)),
        }
    }

    fn quoted(&mut self) -> Result<Token, GraphFileError> {
        let rest = &self.text[self.at + 1..];
        let Some(end) = rest.find('"') else {
            return Err(self.error("a quote that begins here never ends; close it or remove it"));
        };
        let raw = &rest[..end];
        self.at += end + 2;
        self.line += raw.matches('\n').count();
        // an `&` that does not begin a character reference stands for itself
        let text = quick_xml::escape::unescape(raw).map_or_else(|_| raw.to_owned(), |text| text.into_owned());
        Ok(Token::Value(AttributeValue::Text(text)))
    }
}
