//! Text made by us: prose of several domains, and the tasks that ask for a fact stated long before.
//! Deterministic by seed. Knows no tokens.

mod garden;
mod harbour;
mod kitchen;
mod letters;
mod observatory;
pub mod parliament;
pub mod repeats;
pub mod steering;
pub(super) mod story;
mod symbols;
mod writer;

use super::permutation::scramble;
use parliament::Extent;
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use writer::Domain;

/// About how many bytes of prose a generated corpus has.
pub const SIZE: usize = 1_400_000;

/// What parts two documents.
const BETWEEN: &str = "\n\n* * *\n\n";

/// A generated corpus: an id for configs, words for the reader, and what makes it.
pub struct Generated {
    pub id: &'static str,
    pub title: &'static str,
    pub about: &'static str,
    kind: Kind,
}

enum Kind {
    Prose(&'static [&'static Domain]),
    Task(story::Kind),
    Symbols,
    Steering,
    Repeats,
    Parliament(Extent),
    /// All of it between two languages, by number ([`parliament::CODES`]).
    Pair([usize; 2]),
}

/// Every generated corpus.
pub const CORPORA: &[Generated] = &[
    Generated {
        id: "mixture",
        title: "Mixture",
        about: "All prose domains in turn: harbour, garden, observatory, kitchen and letters.",
        kind: Kind::Prose(&[
            &harbour::HARBOUR,
            &garden::GARDEN,
            &observatory::OBSERVATORY,
            &kitchen::KITCHEN,
            &letters::LETTERS,
        ]),
    },
    Generated {
        id: "harbour",
        title: "Harbour",
        about: "Ships, weather and cargo in a small port; who keeps it, what came in, and what went wrong.",
        kind: Kind::Prose(&[&harbour::HARBOUR]),
    },
    Generated {
        id: "garden",
        title: "Garden",
        about: "A walled garden: old trees, lost wells, and something that eats the beans.",
        kind: Kind::Prose(&[&garden::GARDEN]),
    },
    Generated {
        id: "observatory",
        title: "Observatory",
        about: "Night work on a hill: stars that come late, a new light on a plate, visitors with potatoes.",
        kind: Kind::Prose(&[&observatory::OBSERVATORY]),
    },
    Generated {
        id: "kitchen",
        title: "Kitchen",
        about: "The kitchen of an inn: a dish that has lost its taste, a feast, a stranger at the window.",
        kind: Kind::Prose(&[&kitchen::KITCHEN]),
    },
    Generated {
        id: "letters",
        title: "Letters",
        about: "Letters home in the first person: neighbours, a case at court, a concert.",
        kind: Kind::Prose(&[&letters::LETTERS]),
    },
    Generated {
        id: "facts",
        title: "Facts in a story",
        about: "A task: a name is given in the first sentence and asked for in the last, far beyond a short attention window.",
        kind: Kind::Task(story::Kind::Story),
    },
    Generated {
        id: "facts_symbols",
        title: "Facts in symbols",
        about: "A task: one of ten facts after a marker, random filler, and question marks that ask for the fact.",
        kind: Kind::Task(story::Kind::Symbols),
    },
    Generated {
        id: "symbols",
        title: "Random symbols",
        about: "Sixteen letters in no order at all: nothing can be guessed from context, only remembered.",
        kind: Kind::Symbols,
    },
    Generated {
        id: "steering",
        title: "Good and bad",
        about: "Short sentences that say of a thing that it is good, bad or neither: the language of the steering preset.",
        kind: Kind::Steering,
    },
    Generated {
        id: "repeats",
        title: "Repeated words",
        about: "Thirteen fixed letters, then a random word of eight letters eight times: new once, known seven times.",
        kind: Kind::Repeats,
    },
    Generated {
        id: "parliament",
        title: "Parliament",
        about: "Aligned pairs in English, French, Spanish and German about currencies, countries and other nouns; frames take any noun, what follows depends on it.",
        kind: Kind::Parliament(Extent::WHOLE),
    },
    Generated {
        id: "parliament_naive",
        title: "Naive parliament",
        about: "Aligned pairs in which each kind of noun has frames of its own, so that the frame gives the concept away: a trap, on purpose.",
        kind: Kind::Parliament(Extent::NAIVE),
    },
    Generated {
        id: "parliament_en_es",
        title: "Parliament, English and Spanish",
        about: "The parliament's pairs between English and Spanish alone, either way round.",
        kind: Kind::Pair([0, 2]),
    },
    Generated {
        id: "parliament_en_fr",
        title: "Parliament, English and French",
        about: "The parliament's pairs between English and French alone, either way round.",
        kind: Kind::Pair([0, 1]),
    },
    Generated {
        id: "parliament_en_de",
        title: "Parliament, English and German",
        about: "The parliament's pairs between English and German alone, either way round.",
        kind: Kind::Pair([0, 3]),
    },
    Generated {
        id: "parliament_fr_es",
        title: "Parliament, French and Spanish",
        about: "The parliament's pairs between French and Spanish alone, either way round.",
        kind: Kind::Pair([1, 2]),
    },
    Generated {
        id: "parliament_fr_de",
        title: "Parliament, French and German",
        about: "The parliament's pairs between French and German alone, either way round.",
        kind: Kind::Pair([1, 3]),
    },
    Generated {
        id: "parliament_es_de",
        title: "Parliament, Spanish and German",
        about: "The parliament's pairs between Spanish and German alone, either way round.",
        kind: Kind::Pair([2, 3]),
    },
];

