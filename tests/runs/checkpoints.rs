//! Tests BDH checkpoints that PyTorch wrote: the logits are the same, and every kind of faulty file leads to a message
//! that names the fault and never to a panic.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use candle_core::{DType, Device, Tensor};
use orrery::{
    models::{
        Model, ModelSpec, Trainable,
        bdh::{Bdh, BdhSpec, Form, import_state_dict},
    },
    nn::{Tap, host, weights::Weights},
    trainer::Run,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{
    bdh_file::write_bdh,
    command::{done, expect_exit},
    config_with::plan_with,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const FILES: [&str; 7] = [
    "compiled.pt",
    "bare.pth",
    "wrapped.safetensors",
    "krychu.pt",
    "transformers.safetensors",
    "tied.safetensors",
    "cq.pt",
];

fn at(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracles/checkpoints").join(file)
}

/// Loads a model with the sizes in the file, and with three layers if the file does not give their number.
fn from(path: &Path) -> candle_core::Result<Bdh> {
    let spec = BdhSpec { weights: Some(path.to_owned()), layers: 3, ..BdhSpec::default() };
    Bdh::new(&spec, 256, 1, &Device::Cpu)
}

fn answers() -> Result<HashMap<String, Tensor>, Box<dyn std::error::Error>> {
    Ok(candle_core::safetensors::load(at("answers.safetensors"), &Device::Cpu)?)
}

fn distance(a: &Tensor, b: &Tensor) -> candle_core::Result<f64> {
    let (a, b) = (host::to_f64(a)?, host::to_f64(b)?);
    assert_eq!(a.len(), b.len());
    Ok(a.iter().zip(&b).fold(0.0, |m, (a, b)| if a.is_finite() { f64::max(m, (a - b).abs()) } else { f64::NAN }))
}

#[test]
fn models_that_pytorch_saved_answer_as_they_did_there() -> Outcome {
    let answers = answers()?;
    let tokens = answers["tokens"].to_dtype(DType::U32)?;
    for file in FILES {
        let model = from(&at(file))?;
        let (s, logits) = (model.sizes(), model.logits(&tokens, &mut Tap::off())?);
        assert_eq!((s.d_model, s.heads, s.neurons, s.layers), (8, 2, 24, 3), "{file}");
        let off = distance(&logits, &answers[file])?;
        assert!(off < 1e-4, "{file}: {off:e}");
        let size = host::to_f64(&answers[file])?.iter().fold(0f64, |m, v| m.max(v.abs()));
        assert!(size > 0.5, "{file}: logits of {size} would not show a difference");
    }
    Ok(())
}

#[test]
fn layers_come_from_the_file_or_are_asked_for() -> Outcome {
    let open = |file: &str| import_state_dict::open(&at(file), &BdhSpec { layers: 5, ..BdhSpec::default() });
    for (file, layers) in [("compiled.pt", 3), ("wrapped.safetensors", 3), ("bare.pth", 5)] {
        let found = open(file)?;
        assert_eq!((found.spec.layers, found.vocab), (layers, 256), "{file}");
        assert_eq!(found.notes.iter().any(|r| r.contains("`model.layers`")), layers == 5, "{file}");
        assert!(found.spec.frequencies.is_none());
    }
    let krychu = open("krychu.pt")?;
    for what in ["their past only", "which residuals", "`model.form` = both", "`model.position` = nothing"] {
        assert!(krychu.notes.iter().any(|r| r.contains(what)), "{what}: {:?}", krychu.notes);
    }
    assert_eq!(krychu.spec.shape().turns_per_token()[0], 1.0 / std::f32::consts::TAU);
    Ok(())
}

#[test]
fn an_asked_checkpoint_says_what_layers_are_taken() -> Outcome {
    let folder = tempfile::tempdir()?;
    fs::copy(at("bare.pth"), folder.path().join("bare.pth"))?;
    fs::copy(at("compiled.pt"), folder.path().join("says.pt"))?;
    for (words, code, part) in [
        ("bare.pth", 0, "note: `bare.pth` does not say how many layers its model had"),
        ("bare.pth --layers 5", 0, "\"layers\":5"),
        ("says.pt --layers 3", 0, "\"layers\":3"),
        ("says.pt --layers 5", 2, "`says.pt` says that its model has 3 layers"),
        ("fast_slow --layers 5", 2, "--layers is for a checkpoint"),
    ] {
        expect_exit(folder.path(), &format!("ask {words} trained_bdh"), code, &[part]);
    }
    Ok(())
}

#[test]
fn a_question_without_its_names_says_what_to_name() -> Outcome {
    let folder = tempfile::tempdir()?;
    fs::copy(at("compiled.pt"), folder.path().join("a.pt"))?;
    for (words, code, part) in [
        ("a.pt intervention", 2, "name neurons, such as --set neurons=0:3"),
        ("a.pt intervention --set synapses=0:1:2", 2, "--set target=synapses"),
        ("a.pt intervention --set target=synapses", 2, "name synapses, such as --set synapses="),
        ("a.pt intervention --set neurons=0:1", 0, "\"seed\":1,\"payload\":"),
        ("a.pt merging", 2, "name the checkpoint of another model: --set with=FILE"),
        ("a.pt concept_effect", 2, "name neurons"),
        ("fast_slow intervention", 2, "has what `intervention` asks about"),
    ] {
        expect_exit(folder.path(), &format!("ask {words}"), code, &[part]);
    }
    Ok(())
}

#[test]
fn checkpoints_of_other_codes_state_their_differences() -> Outcome {
    let open = |file: &str| import_state_dict::open(&at(file), &BdhSpec { layers: 3, ..BdhSpec::default() });
    let cq = open("cq.pt")?;
    assert_eq!(cq.spec.form, Form::FinalNorm);
    assert!(cq.notes.iter().any(|n| n.contains("lucidrains/bdh-cq") && n.contains("final_norm")), "{:?}", cq.notes);
    let turns = cq.spec.shape().turns_per_token();
    assert_eq!((turns[0], &turns[3..]), (1.0 / std::f32::consts::TAU, &[0.0; 3][..]));
    for (file, is_tied) in [("tied.safetensors", true), ("transformers.safetensors", false)] {
        let found = open(file)?;
        assert_eq!(found.spec.form, Form::Code);
        assert_eq!(found.notes.iter().any(|n| n.contains("tied")), is_tied, "{:?}", found.notes);
    }
    // a tensor that BDH does not have, and one of the wrong size
    let folder = tempfile::tempdir()?;
    let changed = |name: &str, shape: &[usize]| -> Result<String, Box<dyn std::error::Error>> {
        let mut all = cq_tensors()?;
        all.insert(name.to_owned(), Tensor::zeros(shape, DType::F32, &Device::Cpu)?);
        let path = folder.path().join("changed.safetensors");
        candle_core::safetensors::save(&all, &path)?;
        Ok(from(&path).err().map(|e| e.to_string()).unwrap_or_default())
    };
    let says = |text: String, words: &[&str]| words.iter().for_each(|w| assert!(text.contains(w), "`{w}`: {text}"));
    says(changed("attn_residual.query", &[1, 8])?, &["`attn_residual.query` [1, 8]", "changed model"]);
    says(changed("rope.freqs", &[5])?, &["rope.freqs", "5 frequencies do not fit 12"]);
    says(changed("block.proj_out.weight", &[24, 8])?, &["`block.proj_out.weight`"]);
    Ok(())
}

/// The tensors of `cq.pt`.
fn cq_tensors() -> Result<HashMap<String, Tensor>, Box<dyn std::error::Error>> {
    Ok(candle_core::pickle::read_all(at("cq.pt"))?.into_iter().collect())
}

// ---- messages about faulty files ----

/// Writes the changed tensors of a valid file into a new file and returns the error message of loading it.
fn complaint(change: impl FnOnce(&mut HashMap<String, Tensor>)) -> Result<String, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("changed.safetensors");
    let mut all = candle_core::safetensors::load(at("wrapped.safetensors"), &Device::Cpu)?;
    change(&mut all);
    candle_core::safetensors::save(&all, &path)?;
    match from(&path) {
        Ok(_) => Err("the changed file opened".into()),
        Err(e) => Ok(e.to_string()),
    }
}

#[test]
fn a_tensor_that_is_missing_too_many_misshapen_or_no_number_is_named() -> Outcome {
    let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::F32, &Device::Cpu).unwrap();
    let says =
        |text: String, all: &[&str]| all.iter().for_each(|w| assert!(text.contains(w), "`{w}` is not in: {text}"));
    says(complaint(|t| drop(t.remove("model.decoder")))?, &["lacks", "`model.decoder`", "state_dict"]);
    says(complaint(|t| drop(t.insert("model.more".into(), zeros(&[2]))))?, &["`model.more` [2]", "changed model"]);
    says(
        complaint(|t| drop(t.insert("model.pos.weight".into(), zeros(&[2, 8]))))?,
        &["`model.pos.weight`", "positions"],
    );
    says(
        complaint(|t| drop(t.insert("model.decoder".into(), zeros(&[8, 24]))))?,
        &["`model.decoder`", "[8, 24]", "must be [24, 8]"],
    );
    says(complaint(|t| drop(t.insert("model.encoder".into(), zeros(&[16, 12]))))?, &["`model.encoder`", "three sides"]);
    says(
        complaint(|t| drop(t.insert("model.encoder".into(), zeros(&[2, 8, 0]))))?,
        &["`model.encoder`", "beside `model.encoder_v`", "must be [2, 8, 12]"],
    );
    // the message names a transposed tensor, and not another one that does not fit to it
    for (name, turned, right) in [
        ("encoder", vec![2, 12, 8], "[2, 8, 12]"),
        ("encoder_v", vec![2, 12, 8], "[2, 8, 12]"),
        ("embed.weight", vec![8, 256], "[256, 8]"),
        ("lm_head", vec![256, 8], "[8, 256]"),
        ("decoder", vec![8, 24], "[24, 8]"),
    ] {
        says(
            complaint(|t| drop(t.insert(format!("model.{name}"), zeros(&turned))))?,
            &[&format!("tensor `model.{name}` has shape {turned:?}"), &format!("must be {right}")],
        );
    }
    says(complaint(|t| t.clear())?, &["holds no BDH", "encoder_v", "orrery-log shows the training"]);
    let whole = Tensor::zeros((8, 256), DType::U32, &Device::Cpu)?;
    says(complaint(|t| drop(t.insert("model.lm_head".into(), whole)))?, &["`model.lm_head`", "U32", "float16"]);
    for (bad, word) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf")] {
        let mut values = vec![0.5; 24 * 8];
        values[17] = bad;
        let values = Tensor::from_vec(values, (24, 8), &Device::Cpu)?;
        says(
            complaint(|t| drop(t.insert("model.decoder".into(), values)))?,
            &["`model.decoder`", word, "index 17", "1 of 192", "earlier checkpoint"],
        );
    }
    let half = zeros(&[1, 1, 1, 6]);
    says(complaint(|t| drop(t.insert("model.attn.freqs".into(), half)))?, &["`model.attn.freqs`", "12 neurons"]);
    Ok(())
}

