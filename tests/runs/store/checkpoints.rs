//! Tests checkpoints: they are complete or absent, restore the exact bits, and damage is reported.

use std::{collections::BTreeMap, fs};

use candle_core::{DType, Device, Tensor};
use orrery::{
    config::Value,
    store::{
        Checkpoint, DataPosition, Lengths, LoadedCheckpoint,
        checkpoint::{self, Variant},
        tensors,
    },
};

use super::*;

pub fn checkpoint(step: u64, weights: &[f32]) -> Checkpoint {
    let t = |v: &[f32]| Tensor::from_slice(v, v.len(), &Device::Cpu).unwrap();
    let variant = |id: &str| Variant {
        id: id.to_owned(),
        optimiser_step: step,
        data: DataPosition { seed: u64::MAX, drawn: step },
        weights: vec![("post.0.w".to_owned(), t(weights)), ("gate".to_owned(), t(&[step as f32]))],
        moments: vec![("m.post.0.w".to_owned(), t(weights)), ("v.post.0.w".to_owned(), t(weights))],
    };
    Checkpoint {
        step,
        wall_secs: 0.1 * step as f64,
        live_settings: BTreeMap::from([
            ("train.lr".to_owned(), Value::Float(1e-3)),
            ("probe.sentence".to_owned(), Value::Text("3".to_owned())),
            ("probe.every".to_owned(), Value::Int(3)),
        ]),
        variants: vec![variant("coupled"), variant("frozen/../x")],
        lengths: Lengths { metrics: 1, samples: 2, events: 3 },
    }
}

fn load(run: &Path) -> LoadedCheckpoint {
    checkpoint::load(run, &Device::Cpu).unwrap().expect("a checkpoint")
}

fn bits(named: &tensors::NamedTensors) -> Vec<(String, Vec<usize>, Vec<u32>)> {
    let bits = |t: &Tensor| t.flatten_all().unwrap().to_vec1::<f32>().unwrap().iter().map(|f| f.to_bits()).collect();
    named.iter().map(|(n, t)| (n.clone(), t.dims().to_vec(), bits(t))).collect()
}

/// A run folder with an empty folder of checkpoints.
fn run_folder() -> tempfile::TempDir {
    let run = tempfile::tempdir().unwrap();
    fs::create_dir(run.path().join("checkpoints")).unwrap();
    run
}

#[test]
fn a_checkpoint_comes_back_with_the_same_bits() {
    let run = run_folder();
    let odd = [0.1, -0.0, f32::MIN_POSITIVE / 3.0, f32::from_bits(1), f32::MAX, f32::MIN];
    let saved = checkpoint(12, &odd);
    let path = checkpoint::save(run.path(), &saved).unwrap();
    assert_eq!(checkpoint::latest(run.path()), Some(path.clone()));
    let LoadedCheckpoint { checkpoint: loaded, notices, .. } = load(run.path());
    assert!(notices.is_empty());
    assert_eq!((loaded.step, loaded.wall_secs, loaded.lengths), (12, saved.wall_secs, saved.lengths));
    assert_eq!(loaded.live_settings, saved.live_settings);
    for (a, b) in loaded.variants.iter().zip(&saved.variants) {
        assert_eq!((&a.id, a.optimiser_step, a.data), (&b.id, b.optimiser_step, b.data));
        assert_eq!(bits(&a.weights), bits(&b.weights));
        assert_eq!(bits(&a.moments), bits(&b.moments));
    }
    let mut names: Vec<_> =
        fs::read_dir(&path).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(
        names,
        [
            "coupled.optimiser.safetensors",
            "coupled.safetensors",
            "frozen_.._x.optimiser.safetensors",
            "frozen_.._x.safetensors",
            "state.json"
        ]
    );
}

#[test]
fn every_type_and_layout_goes_through_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.safetensors");
    let base = Tensor::arange(0u32, 6, &Device::Cpu).unwrap().reshape((2, 3)).unwrap();
    let named: tensors::NamedTensors =
        [DType::F32, DType::F64, DType::BF16, DType::F16, DType::U32, DType::I64, DType::U8]
            .into_iter()
            .map(|d| (format!("w.{}", d.as_str()), base.to_dtype(d).unwrap().t().unwrap()))
            .collect();
    tensors::write(&path, &named, &[]).unwrap();
    for (name, t) in tensors::read(&path, &Device::Cpu).unwrap() {
        let (_, before) = named.iter().find(|(n, _)| *n == name).unwrap();
        assert_eq!((t.dtype(), t.dims()), (before.dtype(), before.dims()), "{name}");
        let values = |t: &Tensor| t.to_dtype(DType::F64).unwrap().to_vec2::<f64>().unwrap();
        assert_eq!(values(&t), values(before), "{name}");
    }
}

