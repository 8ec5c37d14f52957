//! Tests small files that try to make a reader allocate much memory. Whatever a file contains, its reader may use at
//! most 16 times the file's bytes plus 64 MB, whether it refuses the file or reads it.

use std::{
    fs,
    io::{Cursor, Write},
    path::Path,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
};

use orrery::{
    analysis::graph_file::Format,
    corpus::{Corpus, CorpusSpec, GrammarRoles, Source, TagColumn, TokenizerSpec, Treebank},
    nn::{Device, weights::Weights},
    store::{Reader, checkpoint, import},
};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::{
    alone,
    logs_of_tools::{field, frame, trackio_database, wandb_item, wandb_log},
    peak_of,
};

/// Calls `read` and checks its memory against the bound for a file of this size. Returns the result of `read`.
fn bounded<R>(what: &str, bytes: usize, read: impl FnOnce() -> R) -> R {
    bounded_by(16 * bytes + (64 << 20), what, bytes, read)
}

fn bounded_by<R>(most: usize, what: &str, bytes: usize, read: impl FnOnce() -> R) -> R {
    let (result, peak) = peak_of(read);
    println!("{what}: {} MB for a file of {:.2} MB", peak >> 20, bytes as f64 / 1e6);
    assert!(peak < most, "{what}: {} MB for a file of {} bytes", peak >> 20, bytes);
    result
}

fn refusal<T>(result: Result<T, impl std::fmt::Display>) -> String {
    result.err().map(|e| e.to_string()).unwrap_or_default()
}

// ---- weights ----

/// The error message of `Weights::open` for a file with this content; empty if it opens.
fn weights(what: &str, bytes: &[u8]) -> String {
    static HAS_REFUSED: AtomicBool = AtomicBool::new(false);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.pt");
    fs::write(&path, bytes).unwrap();
    // with backtraces switched on, the first error of candle loads the program's symbols, which must not be measured
    if !HAS_REFUSED.load(SeqCst) {
        HAS_REFUSED.store(!refusal(Weights::open(&path)).is_empty(), SeqCst);
    }
    let said = bounded(what, bytes.len(), || refusal(Weights::open(&path)));
    println!("  {}", said.chars().take(300).collect::<String>());
    said
}

fn safetensors(header: &str) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes
}

/// A file in the format of torch.save with this pickle.
fn torch(pickle: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(vec![]));
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    zip.start_file("archive/data.pkl", stored).unwrap();
    zip.write_all(pickle).unwrap();
    zip.finish().unwrap().into_inner()
}

fn text(words: &str) -> Vec<u8> {
    [&b"X"[..], &(words.len() as u32).to_le_bytes(), words.as_bytes()].concat()
}

#[test]
fn a_long_key_over_many_leaves_is_not_copied_for_each() {
    alone(|| {
        let key = text(&"k".repeat(40_000));
        let list = [&b"]("[..], &b"K\x01".repeat(60_000), b"e"].concat();
        let pickle = [&b"\x80\x02}"[..], &key, &list, b"s."].concat();
        assert!(weights("a long key over a list", &torch(&pickle)).contains("state_dict alone"));
        let nested = [
            &b"\x80\x02"[..],
            &[&b"}"[..], &text(&"k".repeat(900))].concat().repeat(14),
            &list,
            &b"s".repeat(14),
            b".",
        ];
        weights("keys in keys", &torch(&nested.concat()));
        let leaves = (0..100_000).map(|i| format!("\"{i}\":1")).collect::<Vec<_>>().join(",");
        let header = format!("{{\"__metadata__\":{{\"{}\":{{{leaves}}}}}}}", "k".repeat(200_000));
        assert!(weights("metadata under a long key", &safetensors(&header)).contains("state_dict alone"));
        let deep = format!("{}{{{leaves}}}{}", format!("{{\"{}\":", "k".repeat(8)).repeat(100), "}".repeat(100));
        weights("metadata deep down", &safetensors(&format!("{{\"__metadata__\":{deep}}}")));
        let words = serde_json::to_string(&deep).unwrap();
        weights("metadata in words", &safetensors(&format!("{{\"__metadata__\":{{\"a\":{words}}}}}")));
    })
}

