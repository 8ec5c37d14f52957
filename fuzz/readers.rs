//! Every reader of files that come from others, each as a function of bytes. The target in `fuzz_targets` calls one of
//! them; `tests/memory/readers.rs` replays their seeds and mutations of them in-process.
//! A reader may refuse what it is given, in words; it must not panic, and memory is held against a bound outside.

use std::{
    fs,
    path::{Path, PathBuf},
};

use orrery::{
    analysis::{generator::MatrixKind, graph_file::Format},
    config::Config,
    corpus::{
        Corpus, CorpusSpec, GrammarRoles, LabelledLines, SentenceSet, Source, TagColumn, TokenizerSpec, Treebank,
    },
    experiments::{
        claims::{ledger::Ledger, result::ClaimResult, table},
        permalink::Link,
        run_rows,
        sweep::{Sweep, SweepFile},
    },
    labs,
    models::{
        bdh::{BdhSpec, Checkpoint},
        stationary::read_matrix,
    },
    nn::{Device, weights::Weights},
    store::{
        self, OpenQuestion, Reader, checkpoint,
        frames::{self, FolderCopy, Frame},
        import, snapshots, tensors,
    },
    telemetry::{Args, RunInfo},
};

/// A reader by the name of its target, seeds and dictionary.
pub struct FuzzedReader {
    pub name: &'static str,
    pub read: fn(&[u8]),
}

pub const READERS: &[FuzzedReader] = &[
    FuzzedReader { name: "safetensors", read: safetensors },
    FuzzedReader { name: "pickle", read: pickle },
    FuzzedReader { name: "torch", read: torch },
    FuzzedReader { name: "tokenizer", read: tokenizer },
    FuzzedReader { name: "gexf", read: |bytes| graph(Format::Gexf, bytes) },
    FuzzedReader { name: "graphml", read: |bytes| graph(Format::GraphMl, bytes) },
    FuzzedReader { name: "gml", read: |bytes| graph(Format::Gml, bytes) },
    FuzzedReader { name: "node_link", read: |bytes| graph(Format::NodeLinkJson, bytes) },
    FuzzedReader { name: "csv", read: |bytes| graph(Format::Csv, bytes) },
    FuzzedReader { name: "toml", read: toml },
    FuzzedReader { name: "run_folder", read: run_folder },
    FuzzedReader { name: "state", read: state },
    FuzzedReader { name: "checkpoints", read: checkpoints },
    FuzzedReader { name: "snapshot", read: snapshot },
    FuzzedReader { name: "sentences", read: sentences },
    FuzzedReader { name: "grammar", read: grammar },
    FuzzedReader { name: "treebank", read: treebank },
    FuzzedReader { name: "matrix", read: matrix },
    FuzzedReader { name: "sweep", read: sweep },
    FuzzedReader { name: "run_index", read: run_index },
    FuzzedReader { name: "link", read: link },
    FuzzedReader { name: "characters", read: characters },
    FuzzedReader { name: "checkpoint", read: bdh_checkpoint },
    FuzzedReader { name: "answer", read: answer },
    FuzzedReader { name: "claims", read: claims },
    FuzzedReader { name: "frames", read: sent_frames },
    FuzzedReader { name: "event_file", read: |bytes| other_log("events.out.tfevents.1.a", bytes) },
    FuzzedReader { name: "event", read: event },
    FuzzedReader { name: "wandb_log", read: |bytes| other_log("run-a.wandb", bytes) },
    FuzzedReader { name: "wandb_record", read: wandb_record },
    FuzzedReader { name: "lightning", read: lightning },
    FuzzedReader { name: "trackio", read: |bytes| other_log("a.db", bytes) },
];

/// Reads with the reader of this name.
pub fn read(name: &str, bytes: &[u8]) {
    let reader = READERS.iter().find(|r| r.name == name);
    (reader.unwrap_or_else(|| panic!("there is no reader `{name}`")).read)(bytes);
}

