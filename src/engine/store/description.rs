//! The description of a run folder, from `run.json`, or as far as `config.toml` and the logs can tell.

use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
};

use super::{
    RunRecord, StoreError,
    error::At,
    names::{CONFIG, MAX_CONFIG, MAX_RUN, METRICS, RUN},
    record::{FORMAT, MetricsIn, VariantRef},
};
use crate::{
    config::Config,
    files::{FileError, open_inside, read_inside, read_text_inside},
    telemetry::{RunInfo, VariantInfo},
};

/// The description of the run of a folder.
pub(super) struct Description {
    pub info: RunInfo,
    /// Local time with its offset.
    pub started_at: Option<String>,
    /// The format of the folder; see [`FORMAT`].
    pub format: u32,
    /// Notices about data that is lost or had to be guessed.
    pub notices: Vec<String>,
}

impl Description {
    /// Returns true if the samples are measurements that this version can read.
    pub fn has_typed_samples(&self) -> bool {
        self.format >= FORMAT
    }
}

impl From<RunRecord> for Description {
    fn from(run: RunRecord) -> Self {
        let mut notices = vec![];
        if run.format < FORMAT {
            notices.push(format!(
                "written by Orrery {} in format {}: this one (format {FORMAT}) shows its curves and events; its other measurements can be seen with that version",
                run.environment.orrery, run.format
            ));
        }
        Self { info: run.run, started_at: Some(run.started_at), format: run.format, notices }
    }
}

/// Reads `run.json`, or rebuilds what can be rebuilt without it.
///
/// # Errors
/// If this is no run folder, or one of a later format.
pub(super) fn describe(folder: &Path) -> Result<Description, StoreError> {
    if !folder.is_dir() {
        return Err(StoreError::new(format!("`{}` is not a folder: give the folder of a run", folder.display())));
    }
    let lost = match read_inside(folder, RUN, MAX_RUN) {
        Ok(text) => match serde_json::from_slice::<RunRecord>(&text) {
            Ok(run) if run.format > FORMAT => {
                return Err(StoreError::new(format!(
                    "`{}` was written by Orrery {} in format {}, and this one reads up to format {FORMAT}: update Orrery",
                    folder.display(),
                    run.environment.orrery,
                    run.format
                )));
            }
            Ok(run) => return Ok(run.into()),
            Err(e) => format!("{RUN} is damaged ({e})"),
        },
        Err(e) if e.is_missing() => format!("{RUN} is missing"),
        Err(e) => return Err(e).at("read", &folder.join(RUN)),
    };
    let path = folder.join(CONFIG);
    let text = read_text_inside(folder, CONFIG, MAX_CONFIG);
    if text.as_ref().is_err_and(FileError::is_missing) {
        return Err(StoreError::new(format!(
            "`{}` is not a run folder: {lost}, and there is no {CONFIG} either",
            folder.display()
        )));
    }
    let text = text.at("read", &path)?;
    let config = config_without_schema(&text)
        .map_err(|e| StoreError::new(format!("{lost}, and `{}` cannot be read either: {e}", path.display())))?;
    let info = rebuilt(folder, config);
    let words = format!("{lost}: rebuilt from {CONFIG}; variants go by the ids found in {METRICS}, sizes are unknown");
    Ok(Description { info, started_at: None, format: FORMAT, notices: vec![words] })
}

fn rebuilt(folder: &Path, config: Config) -> RunInfo {
    let total_steps = config.iter().find(|(key, _)| *key == "train.steps").and_then(|(_, v)| v.as_f64());
    let variants = variant_ids(folder)
        .into_iter()
        .map(|id| VariantInfo { label: id.clone(), group: id.clone(), id, seed: config.seed, params: 0 })
        .collect();
    RunInfo {
        lab: config.lab.clone(),
        variants,
        total_steps: total_steps.unwrap_or(0.0).max(0.0) as u64,
        device: "unknown".to_owned(),
        threads: 0,
        corpus: "unknown".to_owned(),
        vocab: 0,
        tokens_per_step: 0,
        folder: None,
        inputs: vec![],
        stages: vec![],
        config,
    }
}

/// In the order of the first steps, which is the order of the variants.
fn variant_ids(folder: &Path) -> Vec<String> {
    const LINES: usize = 1000;
    let mut ids: Vec<String> = vec![];
    let Ok(file) = open_inside(folder, METRICS) else { return ids };
    let lines = BufReader::new(file.take(4 << 20)).split(b'\n').map_while(Result::ok).take(LINES);
    for line in lines {
        if let Ok(MetricsIn { variant: VariantRef::Id(id), .. }) = serde_json::from_slice(&line)
            && !ids.contains(&id)
        {
            ids.push(id);
        }
    }
    ids
}

/// The settings as they stand in the file: without the lab's schema nothing is checked.
fn config_without_schema(text: &str) -> Result<Config, String> {
    let lab = Config::lab_of(text).map_err(|e| e.to_string())?;
    let root: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
    let mut values = serde_json::Map::new();
    let (mut preset, mut seed) = (String::new(), 0);
    for (key, value) in root {
        match (key.as_str(), value) {
            ("lab" | "title" | "about", _) => {}
            ("preset", toml::Value::String(s)) => preset = s,
            ("seed", toml::Value::Integer(i)) => seed = i.max(0),
            (_, toml::Value::Table(group)) => {
                for (name, value) in group {
                    values.insert(format!("{key}.{name}"), plain(value));
                }
            }
            (_, value) => {
                values.insert(key, plain(value));
            }
        }
    }
    serde_json::from_value(serde_json::json!({ "lab": lab, "preset": preset, "seed": seed, "values": values }))
        .map_err(|e| e.to_string())
}

fn plain(value: toml::Value) -> serde_json::Value {
    match value {
        toml::Value::Boolean(b) => b.into(),
        toml::Value::Integer(i) => i.into(),
        toml::Value::Float(f) => f.into(),
        toml::Value::String(s) => s.into(),
        other => other.to_string().into(),
    }
}