#[test]
fn pickles_of_nothing_take_no_memory() {
    alone(|| {
        const N: usize = 8 << 20;
        for (what, code) in [
            ("None", &b"N"[..]),
            ("lists", b"]"),
            ("dictionaries", b"}"),
            ("marks", b"("),
            ("numbers", b"K\x01"),
            ("repeats", b"2"),
            ("kept", b"\x94"),
        ] {
            let pickle = [&b"\x80\x04N"[..], &code.repeat(N / code.len()), b"."].concat();
            assert!(weights(what, &torch(&pickle)).contains("more objects than a model"), "{what}");
        }
        let list = [&b"\x80\x02]q\x00"[..], &b"h\x00a".repeat(N / 3), b"."].concat();
        assert!(weights("a list that holds itself", &torch(&list)).contains("more objects"));
        let tuples = [&b"\x80\x02"[..], &[&b"("[..], &b"N".repeat(200_000), b"t0"].concat().repeat(40), b"N."].concat();
        weights("tuples that are dropped", &torch(&tuples));
    })
}

#[test]
fn headers_of_nothing_take_no_memory() {
    alone(|| {
        const N: usize = 2 << 20;
        weights("empty objects", &safetensors(&format!("{{{}\"z\":{{}}}}", "\"a\":{},".repeat(N / 7))));
        weights("empty lists", &safetensors(&format!("{{\"__metadata__\":[{}[]]}}", "[],".repeat(N))));
        weights("lists in an object", &safetensors(&format!("{{\"__metadata__\":{{\"a\":[{}0]}}}}", "{},".repeat(N))));
        let sides = format!("{{\"a\":{{\"dtype\":\"F32\",\"data_offsets\":[0,0],\"shape\":[{}0]}}}}", "0,".repeat(N));
        assert!(weights("many sides", &safetensors(&sides)).contains("dimensions"));
        let tensor = |i: usize| format!("\"{i:x}\":{{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,0]}}");
        let many = (0..200_000).map(tensor).collect::<Vec<_>>().join(",");
        weights("many tensors", &safetensors(&format!("{{{many}}}")));
    })
}

#[test]
fn a_zip_of_many_parts_takes_its_tables_size() {
    alone(|| {
        let mut zip = ZipWriter::new(Cursor::new(vec![]));
        let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        for i in 0..150_000 {
            zip.start_file(format!("{i:x}"), stored).unwrap();
        }
        let bytes = zip.finish().unwrap().into_inner();
        assert!(!weights("a zip of many parts", &bytes).is_empty());
    })
}

#[test]
fn tensors_beyond_memory_are_refused_before_they_are_read() {
    alone(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("huge.safetensors");
        let values = 1u64 << 40;
        let header =
            format!("{{\"w\":{{\"dtype\":\"F16\",\"shape\":[{values}],\"data_offsets\":[0,{}]}}}}", 2 * values);
        fs::write(&path, safetensors(&header)).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        if file.set_len(8 + header.len() as u64 + 2 * values).is_err() {
            println!("skipped: no sparse files of this size here");
            return;
        }
        let open = Weights::open(&path).unwrap();
        let said = bounded("a tensor of a tebivalue", header.len(), || refusal(open.load("w", &Device::Cpu)));
        assert!(said.contains("of memory") && said.contains("`w`"), "{said}");
    })
}

// ---- tokenizers ----

fn tokenizer(what: &str, json: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    fs::write(&path, json).unwrap();
    let spec = CorpusSpec::new(Source::Generated("harbour".into()), TokenizerSpec::HuggingFace(path));
    let said = bounded(what, json.len() + (2 << 20), || refusal(Corpus::open(&spec)));
    println!("  {said}");
    said
}

fn bpe(vocabulary: &str, more: &str) -> String {
    format!(
        "{{\"version\":\"1.0\",{more}\"model\":{{\"type\":\"BPE\",\"unk_token\":\"a\",\"vocab\":{{{vocabulary}}},\"merges\":[]}}}}"
    )
}

