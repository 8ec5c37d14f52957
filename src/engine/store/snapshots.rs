//! The weights of a run at some of its steps, so that a recorded run can be asked about its past: one file per step,
//! `snapshots/step-00000400-1a2b3c4d.safetensors`, whose name ends with the checksum of its bytes. Other programs, which may
//! have no fast CRC-32C, leave it out of the name and put a CRC-32 of the values into the header (docs/protocol.md).
//!
//! They serve looking back and nothing else: a run continues from a checkpoint, never from these. So they are not
//! forced to the disk, and one that is damaged or missing is passed over.

use std::io;

use super::{
    prelude::*,
    record::MAX_STEP,
    tensors::{self, NamedTensors},
};
use crate::telemetry::number;

/// A copy of one variant's weights and live parameters, which training does not change.
#[derive(Debug, Clone)]
pub struct VariantWeights {
    /// Id of the variant.
    pub variant: String,
    /// The run's step that they belong to.
    pub step: u64,
    /// The weights by the parameters' plain names.
    pub tensors: NamedTensors,
    /// Live parameters, by name.
    pub runtime_params: Vec<(String, f64)>,
}

/// The data of each variant that are not tensors.
#[derive(Default, Serialize, Deserialize)]
struct SnapshotHeader {
    step: u64,
    #[serde(with = "number::named")]
    runtime_params: Vec<(Channel, f64)>,
}

impl SnapshotHeader {
    fn new(weights: &VariantWeights) -> Self {
        let runtime_params =
            weights.runtime_params.iter().map(|(name, value)| (name.as_str().into(), *value)).collect();
        Self { step: weights.step, runtime_params }
    }

    /// The weights without their tensors.
    fn weights(self, variant: String) -> VariantWeights {
        let runtime_params = self.runtime_params.into_iter().map(|(name, v)| (name.as_str().to_owned(), v)).collect();
        VariantWeights { variant, step: self.step, tensors: vec![], runtime_params }
    }
}

const VARIANTS: &str = "orrery.variants";

/// Writes the weights of one step. Makes no folder: another one that took the place of the run's stays as it is.
///
/// # Errors
/// If the system refuses. Nothing is left then.
pub fn write(run: &Path, step: u64, variants: &[&VariantWeights]) -> Result<(), StoreError> {
    let folder = run.join(SNAPSHOTS);
    folder_inside(run, SNAPSHOTS).map(|_| ()).at("write in", &folder)?;
    let named = |v: &VariantWeights| {
        let name = |(tensor, value): &(String, _)| (format!("{}/{tensor}", v.variant), Clone::clone(value));
        v.tensors.iter().map(name).collect::<NamedTensors>()
    };
    let described: BTreeMap<&str, SnapshotHeader> =
        variants.iter().map(|v| (v.variant.as_str(), SnapshotHeader::new(v))).collect();
    let words = serde_json::to_string(&described)
        .map_err(|e| StoreError::with_source(format!("cannot describe the weights of step {step}: {e}"), e))?;
    let tensors: NamedTensors = variants.iter().flat_map(|v| named(v)).collect();
    let (bytes, record) = tensors::encode(&folder, &tensors, &[(VARIANTS.to_owned(), words)])?;
    let path = folder.join(format!("step-{step:08}-{:08x}.safetensors", record.crc32c));
    let write = || {
        let mut file = Replacement::create(&path)?;
        io::Write::write_all(&mut file, &bytes)?;
        file.commit_unforced()
    };
    write().at("write", &path)
}

/// The steps whose weights are kept, with their files.
pub fn list(run: &Path) -> BTreeMap<u64, PathBuf> {
    let Ok(folder) = folder_inside(run, SNAPSHOTS) else { return BTreeMap::new() };
    let mut kept = BTreeMap::new();
    for entry in files::entries(&folder).into_iter().flatten() {
        match entry.file_name().to_str().and_then(parse) {
            // if a step has two files, the one with a checksum in its name is used
            Some((step, Some(_))) => drop(kept.insert(step, entry.path())),
            Some((step, None)) => drop(kept.entry(step).or_insert_with(|| entry.path())),
            None => {}
        }
    }
    kept
}

