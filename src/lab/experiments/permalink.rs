//! A page as one link: `orrery:LAB?key=value&...#step=..&view=..`. Before `#` come the preset, the seed, every setting
//! that differs from the preset's and the restrictions of the page (`lock`, `hide`, `answers`); after it, the view and
//! selection.

use std::fmt::{self, Write as _};

use crate::{
    config::{Config, Knob, Range, Value},
    labs::{
        self, Lab, find_in,
        lesson::{LINK, LessonLink},
        restrictions::Restrictions,
    },
};

/// The selection, by names and numbers that another window understands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinkSelection {
    /// Id of the variant in focus.
    pub variant: Option<String>,
    /// The path of the selected layer.
    pub layer: Option<String>,
    pub head: Option<u64>,
    pub token: Option<u64>,
    /// A neuron by its number in the model.
    pub neuron: Option<u64>,
}

/// Settings, seed, restrictions, step, selection and the visible views.
#[derive(Debug, Clone, PartialEq)]
pub struct Permalink {
    pub config: Config,
    pub restrictions: Restrictions,
    /// The shown step; `None`: nothing need be trained.
    pub step: Option<u64>,
    /// Ids of the views in front, in reading order; empty: the lab's own layout.
    pub views: Vec<String>,
    pub selection: LinkSelection,
}

/// A file or folder that a setting names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    pub key: &'static str,
    pub path: String,
}

/// The target of an `orrery:` link.
#[derive(Debug, Clone, PartialEq)]
pub enum Link {
    Lesson(LessonLink),
    Page(Box<Permalink>),
}

const PARTS: [&str; 7] = ["step", "view", "variant", "layer", "head", "token", "neuron"];

impl Link {
    /// Reads a link into one of these labs; `None` if the text is not a link, an error in words if the link is broken.
    pub fn parse(text: &str, labs: &[&'static Lab]) -> Option<Result<Self, String>> {
        let body = text.trim().strip_prefix(LINK)?;
        let broken = |why: String| format!("The link `{}` was not opened: {why}", text.trim());
        if body.contains("?lesson=") {
            let link = LessonLink::parse(text)?;
            return Some(link.and_then(|link| match labs.iter().find(|lab| lab.id == link.lab) {
                Some(lab) => link.restrictions.check(lab).map_err(broken).map(|()| Self::Lesson(link)),
                None => Ok(Self::Lesson(link)),
            }));
        }
        Some(Permalink::read(body, labs).map(|link| Self::Page(Box::new(link))).map_err(broken))
    }
}

impl Permalink {
    /// The part after `orrery:`.
    fn read(body: &str, labs: &[&'static Lab]) -> Result<Self, String> {
        let (settings, place) = body.split_once('#').unwrap_or((body, ""));
        let (lab, settings) = settings.split_once('?').unwrap_or((settings, ""));
        let lab = find_in(labs, &decoded(lab)?).map_err(|e| e.to_string())?;
        let (mut restrictions, mut given) = (Restrictions::default(), vec![]);
        for (key, value) in pairs(settings)? {
            if !restrictions.set_pair(&key, &value)? {
                given.push((key, value));
            }
        }
        restrictions.check(lab)?;
        let mut link = Self {
            config: settings_of(lab, &given)?,
            restrictions,
            step: None,
            views: vec![],
            selection: LinkSelection::default(),
        };
        for (key, value) in pairs(place)? {
            link.set_pair(&key, &value)?;
        }
        Ok(link)
    }

    /// Reads one `key=value` of the place.
    fn set_pair(&mut self, key: &str, value: &str) -> Result<(), String> {
        let number = || {
            let number = value.parse::<u64>();
            number.map(Some).map_err(|_| format!("`{key}` = `{value}` is not a whole number from 0"))
        };
        let text = || Some(value.to_owned());
        match key {
            "step" => self.step = number()?,
            "view" => self.views = value.split(',').filter(|v| !v.is_empty()).map(str::to_owned).collect(),
            "variant" => self.selection.variant = text(),
            "layer" => self.selection.layer = text(),
            "head" => self.selection.head = number()?,
            "token" => self.selection.token = number()?,
            "neuron" => self.selection.neuron = number()?,
            _ => return Err(format!("after `#` there is no `{key}`; there are {}", PARTS.join(", "))),
        }
        Ok(())
    }

    /// `key=value` of everything that the page shows.
    fn selection_pairs(&self) -> Vec<(&'static str, String)> {
        let Self { step, views, selection, .. } = self;
        let number = |n: &Option<u64>| n.map(|n| n.to_string());
        let values = [
            number(step),
            (!views.is_empty()).then(|| views.join(",")),
            selection.variant.clone(),
            selection.layer.clone(),
            number(&selection.head),
            number(&selection.token),
            number(&selection.neuron),
        ];
        PARTS.into_iter().zip(values).filter_map(|(key, value)| Some((key, value?))).collect()
    }

    /// The local files that the lab's settings name. On another machine they are missing, and a link from another machine may
    /// not open them without consent.
    pub fn files(&self, lab: &Lab) -> Vec<NamedFile> {
        let named = |knob: &Knob| {
            let path = self.config.get(knob.key)?.to_string();
            (knob.file_kind().is_some() && !path.is_empty()).then_some(NamedFile { key: knob.key, path })
        };
        (lab.knobs)().iter().filter_map(named).collect()
    }
}

impl fmt::Display for Permalink {
    /// Writes settings in the order of their keys, so that equal pages give equal links.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = &self.config;
        let (preset, base) = match labs::find(&config.lab) {
            Some(lab) => base_of(lab, &config.preset),
            None => (config.preset.as_str(), Config::defaults(&config.lab, &[])),
        };
        write!(f, "{LINK}{}?preset={}&seed={}", encoded(&config.lab), encoded(preset), config.seed)?;
        for (key, value) in config.iter().filter(|(key, value)| base.get(key) != Some(*value)) {
            write!(f, "&{}={}", encoded(key), encoded(&value.to_string()))?;
        }
        for (name, value) in self.restrictions.pairs() {
            write!(f, "&{name}={}", encoded(&value))?;
        }
        for (i, (key, value)) in self.selection_pairs().into_iter().enumerate() {
            write!(f, "{}{key}={}", if i == 0 { '#' } else { '&' }, encoded(&value))?;
        }
        Ok(())
    }
}

/// The settings from which a link's differ, with the name under which the link refers to them: a preset of the lab, or
/// the defaults.
fn base_of<'a>(lab: &Lab, preset: &'a str) -> (&'a str, Config) {
    match lab.presets.iter().any(|p| p.id == preset).then(|| lab.config(Some(preset))) {
        Some(Ok(config)) => (preset, config),
        _ => ("", Config::defaults(lab.id, &(lab.knobs)())),
    }
}

