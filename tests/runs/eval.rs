//! Tests the commands for a trained BDH in a file: loss of a text, activations, generated text. The expected numbers
//! come from PyTorch (`tests/oracles/bdh.safetensors`); the binary is the real one.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use candle_core::{Device, Tensor};
use orrery::{analysis::graph_file::Format, nn::host, store::tensors};

use super::command::{output_in, stderr_of};

pub type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The code point of token 0, `!`; the characters of the other tokens follow it.
const FIRST: u32 = 33;
const VOCAB: u32 = 48;

fn character(id: u32) -> char {
    char::from_u32(FIRST + id).unwrap()
}

/// The oracle's model in a file, its texts of 25 tokens, and the values that PyTorch computed.
pub struct Oracle {
    folder: tempfile::TempDir,
    texts: [String; 2],
    /// PyTorch's logits after each token of both texts but the last, `(24, V)` each.
    logits: [Vec<Vec<f64>>; 2],
    loss: f64,
    all: Vec<(String, Tensor)>,
}

impl Oracle {
    pub fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracles/bdh.safetensors");
        let all = tensors::read(&path, &Device::Cpu)?;
        let get = |name: &str| all.iter().find(|(n, _)| n == name).map(|(_, t)| t.clone()).ok_or(name.to_owned());
        let weights: Vec<(String, Tensor)> =
            all.iter().filter_map(|(n, t)| Some((n.strip_prefix("w.")?.to_owned(), t.clone()))).collect();
        tensors::write(&folder.path().join("three.safetensors"), &weights, &[("n_layer".into(), "3".into())])?;
        tensors::write(&folder.path().join("unsaid.safetensors"), &weights, &[])?;
        let list: Vec<String> = (0..VOCAB).map(|id| character(id).to_string()).collect();
        fs::write(folder.path().join("list.json"), serde_json::to_string(&list)?)?;
        let ids = |name: &str, row: usize| -> Result<Vec<u32>, Box<dyn std::error::Error>> {
            Ok(host::to_u32(&get(name)?.get(row)?)?)
        };
        let text = |row: usize| -> Result<String, Box<dyn std::error::Error>> {
            let last = *ids("in.targets", row)?.last().ok_or("no target")?;
            Ok(ids("in.tokens", row)?.into_iter().chain([last]).map(character).collect())
        };
        let texts = [text(0)?, text(1)?];
        for (row, text) in texts.iter().enumerate() {
            fs::write(folder.path().join(format!("{row}.txt")), text)?;
        }
        let logits = |row: usize| -> Result<Vec<Vec<f64>>, Box<dyn std::error::Error>> {
            let values = host::to_f64(&get("out.logits")?.get(row)?)?;
            Ok(values.chunks(VOCAB as usize).map(<[f64]>::to_vec).collect())
        };
        let loss = host::scalar(&get("out.loss")?)?;
        Ok(Self { logits: [logits(0)?, logits(1)?], texts, loss, folder, all })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the negative log-likelihood of every token of a text but the first, in nats.
    pub fn nats(&self, row: usize) -> Vec<f64> {
        let rows = self.logits[row].iter().zip(self.targets(row));
        rows.map(|(logits, t)| logits.iter().map(|v| v.exp()).sum::<f64>().ln() - logits[t]).collect()
    }

    /// The ids of a text's tokens but the first, which are the targets of the prediction.
    pub fn targets(&self, row: usize) -> Vec<usize> {
        self.texts[row].chars().skip(1).map(|c| (u32::from(c) - FIRST) as usize).collect()
    }

    fn run(&self, words: &str) -> Output {
        output_in(self.folder.path(), words)
    }

    pub fn done(&self, words: &str) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{words}: {}", stderr_of(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub fn refused(&self, words: &str, code: i32, parts: &[&str]) {
        let output = self.run(words);
        let said = stderr_of(&output);
        assert_eq!(output.status.code(), Some(code), "{words}: {said}");
        for part in parts {
            assert!(said.contains(part), "{words}, `{part}`: {said}");
        }
        assert!(!said.contains("panicked"), "{words}: {said}");
    }
}