/// Step and checksum in a file's name; the checksum may be in the file instead.
fn parse(name: &str) -> Option<(u64, Option<u32>)> {
    let rest = name.strip_prefix("step-")?.strip_suffix(".safetensors")?;
    let (step, sum) = rest.split_once('-').map_or((rest, None), |(step, sum)| (step, Some(sum)));
    let step = step.parse::<u64>().ok().filter(|step| *step <= MAX_STEP)?;
    match sum {
        Some(sum) => Some((step, Some(u32::from_str_radix(sum, 16).ok()?))),
        None => Some((step, None)),
    }
}

/// The weights in a file that [`list`] found in the run's folder.
///
/// # Errors
/// If it cannot be read, or is not what was written.
pub fn read(run: &Path, path: &Path, device: &Device) -> Result<Vec<VariantWeights>, StoreError> {
    let name = name_of(path);
    let damaged = || StoreError::new(format!("`{}` is not the file that was written", path.display()));
    let (_, sum) = parse(&name).ok_or_else(damaged)?;
    let folder = folder_inside(run, SNAPSHOTS).at("read", path)?;
    let (found, mut metadata) = tensors::read_with_checksum(&folder, &name, sum, device)?;
    let words = metadata.remove(VARIANTS).ok_or_else(damaged)?;
    let described: BTreeMap<String, SnapshotHeader> = serde_json::from_str(&words).map_err(|_| damaged())?;
    let mut variants: Vec<VariantWeights> = described.into_iter().map(|(variant, d)| d.weights(variant)).collect();
    for (name, tensor) in found {
        // if both `x` and `x/y` match, the longer name owns the tensor
        let owners = variants.iter_mut().filter_map(|v| {
            let own = name.strip_prefix(v.variant.as_str())?.strip_prefix('/')?.to_owned();
            Some((v, own))
        });
        let owner = owners.min_by_key(|(_, own)| own.len());
        let (variant, own) = owner.ok_or_else(damaged)?;
        variant.tensors.push((own, tensor));
    }
    Ok(variants)
}

/// Removes the weights of a step that [`list`] found; one that is gone already is not an error.
pub fn remove(run: &Path, path: &Path) {
    let _ = files::remove_file_inside(run, Path::new(SNAPSHOTS).join(path.file_name().unwrap_or_default()));
}

/// Removes the weights of every step after this one: a run that continues from it has not been there.
pub(super) fn remove_after(run: &Path, step: Option<u64>) {
    list(run).into_iter().filter(|(at, _)| step.is_none_or(|s| *at > s)).for_each(|(_, path)| remove(run, &path));
}

#[cfg(test)]
mod tests {
    use std::fs;

    use candle_core::Tensor;

    use super::*;
    use crate::{nn::host, store::names::make_folder};

    fn weights(variant: &str, step: u64, value: f32) -> VariantWeights {
        let tensor = Tensor::full(value, (2, 3), &Device::Cpu).unwrap();
        let runtime_params = vec![("gate".to_owned(), f64::NAN), ("scale".to_owned(), 0.5)];
        VariantWeights { variant: variant.into(), step, tensors: vec![("a.w".into(), tensor)], runtime_params }
    }

    #[test]
    fn weights_come_back_with_their_live_parameters() {
        let run = tempfile::tempdir().unwrap();
        make_folder(run.path(), SNAPSHOTS).unwrap();
        write(run.path(), 40, &[&weights("x", 40, 1.5), &weights("x/y", 30, 2.5)]).unwrap();
        write(run.path(), 80, &[&weights("x", 80, 3.5)]).unwrap();
        let kept = list(run.path());
        assert_eq!(kept.keys().copied().collect::<Vec<_>>(), [40, 80]);
        let back = read(run.path(), &kept[&40], &Device::Cpu).unwrap();
        let shown = |v: &VariantWeights| (v.variant.clone(), v.step, host::to_f32(&v.tensors[0].1).unwrap()[0]);
        assert_eq!(
            back.iter().map(shown).collect::<Vec<_>>(),
            [("x".to_owned(), 40, 1.5), ("x/y".to_owned(), 30, 2.5)]
        );
        assert!(back[0].runtime_params[0].1.is_nan());
        assert_eq!(back[0].runtime_params[1], ("scale".to_owned(), 0.5));
        remove_after(run.path(), Some(40));
        assert_eq!(list(run.path()).len(), 1);
    }

