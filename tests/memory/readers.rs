//! Runs the functions of the fuzz targets with the seeds of `fuzz/` and with mutations of them that use the formats'
//! dictionaries. They must not panic, and their memory must be bounded. `scripts/fuzz` does the same for a longer time.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    time::{Duration, Instant},
};

use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;

use crate::{alone, peak_of};

#[path = "../../fuzz/readers.rs"]
mod fuzzed;

/// The number of mutations of each reader's seeds. With `ORRERY_SECONDS`, as many as fit into that time are tried
/// instead.
const MUTATIONS: usize = 300;
/// The seed of their random numbers, so that more of them begin with the same ones.
const SEED: u64 = 600;
/// The maximum length of a mutated file in bytes.
const LONGEST: usize = 64 << 10;
/// The maximum memory of a reader of such a file in bytes.
const MOST: usize = 64 << 20;
/// The maximum time for a file. It is checked only with `ORRERY_SECONDS`, because a test that runs beside others may
/// have to wait.
const LONGEST_TIME: Duration = Duration::from_secs(10);

fn folder(of: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(of)
}

fn seeds(reader: &str) -> Vec<Vec<u8>> {
    let files = fs::read_dir(folder("seeds").join(reader)).unwrap();
    let mut paths: Vec<_> = files.map(|e| e.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{reader} has no seeds");
    paths.iter().map(|p| fs::read(p).unwrap()).collect()
}

/// The words of a dictionary in libFuzzer's format: in quotes, with the escapes `\"`, `\\` and `\xAB`.
fn dictionary_words(reader: &str) -> Vec<Vec<u8>> {
    let text = fs::read_to_string(folder("dictionaries").join(format!("{reader}.dict"))).unwrap();
    let word = |line: &str| {
        let inner = line.trim().strip_prefix('"').and_then(|l| l.strip_suffix('"')).expect("a word in quotes");
        let (mut out, mut rest) = (vec![], inner.as_bytes());
        while let Some((first, after)) = rest.split_first() {
            let hex = after.strip_prefix(b"x").and_then(|h| std::str::from_utf8(h.get(..2)?).ok());
            (rest, _) = match (first, hex) {
                (b'\\', Some(hex)) => (&after[3..], out.push(u8::from_str_radix(hex, 16).unwrap())),
                (b'\\', None) => (&after[1..], out.push(after[0])),
                _ => (after, out.push(*first)),
            };
        }
        out
    };
    text.lines().filter(|l| !l.trim().is_empty()).map(word).collect()
}

fn mutated(seeds: &[Vec<u8>], words: &[Vec<u8>], rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = seeds.choose(rng).unwrap().clone();
    for _ in 0..rng.random_range(1..6) {
        let at = rng.random_range(0..=bytes.len());
        let end = (at + rng.random_range(1..40)).min(bytes.len());
        match rng.random_range(0..7) {
            0 if at < bytes.len() => bytes[at] = rng.random(),
            1 => drop(bytes.drain(at..end)),
            2 => drop(bytes.splice(at..at, words.choose(rng).unwrap().iter().copied())),
            3 => drop(bytes.splice(at..end, words.choose(rng).unwrap().iter().copied())),
            // repeats a part many times
            4 => {
                let part = bytes[at..end].repeat(1 << rng.random_range(1..10));
                drop(bytes.splice(at..at, part));
            }
            // replaces a part by one of another seed
            5 => {
                let other = seeds.choose(rng).unwrap();
                let from = rng.random_range(0..=other.len());
                drop(bytes.splice(at..end, other[from..].iter().copied()));
            }
            _ => bytes.truncate(at.max(1)),
        }
        bytes.truncate(LONGEST);
    }
    bytes
}

#[test]
fn seeds_and_mutations_are_read_or_refused_in_bounded_memory() {
    alone(|| {
        let variable = |name| std::env::var(name).ok();
        let seconds: Option<u64> = variable("ORRERY_SECONDS").and_then(|n| n.parse().ok());
        let only = variable("ORRERY_READER");
        let is_wanted = |name: &str| only.as_deref().is_none_or(|wanted| wanted == name);
        let readers: Vec<_> = fuzzed::READERS.iter().filter(|r| is_wanted(r.name)).collect();
        assert!(!readers.is_empty(), "there is no reader {only:?}");
        for reader in readers {
            let (name, begun) = (reader.name, Instant::now());
            let (seeds, words) = (seeds(name), dictionary_words(name));
            let mut rng = ChaCha8Rng::seed_from_u64(seconds.unwrap_or(SEED));
            let goes_on = |count: usize| match seconds {
                Some(seconds) => begun.elapsed().as_secs() < seconds,
                None => count < MUTATIONS,
            };
            let (mut count, mut highest, mut longest) = (0, 0, Duration::ZERO);
            while count < seeds.len() || goes_on(count - seeds.len()) {
                let file = seeds.get(count).cloned().unwrap_or_else(|| mutated(&seeds, &words, &mut rng));
                let read = Instant::now();
                let (result, peak) = peak_of(|| catch_unwind(AssertUnwindSafe(|| fuzzed::read(name, &file))));
                let took = read.elapsed();
                longest = longest.max(took);
                let shown = || {
                    let begin = String::from_utf8_lossy(&file[..file.len().min(600)]).into_owned();
                    if seconds.is_none() {
                        return begin;
                    }
                    let path = folder("artifacts").join(name).join(format!("case-{count}"));
                    let kept = fs::create_dir_all(path.parent().unwrap()).and_then(|()| fs::write(&path, &file));
                    format!("{} ({kept:?}): {begin}", path.display())
                };
                assert!(result.is_ok(), "{name}, case {count}, panicked on {}", shown());
                let is_late = seconds.is_some() && took > LONGEST_TIME;
                assert!(!is_late, "{name}, case {count}, took {took:.1?} for {}", shown());
                // the first files also allocate what is created once and kept, such as a backtrace's symbols
                assert!(count < 8 || peak < MOST, "{name}, case {count}, took {} MB for {}", peak >> 20, shown());
                highest = if count < 8 { 0 } else { highest.max(peak) };
                count += 1;
            }
            println!(
                "{name}: {count} files in {:.0?}, at most {} kB and {longest:.1?} for one",
                begun.elapsed(),
                highest >> 10
            );
        }
    })
}