/// Returns the number before ` nats per token`.
fn loss_of(said: &str) -> f64 {
    let line = said.lines().find(|l| l.starts_with("loss ")).unwrap_or_else(|| panic!("{said}"));
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn losses_are_pytorchs() -> Outcome {
    let oracle = Oracle::new()?;
    for form in ["", " --window 24"] {
        let losses = [0, 1].map(|row| {
            let said = oracle.done(&format!("model eval three.safetensors {row}.txt --vocabulary list.json{form}"));
            assert!(said.contains("3 layers (as the file says)") && said.contains("24 scored"), "{said}");
            loss_of(&said)
        });
        let mean = (losses[0] + losses[1]) / 2.0;
        assert!((mean - oracle.loss).abs() < 1e-5, "{form}: {mean} and PyTorch's {}", oracle.loss);
    }
    oracle.done("model eval three.safetensors 1.txt --vocabulary list.json --per-token out.csv");
    let table = fs::read_to_string(oracle.path("out.csv"))?;
    let rows: Vec<Vec<String>> = csv::Reader::from_reader(table.as_bytes())
        .records()
        .map(|r| r.unwrap().iter().map(str::to_owned).collect())
        .collect();
    assert!(table.starts_with("position,token,loss\n0,"), "{table}");
    assert_eq!((rows.len(), rows[0][2].as_str()), (25, ""));
    for (at, (row, nats)) in rows[1..].iter().zip(oracle.nats(1)).enumerate() {
        assert_eq!(
            (row[0].clone(), row[1].chars().next()),
            ((at + 1).to_string(), oracle.texts[1].chars().nth(at + 1))
        );
        assert!((row[2].parse::<f64>()? - nats).abs() < 1e-4, "{row:?} {nats}");
    }
    Ok(())
}

#[test]
fn info_says_the_sizes_and_what_a_file_leaves_open() -> Outcome {
    let oracle = Oracle::new()?;
    let said = oracle.done("model info three.safetensors");
    assert!(said.contains("vocabulary V  48") && said.contains("layers L      3"), "{said}");
    let said = oracle.done("model info unsaid.safetensors");
    assert!(said.contains("`orrery model eval unsaid.safetensors TEXT` finds out"), "{said}");
    Ok(())
}

#[test]
fn candidates_are_all_tried_and_the_least_loss_is_used() -> Outcome {
    let oracle = Oracle::new()?;
    // a text with each of the 48 characters, so that the vocabulary of its own characters fits the model too
    let all: String = (0..VOCAB).map(character).collect();
    fs::write(oracle.path("all.txt"), all.repeat(4) + &oracle.texts[0])?;
    let said = oracle.done("model eval unsaid.safetensors all.txt");
    let rows: Vec<Vec<&str>> = said
        .lines()
        .filter(|l| l.starts_with("the text's 48 characters"))
        .map(|l| l.trim_start_matches("the text's 48 characters by code point").split_whitespace().collect())
        .collect();
    assert_eq!(rows.iter().map(|r| r[0]).collect::<Vec<_>>(), (1..=12).map(|l| l.to_string()).collect::<Vec<_>>());
    let best = rows.iter().min_by(|a, b| a[3].parse::<f64>().unwrap().total_cmp(&b[3].parse().unwrap())).unwrap();
    assert_eq!(best.get(4), Some(&"used"), "{said}");
    assert!(said.contains(&format!("{} layers (chosen by its loss)", best[0])), "{said}");
    // the same loss results if this number of layers is given explicitly
    let asked = |n: &str| loss_of(&oracle.done(&format!("model eval unsaid.safetensors all.txt --layers {n}")));
    assert_eq!(loss_of(&said), asked(best[0]));
    let listed = oracle.done("model eval three.safetensors all.txt --vocabulary list.json");
    assert!(listed.contains("the vocabulary's 48 characters") && listed.contains("candidates"), "{listed}");
    Ok(())
}

#[test]
fn a_token_list_beside_the_checkpoint_is_used_and_reported() -> Outcome {
    let oracle = Oracle::new()?;
    let given = loss_of(&oracle.done("model eval three.safetensors 0.txt --vocabulary list.json"));
    fs::copy(oracle.path("list.json"), oracle.path("vocab.json"))?;
    let output = oracle.run("model eval three.safetensors 0.txt");
    let [said, noted] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert_eq!(loss_of(&said), given);
    assert!(noted.contains("vocab.json") && noted.contains("beside the checkpoint"), "{noted}");
    // a list of another length does not fit this model
    fs::write(oracle.path("vocab.json"), r#"["a", "b"]"#)?;
    oracle.refused("model eval three.safetensors 0.txt", 2, &["48 tokens", "vocabulary"]);
    Ok(())
}

#[test]
fn mismatched_inputs_of_model_eval_are_refused_with_a_reason() -> Outcome {
    let oracle = Oracle::new()?;
    fs::write(oracle.path("accent.txt"), "!!\u{e9}!")?;
    fs::write(oracle.path("few.txt"), "!#!#")?;
    fs::write(oracle.path("one.txt"), "!")?;
    fs::write(oracle.path("empty.txt"), "")?;
    fs::write(oracle.path("latin.txt"), [33, 0xe9, 33])?;
    fs::write(oracle.path("junk.safetensors"), "junk")?;
    for (words, parts) in [
        ("model eval three.safetensors 0.txt", vec!["48 tokens", "vocabulary"]),
        ("model eval three.safetensors 0.txt --tokenizer byte", vec!["48 tokens", "256"]),
        ("model eval three.safetensors 0.txt --tokenizer sorted_char", vec!["48 tokens", "distinct"]),
        ("model eval three.safetensors 0.txt --tokenizer vocabulary", vec!["file"]),
        ("model eval three.safetensors accent.txt --vocabulary list.json", vec!["U+00E9", "character 3", "line 1"]),
        ("model eval three.safetensors latin.txt --vocabulary list.json", vec!["UTF-8", "byte 1"]),
        ("model eval three.safetensors 0.txt --vocabulary few.txt", vec!["few.txt", "2 tokens", "48"]),
        ("model eval three.safetensors one.txt --vocabulary list.json", vec!["one.txt", "two"]),
        ("model eval three.safetensors empty.txt --vocabulary list.json", vec!["empty.txt", "empty"]),
        ("model eval three.safetensors none.txt --vocabulary list.json", vec!["none.txt"]),
        ("model eval junk.safetensors 0.txt", vec!["junk.safetensors"]),
        ("model eval none.pt 0.txt", vec!["none.pt"]),
        ("model eval three.safetensors 0.txt --vocabulary list.json --per-token 0.txt", vec!["0.txt", "another name"]),
        ("model generate unsaid.safetensors !! --vocabulary list.json", vec!["--layers"]),
        ("model generate three.safetensors !! --vocabulary list.json --temperature -1", vec!["-1"]),
        ("model activations three.safetensors 0.txt -o a.bin --vocabulary list.json", vec![".npz"]),
        (
            "model activations three.safetensors 0.txt -o a.npz --vocabulary list.json --layer 3",
            vec!["no layer 3", "0 to 2"],
        ),
    ] {
        oracle.refused(words, 2, &parts);
    }
    Ok(())
}

#[test]
fn non_finite_weights_are_refused_by_name() -> Outcome {
    let oracle = Oracle::new()?;
    let mut weights: Vec<(String, Tensor)> =
        oracle.all.iter().filter_map(|(n, t)| Some((n.strip_prefix("w.")?.to_owned(), t.clone()))).collect();
    for (_, t) in weights.iter_mut().filter(|(n, _)| n == "encoder_v") {
        *t = (t.zeros_like()? / 0.0)?;
    }
    tensors::write(&oracle.path("nan.safetensors"), &weights, &[])?;
    oracle.refused("model eval nan.safetensors 0.txt --vocabulary list.json", 2, &["encoder_v", "not finite"]);
    oracle.refused(
        "run synapses --steps 1 --no-figures --set model.checkpoint=nan.safetensors --set corpus.tokenizer=sorted_char --set corpus.vocabulary_file=list.json --set corpus.file=0.txt",
        2,
        &["encoder_v", "not finite"],
    );
    Ok(())
}

#[test]
fn activations_are_pytorchs_and_equal_bytes() -> Outcome {
    let oracle = Oracle::new()?;
    let want = |name: &str, row: usize| -> Result<Tensor, Box<dyn std::error::Error>> {
        Ok(oracle.all.iter().find(|(n, _)| n == name).ok_or("no such tensor")?.1.get(row)?)
    };
    // the text consists of the 24 tokens that PyTorch read
    fs::write(oracle.path("row.txt"), oracle.texts[0].chars().take(24).collect::<String>())?;
    let call = "model activations three.safetensors row.txt --vocabulary list.json --what x,y,sigma,logits --layer 0,2";
    oracle.done(&format!("{call} -o a.safetensors"));
    let found = tensors::read(&oracle.path("a.safetensors"), &Device::Cpu)?;
    let names: Vec<&str> = found.iter().map(|(n, _)| n.as_str()).collect();
    assert_eq!(names, ["layers.0.x", "layers.0.y", "layers.2.sigma", "layers.2.x", "layers.2.y", "logits", "tokens"]);
    let get = |name: &str| &found.iter().find(|(n, _)| n == name).unwrap().1;
    for (ours, theirs) in [
        ("layers.0.x", "out.x_0"),
        ("layers.0.y", "out.y_0"),
        ("layers.2.x", "out.x_2"),
        ("layers.2.y", "out.y_2"),
        ("logits", "out.logits"),
    ] {
        let (a, b) = (get(ours), want(theirs, 0)?);
        assert_eq!(a.dims(), b.dims(), "{ours}");
        let off = host::to_f64(&(a - b)?.abs()?)?.into_iter().fold(0.0, f64::max);
        assert!(off < 1e-4, "{ours}: {off:e}");
    }
    assert_eq!(get("layers.2.sigma").dims(), [2, 128, 128]);
    let sigma = want("out.y_1", 0)?.transpose(1, 2)?.contiguous()?.matmul(&want("out.x_2", 0)?)?;
    let off = host::to_f64(&(get("layers.2.sigma") - sigma)?.abs()?)?.into_iter().fold(0.0, f64::max);
    assert!(off < 1e-3, "sigma: {off:e}");
    assert_eq!(host::to_u32(get("tokens"))?, host::to_u32(&want("in.tokens", 0)?)?);
    for ending in ["safetensors", "npz"] {
        for name in ["b", "c"] {
            oracle.done(&format!("{call} -o {name}.{ending}"));
        }
        let read = |name: &str| fs::read(oracle.path(&format!("{name}.{ending}")));
        assert!(read("b")? == read("c")?, "{ending}: equal input, other bytes");
    }
    let npz = Tensor::read_npz(oracle.path("b.npz"))?;
    assert_eq!(npz.len(), found.len());
    for (name, tensor) in npz {
        assert_eq!(host::to_f32(&tensor)?, host::to_f32(get(&name))?, "{name}");
    }
    // every entry has the earliest date that a zip file can have, so that the file does not depend on the clock
    let bytes = fs::read(oracle.path("b.npz"))?;
    let entries = bytes.windows(4).enumerate().filter(|(_, w)| *w == b"PK\x03\x04");
    assert!(entries.into_iter().all(|(at, _)| bytes[at + 10..at + 14] == [0, 0, 0x21, 0]), "dates");
    Ok(())
}

#[test]
fn greedy_generation_takes_the_likeliest_token_of_the_parallel_form() -> Outcome {
    let oracle = Oracle::new()?;
    let prompt = "!#%";
    let call = format!("model generate three.safetensors {prompt} --tokens 12 --vocabulary list.json");
    let written = oracle.done(&format!("{call} --temperature 0"));
    let written = written.trim_end_matches('\n');
    assert!(written.starts_with(prompt) && written.chars().count() == 15, "{written}");
    // each written token is the likeliest one according to the parallel form on all tokens before it
    fs::write(oracle.path("written.txt"), written)?;
    oracle
        .done("model activations three.safetensors written.txt -o w.safetensors --what logits --vocabulary list.json");
    let found = tensors::read(&oracle.path("w.safetensors"), &Device::Cpu)?;
    let logits = host::to_f32(&found.iter().find(|(n, _)| n == "logits").ok_or("no logits")?.1)?;
    for (at, c) in written.chars().enumerate().skip(3) {
        let row = &logits[(at - 1) * VOCAB as usize..][..VOCAB as usize];
        let best = (0..VOCAB).max_by(|a, b| row[*a as usize].total_cmp(&row[*b as usize])).unwrap();
        assert_eq!(character(best), c, "token {at} of {written}");
    }
    // sampling is reproducible with the same seed
    let drawn = |seed: u32| oracle.done(&format!("{call} --temperature 1.5 --seed {seed}"));
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
    let output = oracle.run(&format!("{call} --temperature 0"));
    assert!(stderr_of(&output).contains("tokens/s"));
    Ok(())
}

#[test]
fn the_graph_of_a_file_and_of_a_run_is_written_the_same_each_time() -> Outcome {
    let oracle = Oracle::new()?;
    for (ending, format) in [("gexf", Format::Gexf), ("graphml", Format::GraphMl)] {
        for name in ["a", "b"] {
            oracle.done(&format!("export unsaid.safetensors --{ending} {name}.{ending} --edges 700"));
        }
        let text = fs::read_to_string(oracle.path(&format!("a.{ending}")))?;
        assert_eq!(text, fs::read_to_string(oracle.path(&format!("b.{ending}")))?);
        let graph = format.read(&text)?;
        assert_eq!((graph.edges.len(), graph.directed), (700, true));
        assert!(graph.nodes.iter().all(|n| n.value("community").is_some() && n.value("head").is_some()));
        // the edges are the largest entries of G = E D_x outside the diagonal
        let get = |name: &str| oracle.all.iter().find(|(n, _)| n == name).ok_or("gone").map(|(_, t)| t.clone());
        let columns = get("w.encoder")?.transpose(0, 1)?.reshape((32, 256))?;
        let g = host::to_f32(&get("w.decoder")?.matmul(&columns)?)?;
        let mut all: Vec<f32> = (0..256 * 256).filter(|k| k / 256 != k % 256).map(|k| g[k]).collect();
        all.sort_by(|a, b| b.total_cmp(a));
        let least = graph.edges.iter().map(|e| e.weight).fold(f64::INFINITY, f64::min);
        assert!((least - f64::from(all[699])).abs() < 1e-6, "{least} and {}", all[699]);
        for edge in &graph.edges {
            let id = |i: usize| graph.nodes[i].id.parse::<usize>();
            assert!((edge.weight - f64::from(g[id(edge.from)? * 256 + id(edge.to)?])).abs() < 1e-6);
        }
    }
    oracle.refused("export unsaid.safetensors --gexf x.gexf --beta 1e9", 2, &["--beta"]);
    oracle.refused("export unsaid.safetensors --csv x.csv", 2, &["unsaid.safetensors"]);
    oracle.refused("export unsaid.safetensors --gexf unsaid.safetensors", 2, &["another name"]);
    Ok(())
}

#[test]
fn a_runs_sparsity_and_modularity_are_in_its_tables() -> Outcome {
    let oracle = Oracle::new()?;
    let small = "--set model.neurons=64 --set model.d_model=8 --set train.window=32 --set train.batch=2 --device cpu";
    for (lab, every, columns) in [
        ("synapses", "--set probe.activity_every=2", ["synapses.activity/x/0", "synapses.activity/y/1/random_weights"]),
        ("neuron_graph", "--set probe.graph_curve_every=2", ["graph.curve/modularity", "graph.curve/carrying"]),
    ] {
        let said = oracle.done(&format!("run {lab} --steps 4 --no-figures --out runs {small} {every}"));
        let run = said.lines().last().ok_or("no folder")?.to_owned();
        oracle.done(&format!("export {run} --csv {lab}.csv --tensorboard {lab} --gexf {lab}.gexf --edges 50"));
        let table = fs::read_to_string(oracle.path(&format!("{lab}.csv")))?;
        let mut reader = csv::Reader::from_reader(table.as_bytes());
        let header = reader.headers()?.clone();
        let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>()?;
        for column in columns {
            let at = header.iter().position(|h| h == column).ok_or(format!("no {column} in {header:?}"))?;
            let steps: Vec<&str> = rows.iter().filter(|r| !r[at].is_empty()).map(|r| &r[0]).collect();
            assert!(steps.contains(&"2") && steps.contains(&"4"), "{column}: {steps:?}");
        }
        let steps: Vec<u64> = rows.iter().map(|r| r[0].parse()).collect::<Result<_, _>>()?;
        assert!(steps.windows(2).all(|w| w[0] < w[1]), "{steps:?}");
        assert_eq!(Format::Gexf.read(&fs::read_to_string(oracle.path(&format!("{lab}.gexf")))?)?.edges.len(), 50);
        oracle.refused(&format!("render {run} --view losses --out x.png --step 9999"), 2, &["9999", "last one is 4"]);
    }
    Ok(())
}