    #[test]
    fn a_folder_that_took_the_place_of_the_run_is_left_alone() {
        let run = tempfile::tempdir().unwrap();
        assert!(write(run.path(), 40, &[&weights("x", 40, 1.5)]).is_err());
        assert_eq!(fs::read_dir(run.path()).unwrap().count(), 0);
    }

    /// Writes the file of step 40 as another program does, three values of this type that have this CRC-32.
    fn write_plain(run: &Path, (dtype, values): (&str, &[u8]), crc32: Option<u32>) -> PathBuf {
        let described = r#"{\"model\":{\"step\":40,\"runtime_params\":[]}}"#;
        let length = values.len();
        let sum = crc32.map_or(String::new(), |sum| format!(r#","orrery.crc32":"{sum:08x}""#));
        let header = format!(
            r#"{{"__metadata__":{{"orrery.variants":"{described}"{sum}}},"model/w":{{"dtype":"{dtype}","shape":[3],"data_offsets":[0,{length}]}}}}"#
        );
        let path = run.join(SNAPSHOTS).join("step-00000040.safetensors");
        fs::write(&path, [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), values].concat()).unwrap();
        path
    }

    #[test]
    fn a_file_of_another_program_has_its_checksum_inside() {
        let run = tempfile::tempdir().unwrap();
        make_folder(run.path(), SNAPSHOTS).unwrap();
        // every type that docs/protocol.md allows
        let types = [
            ("F64", [1.0f64, 2.0, 3.0].map(f64::to_le_bytes).concat()),
            ("F16", [0x3c00u16, 0x4000, 0x4200].map(u16::to_le_bytes).concat()),
            ("BF16", [0x3f80u16, 0x4000, 0x4040].map(u16::to_le_bytes).concat()),
            ("I64", [1i64, 2, 3].map(i64::to_le_bytes).concat()),
            ("I32", [1i32, 2, 3].map(i32::to_le_bytes).concat()),
            ("U8", vec![1, 2, 3]),
            ("F32", [1.0f32, 2.0, 3.0].map(f32::to_le_bytes).concat()),
        ];
        for (dtype, values) in &types {
            let path = write_plain(run.path(), (dtype, values), Some(crc32fast::hash(values)));
            assert_eq!(list(run.path()), BTreeMap::from([(40, path.clone())]));
            let back = read(run.path(), &path, &Device::Cpu).unwrap();
            assert_eq!((back[0].variant.as_str(), back[0].step, back[0].tensors[0].0.as_str()), ("model", 40, "w"));
            assert_eq!(host::to_f32(&back[0].tensors[0].1).unwrap(), [1.0, 2.0, 3.0], "{dtype}");
        }
        let plain = ("F32", types[6].1.as_slice());
        let sum = crc32fast::hash(plain.1);
        let path = write_plain(run.path(), plain, Some(sum));
        for (told, words) in [(Some(sum ^ 1), "its checksum differs"), (None, "holds no checksum")] {
            let path = write_plain(run.path(), plain, told);
            let said = read(run.path(), &path, &Device::Cpu).unwrap_err().to_string();
            assert!(said.contains(words), "{said}");
        }
        // Orrery's own snapshot of a step takes precedence over another program's
        write(run.path(), 40, &[&weights("x", 40, 1.5)]).unwrap();
        let kept = list(run.path()).remove(&40).unwrap();
        assert!(kept != path && read(run.path(), &kept, &Device::Cpu).is_ok());
    }

    #[test]
    fn a_damaged_file_is_noticed() {
        let run = tempfile::tempdir().unwrap();
        make_folder(run.path(), SNAPSHOTS).unwrap();
        write(run.path(), 40, &[&weights("x", 40, 1.5)]).unwrap();
        let path = list(run.path()).remove(&40).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&path, bytes).unwrap();
        let words = read(run.path(), &path, &Device::Cpu).unwrap_err().to_string();
        assert!(words.contains("checksum"), "{words}");
    }
}