fn settings_of(lab: &Lab, given: &[(String, String)]) -> Result<Config, String> {
    let knobs = (lab.knobs)();
    let preset = given.iter().find(|(key, _)| key == "preset").map(|(_, value)| value.as_str());
    let mut config = match preset {
        Some("") => Config::defaults(lab.id, &knobs),
        preset => lab.config(preset).map_err(|e| e.to_string())?,
    };
    for (key, value) in given.iter().filter(|(key, _)| key != "preset") {
        let is_text = knobs.iter().any(|k| k.key == key && matches!(k.range, Range::Text | Range::File(_)));
        let set = match is_text {
            // text is taken as it is: spaces at its ends belong to it
            true => config.set(&knobs, key, Value::Text(value.clone())),
            false => config.set_text(&knobs, key, value),
        };
        set.map_err(|e| e.to_string())?;
    }
    Ok(config)
}

/// `a=1&b=2` with both sides decoded; each key once.
fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut found: Vec<(String, String)> = vec![];
    for part in text.split('&').filter(|part| !part.is_empty()) {
        let Some((key, value)) = part.split_once('=') else { return Err(format!("`{part}` has no `=`")) };
        let (key, value) = (decoded(key)?, decoded(value)?);
        if found.iter().any(|(k, _)| *k == key) {
            return Err(format!("`{key}` is given twice"));
        }
        found.push((key, value));
    }
    Ok(found)
}

/// Percent-encoded (RFC 3986), except for what needs no encoding in a value.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b',' | b':' => {
                out.push(char::from(byte));
            }
            // writing to a String cannot fail
            _ => drop(write!(out, "%{byte:02X}")),
        }
        out
    })
}