/// Writes a safetensors file with this header and `data` zero bytes.
fn with_header(path: &Path, header: &str, data: usize) -> std::io::Result<()> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + data, 0);
    fs::write(path, bytes)
}

#[test]
fn memory_is_not_allocated_for_sizes_that_a_file_does_not_hold() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("claims.safetensors");
    let message = || Weights::open(&path).unwrap_err().to_string();
    for shape in ["[1099511627776]", "[4294967296,4294967296,4294967296]", "[18446744073709551615]", "[3]"] {
        for ends in ["4398046511104", "18446744073709551615", "8"] {
            let header = format!("{{\"encoder\":{{\"dtype\":\"F32\",\"shape\":{shape},\"data_offsets\":[0,{ends}]}}}}");
            with_header(&path, &header, 8)?;
            assert!(message().contains("`encoder`"), "{}", message());
        }
    }
    for (bytes, words) in [
        (u64::MAX.to_le_bytes().to_vec(), "neither"),
        ((1u64 << 24).to_le_bytes().to_vec(), "cut off in its header"),
        (vec![1, 2, 3], "cut off after 3 bytes"),
        (vec![], "cut off after 0 bytes"),
        (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.".to_vec(), "weights_only=True"),
        (b"PK\x03\x04 and no more".to_vec(), "torch.save"),
        (b"it was a dark and stormy night; the rain fell".to_vec(), "neither"),
    ] {
        fs::write(&path, bytes)?;
        assert!(message().contains(words), "`{words}` is not in: {}", message());
    }
    assert!(Weights::open(&folder.path().join("none.pt")).unwrap_err().to_string().contains("none.pt"));
    assert!(Weights::open(folder.path()).unwrap_err().to_string().contains("folder"));
    Ok(())
}