/// A folder of its own with this file in it.
fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    fs::write(&path, bytes).expect("a temporary file");
    (folder, path)
}

/// The words beside the tensors, the table of contents, then every tensor of it.
fn weights(path: &Path) {
    let Ok(file) = Weights::open(path) else { return };
    let _ = file.metadata().count();
    let names: Vec<String> = file.tensors().map(|(name, _)| name.to_owned()).collect();
    for name in names.iter().take(100) {
        let _ = file.load(name, &Device::Cpu);
    }
}

fn safetensors(bytes: &[u8]) {
    let (_folder, path) = file("a.safetensors", bytes);
    weights(&path);
    let _ = tensors::read(&path, &Device::Cpu);
}

/// The pickle inside a file of torch.save that has a storage `0` of sixteen bytes.
fn pickle(bytes: &[u8]) {
    use std::io::Write;
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(vec![]));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let parts: [(&str, &[u8]); 2] = [("a/data.pkl", bytes), ("a/data/0", &[0; 16])];
    for (name, content) in parts {
        zip.start_file(name, stored).expect("into memory");
        zip.write_all(content).expect("into memory");
    }
    torch(&zip.finish().expect("into memory").into_inner());
}

fn torch(bytes: &[u8]) {
    let (_folder, path) = file("a.pt", bytes);
    weights(&path);
}

fn tokenizer(bytes: &[u8]) {
    let (folder, path) = file("tokenizer.json", bytes);
    let text = folder.path().join("text.txt");
    fs::write(&text, "The tide turned, and the harbour filled again.\n".repeat(40)).expect("a temporary file");
    let spec = CorpusSpec::new(Source::File(text), TokenizerSpec::HuggingFace(path));
    let Ok(corpus) = Corpus::open(&spec) else { return };
    let ids = corpus.encode("The tide, \u{e9}t\u{e9} \u{1f30a} turned.\n");
    let _ = corpus.decode(&ids);
    ids.iter().for_each(|id| drop(corpus.token_text(*id)));
    let _ = corpus.held_out(1, 8);
}

/// What can be read can be written and read again.
fn graph(format: Format, bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(graph) = format.read(text) else { return };
    let written = format.write(&graph);
    // A table of edges without edges names no nodes.
    if format == Format::Csv && graph.edges.is_empty() {
        return;
    }
    let again = format.read(&written).unwrap_or_else(|e| panic!("{e} in what was written:\n{written}"));
    assert_eq!((again.nodes.len(), again.edges.len()), (graph.nodes.len(), graph.edges.len()), "{written}");
}

fn toml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(id) = Config::lab_id(text) else { return };
    let Some(lab) = labs::find(&id) else { return };
    let Ok(config) = Config::from_toml(text, lab.id, &(lab.knobs)()) else { return };
    let _ = (lab.plan)(&config);
    let again = Config::from_toml(&config.to_toml(), lab.id, &(lab.knobs)());
    assert!(again.is_ok_and(|again| again.iter().eq(config.iter())), "{text}");
}

/// Files that stand one behind the other, each after a line `== name`, with their names.
fn files_in(bytes: &[u8]) -> Vec<(&[u8], Vec<u8>)> {
    let mut files: Vec<(&[u8], Vec<u8>)> = vec![];
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        match (line.strip_prefix(b"== "), files.last_mut()) {
            (Some(name), _) => files.push((name.trim_ascii(), vec![])),
            (None, Some((_, content))) => content.extend(line),
            (None, None) => {}
        }
    }
    files
}

/// Files of a run folder.
fn run_folder(bytes: &[u8]) {
    const FILES: [&str; 6] = ["run.json", "config.toml", "metrics.jsonl", "samples.jsonl", "events.jsonl", "note.toml"];
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, content) in files_in(bytes) {
        if let Some(name) = FILES.into_iter().find(|known| known.as_bytes() == name) {
            fs::write(folder.path().join(name), content).expect("a temporary file");
        }
    }
    let Ok(events) = Reader::open(folder.path()) else { return };
    events.for_each(drop);
    let _ = store::summary(folder.path());
    let _ = run_rows::row_of(folder.path());
    let record = store::export::Record { run: folder.path(), allows_damage: true };
    let _ = store::export::csv(record, &folder.path().join("out.csv"));
}