#[test]
fn ids_and_replacements_of_a_tokenizer_are_bounded() {
    alone(|| {
        assert!(tokenizer("an id of 2^32 - 1", &bpe("\"a\":0,\"b\":4294967295", "")).contains("4294967295"));
        let double = r#"{"type":"Replace","pattern":{"String":"a"},"content":"aa"}"#;
        let steps =
            format!("\"normalizer\":{{\"type\":\"Sequence\",\"normalizers\":[{}]}},", vec![double; 40].join(","));
        assert!(tokenizer("doubled forty times", &bpe("\"a\":0", &steps)).contains("normalizer"));
        let many = (0..60_000).map(|i| format!("\"{i:x}\":{i}")).collect::<Vec<_>>().join(",");
        tokenizer("many tokens", &bpe(&many, ""));
        tokenizer("lists in lists", &format!("{{\"model\":[{}[]]}}", "[],".repeat(400_000)));
    })
}

// ---- lists of characters ----

fn characters(what: &str, name: &str, bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    let spec = CorpusSpec::new(Source::Generated("harbour".into()), TokenizerSpec::Characters(path));
    let said = bounded(what, bytes.len() + (2 << 20), || refusal(Corpus::open(&spec)));
    println!("  {}", said.chars().take(300).collect::<String>());
    said
}

#[test]
fn characters_beyond_unicode_are_refused_before_they_are_held() {
    alone(|| {
        let many = |item: &str, count: usize| format!("[{}{item}]", format!("{item},").repeat(count));
        for (what, list, why) in [
            ("a list of characters", many("\"a\"", 4_000_000), "more than 2097152 entries"),
            ("a list of numbers", many("0", 8_000_000), "entry 0 is 0"),
            ("a list of lists", many("[]", 5_000_000), "entry 0 is a list"),
            ("lists beside no list", format!("{{\"itos\":{},\"stoi\":[]}}", many("[]", 5_000_000)), "no character"),
            ("lists in place of an id", format!("{{\"a\":{}}}", many("[]", 5_000_000)), "is a list"),
        ] {
            assert!(characters(what, "list.json", list.as_bytes()).contains(why), "{what}");
        }
        let symbol = text(&"k".repeat(256 << 10));
        let again = [&b"\x80\x02]("[..], &symbol, b"q\x01", &b"h\x01".repeat(1000), b"e."].concat();
        assert!(characters("a long symbol a thousand times", "meta.pkl", &again).contains("again and again"));
        let lists = [&b"\x80\x02]("[..], &b"]".repeat(200_000), b"e."].concat();
        let said = characters("lists in place of characters", "meta.pkl", &lists);
        assert!(said.contains("entry 0 is a list") && said.len() < 1000, "{said}");
    })
}

// ---- treebanks ----

fn treebank(what: &str, text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.conllu");
    fs::write(&path, text).unwrap();
    let treebank = Some(Treebank { path, tags: TagColumn::Upos, lowercase: true, longest: 4 });
    let sets = GrammarRoles { grammar: Default::default(), train: 2, test: 1, seed: 1, own: None, treebank };
    let spec = CorpusSpec::new(Source::GrammarRoles(sets), TokenizerSpec::Whitespace { max_vocab: 9 });
    let said = bounded(what, text.len(), || refusal(Corpus::open(&spec)));
    assert!(said.len() < 1000, "{what} is quoted: {} bytes", said.len());
    println!("  {said}");
    said
}

#[test]
fn lines_and_sentences_of_a_treebank_are_bounded() {
    alone(|| {
        const N: usize = 1 << 20;
        assert!(treebank("a line of tabs", &format!("1{}", "\t".repeat(16 * N))).contains("16777217 columns"));
        let line = |id: &str, word: &str, tag: &str| format!("{id}\t{word}\t\t{tag}\t\t\t\t\t\t\n");
        assert!(treebank("a long number", &line(&"9".repeat(8 * N), "a", "X")).contains("where word 1 is due"));
        assert!(treebank("a long tag", &line("1", "a", &"X".repeat(8 * N))).contains("in column 4"));
        assert!(treebank("a word of spaces", &line("1", &"a ".repeat(8 * N), "X")).contains("has 1 sentences"));
        assert_eq!(treebank("sentences of one letter", &(line("1", "a", "X") + "\n").repeat(N)), "");
    })
}

// ---- graphs ----

fn graph(what: &str, format: Format, text: &str) -> String {
    // a node of a few bytes becomes a struct, so the bound is 32 times the file
    let most = 32 * text.len() + (64 << 20);
    let said = bounded_by(most, what, text.len(), || refusal(format.read(text)));
    println!("  {said}");
    said
}

