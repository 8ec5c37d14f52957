//! Reads a Python pickle as plain data. Calls are recorded, never made. Objects lie in one list and
//! know each other by index, so that a small pickle cannot grow into a large one.

use std::collections::HashMap;

/// One object.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the docs of the variants name their fields")]
pub enum Node<'a> {
    /// Python's None.
    None,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(&'a str),
    /// A tuple of nodes.
    Tuple(Vec<usize>),
    /// A list of nodes.
    List(Vec<usize>),
    /// Pairs of key and value nodes.
    Dict(Vec<(usize, usize)>),
    /// A class or function, by its module and name.
    Class(&'a str, &'a str),
    /// The object that a call of a class or function would have made, the state it would have been given, if one is set, and
    /// pairs of key and value set on it; all of them nodes.
    Made { class: usize, arguments: usize, state: Option<usize>, pairs: Vec<(usize, usize)> },
    /// A persistent id, which refers to data stored outside of the pickle.
    Persistent(usize),
    /// Bytes, large numbers, sets.
    Other,
}

/// A parsed pickle: nodes that name each other by index.
#[derive(Debug)]
pub struct Pickle<'a> {
    nodes: Vec<Node<'a>>,
    /// The node of the pickled object.
    pub top: usize,
}

impl<'a> Pickle<'a> {
    /// The node of this index.
    pub fn get(&self, i: usize) -> &Node<'a> {
        self.nodes.get(i).unwrap_or(&Node::None)
    }

    /// Module and name of a class, if the node is one.
    pub fn class(&self, i: usize) -> Option<(&'a str, &'a str)> {
        match self.get(i) {
            Node::Class(module, name) => Some((module, name)),
            _ => None,
        }
    }

    /// The nodes of a list or tuple.
    pub fn items(&self, i: usize) -> Option<&[usize]> {
        match self.get(i) {
            Node::Tuple(items) | Node::List(items) => Some(items),
            _ => None,
        }
    }

    /// The node at place `at` of a list or tuple.
    pub fn item(&self, i: usize, at: usize) -> Option<usize> {
        self.items(i)?.get(at).copied()
    }
}

/// The largest number of objects, and of places on the stack and in the memo: each tensor has some twenty.
const MAX_OBJECTS: usize = 1 << 18;
/// Members of lists and dictionaries; a pickle may repeat them many times.
const MAX_MEMBERS: usize = 1 << 20;

/// The error is a message.
pub fn read(bytes: &[u8]) -> Result<Pickle<'_>, String> {
    let nodes = vec![Node::None, Node::Bool(false), Node::Bool(true)];
    let mut machine = Machine { rest: bytes, nodes, stack: vec![], marks: vec![], memo: HashMap::new(), members: 0 };
    let top = machine.run().map_err(|e| match bytes.first() {
        // the protocols before 2 do not name themselves, and 0 is text
        Some(first) if first.is_ascii_graphic() => {
            format!(
                "if it is a pickle, it is of protocol 0 or 1, which are not read ({e}): write it with protocol 2 or later"
            )
        }
        _ => format!("its pickle is damaged {} bytes in ({e})", bytes.len() - machine.rest.len()),
    })?;
    Ok(Pickle { nodes: machine.nodes, top })
}

struct Machine<'a> {
    rest: &'a [u8],
    nodes: Vec<Node<'a>>,
    stack: Vec<usize>,
    /// Lengths of the stack.
    marks: Vec<usize>,
    memo: HashMap<usize, usize>,
    members: usize,
}

type PickleResult<T> = Result<T, String>;

impl<'a> Machine<'a> {
    fn run(&mut self) -> PickleResult<usize> {
        loop {
            let code = self.take(1)?[0];
            if code == b'.' {
                return self.pop();
            }
            self.step(code)?;
            let most = [self.nodes.len(), self.stack.len(), self.marks.len(), self.memo.len()].into_iter().max();
            if most > Some(MAX_OBJECTS) || self.members > MAX_MEMBERS {
                return Err("it holds more objects than a model: save the model's state_dict alone".into());
            }
        }
    }