/// The state of a checkpoint beside a file of weights.
fn state(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path().join("checkpoints/step-00000001");
    fs::create_dir_all(&at).expect("a temporary folder");
    fs::write(at.join("state.json"), bytes).expect("a temporary file");
    let header = br#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    let weights = [&(header.len() as u64).to_le_bytes()[..], header, &[0; 8]].concat();
    fs::write(at.join("a.safetensors"), weights).expect("a temporary file");
    let _ = checkpoint::load(folder.path(), &Device::Cpu);
}

/// Files of a folder of checkpoints, by names that a file can have on every system, at most one folder deep.
fn checkpoints(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = folder.path();
    for (name, content) in files_in(bytes) {
        let Ok(name) = std::str::from_utf8(name) else { continue };
        let is_plain = |part: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            part.len() < 100 && part.chars().all(is_plain) && !part.trim_matches('.').is_empty()
        };
        if name.split('/').count() > 2 || !name.split('/').all(is_plain) {
            continue;
        }
        let path = run.join("checkpoints").join(name);
        // a file may have the place of a folder
        let _ = fs::create_dir_all(path.with_file_name("")).and_then(|()| fs::write(path, content));
    }
    let (all, newest) = (checkpoint::all(run), checkpoint::newest_step(run));
    assert_eq!((all.is_empty(), all.last()), (newest.is_none(), checkpoint::latest(run).as_ref()));
    let _ = checkpoint::load(run, &Device::Cpu);
    let _ = checkpoint::load_resumable(run, &Device::Cpu);
}

/// The weights that are kept of a step, in a file whose name has their checksum.
fn snapshot(bytes: &[u8]) {
    let (folder, _) = file("config.toml", b"");
    let kept = folder.path().join("snapshots");
    fs::create_dir(&kept).expect("a temporary folder");
    let name = format!("step-00000001-{:08x}.safetensors", crc(0x82f6_3b78, bytes));
    fs::write(kept.join(name), bytes).expect("a temporary file");
    let found = snapshots::list(folder.path());
    assert_eq!(found.len(), 1);
    found.values().for_each(|path| drop(snapshots::read(folder.path(), path, &Device::Cpu)));
}

/// A file of labelled sentences, and which of its labels could be a concept.
fn sentences(bytes: &[u8]) {
    let (_folder, path) = file("sentences.tsv", bytes);
    let Ok(lines) = LabelledLines::read(&path) else { return };
    assert!(lines.lines.iter().all(|l| !l.label.is_empty() && !l.group.is_empty() && !l.sentence.is_empty()));
    let labels = lines.labels();
    assert!(labels.len() > 1);
    labels.iter().for_each(|(label, _)| drop(lines.concept(Some(label))));
}

/// Sentences to look at, of the words of a grammar.
fn grammar(bytes: &[u8]) {
    let (_folder, path) = file("sentences.txt", bytes);
    let sets = GrammarRoles { own: Some(path), ..grammar_roles() };
    let spec = CorpusSpec::new(Source::GrammarRoles(sets), GrammarRoles::tokenizer());
    let Ok(corpus) = Corpus::open(&spec) else { return };
    let _ = corpus.decode(&corpus.passage(1, 24));
}

fn grammar_roles() -> GrammarRoles {
    GrammarRoles { grammar: Default::default(), train: 2, test: 1, seed: 1, own: None, treebank: None }
}

