//! The description of a run folder, from `run.json`, or inferred from `config.toml` and the logs.

use std::io::{BufRead, BufReader, Read};

use super::{
    Environment, RunRecord,
    error::truncated_message,
    names::{MAX_CONFIG, MAX_NAME, MAX_RUN, check_folder},
    prelude::*,
    record::{FORMAT, MetricsRecord, PROTOCOL, VariantRef},
    run_index::modified_and_length,
};
use crate::{
    config::Config,
    telemetry::{FOREIGN, VariantInfo},
};

/// Far more than any run compares; a table of some hundred thousand would take minutes.
const MAX_VARIANTS: usize = 1024;
/// The largest number of questions that a program may offer.
const MAX_ASKS: usize = 64;
/// Bytes of the name of a question.
const MAX_ASK: usize = 64;

pub(super) struct Description {
    pub info: RunInfo,
    /// Local time with its offset.
    pub started_at: Option<String>,
    /// The format of the folder; see [`FORMAT`].
    pub format: u32,
    /// Notices about data that this version does not show or that the writer left out.
    pub notices: Vec<String>,
    /// Sentences about what is lost and had to be guessed.
    pub damage: Vec<String>,
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
        let mut info = named(run.run);
        info.asks = valid_asks(run.asks);
        Self { info, started_at: Some(run.started_at), format: run.format, notices, damage: vec![] }
    }
}

/// The machines that made the parts of a run, in their order; none if `run.json` names none.
pub fn machines(folder: &Path) -> Vec<Environment> {
    let text = read_inside(folder, RUN, MAX_RUN).ok();
    let Some(run) = text.and_then(|text| serde_json::from_slice::<RunRecord>(&text).ok()) else { return vec![] };
    std::iter::once(run.environment).chain(run.resumed.into_iter().map(|part| part.environment)).collect()
}

/// The description of a run in `run.json`, or what can be recovered without it; with sentences about what of it is
/// lost.
///
/// # Errors
/// If this is not a run folder, or one of a later format.
pub fn run_info(folder: &Path) -> Result<(RunInfo, Vec<String>), StoreError> {
    let Description { info, damage, .. } = describe(folder)?;
    Ok((info, damage))
}

/// Reads `run.json`, or rebuilds what can be rebuilt without it. Errors: this is not a run folder, or one of a later
/// format.
pub(super) fn describe(folder: &Path) -> Result<Description, StoreError> {
    check_folder(folder)?;
    let (lost, is_missing) = match read_inside(folder, RUN, MAX_RUN) {
        Ok(text) => match serde_json::from_slice::<RunRecord>(&text) {
            Ok(run) => {
                if let Some(why) = refusal(&run) {
                    return Err(StoreError::new(format!("`{}` {why}", folder.display())));
                }
                let mut description = Description::from(run);
                fill_in_config(folder, &mut description.info);
                return Ok(description);
            }
            Err(e) => (format!("{RUN} is damaged ({e})"), false),
        },
        Err(e) if e.is_missing() => (format!("{RUN} is missing"), true),
        Err(e) => return Err(e).at("read", &folder.join(RUN)),
    };
    let path = folder.join(CONFIG);
    let settings = match read_text_inside(folder, CONFIG, MAX_CONFIG) {
        Err(e) if e.is_missing() => None,
        text => {
            let read = Config::without_schema(&text.at("read", &path)?, FOREIGN);
            let shown = path.display();
            Some(read.map_err(|e| StoreError::new(format!("{lost}, and `{shown}` cannot be read either: {e}")))?)
        }
    };
    let source = match settings {
        Some(_) => CONFIG,
        None if open_inside(folder, METRICS).is_ok() => METRICS,
        None => {
            return Err(StoreError::new(format!(
                "`{}` is not a run folder: {lost}, and there is no {CONFIG} either",
                folder.display()
            )));
        }
    };
    let has_settings = settings.is_some();
    let info = rebuilt(folder, settings.unwrap_or_else(|| Config::defaults(FOREIGN, &[])));
    let words = truncated_message(format!(
        "{lost}: rebuilt from {source}; variants go by the ids found in {METRICS}, sizes are unknown"
    ));
    // another program may leave its description out, and its settings too
    let (notices, damage) = match is_missing && info.lab == FOREIGN {
        true if has_settings => (vec![words], vec![]),
        true => (vec![], vec![]),
        false => (vec![], vec![words]),
    };
    Ok(Description { info, started_at: None, format: FORMAT, notices, damage })
}