fn gexf(attributes: &str, nodes: &str) -> String {
    format!("<gexf><graph><attributes class=\"node\">{attributes}</attributes><nodes>{nodes}</nodes></graph></gexf>")
}

#[test]
fn values_and_attributes_of_a_gexf_are_bounded() {
    alone(|| {
        let title = |name: &str| format!("<attribute id=\"0\" title=\"{name}\"/>");
        let values = "<attvalue for=\"0\" value=\"1\"/>".repeat(100_000);
        let node = format!("<node id=\"a\">{values}</node>");
        assert!(graph("100,000 values", Format::Gexf, &gexf(&title("x"), &node)).contains("more than 1024 values"));
        let long = gexf(&title(&"x".repeat(100_000)), &node);
        assert!(graph("values of a long name", Format::Gexf, &long).contains("too long a name"));
        let kinds = (0..100_000).map(|i| format!("<attribute id=\"{i}\" title=\"{i}\"/>")).collect::<String>();
        assert!(graph("kinds of values", Format::Gexf, &gexf(&kinds, "")).contains("1024 kinds"));
        let wide = (0..200_000).map(|i| format!(" a{i}=\"\"")).collect::<String>();
        let wide = gexf("", &format!("<node id=\"a\"{wide}/>"));
        assert!(graph("attributes of an element", Format::Gexf, &wide).contains("attributes"));
    })
}

#[test]
fn the_smallest_nodes_and_edges_are_bounded() {
    alone(|| {
        let nodes = (0..600_000).map(|i| format!("<node id=\"{i:x}\"/>")).collect::<String>();
        graph("nodes of a GEXF", Format::Gexf, &gexf("", &nodes));
        graph("nodes of a GraphML", Format::GraphMl, &format!("<graphml><graph>{nodes}</graph></graphml>"));
        let edges = "<edge source=\"a\" target=\"a\"/>".repeat(300_000);
        graph("edges", Format::Gexf, &format!("<gexf><node id=\"a\"/>{edges}</gexf>"));
        let datum = "<data key=\"k\">1</data>".repeat(200_000);
        graph("data", Format::GraphMl, &format!("<graphml><graph><node id=\"a\">{datum}</node></graph></graphml>"));
        let rows = (0..500_000).map(|i| format!("{:x},{:x}\n", 2 * i, 2 * i + 1)).collect::<String>();
        graph("rows of two nodes", Format::Csv, &rows);
        assert!(graph("commas", Format::Csv, &",".repeat(20 << 20)).contains("columns"));
        graph("commas in lines", Format::Csv, &(",".repeat(1000) + "\n").repeat(20_000));
        graph("quotes", Format::Csv, &"\"\"".repeat(4 << 20));
    })
}

// ---- logs of other tools ----

/// Imports a file with this name as another tool's log. Returns the error message, or the notices of the imported run.
fn import(what: &str, name: &str, bytes: &[u8]) -> String {
    import_within(16 * bytes.len() + (64 << 20), what, name, bytes)
}