/// A treebank in CoNLL-U, by either of its columns of tags.
fn treebank(bytes: &[u8]) {
    let (_folder, path) = file("a.conllu", bytes);
    for tags in [TagColumn::Upos, TagColumn::Deprel] {
        let treebank = Treebank { path: path.clone(), tags, lowercase: true, longest: 12 };
        let sets = GrammarRoles { treebank: Some(treebank), ..grammar_roles() };
        let spec = CorpusSpec::new(Source::GrammarRoles(sets), TokenizerSpec::Whitespace { max_vocab: 9 });
        let Ok(corpus) = Corpus::open(&spec) else { continue };
        let sentences = [SentenceSet::Train, SentenceSet::TestWithin].map(|set| corpus.sentences(set)).concat();
        assert_eq!(sentences.len(), 3);
        for sentence in sentences {
            assert!((1..=12).contains(&sentence.words.len()) && sentence.words.len() == sentence.roles.len());
            let known = |role: &u8| usize::from(*role) < tags.tags().len();
            assert!(sentence.roles.iter().all(known) && !corpus.decode(&sentence.words).is_empty());
        }
    }
}

/// The matrix of a chain, as rates and as transitions.
fn matrix(bytes: &[u8]) {
    let (_folder, path) = file("matrix.csv", bytes);
    for kind in [MatrixKind::Rates, MatrixKind::Transitions] {
        let Ok(generator) = read_matrix(&path, kind) else { continue };
        assert_eq!(generator.matrix().len(), generator.len() * generator.len());
    }
}

/// A sweep over the presets of its lab; each of its points can be planned, and it is the same sweep after writing.
fn sweep(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(file) = SweepFile::parse(text) else { return };
    if let Ok(written) = file.to_toml() {
        let again = SweepFile::parse(&written).unwrap_or_else(|e| panic!("{e} in what was written:\n{written}"));
        assert_eq!(again.axes.len(), file.axes.len(), "{written}");
    }
    let Some(lab) = labs::find(&file.base) else { return };
    let Ok(base) = lab.config(None) else { return };
    if let Ok(sweep) = Sweep::new(&file, lab, &base) {
        assert_eq!(sweep.tasks().len(), sweep.points.len() * sweep.seeds.len());
    }
}

/// A folder with a run.
fn with_run() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = folder.path().join("run");
    fs::create_dir(&run).expect("a temporary folder");
    for (name, text) in [
        ("config.toml", "lab = \"fast_slow\"\npreset = \"\"\nseed = 1\n"),
        ("metrics.jsonl", "{\"step\":1,\"variant\":0,\"loss/train\":2.5}\n"),
    ] {
        fs::write(run.join(name), text).expect("a temporary file");
    }
    folder
}

/// The index of a folder with one run, damaged or foreign: it is made again, or believed about that run. In it the first
/// `"VERSION"` and the first `"STAMP"` stand for those with which it is believed.
fn run_index(bytes: &[u8]) {
    let folder = with_run();
    let index = folder.path().join(".index.json");
    let listed = || run_rows::list(folder.path(), |_| {}).expect("an index is never an error");
    assert_eq!((listed().read, listed().read), (1, 0), "an index holds for its own folder");
    let made = fs::read(&index).expect("the index of what was listed");
    let made: serde_json::Value = serde_json::from_slice(&made).expect("an index is JSON");
    let bytes = replaced(bytes, b"\"VERSION\"", made["version"].to_string().as_bytes(), 1);
    let bytes = replaced(&bytes, b"\"STAMP\"", made["runs"]["run"][0].to_string().as_bytes(), 1);
    fs::write(&index, bytes).expect("a temporary file");
    let listing = listed();
    let [row] = listing.rows.as_slice() else { panic!("{} runs of one", listing.rows.len()) };
    assert_eq!((row.folder.as_str(), row.path.parent()), ("run", Some(folder.path())));
    let _ = (row.state_label(), row.changed_label(), row.loss_label());
    row.headlines.keys().into_iter().for_each(|key| drop(row.headline_label(key)));
}

