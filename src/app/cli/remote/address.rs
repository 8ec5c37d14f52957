//! Parses the address of a folder on another machine: `ssh://[user@]host[:port]/path`.

use std::fmt;

use crate::cli::shell::quoted;

/// A folder on another machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Address {
    /// `host` or `user@host`.
    pub(super) host: String,
    pub(super) port: Option<u16>,
    path: String,
}

impl Address {
    /// Parses `ssh://[user@]host[:port]/path`; `None` for other text.
    pub fn parse(text: &str) -> Option<Result<Self, String>> {
        let rest = text.strip_prefix("ssh://")?;
        let wrong = |why: &str| Some(Err(format!("`{text}` {why}: write ssh://host/path")));
        let Some((place, path)) = rest.split_once('/') else { return wrong("has no path") };
        let (host, port) = match place.rsplit_once(':') {
            None => (place, None),
            Some((host, port)) => match port.parse() {
                Ok(port) => (host, Some(port)),
                Err(_) => return wrong("has a port that is not a number"),
            },
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
        if host.is_empty() || host.starts_with(['-', '@']) || host.contains("@-") || !host.chars().all(is_plain) {
            return wrong("has no host that ssh accepts");
        }
        if path.is_empty() {
            return wrong("has no path");
        }
        if path.contains(char::is_control) {
            return wrong("has a path with control characters");
        }
        // `ssh://host/~/runs/a` is in the home of the user
        let path = path.strip_prefix("~/").map_or_else(|| format!("/{path}"), str::to_owned);
        Some(Ok(Self { host: host.to_owned(), port, path }))
    }

    /// The folder name of the local copy: `nanogpt-at-host`.
    pub(super) fn copy_name(&self) -> String {
        let last = self.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        format!("{last}-at-{}", self.host).chars().map(safe).collect::<String>().trim_start_matches('.').to_owned()
    }

    /// The path, quoted for the remote shell. A prefix keeps a path that begins with `-` from being read as an option.
    pub(super) fn quoted_path(&self) -> String {
        let path = if self.path.starts_with('-') { format!("./{}", self.path) } else { self.path.clone() };
        quoted(&path)
    }
}

/// Writes the form that [`Address::parse`] reads.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ssh://{}", self.host)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        let home = if self.path.starts_with('/') { "" } else { "/~/" };
        write!(f, "{home}{}", self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_path_and_no_option() {
        let parsed = |text: &str| Address::parse(text).unwrap();
        let address = parsed("ssh://me@box:2222/data/runs/a b").unwrap();
        assert_eq!(
            (address.host.as_str(), address.port, address.path.as_str()),
            ("me@box", Some(2222), "/data/runs/a b")
        );
        assert_eq!(address.copy_name(), "a_b-at-me_box");
        assert_eq!(parsed("ssh://box/~/runs/a").unwrap().path, "runs/a");
        for text in ["ssh://me@box:2222/data/runs/a b", "ssh://box/~/runs/a"] {
            assert_eq!(parsed(text).unwrap().to_string(), text);
        }
        for wrong in [
            "ssh://",
            "ssh://box",
            "ssh://box/",
            "ssh://-oProxyCommand=x/a",
            "ssh://a@-b/a",
            "ssh://b c/a",
            "ssh://b:x/a",
            "ssh://b/a\nb",
            "ssh://b/a\u{9b}b",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Address::parse("runs/a"), None);
    }
}