    fn step(&mut self, code: u8) -> PickleResult<()> {
        match code {
            0x80 => drop(self.take(1)?),                                             // PROTO
            0x95 => drop(self.take(8)?),                                             // FRAME
            b'(' => self.marks.push(self.stack.len()),                               // MARK
            b'0' => drop(self.pop()?),                                               // POP
            b'1' => drop(self.pop_to_mark()?),                                       // POP_MARK
            b'2' => self.stack.push(*self.stack.last().ok_or("nothing to repeat")?), // DUP
            // the nodes 0, 1 and 2 are None, False and True, since each is a single object in Python
            b'N' => self.stack.push(0),
            0x89 => self.stack.push(1),
            0x88 => self.stack.push(2),
            b'a' | b'e' | b's' | b'u' => self.fill(code)?,
            b'b' => {
                let state = self.pop()?;
                let top = *self.stack.last().ok_or("it sets a state without an object")?;
                if let Node::Made { state: at, .. } = &mut self.nodes[top] {
                    *at = Some(state);
                }
            }
            0x90 => drop(self.pop_to_mark()?), // ADDITEMS
            b'q' => self.memo_put(1)?,
            b'r' => self.memo_put(4)?,
            0x94 => {
                let top = *self.stack.last().ok_or("nothing to keep")?;
                self.memo.insert(self.memo.len(), top);
            }
            b'h' => self.memo_get(1)?,
            b'j' => self.memo_get(4)?,
            _ => {
                let made = self.node(code)?;
                self.push(made);
            }
        }
        Ok(())
    }