#[test]
fn the_newest_three_stay() {
    let run = run_folder();
    for step in [2, 4, 6, 8, 10] {
        checkpoint::save(run.path(), &checkpoint(step, &[step as f32])).unwrap();
    }
    let names: Vec<_> = fs::read_dir(run.path().join("checkpoints"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), checkpoint::KEPT_CHECKPOINTS, "{names:?}");
    assert_eq!(load(run.path()).checkpoint.step, 10);
}

#[test]
fn the_same_step_again_replaces_it() {
    let run = run_folder();
    checkpoint::save(run.path(), &checkpoint(4, &[1.0])).unwrap();
    checkpoint::save(run.path(), &checkpoint(4, &[2.0])).unwrap();
    let newest = load(run.path());
    assert_eq!(newest.checkpoint.variants[0].weights[0].1.to_vec1::<f32>().unwrap(), [2.0]);
    checkpoint::save(run.path(), &checkpoint(5, &[3.0])).unwrap();
    assert_eq!(load(run.path()).checkpoint.step, 5);
}

/// A run may be resumed and stopped at one step again and again; by then the first checkpoints of that step are removed.
#[test]
fn the_last_of_many_checkpoints_of_a_step_stays() {
    let run = run_folder();
    for times in 1..=checkpoint::KEPT_CHECKPOINTS + 2 {
        let saved = checkpoint::save(run.path(), &checkpoint(4, &[times as f32])).unwrap();
        assert_eq!(checkpoint::latest(run.path()), Some(saved), "saved {times} times");
    }
    assert_eq!(checkpoint::all(run.path()).len(), checkpoint::KEPT_CHECKPOINTS);
}

#[test]
fn unfinished_checkpoints_of_a_crash_are_ignored_and_removed() {
    let run = run_folder();
    assert!(checkpoint::load(run.path(), &Device::Cpu).unwrap().is_none(), "none is not an error");
    let whole = checkpoint::save(run.path(), &checkpoint(4, &[1.0])).unwrap();
    let half = run.path().join("checkpoints/.making-00000008");
    folders::copy(&whole, &half);
    fs::remove_file(half.join("state.json")).unwrap();
    fs::write(run.path().join("checkpoints/notes.txt"), "mine").unwrap();
    let loaded = load(run.path());
    assert_eq!((loaded.checkpoint.step, loaded.path), (4, whole));
    assert!(loaded.notices.is_empty());
    checkpoint::save(run.path(), &checkpoint(8, &[1.0])).unwrap();
    assert!(!half.exists());
    assert!(run.path().join("checkpoints/notes.txt").exists(), "what is not ours stays");
}

/// Damages the newer of two checkpoints. The message must contain these words, and the older checkpoint must be used.
fn damaged(words: &[&str], damage: impl FnOnce(&Path)) {
    let run = run_folder();
    checkpoint::save(run.path(), &checkpoint(4, &[1.0, 2.0])).unwrap();
    let newest = checkpoint::save(run.path(), &checkpoint(8, &[3.0, 4.0])).unwrap();
    damage(&newest);
    let error = checkpoint::load_at(&newest, &Device::Cpu).expect_err("damaged").to_string();
    let loaded = load(run.path());
    assert_eq!(loaded.checkpoint.step, 4, "the one before is used");
    for word in words {
        assert!(error.contains(word), "`{word}` in: {error}");
        assert!(
            loaded.notices[0].contains(word) && loaded.notices[0].contains("step-00000008"),
            "{:?}",
            loaded.notices
        );
    }
}