/// The reason why a description cannot be read, if there is one; the words follow the name of the folder.
fn refusal(RunRecord { format, protocol, environment, run, .. }: &RunRecord) -> Option<String> {
    let variants = &run.variants;
    if *format > FORMAT {
        let version = &environment.orrery;
        Some(format!(
            "was written by Orrery {version} in format {format}, and this one reads up to format {FORMAT}: update Orrery"
        ))
    } else if *protocol > PROTOCOL {
        Some(format!(
            "was written by version {protocol} of the protocol of run folders, and this Orrery reads up to version {PROTOCOL}: update Orrery"
        ))
    } else if variants.len() > MAX_VARIANTS {
        Some(format!("names {} variants, and at most {MAX_VARIANTS} are read", variants.len()))
    } else if variants.iter().any(|variant| variant.id.len() > MAX_NAME) {
        Some(format!("names a variant by more than {MAX_NAME} bytes, the most that are read"))
    } else {
        None
    }
}

fn rebuilt(folder: &Path, config: Config) -> RunInfo {
    let total_steps = config.iter().find(|(key, _)| *key == "train.steps").and_then(|(_, v)| v.as_f64());
    let variants = variant_ids(folder)
        .into_iter()
        .map(|id| VariantInfo { label: id.clone(), group: id.clone(), id, seed: config.seed, params: 0 })
        .collect();
    named(RunInfo {
        lab: config.lab.clone(),
        variants,
        total_steps: total_steps.unwrap_or(0.0).max(0.0) as u64,
        device: "unknown".to_owned(),
        corpus: "unknown".to_owned(),
        config,
        ..RunInfo::default()
    })
}

/// Fills in what a program may leave out of its description: a run of no lab is one of another program, which has a model,
/// and labels and groups of variants are their ids. Names that nobody could read are cut.
fn named(info: RunInfo) -> RunInfo {
    let mut info = info;
    for text in [&mut info.lab, &mut info.config.lab, &mut info.config.preset, &mut info.device, &mut info.corpus] {
        text.truncate(text.floor_char_boundary(MAX_NAME));
    }
    if info.lab.is_empty() {
        FOREIGN.clone_into(&mut info.lab);
    }
    if info.lab == FOREIGN && info.variants.is_empty() {
        info.variants.push(VariantInfo { id: "model".to_owned(), ..VariantInfo::default() });
    }
    for variant in &mut info.variants {
        for name in [&mut variant.label, &mut variant.group] {
            name.truncate(name.floor_char_boundary(MAX_NAME));
            if name.is_empty() {
                name.clone_from(&variant.id);
            }
        }
    }
    if info.config.lab.is_empty() {
        info.config.lab.clone_from(&info.lab);
    }
    info
}

/// The questions that a program names, without those that are not names.
fn valid_asks(named: Vec<String>) -> Vec<String> {
    let is_name = |ask: &String| (1..=MAX_ASK).contains(&ask.len()) && !ask.contains(char::is_control);
    named.into_iter().filter(is_name).take(MAX_ASKS).collect()
}

/// Reads the settings of a run of another program from `config.toml`, if its description has none.
fn fill_in_config(folder: &Path, info: &mut RunInfo) {
    if info.lab != FOREIGN || info.config.iter().next().is_some() {
        return;
    }
    let text = read_text_inside(folder, CONFIG, MAX_CONFIG).ok();
    if let Some(mut config) = text.and_then(|text| Config::without_schema(&text, FOREIGN).ok()) {
        FOREIGN.clone_into(&mut config.lab);
        info.config = config;
    }
}

/// When the files that describe a run were last changed, and whether it has a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DescriptionStamp {
    described: [(u64, u64); 2],
    has_metrics: bool,
}

impl DescriptionStamp {
    /// Reads times and sizes; no file is opened.
    pub fn read(folder: &Path) -> Self {
        let described = [RUN, CONFIG].map(|name| modified_and_length(&folder.join(name)));
        Self { described, has_metrics: modified_and_length(&folder.join(METRICS)).1 > 0 }
    }

    /// True if the folder holds nothing of a run.
    pub fn is_missing(&self) -> bool {
        self.described == [(0, 0); 2] && !self.has_metrics
    }
}

/// The ids of the variants, in the order in which their first steps were logged.
fn variant_ids(folder: &Path) -> Vec<String> {
    const LINES: usize = 1000;
    let mut ids: Vec<String> = vec![];
    let Ok(file) = open_inside(folder, METRICS) else { return ids };
    let lines = BufReader::new(file.take(4 << 20)).split(b'\n').map_while(Result::ok).take(LINES);
    for line in lines {
        if let Ok(MetricsRecord { variant: VariantRef::Id(id), .. }) = serde_json::from_slice(&line)
            && !ids.contains(&id)
        {
            ids.push(id);
        }
    }
    ids
}