/// A weight with one changed byte is still a valid number, so only the checksum detects the change.
#[test]
fn a_changed_byte_of_a_weight_in_a_file_of_torch_is_noticed() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("changed.pt");
    let whole = fs::read(at("bare.pth"))?;
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(&whole))?;
    let mut changed = 0;
    for i in 0..zip.len() {
        let part = zip.by_index(i)?;
        if part.size() < 300 || !part.name()?.contains("/data/") {
            continue;
        }
        let at = part.data_start().ok_or("no place")? as usize + 101;
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&path, bytes)?;
        let words = from(&path).err().ok_or("it opened")?.to_string();
        assert!(words.contains("CRC-32") && words.contains("damaged") && words.contains("changed.pt"), "{words}");
        changed += 1;
    }
    assert_eq!(changed, 5);
    Ok(())
}

#[test]
fn a_file_cut_off_anywhere_or_with_changed_bytes_is_refused_or_read_but_never_ends_the_program() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("damaged");
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for file in FILES {
        let whole = fs::read(at(file))?;
        let cuts = (0..whole.len()).step_by(whole.len() / 150 + 1).chain(whole.len() - 40..whole.len());
        for cut in cuts {
            fs::write(&path, &whole[..cut])?;
            let text = from(&path).err().map(|e| e.to_string());
            assert!(text.is_some_and(|t| t.contains("damaged")), "{file} cut at {cut} opened");
        }
        let mut read = 0;
        for _ in 0..100 {
            let mut bytes = whole.clone();
            for _ in 0..rng.random_range(1..4) {
                // half of the changes hit the header or the directory, where they do most harm
                let near = match rng.random_bool(0.5) {
                    true if file.ends_with("safetensors") => rng.random_range(0..600),
                    true => bytes.len() - 1 - rng.random_range(0..2000),
                    false => rng.random_range(0..bytes.len()),
                };
                bytes[near] = rng.random();
            }
            fs::write(&path, &bytes)?;
            match from(&path) {
                Ok(_) => read += 1,
                Err(e) => assert!(e.to_string().len() > 20, "{file}: {e}"),
            }
        }
        assert!(read > 0, "{file}: no change was harmless, so loading was never reached");
    }
    Ok(())
}