fn decoded(text: &str) -> Result<String, String> {
    let broken = || format!("`{text}` is not percent-encoded: two hexadecimal digits of UTF-8 must follow %");
    let mut parts = text.split('%');
    let mut out = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).ok_or_else(broken)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(broken());
        }
        out.push(u8::from_str_radix(digits, 16).map_err(|_| broken())?);
        out.extend(rest.bytes());
    }
    String::from_utf8(out).map_err(|_| broken())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::labs::LABS;

    fn page(text: &str) -> Result<Permalink, String> {
        match Link::parse(text, LABS).expect("a link") {
            Ok(Link::Page(link)) => Ok(*link),
            Ok(Link::Lesson(link)) => panic!("{link} is a lesson's"),
            Err(words) => Err(words),
        }
    }

    fn value(knob: &Knob, share: f64, text: &str) -> Value {
        match &knob.range {
            Range::Int { min, max } => Value::Int(min + ((max - min) as f64 * share) as i64),
            Range::Float { min, max, .. } => Value::Float((min + (max - min) * share).clamp(*min, *max)),
            Range::Choice(of) => Value::Text(of[((of.len() - 1) as f64 * share) as usize].to_owned()),
            Range::Switch => Value::Switch(share > 0.5),
            Range::Text | Range::File(_) => Value::Text(text.to_owned()),
        }
    }

    proptest! {
        #[test]
        fn a_page_survives_its_link(
            at in 0usize..1000,
            seed in 0u64..=crate::config::MAX_SEED,
            given in prop::collection::vec((0usize..1000, 0.0f64..=1.0, any::<String>()), 0..12),
            (step, head) in (any::<Option<u64>>(), any::<Option<u64>>()),
            views in prop::collection::vec("[a-z_]{1,12}", 0..5),
            layer in any::<Option<String>>(),
            (locked, hidden) in (prop::collection::vec(0usize..1000, 0..4), prop::collection::vec(0usize..1000, 0..4)),
            hides_answers in any::<bool>(),
        ) {
            let lab = LABS[at % LABS.len()];
            let knobs = (lab.knobs)();
            let presets: Vec<Option<&str>> = lab.presets.iter().map(|p| Some(p.id)).chain([None]).collect();
            let mut config = match presets[at % presets.len()] {
                Some(preset) => lab.config(Some(preset)).unwrap(),
                None => Config::defaults(lab.id, &knobs),
            };
            config.seed = seed;
            for (place, share, text) in &given {
                let knob = &knobs[place % knobs.len()];
                config.set(&knobs, knob.key, value(knob, *share, text)).unwrap();
            }
            let selection = LinkSelection { layer, head, ..LinkSelection::default() };
            let names: Vec<&str> = knobs.iter().map(|k| k.key).chain(lab.groups.iter().map(|(group, _)| *group)).collect();
            let [locked, hidden] = [locked, hidden].map(|places| -> Vec<String> {
                places.iter().map(|place| names[place % names.len()].to_owned()).collect()
            });
            let restrictions = Restrictions { locked, hidden, hides_answers, ..Restrictions::default() };
            let link = Permalink { config, restrictions, step, views, selection };
            let text = link.to_string();
            prop_assert!(text.is_ascii() && !text.contains(char::is_whitespace), "{}", text);
            let back = page(&text).unwrap();
            prop_assert_eq!(&back, &link);
            prop_assert_eq!(back.to_string(), text);
        }
    }

    #[test]
    fn only_what_differs_from_the_preset_is_written_in_the_order_of_the_keys() {
        let lab = LABS[0];
        let mut config = lab.config(None).unwrap();
        for (key, value) in [("train.lr", "0.01"), ("model.d_model", "64")] {
            config.set_text(&(lab.knobs)(), key, value).unwrap();
        }
        let selection = LinkSelection { variant: Some("coupled".into()), head: Some(2), ..LinkSelection::default() };
        let views = vec!["gate".to_owned(), "attention".to_owned()];
        let restrictions =
            Restrictions { locked: vec!["train".into()], hides_answers: true, ..Restrictions::default() };
        let link = Permalink { config, restrictions, step: Some(40), views, selection };
        let preset = &link.config.preset;
        let text = format!(
            "orrery:fast_slow?preset={preset}&seed=7&model.d_model=64&train.lr=0.01&lock=train&answers=hidden#step=40&view=gate,attention&variant=coupled&head=2"
        );
        assert_eq!(link.to_string(), text);
        assert_eq!(page(&format!("  {text}\n")).unwrap(), link);
        let by_hand = page("orrery:fast_slow?train.lr=1e-2").unwrap();
        assert_eq!((by_hand.config.preset.as_str(), by_hand.step), (preset.as_str(), None), "the default preset");
    }

    #[test]
    fn errors_in_a_link_name_the_faulty_part() {
        for (link, words) in [
            ("orrery:nowhere?seed=1", "there is no lab `nowhere`; the labs are fast_slow"),
            ("orrery:fast_slow?train.lrr=1", "did you mean `train.lr`"),
            ("orrery:fast_slow?train.lr=high", "`train.lr` = `high`"),
            ("orrery:fast_slow?preset=none", "has no preset `none`"),
            ("orrery:fast_slow?seed=-1", "`seed`"),
            ("orrery:fast_slow?seed", "`seed` has no `=`"),
            ("orrery:fast_slow?seed=1&seed=2", "`seed` is given twice"),
            ("orrery:fast_slow#stop=1", "there is no `stop`; there are step, view"),
            ("orrery:fast_slow?lock=trian", "did you mean `train`"),
            ("orrery:fast_slow?hide=train.lr,model.dmodel", "did you mean `model.d_model`"),
            ("orrery:fast_slow?lesson=2&lock=trian", "did you mean `train`"),
            ("orrery:fast_slow?answers=shown", "`answers` = `shown`"),
            ("orrery:fast_slow#step=late", "`step` = `late` is not a whole number"),
            ("orrery:fast_slow?corpus.file=%zz", "not percent-encoded"),
            ("orrery:fast_slow?corpus.file=%ff", "not percent-encoded"),
        ] {
            let error = page(link).expect_err(link);
            assert!(error.contains(words) && error.contains(link), "{link}: {error}");
        }
        assert!(Link::parse("orrery1:abc", LABS).is_none());
        assert!(matches!(Link::parse("orrery:x?lesson=2", LABS), Some(Ok(Link::Lesson(_)))));
    }
}