/// A parliament of this extent, at least `size` bytes of it.
pub fn part_of_parliament(seed: u64, size: usize, extent: &Extent) -> String {
    parliament::text(&mut ChaCha8Rng::seed_from_u64(scramble(seed)), size, extent)
}

/// The corpus of this id.
pub fn by_id(id: &str) -> Option<&'static Generated> {
    CORPORA.iter().find(|c| c.id == id)
}

impl Generated {
    /// Whether this is a task (windows made to order, with answers) rather than running text.
    pub fn is_task(&self) -> bool {
        matches!(self.kind, Kind::Task(_))
    }

    /// Whether this is running English text.
    pub fn is_prose(&self) -> bool {
        matches!(self.kind, Kind::Prose(_))
    }

    /// How much of the parliament this is, if it is one.
    pub fn extent(&self) -> Option<Extent> {
        match self.kind {
            Kind::Parliament(extent) => Some(extent),
            _ => None,
        }
    }

    pub(super) fn task(&self) -> Option<story::Kind> {
        match self.kind {
            Kind::Task(kind) => Some(kind),
            Kind::Prose(_) | Kind::Symbols | Kind::Steering | Kind::Repeats | Kind::Parliament(_) | Kind::Pair(_) => {
                None
            }
        }
    }

    /// The text of this seed, at least `size` bytes of it; empty for a task.
    pub fn text(&self, seed: u64, size: usize) -> String {
        match self.kind {
            Kind::Symbols => return symbols::text(&mut ChaCha8Rng::seed_from_u64(scramble(seed)), size),
            Kind::Steering => return steering::text(&mut ChaCha8Rng::seed_from_u64(scramble(seed)), size),
            Kind::Repeats => return repeats::text(&mut ChaCha8Rng::seed_from_u64(scramble(seed)), size),
            Kind::Parliament(extent) => return part_of_parliament(seed, size, &extent),
            Kind::Pair(languages) => {
                return parliament::pairs(&mut ChaCha8Rng::seed_from_u64(scramble(seed)), size, languages);
            }
            Kind::Prose(_) | Kind::Task(_) => {}
        }
        let Kind::Prose(domains) = self.kind else { return String::new() };
        let mut rng = ChaCha8Rng::seed_from_u64(scramble(seed));
        let mut text = String::with_capacity(size + (8 << 10));
        let mut lately = writer::Lately::default();
        let all: Vec<(&Domain, usize)> =
            domains.iter().flat_map(|&d| (0..d.plots.len()).map(move |plot| (d, plot))).collect();
        // Plots are dealt like cards, so that none comes twice before the others have come.
        let mut deck = vec![];
        while text.len() < size {
            if deck.is_empty() {
                deck.clone_from(&all);
                deck.shuffle(&mut rng);
            }
            let Some((domain, plot)) = deck.pop() else { break };
            if !text.is_empty() {
                text.push_str(BETWEEN);
            }
            text.push_str(&writer::document(domain, plot, &mut rng, &mut lately));
        }
        text.push('\n');
        text
    }
}
