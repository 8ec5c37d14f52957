//! Elements of an XML file one after another, read with the line they stand on, or written.
//! Entities other than XML's own five are refused, not expanded.

use quick_xml::{
    Reader, Writer,
    events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event},
};

use super::GraphFileError;

/// The next part of a file.
#[derive(Debug, Clone, PartialEq)]
pub enum XmlPart {
    /// Its name without prefix, and its attributes, also without prefix.
    Open(String, Vec<(String, String)>),
    Close(String),
    Text(String),
}

const MAX_DEPTH: usize = 64;
const MAX_ATTRIBUTES: usize = 256;

pub struct Xml<'a> {
    text: &'a str,
    reader: Reader<&'a [u8]>,
    /// An element without content was opened and is to be closed.
    closing: Option<String>,
    depth: usize,
    /// The byte up to which lines were counted, and their number.
    counted: (usize, usize),
}

impl<'a> Xml<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, reader: Reader::from_str(text), closing: None, depth: 0, counted: (0, 1) }
    }

    /// The line of the last part that was read.
    pub fn line(&mut self) -> usize {
        let at = (self.reader.buffer_position() as usize).min(self.text.len());
        let (from, lines) = self.counted;
        let more = self.text.as_bytes().get(from..at).map_or(0, |b| b.iter().filter(|c| **c == b'\n').count());
        self.counted = (at.max(from), lines + more);
        self.counted.1
    }

    fn error(&mut self, message: impl Into<String>) -> GraphFileError {
        GraphFileError::new(self.line(), message)
    }

    /// The next piece; `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<XmlPart>, GraphFileError> {
        if let Some(name) = self.closing.take() {
            return Ok(Some(XmlPart::Close(name)));
        }
        loop {
            let event = self.reader.read_event();
            return match event {
                Err(e) => Err(self.error(format!("this is not well-formed XML ({e}); the file may be cut off"))),
                Ok(Event::Start(e)) => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Err(
                            self.error(format!("elements are nested more than {MAX_DEPTH} deep; this is not a graph"))
                        );
                    }
                    self.opened(&e).map(Some)
                }
                Ok(Event::Empty(e)) => {
                    let piece = self.opened(&e)?;
                    if let XmlPart::Open(name, _) = &piece {
                        self.closing = Some(name.clone());
                    }
                    Ok(Some(piece))
                }
                Ok(Event::End(e)) => {
                    self.depth = self.depth.saturating_sub(1);
                    Ok(Some(XmlPart::Close(local_name(e.name().as_ref()))))
                }
                Ok(Event::Text(e)) => match e.decode() {
                    Ok(text) => Ok(Some(XmlPart::Text(text.into_owned()))),
                    Err(e) => Err(self.error(format!("this text cannot be read ({e}); save the file as UTF-8"))),
                },
                Ok(Event::CData(e)) => Ok(Some(XmlPart::Text(String::from_utf8_lossy(&e).into_owned()))),
                Ok(Event::GeneralRef(e)) => {
                    let name = String::from_utf8_lossy(&e).into_owned();
                    match quick_xml::escape::unescape(&format!("&{name};")) {
                        Ok(text) => Ok(Some(XmlPart::Text(text.into_owned()))),
                        Err(_) => {
                            Err(self.error(format!("`&{name};` is not defined here; write the character itself")))
                        }
                    }
                }
                Ok(Event::Eof) if self.depth > 0 => Err(self.error("the file ends in the middle; it may be cut off")),
                Ok(Event::Eof) => Ok(None),
                Ok(_) => continue,
            };
        }
    }

    fn opened(&mut self, e: &BytesStart<'_>) -> Result<XmlPart, GraphFileError> {
        let mut attributes = vec![];
        for attribute in e.attributes() {
            if attributes.len() >= MAX_ATTRIBUTES {
                return Err(
                    self.error(format!("an element has more than {MAX_ATTRIBUTES} attributes; this is not a graph"))
                );
            }
            let attribute = attribute
                .map_err(|e| self.error(format!("an attribute cannot be read ({e}); write name=\"value\"")))?;
            let raw = String::from_utf8_lossy(&attribute.value).into_owned();
            let value = quick_xml::escape::unescape(&raw)
                .map_err(|e| self.error(format!("an attribute's value cannot be read ({e}); write & as &amp;")))?;
            attributes.push((local_name(attribute.key.as_ref()), value.into_owned()));
        }
        Ok(XmlPart::Open(local_name(e.name().as_ref()), attributes))
    }
}

/// A name without its prefix.
fn local_name(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    name.rsplit(':').next().unwrap_or_default().to_owned()
}

pub fn attribute<'a>(attributes: &'a [(String, String)], name: &str) -> Option<&'a str> {
    attributes.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
}

/// The value of an attribute, or an error if it is missing. `whose` names the element in the error, such as "an edge".
pub fn needed<'a>(
    attributes: &'a [(String, String)],
    name: &str,
    whose: impl std::fmt::Display,
    line: usize,
) -> Result<&'a str, GraphFileError> {
    attribute(attributes, name)
        .ok_or_else(|| GraphFileError::new(line, format!("{whose} has no `{name}`; every one needs it")))
}

/// An XML file being written into memory, an element a line, which does not fail.
pub struct XmlWriter {
    inner: Writer<Vec<u8>>,
}

impl XmlWriter {
    /// A writer that begins with the declaration of XML in UTF-8.
    pub fn new() -> Self {
        let mut writer = Self { inner: Writer::new_with_indent(vec![], b' ', 2) };
        writer.event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)));
        writer
    }

    pub fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.event(Event::Start(element(name, attributes)));
    }

    pub fn close(&mut self, name: &str) {
        self.event(Event::End(BytesEnd::new(name)));
    }

    /// An element without content.
    pub fn empty(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.event(Event::Empty(element(name, attributes)));
    }

    /// Writes an element with this text as its content.
    pub fn text_element(&mut self, name: &str, attributes: &[(&str, &str)], text: &str) {
        self.open(name, attributes);
        self.event(Event::Text(BytesText::from_escaped(escaped(text))));
        self.close(name);
    }

    pub fn finish(self) -> String {
        let mut bytes = self.inner.into_inner();
        bytes.push(b'\n');
        String::from_utf8(bytes).unwrap_or_default()
    }

    fn event(&mut self, event: Event<'_>) {
        let written = self.inner.write_event(event);
        debug_assert!(written.is_ok(), "writing into memory failed: {written:?}");
    }
}

fn element<'a>(name: &'a str, attributes: &[(&str, &str)]) -> BytesStart<'a> {
    let mut element = BytesStart::new(name);
    attributes.iter().for_each(|(key, value)| element.push_attribute((key.as_bytes(), escaped(value).as_bytes())));
    element
}

/// The text without the characters that XML cannot hold.
pub fn valid_text(text: &str) -> String {
    text.chars().filter(is_valid_char).collect()
}

fn is_valid_char(c: &char) -> bool {
    *c >= ' ' && *c != '\u{fffe}' && *c != '\u{ffff}' || matches!(c, '\t' | '\n' | '\r')
}

/// Text as it is in an element or in quotes. Unlike quick_xml's own form it leaves out what XML has no way to say, and
/// keeps tabs and line breaks in attributes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter(is_valid_char) {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            // A reader would turn them into spaces otherwise.
            '\t' => out.push_str("&#9;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            c => out.push(c),
        }
    }
    out
}