    /// The object that an operation builds from its operands on the stack.
    fn node(&mut self, code: u8) -> PickleResult<Node<'a>> {
        Ok(match code {
            b'J' => self.int(4, true)?,
            b'K' => self.int(1, false)?,
            b'M' => self.int(2, false)?,
            0x8a => self.long_integer()?,
            b'G' => Node::Float(f64::from_be_bytes(self.take(8)?.try_into().map_err(|_| "a short number")?)),
            b'X' => self.text(4)?,
            0x8c => self.text(1)?,
            0x8d => self.text(8)?,
            b'U' | b'C' => self.bytes(1)?,
            b'T' | b'B' => self.bytes(4)?,
            0x8e | 0x96 => self.bytes(8)?,
            b')' => Node::Tuple(vec![]),
            0x85..=0x87 => {
                let n = self.stack.len().checked_sub(usize::from(code - 0x84)).ok_or("too few for a tuple")?;
                Node::Tuple(self.stack.split_off(n))
            }
            b't' => Node::Tuple(self.pop_to_mark()?),
            b']' => Node::List(vec![]),
            b'l' => Node::List(self.pop_to_mark()?),
            b'}' => Node::Dict(vec![]),
            b'd' => Node::Dict(pairs(&self.pop_to_mark()?)),
            0x8f => Node::Other,                              // EMPTY_SET
            0x91 => self.pop_to_mark().map(|_| Node::Other)?, // FROZENSET
            b'c' => Node::Class(self.line()?, self.line()?),
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                match (&self.nodes[module], &self.nodes[name]) {
                    (Node::Text(m), Node::Text(n)) => Node::Class(m, n),
                    _ => return Err("a class without a name".into()),
                }
            }
            b'R' | 0x81 | 0x92 => {
                if code == 0x92 {
                    self.pop()?; // arguments by name
                }
                let (arguments, class) = (self.pop()?, self.pop()?);
                Node::Made { class, arguments, state: None, pairs: vec![] }
            }
            b'Q' => Node::Persistent(self.pop()?),
            _ => return Err(format!("it uses an operation that no weights need, code {code:#x}")),
        })
    }

    fn take(&mut self, n: usize) -> PickleResult<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(n).ok_or("it ends early")?;
        self.rest = rest;
        Ok(head)
    }

    /// An unsigned number of `n` bytes, at most eight.
    fn count(&mut self, n: usize) -> PickleResult<usize> {
        let value = self.take(n)?.iter().rev().fold(0u64, |v, b| v << 8 | u64::from(*b));
        usize::try_from(value).map_err(|_| "a number too large".into())
    }

    fn line(&mut self) -> PickleResult<&'a str> {
        let n = self.rest.iter().position(|b| *b == b'\n').ok_or("a line without an end")?;
        let line = self.take(n + 1)?;
        std::str::from_utf8(&line[..n]).map_err(|_| "words that are not UTF-8".into())
    }

    fn push(&mut self, node: Node<'a>) {
        self.nodes.push(node);
        self.stack.push(self.nodes.len() - 1);
    }

    fn pop(&mut self) -> PickleResult<usize> {
        if self.marks.last().is_some_and(|m| *m == self.stack.len()) {
            return Err("it takes more values than its stack holds".into());
        }
        self.stack.pop().ok_or_else(|| "it takes more values than its stack holds".into())
    }

    /// Everything since the last mark.
    fn pop_to_mark(&mut self) -> PickleResult<Vec<usize>> {
        let mark = self.marks.pop().filter(|m| *m <= self.stack.len()).ok_or("a mark is missing")?;
        let items = self.stack.split_off(mark);
        self.members += items.len();
        Ok(items)
    }

    fn int(&mut self, n: usize, signed: bool) -> PickleResult<Node<'a>> {
        let value = self.count(n)?;
        Ok(Node::Int(if signed { i64::from(value as u32 as i32) } else { value as i64 }))
    }

    /// A little-endian two's complement number of any length.
    fn long_integer(&mut self) -> PickleResult<Node<'a>> {
        let n = self.count(1)?;
        let bytes = self.take(n)?;
        let negative = bytes.last().is_some_and(|b| b & 0x80 != 0);
        if bytes.len() > 8 {
            return Ok(Node::Other);
        }
        let mut all = [if negative { 0xff } else { 0 }; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        Ok(Node::Int(i64::from_le_bytes(all)))
    }

    fn text(&mut self, width: usize) -> PickleResult<Node<'a>> {
        let n = self.count(width)?;
        let text = std::str::from_utf8(self.take(n)?).map_err(|_| "words that are not UTF-8")?;
        Ok(Node::Text(text))
    }

    fn bytes(&mut self, width: usize) -> PickleResult<Node<'a>> {
        let n = self.count(width)?;
        self.take(n)?;
        Ok(Node::Other)
    }

    /// APPEND, APPENDS, SETITEM, SETITEMS.
    fn fill(&mut self, code: u8) -> PickleResult<()> {
        self.members += 1;
        let items = match code {
            b'a' => vec![self.pop()?],
            b's' => {
                let value = self.pop()?;
                vec![self.pop()?, value]
            }
            _ => self.pop_to_mark()?,
        };
        let top = *self.stack.last().ok_or("items without a list")?;
        match (&mut self.nodes[top], code) {
            (Node::List(list), b'a' | b'e') => list.extend(items),
            (Node::Dict(into) | Node::Made { pairs: into, .. }, b's' | b'u') => into.extend(pairs(&items)),
            _ => {}
        }
        Ok(())
    }

    fn memo_put(&mut self, width: usize) -> PickleResult<()> {
        let key = self.count(width)?;
        let top = *self.stack.last().ok_or("nothing to keep")?;
        self.memo.insert(key, top);
        Ok(())
    }

    fn memo_get(&mut self, width: usize) -> PickleResult<()> {
        let key = self.count(width)?;
        let found = *self.memo.get(&key).ok_or("it recalls an object that it never stored")?;
        self.stack.push(found);
        Ok(())
    }
}

fn pairs(items: &[usize]) -> Vec<(usize, usize)> {
    items.as_chunks().0.iter().map(|&[a, b]| (a, b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pickle_of_protocol_0_is_named_as_one() {
        // pickle.dumps({"stoi": {"a": 0}}, protocol=0)
        let error = read(b"(dp0\nVstoi\np1\n(dp2\nVa\np3\nI0\nss.").unwrap_err();
        assert!(error.contains("protocol 0") && error.contains("protocol 2"), "{error}");
        let damaged = read(b"\x80\x02}q").unwrap_err();
        assert!(damaged.contains("damaged"), "{damaged}");
    }
}
