//! Tests that text files are memory-mapped, so that a large one is not copied into memory.

use std::{fs, io::Write, time::Instant};

use orrery::corpus::{Corpus, CorpusSpec, Position, Source, TokenizerSpec, generated};

const TOKENIZERS: [TokenizerSpec; 4] = [
    TokenizerSpec::Byte { vocab: 320 },
    TokenizerSpec::Char { max_vocab: 120 },
    TokenizerSpec::Word { max_vocab: 4000 },
    TokenizerSpec::Bpe { vocab: 600 },
];

#[test]
fn a_large_text_is_not_read_into_memory_as_a_whole() {
    crate::alone(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.txt");
        let page = generated::by_id("mixture").unwrap().text(1, 1 << 20);
        let mut out = fs::File::create(&path).unwrap();
        (0..64).for_each(|_| out.write_all(page.as_bytes()).unwrap());
        drop(out);
        for tokenizer in TOKENIZERS {
            let before = resident_kib();
            let now = Instant::now();
            let corpus = Corpus::open(&CorpusSpec::new(Source::File(path.clone()), tokenizer.clone())).unwrap();
            let opened = now.elapsed();
            assert!(corpus.describe().contains("67.") || corpus.describe().contains("68."), "{}", corpus.describe());
            (0..40).for_each(|drawn| drop(corpus.batch(&Position { seed: 1, drawn }, 4, 256).unwrap()));
            let grown = resident_kib().saturating_sub(before);
            println!(
                "{}: opened in {opened:?}, with 40 batches {:?}, {grown} KiB more",
                corpus.describe(),
                now.elapsed()
            );
            assert!(opened.as_secs() < 20, "{tokenizer:?} took {opened:?}");
            // the bound is generous, but below the size of the file
            assert!(grown < 60 << 10, "{tokenizer:?} took {grown} KiB");
        }
    })
}

/// The anonymous memory of this process, which excludes mapped files.
fn resident_kib() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("RssAnon")).expect("how much memory is held");
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap()
}
