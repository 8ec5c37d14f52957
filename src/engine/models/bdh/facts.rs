//! The number of layers and the window of training that a file of weights says, or else a file beside it: `config.json`,
//! or the settings of the run folder in which it lies.

use std::{collections::BTreeMap, path::Path};

use crate::{
    files,
    models::capabilities::{CheckpointFacts, KnownNumber},
    nn::weights::{Weights, json_scalars},
    telemetry::measurements::Evidence,
};

/// The names of the number of layers in configs.
const LAYERS: [&str; 7] = ["n_layer", "n_layers", "num_layers", "num_hidden_layers", "layers", "depth", "L"];
const MAX_LAYERS: usize = 1024;
/// The names under which files store the length of the training windows.
const WINDOW: [&str; 9] = [
    "block_size",
    "context_length",
    "max_position_embeddings",
    "max_seq_len",
    "n_ctx",
    "n_positions",
    "seq_len",
    "sequence_length",
    "window",
];
const MAX_WINDOW: usize = 1 << 20;
/// A buffer that numbers the positions of a window.
const POSITION_BUFFER: &str = "pos_idx";
/// The largest number of bytes of a file of settings; longer files are not read.
const MAX_CONFIG: u64 = 256 << 10;

type Scalars = BTreeMap<String, String>;

pub(super) fn facts(file: &Weights, path: &Path) -> CheckpointFacts {
    let own: Scalars = file.metadata().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    let sources: Vec<(Evidence, Scalars)> =
        std::iter::once((Evidence::File, own)).chain(sidecars(path).map(|found| (Evidence::Sidecar, found))).collect();
    let known = |names: &[&str], max: usize| {
        sources.iter().find_map(|(from, found)| Some(KnownNumber { value: number(found, names, max)?, from: *from }))
    };
    let window = number(&sources[0].1, &WINDOW, MAX_WINDOW).or_else(|| positions(file));
    let window = window.map(|value| KnownNumber { value, from: Evidence::File });
    CheckpointFacts {
        path: path.to_owned(),
        layers: known(&LAYERS, MAX_LAYERS),
        window: window.or_else(|| known(&WINDOW, MAX_WINDOW)),
    }
}

/// The first number under one of these names that can be meant.
fn number(found: &Scalars, names: &[&str], max: usize) -> Option<usize> {
    let named = |path: &str| names.contains(&path.rsplit('.').next().unwrap_or(path));
    found.iter().filter(|(path, _)| named(path)).find_map(|(_, v)| v.parse().ok().filter(|n| (1..=max).contains(n)))
}

fn positions(file: &Weights) -> Option<usize> {
    let (_, shape) = file.tensors().find(|(name, _)| name.rsplit('.').next() == Some(POSITION_BUFFER))?;
    shape.iter().copied().max().filter(|n| (2..=MAX_WINDOW).contains(n))
}

/// The settings beside a file: a `config.json` in its folder, which may be a link as in the cache of a model hub, or a run's
/// `config.toml` there or up to two folders above, which is where checkpoints and snapshots of a run lie.
fn sidecars(path: &Path) -> impl Iterator<Item = Scalars> {
    let json = path.parent().and_then(|folder| {
        let text = files::read_text(&folder.join("config.json"), MAX_CONFIG).ok()?;
        json_scalars(&text)
    });
    let run = path.ancestors().skip(1).take(3).find_map(|folder| {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let text = files::read_text_inside(folder, "config.toml", MAX_CONFIG).ok()?;
        let root: toml::Table = text.parse().ok()?;
        // other programs have a `config.toml` too
        root.get("lab")?;
        let number = |group: &str, key: &str| root.get(group)?.get(key)?.as_integer();
        // a run without training says nothing about the model's window
        if number("train", "steps") == Some(0) {
            return None;
        }
        let named = [("layers", number("model", "layers")), ("window", number("train", "window"))];
        Some(named.into_iter().filter_map(|(name, n)| Some((name.to_owned(), n?.to_string()))).collect())
    });
    json.into_iter().chain(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Device, Tensor};

    #[test]
    fn the_file_goes_before_the_files_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let inner = run.join("checkpoints").join("step-1");
        std::fs::create_dir_all(&inner).unwrap();
        let path = inner.join("model.safetensors");
        let value = Tensor::new(&[[0f32; 96]], &Device::Cpu).unwrap();
        let write = |name: &str, metadata: &[(&str, &str)]| {
            let metadata = metadata.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            let tensors = [(name, value.clone())];
            safetensors::serialize_to_file(tensors, Some(metadata), &path).unwrap();
            facts(&Weights::open(&path).unwrap(), &path)
        };
        let known = |value, from| Some(KnownNumber { value, from });
        let found = write("w", &[]);
        assert_eq!((found.layers, found.window), (None, None));
        std::fs::write(run.join("config.toml"), "lab = \"x\"\n[model]\nlayers = 4\n[train]\nwindow = 64\n").unwrap();
        let found = write("w", &[]);
        assert_eq!((found.layers, found.window), (known(4, Evidence::Sidecar), known(64, Evidence::Sidecar)));
        std::fs::write(inner.join("config.json"), r#"{"model": {"n_layer": 5, "block_size": 128}}"#).unwrap();
        let found = write("attn.pos_idx", &[]);
        assert_eq!((found.layers, found.window), (known(5, Evidence::Sidecar), known(96, Evidence::File)));
        let found = write("w", &[("n_layer", "3"), ("block_size", "32")]);
        assert_eq!((found.layers, found.window), (known(3, Evidence::File), known(32, Evidence::File)));
    }

    #[cfg(unix)]
    #[test]
    fn settings_of_a_run_are_read_over_no_link() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let (run, outside) = (folder.path().join("run"), folder.path().join("outside"));
        [&run, &outside].into_iter().for_each(|made| std::fs::create_dir(made).unwrap());
        std::fs::write(outside.join("config.toml"), "lab = \"x\"\n[model]\nlayers = 4\n").unwrap();
        std::fs::write(outside.join("config.json"), r#"{"n_layer": 5}"#).unwrap();
        let path = run.join("model.safetensors");
        let tensors = [("w", Tensor::new(&[[0f32; 96]], &Device::Cpu).unwrap())];
        safetensors::serialize_to_file(tensors, None, &path).unwrap();
        let layers = || facts(&Weights::open(&path).unwrap(), &path).layers.map(|known| known.value);
        symlink(outside.join("config.toml"), run.join("config.toml")).unwrap();
        assert_eq!(layers(), None);
        symlink(outside.join("config.json"), run.join("config.json")).unwrap();
        assert_eq!(layers(), Some(5));
    }
}