/// The bytes with others in the first places of a mark, at most this many.
fn replaced(bytes: &[u8], mark: &[u8], with: &[u8], most: usize) -> Vec<u8> {
    let (mut out, mut rest) = (vec![], bytes);
    for _ in 0..most {
        let Some(at) = rest.windows(mark.len()).position(|part| part == mark) else { break };
        out.extend([&rest[..at], with].concat());
        rest = &rest[at + mark.len()..];
    }
    out.extend(rest);
    out
}

/// A link; what is read is written as a link that reads as the same page.
fn link(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(Ok(Link::Page(page))) = Link::parse(text, labs::LABS) {
        let written = page.to_string();
        let again = Link::parse(&written, labs::LABS);
        assert!(matches!(&again, Some(Ok(Link::Page(p))) if p.to_string() == written), "{written}: {again:?}");
    }
}

/// A list of characters, as JSON or as a pickle by its first byte, for a text of two lines.
fn characters(bytes: &[u8]) {
    let json = bytes.first().is_some_and(|b| matches!(b, b'{' | b'['));
    let (folder, path) = file(if json { "vocab.json" } else { "meta.pkl" }, bytes);
    let text = folder.path().join("text.txt");
    fs::write(&text, "abc\nab\n".repeat(40)).expect("a temporary file");
    let spec = CorpusSpec::new(Source::File(text), TokenizerSpec::Characters(path));
    let Ok(corpus) = Corpus::open(&spec) else { return };
    let ids = corpus.encode("abc");
    let _ = corpus.decode(&ids);
}

/// The `config.json` beside a checkpoint of a BDH whose tensors are those of a small one.
fn bdh_checkpoint(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("config.json"), bytes).expect("a temporary file");
    let tensors: [(&str, &[usize]); 5] = [
        ("embed.weight", &[8, 4]),
        ("encoder", &[2, 4, 6]),
        ("encoder_v", &[2, 4, 6]),
        ("decoder", &[12, 4]),
        ("lm_head", &[4, 8]),
    ];
    let mut at = 0;
    let entry = |(name, shape): &(&str, &[usize])| {
        let from = at;
        at += 4 * shape.iter().product::<usize>();
        format!(r#""{name}":{{"dtype":"F32","shape":{shape:?},"data_offsets":[{from},{at}]}}"#)
    };
    let header = format!("{{{}}}", tensors.iter().map(entry).collect::<Vec<_>>().join(","));
    let file = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; at]].concat();
    let path = folder.path().join("model.safetensors");
    fs::write(&path, file).expect("a temporary file");
    let Ok(checkpoint) = Checkpoint::open(&path, &BdhSpec::default(), &Device::Cpu) else { return };
    let _ = checkpoint.model(2);
}

/// The answer of a program to a question; each `ID` in it stands for the question's.
fn answer(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["ask", "answer"] {
        fs::create_dir(folder.path().join(name)).expect("a temporary folder");
    }
    let asked = OpenQuestion::send(folder.path(), "attention", &Args::new(), None).expect("a question");
    let names = fs::read_dir(folder.path().join("ask")).expect("a temporary folder");
    let name = names.flatten().next().expect("the question").file_name();
    let id = name.to_str().and_then(|name| name.strip_suffix(".json")).expect("an id").as_bytes();
    let text = replaced(bytes, b"ID", id, usize::MAX);
    fs::write(folder.path().join("answer").join(&name), text).expect("a temporary file");
    let _ = asked.reply(&RunInfo::default());
}

/// Files of claims (`NAME.toml`) and of their results (`ID.json`): judged, checked, and written as the program writes them.
fn claims(bytes: &[u8]) {
    let (mut papers, mut results) = (vec![], vec![]);
    for (name, content) in files_in(bytes) {
        let (Ok(name), Ok(text)) = (std::str::from_utf8(name), String::from_utf8(content)) else { continue };
        match name.rsplit_once('.') {
            Some((stem, "toml")) => papers.push((stem.to_owned(), text)),
            Some((stem, "json")) => results.push((stem.to_owned(), text)),
            _ => {}
        }
    }
    let Ok(ledger) = Ledger::new(&papers, &results) else { return };
    let rows = ledger.rows();
    assert_eq!(rows.len(), ledger.claims().count());
    let _ = (table::summary(&rows), ledger.pages(), ledger.problems());
    for entry in ledger.entries().iter().flat_map(|paper| &paper.claims) {
        let _ = (entry.verdict_label(), entry.facts(), entry.command());
    }
    for (stored, now) in ledger.rejudged() {
        let written = now.to_json().expect("a result is JSON");
        assert!(ClaimResult::parse(&stored.claim, &written).is_ok(), "{written}");
    }
}