#[test]
fn damage_is_named_and_the_checkpoint_before_is_used() {
    let weights = "coupled.safetensors";
    damaged(&[weights, "no such file"], |c| fs::remove_file(c.join(weights)).unwrap());
    damaged(&["state.json"], |c| fs::remove_file(c.join("state.json")).unwrap());
    damaged(&["state.json", "damaged"], |c| fs::write(c.join("state.json"), "{\"format\":1,\"st").unwrap());
    let edit = |c: &Path, from: &str, to: &str| {
        let text = fs::read_to_string(c.join("state.json")).unwrap();
        assert!(text.contains(from), "{from} is not in {text}");
        fs::write(c.join("state.json"), text.replacen(from, to, 1)).unwrap();
    };
    damaged(&["state.json", "newer Orrery"], |c| edit(c, "\"format\": 2", "\"format\": 3"));
    for (from, to) in [("\"drawn\": 8", "\"drawn\": 9"), ("\"train.lr\": 0.001", "\"train.lr\": 0.002"), ("0.8", "0.7")]
    {
        damaged(&["state.json", "checksum"], |c| edit(c, from, to));
    }
    damaged(&[weights, "checksum"], |c| {
        let mut bytes = fs::read(c.join(weights)).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(c.join(weights), bytes).unwrap();
    });
    let write = |c: &Path, shapes: &[(&str, usize)]| {
        let t = |n: usize| Tensor::zeros(n, DType::F32, &Device::Cpu).unwrap();
        let named: tensors::NamedTensors = shapes.iter().map(|(name, n)| ((*name).to_owned(), t(*n))).collect();
        tensors::write(&c.join(weights), &named, &[]).unwrap();
    };
    damaged(&[weights, "`post.0.w`", "[3]", "[2]"], |c| write(c, &[("post.0.w", 3), ("gate", 1)]));
    damaged(&[weights, "lacks the tensor `gate`"], |c| write(c, &[("post.0.w", 2)]));
}

#[test]
fn weights_that_are_not_finite_are_neither_written_nor_read() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let run = run_folder();
        checkpoint::save(run.path(), &checkpoint(4, &[1.0, 2.0])).unwrap();
        let said = checkpoint::save(run.path(), &checkpoint(8, &[1.0, value])).expect_err("not finite").to_string();
        assert!(said.contains("post.0.w") && said.contains("step 8"), "{said}");
        assert_eq!(load(run.path()).checkpoint.step, 4);
        assert_eq!(fs::read_dir(run.path().join("checkpoints")).unwrap().count(), 1, "nothing half made is left");
    }
}

#[test]
fn a_state_without_a_checksum_is_of_the_version_that_had_none() {
    let run = run_folder();
    let path = checkpoint::save(run.path(), &checkpoint(4, &[1.0])).unwrap().join("state.json");
    let mut state: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    state.as_object_mut().unwrap().remove("crc32c").unwrap();
    fs::write(&path, state.to_string()).unwrap();
    let said = checkpoint::load(run.path(), &Device::Cpu).expect_err("its checksum is gone").to_string();
    assert!(said.contains("checksum"), "{said}");
    state["format"] = 1.into();
    fs::write(&path, state.to_string()).unwrap();
    assert_eq!(load(run.path()).checkpoint.step, 4);
}

#[test]
fn a_folder_that_took_the_place_of_the_run_gets_no_checkpoint() {
    let run = tempfile::tempdir().unwrap();
    assert!(checkpoint::save(run.path(), &checkpoint(4, &[1.0])).is_err());
    assert_eq!(fs::read_dir(run.path()).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn checkpoints_behind_a_link_are_refused() {
    let (run, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::os::unix::fs::symlink(elsewhere.path(), run.path().join("checkpoints")).unwrap();
    let said = checkpoint::save(run.path(), &checkpoint(4, &[1.0])).expect_err("a link").to_string();
    assert!(said.contains("link"), "{said}");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn a_tensor_file_cut_anywhere_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let source = checkpoint(1, &[1.0, 2.0, 3.0]);
    let path = folder.path().join("w.safetensors");
    tensors::write(&path, &source.variants[0].weights, &[]).unwrap();
    let bytes = fs::read(&path).unwrap();
    for cut in 0..bytes.len() {
        fs::write(&path, &bytes[..cut]).unwrap();
        let said = tensors::read(&path, &Device::Cpu).expect_err("cut").to_string();
        assert!(said.contains("w.safetensors") && said.contains("cut off"), "{cut}: {said}");
        if cut >= bytes.len() - 4 {
            assert!(said.contains("tensor `post.0.w`"), "{cut}: {said}");
        }
    }
}

#[test]
fn when_no_checkpoint_can_be_read_the_error_says_what_to_do() {
    let run = run_folder();
    for step in [4, 8] {
        let c = checkpoint::save(run.path(), &checkpoint(step, &[1.0])).unwrap();
        fs::remove_file(c.join("state.json")).unwrap();
    }
    let said = checkpoint::load(run.path(), &Device::Cpu).expect_err("damaged").to_string();
    assert!(said.contains("step-00000004") && said.contains("step-00000008"), "{said}");
    assert!(said.contains("orrery run"), "{said}");
}