fn import_within(most: usize, what: &str, name: &str, bytes: &[u8]) -> String {
    let (logs, runs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = logs.path().join(name);
    fs::write(&path, bytes).unwrap();
    let said = bounded_by(most, what, bytes.len(), || {
        let source = import::Source::find(&path).unwrap().expect("it is a log by its name and its first bytes");
        source.import(runs.path()).map_or_else(|e| e.to_string(), |imported| imported.summary.unwrap_or_default())
    });
    println!("  {}", said.chars().take(400).collect::<String>());
    said
}

#[test]
fn numbers_and_settings_of_other_tools_are_not_held_as_json() {
    alone(|| {
        const N: usize = 1 << 20;
        let objects = format!("[{}{{}}]", "{\"a\":0},".repeat(N));
        let nested = format!("{{\"a\":{objects},\"loss\":0.5}}");
        assert!(
            import("objects beside a number", "a.db", &trackio_database(&nested)).contains("1 number of 1 channel")
        );
        let names = (0..N / 4).map(|i| format!("\"{i:x}\":\"\"")).collect::<Vec<_>>().join(",");
        assert!(
            import("names of words", "a.db", &trackio_database(&format!("{{{names}}}"))).contains("holds no numbers")
        );
        let deep = format!("{{\"a\":{}", "[".repeat(8 * N));
        assert!(import("lists in lists", "a.db", &trackio_database(&deep)).contains("holds no numbers"));

        let (config, item) = (|item: &[u8]| field(5, &field(1, item)), |json: &str| wandb_item(&field(1, b"a"), json));
        let log = wandb_log(&[config(&item(&objects)), history(&field(1, b"loss"))]);
        assert!(import("settings of objects", "a.wandb", &log).contains("settings left out"));
    })
}

/// A step of a W&B log with one number under this key.
fn history(key: &[u8]) -> Vec<u8> {
    field(2, &[field(1, &wandb_item(key, "0.5")), field(2, &[8, 1])].concat())
}

#[test]
fn repeated_fields_of_nothing_take_no_memory() {
    alone(|| {
        const N: usize = 5 << 20;
        let (empty_key, whole) = (field(2, b""), history(&field(1, b"loss")));
        let log = wandb_log(&[history(&empty_key.repeat(N)), whole]);
        assert!(import("a name of empty names", "a.wandb", &log).contains("longer than 256 bytes"));

        let value = [field(1, b"loss"), vec![0x15, 0, 0, 0, 0x40]].concat();
        let number = field(5, &field(1, &value));
        let texts = field(5, &field(1, &[field(1, b"words"), field(8, &field(8, b"").repeat(N))].concat()));
        let summaries = field(5, b"").repeat(N);
        for (what, event) in [("empty texts", texts), ("empty summaries", summaries)] {
            let log = [frame(event.len() as u64, &event), frame(number.len() as u64, &number)].concat();
            assert!(import(what, "a.tfevents.1", &log).contains("1 number of 1 channel"));
        }
    })
}

#[test]
fn cells_and_columns_of_a_table_are_bounded() {
    alone(|| {
        let commas = ",".repeat((1 << 24) + 1000);
        let said = import("a row of commas", "metrics.csv", format!("step,a\n1,2\n{commas}\n").as_bytes());
        assert!(said.contains("a row longer than"), "{said}");
        let head = ",".repeat((1 << 20) - 10);
        assert!(import("a head of commas", "metrics.csv", format!("step{head}\n1\n").as_bytes()).contains("columns"));
        let quoted = "\"\n\",".repeat(4 << 20);
        let said = import("quoted lines", "metrics.csv", format!("step,a\n1,2\n{quoted}\n").as_bytes());
        assert!(said.contains("a row longer than"), "{said}");
        // a number of two bytes takes 32 in memory, twice as much while the list grows, and half as much again for
        // sorting
        let head = (0..15_000).map(|i| format!(",{i:x}")).collect::<String>();
        let row = ",1".repeat(15_000);
        let rows = (0..200).map(|step| format!("{step}{row}\n")).collect::<String>();
        let table = format!("step{head}\n{rows}");
        let said = import_within(64 * table.len() + (64 << 20), "numbers", "metrics.csv", table.as_bytes());
        assert!(said.contains("3000000 numbers"), "{said}");
    })
}

// ---- run folders ----

const CONFIG: &str = "lab = \"fast_slow\"\npreset = \"\"\nseed = 1\n";

/// Reads all events of a run folder whose file of this name has these bytes. Returns the notices.
fn replay(what: &str, name: &str, bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("config.toml"), CONFIG).unwrap();
    fs::write(folder.path().join(name), bytes).unwrap();
    let said = bounded(what, bytes.len(), || match Reader::open(folder.path()) {
        Ok(events) => events
            .filter_map(|e| match e {
                orrery::telemetry::Event::Notice { text, .. } => Some(text),
                _ => None,
            })
            .collect::<Vec<_>>()
            .join("; "),
        Err(e) => e.to_string(),
    });
    println!("  {}", said.chars().take(400).collect::<String>());
    said
}