// ---- export, and use in a lab ----

#[test]
fn a_state_dict_of_ours_says_all_of_itself() -> Outcome {
    let answers = answers()?;
    let tokens = answers["tokens"].to_dtype(DType::U32)?;
    let folder = tempfile::tempdir()?;
    for file in FILES {
        let model = from(&at(file))?;
        let path = folder.path().join("out.safetensors");
        write_bdh(&path, &model);
        let again = Bdh::new(&BdhSpec { weights: Some(path), ..BdhSpec::default() }, 256, 9, &Device::Cpu)?;
        let (a, b) = (model.logits(&tokens, &mut Tap::off())?, again.logits(&tokens, &mut Tap::off())?);
        assert_eq!(host::to_f32(&a)?, host::to_f32(&b)?, "{file}");
        assert_eq!(again.sizes().frequencies, model.sizes().frequencies, "{file}");
        assert!(again.notes().iter().all(|r| !r.contains("model.layers")), "{:?}", again.notes());
    }
    Ok(())
}

#[test]
fn an_export_states_the_window_of_its_training() -> Outcome {
    let folder = tempfile::tempdir()?;
    let done = |words: &str| done(folder.path(), words);
    let small = "--set model.neurons=64 --set model.d_model=8 --set train.window=48 --set train.batch=2 --device cpu";
    let said = done(&format!("run neuron_graph --steps 1 --no-figures --out runs {small}"));
    let run = said.lines().next().ok_or("no folder")?;
    done(&format!("export {run} --safetensors out.safetensors"));
    let said = done("model info out.safetensors");
    assert!(said.contains("window T      48\n"), "{said}");
    Ok(())
}

/// Opens a run of the lab that is initialised from this file.
fn run(file: &str, set: &[(&str, &str)]) -> Result<Run, Box<dyn std::error::Error>> {
    let path = at(file).display().to_string();
    let small = [("model.checkpoint", path.as_str()), ("run.device", "cpu"), ("train.window", "32")];
    Ok(Run::open(plan_with("synapses", None, &[&small[..], set].concat())?)?)
}

#[test]
fn the_lab_begins_from_a_file_and_trains_on() -> Outcome {
    let mut run = run("compiled.pt", &[("train.batch", "2")])?;
    assert_eq!(run.info(1, None).variants[0].params, 3 * 24 * 8 + 2 * 256 * 8);
    let began = from(&at("compiled.pt"))?;
    let embed = |m: &dyn Trainable| host::to_f32(m.params().get("embed.weight").unwrap());
    assert_eq!(embed(run.variants[0].model.as_ref())?, embed(&began)?);
    // the reference model of the lab's probes has the same sizes and random weights
    let ModelSpec::Bdh(spec) = run.variants[0].model.spec() else { return Err("no BDH".into()) };
    let random = Bdh::new(&spec, 256, 11, &Device::Cpu)?;
    assert_ne!(embed(&random)?, embed(&began)?);
    for _ in 0..3 {
        run.update(0)?;
        run.finish_step().unwrap();
    }
    assert_ne!(embed(run.variants[0].model.as_ref())?, embed(&began)?);
    Ok(())
}

#[test]
fn bytes_adopt_the_checkpoint_vocabulary_and_characters_are_refused() -> Outcome {
    assert_eq!(run("compiled.pt", &[("corpus.vocab", "300")])?.corpus().vocab(), 256);
    let characters = [("corpus.tokenizer", "char"), ("corpus.vocab", "20")];
    let words = run("compiled.pt", &characters).err().ok_or("it opened")?.to_string();
    for part in ["256 tokens", "has 20", "`corpus.tokenizer`", "compiled.pt"] {
        assert!(words.contains(part), "`{part}` is not in: {words}");
    }
    Ok(())
}