/// What another machine sends of a run, as a copy of its folder; so few frames that a slow disk keeps up.
fn sent_frames(mut bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut copy = FolderCopy::new(folder.path());
    for _ in 0..200 {
        let Ok(Some(frame)) = frames::read_frame::<Frame>(&mut bytes) else { break };
        if copy.receive(&frame, &mut bytes).is_err() {
            break;
        }
    }
    for file in fs::read_dir(folder.path()).expect("a temporary folder").flatten() {
        let mut known = frames::WHOLE.map(|(name, _)| name).into_iter().chain(frames::LOGS);
        assert!(known.any(|name| file.file_name() == name), "{file:?}");
    }
    if let Ok(events) = Reader::open(folder.path()) {
        events.for_each(drop);
    }
}

/// The log of another tool, as a run folder and read from it.
fn import_logs(path: &Path) {
    let runs = tempfile::tempdir().expect("a temporary folder");
    let Ok(Some(source)) = import::Source::find(path) else { return };
    let Ok(imported) = source.import(runs.path()) else { return };
    let events = Reader::open(&imported.folder).expect("what was written is a run folder");
    let damage = events.read_through(drop).expect("what was written can be read");
    assert!(damage.is_empty(), "{damage}");
}

fn other_log(name: &str, bytes: &[u8]) {
    let (_folder, path) = file(name, bytes);
    import_logs(&path);
}

/// The CRC of a reflected polynomial, bit by bit.
fn crc(polynomial: u32, bytes: &[u8]) -> u32 {
    let bit = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ polynomial } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| bit(crc)))
}

/// An event in a file whose checksums are right.
fn event(bytes: &[u8]) {
    let masked = |bytes: &[u8]| crc(0x82f6_3b78, bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes();
    let length = (bytes.len() as u64).to_le_bytes();
    let framed = [&length[..], &masked(&length), bytes, &masked(bytes)].concat();
    other_log("events.out.tfevents.1.a", &framed);
}

/// A record of a log of W&B, in parts whose checksums are right.
fn wandb_record(bytes: &[u8]) {
    const ROOM: usize = (32 << 10) - 7;
    let mut log = b":W&B\xe1\xbe\x00".to_vec();
    let (first, rest) = bytes.split_at(bytes.len().min(ROOM - log.len()));
    let mut parts = vec![first];
    parts.extend(rest.chunks(ROOM));
    for (i, part) in parts.iter().enumerate() {
        let kind: u8 = match (i == 0, i + 1 == parts.len()) {
            (true, true) => 1,
            (true, false) => 2,
            (false, false) => 3,
            (false, true) => 4,
        };
        let summed = [&[kind][..], *part].concat();
        log.extend(crc(0xedb8_8320, &summed).to_le_bytes());
        log.extend((part.len() as u16).to_le_bytes());
        log.extend(summed);
    }
    other_log("run-a.wandb", &log);
}

/// A table and, behind a line `== hparams.yaml`, its settings.
fn lightning(bytes: &[u8]) {
    const MARK: &[u8] = b"== hparams.yaml\n";
    let at = bytes.windows(MARK.len()).position(|window| window == MARK);
    let (table, settings) = at.map_or((bytes, &[][..]), |at| (&bytes[..at], &bytes[at + MARK.len()..]));
    let (folder, _) = file("metrics.csv", table);
    fs::write(folder.path().join("hparams.yaml"), settings).expect("a temporary file");
    import_logs(folder.path());
}