#[test]
fn lines_of_a_run_are_bounded() {
    alone(|| {
        const N: usize = 1 << 20;
        let scalars = (0..N).map(|i| format!("\"{i:x}\":1")).collect::<Vec<_>>().join(",");
        let line = format!("{{\"step\":1,\"variant\":0,{scalars}}}\n");
        assert!(replay("a long line of metrics", "metrics.jsonl", line.as_bytes()).contains("longer than"));
        let lines = (0..40).map(|k| {
            let scalars = (0..N / 8).map(|i| format!("\"{k}/{i:x}\":1")).collect::<Vec<_>>().join(",");
            format!("{{\"step\":1,\"variant\":0,{scalars}}}\n")
        });
        assert!(replay("many channels", "metrics.jsonl", lines.collect::<String>().as_bytes()).contains("channels"));
        let sample = |channel: &str, payload: &str| {
            format!("{{\"step\":1,\"variant\":0,\"channel\":\"{channel}\",\"payload\":{payload}}}\n")
        };
        let lists = format!("[{}[]]", "[],".repeat(N));
        let curves = format!("{{\"curves\":{lists}}}");
        for (channel, payload) in [
            ("fast_slow.residual", &lists),
            ("fast_slow.residual", &curves),
            ("synapses.texts", &lists),
            ("graph.neurons", &lists),
            ("attention.maps", &lists),
            ("their.own", &lists),
        ] {
            replay(&format!("lists in {channel}"), "samples.jsonl", sample(channel, payload).as_bytes());
        }
        let tokens = "\"\",".repeat(N);
        let line =
            format!("{{\"step\":1,\"variant\":0,\"channel\":\"a.b\",\"tokens\":[{tokens}\"\"],\"payload\":0}}\n");
        replay("many tokens", "samples.jsonl", line.as_bytes());
        replay("an event of lists", "events.jsonl", format!("{{\"step\":1,\"notice\":{lists}}}\n").as_bytes());
        replay("zeros", "events.jsonl", &vec![0; 16 << 20]);
        let variants = "{\"id\":\"\",\"label\":\"\",\"group\":\"\",\"seed\":0,\"params\":0},".repeat(100_000);
        replay("a description of lists", "run.json", format!("{{\"run\":{{\"variants\":[{variants}]}}}}").as_bytes());
        replay("a description of nothing", "run.json", format!("[{}", "[],".repeat(10 * N)).as_bytes());
    })
}

#[test]
fn settings_and_states_are_read_in_bounded_memory() {
    alone(|| {
        let folder = tempfile::tempdir().unwrap();
        let keys = (0..50_000).map(|i| format!("a{i:x}=1\n")).collect::<String>();
        for (what, text) in [
            ("settings", format!("{CONFIG}{}", &keys[..240_000])),
            ("settings in tables", format!("{CONFIG}{}", "[[a.b]]\n".repeat(30_000))),
            ("settings of lists", format!("{CONFIG}a=[{}]", "[],".repeat(80_000))),
        ] {
            fs::write(folder.path().join("config.toml"), &text).unwrap();
            bounded(what, text.len(), || Reader::open(folder.path()).map(Iterator::count).unwrap_or_default());
        }
        let huge = fs::File::create(folder.path().join("config.toml")).unwrap();
        huge.set_len(500 << 20).unwrap();
        let said = bounded("settings of 500 MB of zeros", 0, || refusal(Reader::open(folder.path())));
        assert!(said.contains("longer than 262 kB"), "{said}");
        let at = folder.path().join("checkpoints/step-00000001");
        fs::create_dir_all(&at).unwrap();
        let tensor = "{\"name\":\"\",\"dtype\":\"\",\"shape\":[]},".repeat(200_000);
        let state = format!(
            "{{\"format\":1,\"step\":1,\"wall_secs\":0,\"dials\":{{}},\"lengths\":{{\"metrics\":0,\"samples\":0,\"events\":0}},\"variants\":[{{\"id\":\"a\",\"optimiser_step\":0,\"data\":{{\"seed\":0,\"drawn\":0}},\"weights\":{{\"file\":\"a\",\"bytes\":0,\"crc32c\":0,\"tensors\":[{tensor}]}}}}]}}"
        );
        let load = |path: &Path, bytes: usize, what: &str| {
            bounded(what, bytes, || refusal(checkpoint::load(path, &Device::Cpu)))
        };
        fs::write(at.join("state.json"), &state).unwrap();
        println!("{}", load(folder.path(), state.len(), "a state of tensors"));
        let lists = format!("{{\"format\":1,\"dials\":{{\"a\":[{}[]]}}", "[],".repeat(1 << 20));
        fs::write(at.join("state.json"), &lists).unwrap();
        println!("{}", load(folder.path(), lists.len(), "a state of lists"));
    })
}
