//! The settings by which runs of the table are told apart: those that their sweep varies, then those that differ from the
//! preset.

use crate::{labs, ui::panels::prelude::*};

/// The keys of settings that the table treats apart: axes of sweeps, and files.
#[derive(Debug, Default)]
pub(super) struct TableSettings {
    /// The keys of the settings in which the runs of a sweep differ, by the sweep's name.
    varied: BTreeMap<String, BTreeSet<String>>,
    /// The keys of the settings that name a file, by the lab's id.
    files: BTreeMap<String, BTreeSet<&'static str>>,
}

impl TableSettings {
    pub fn new(rows: &[RunRow]) -> Self {
        let mut settings = Self::default();
        let mut first_of_sweep: BTreeMap<&str, &RunRow> = BTreeMap::new();
        // a folder that cannot be read has no settings
        for row in rows.iter().filter(|row| !row.settings.is_empty()) {
            settings.files.entry(row.lab.clone()).or_insert_with(|| file_keys(&row.lab));
            if row.sweep.is_empty() {
                continue;
            }
            let first = *first_of_sweep.entry(&row.sweep).or_insert(row);
            let keys = first.settings.keys().chain(row.settings.keys());
            for key in keys.filter(|key| first.settings.get(*key) != row.settings.get(*key)) {
                settings.varied.entry(row.sweep.clone()).or_default().insert(key.clone());
            }
        }
        settings
    }

    /// The settings that tell a run from others, each as key and value, a file by its name.
    pub fn of_run(&self, row: &RunRow) -> Vec<String> {
        let is_file = |key: &str| self.files.get(&row.lab).is_some_and(|keys| keys.contains(key));
        let label = |key: &str| match row.settings.get(key) {
            Some(Value::Text(path)) if is_file(key) => format!("{key} {}", file_name(path)),
            _ => row.setting_label(key),
        };
        self.keys(row).into_iter().map(label).collect()
    }

    /// The same with the whole path of a file.
    pub fn of_run_in_full(&self, row: &RunRow) -> Vec<String> {
        self.keys(row).into_iter().map(|key| row.setting_label(key)).collect()
    }

    fn keys<'r>(&self, row: &'r RunRow) -> Vec<&'r str> {
        let none = BTreeSet::new();
        let varied = self.varied.get(&row.sweep).unwrap_or(&none);
        // a value that the sweep sets is listed here even if the preset has it too
        let of_sweep = row.settings.keys().filter(|key| varied.contains(*key));
        // threads are a share of the machine, which a sweep gives each of its runs
        let changed = row.changed.keys().filter(|key| *key != RunSettings::threads.name);
        // one that was put back to the preset's value while the run trained
        let put_back = row.changed_in_training.keys().filter(|key| !row.changed.contains_key(*key));
        let others = changed.chain(put_back).filter(|key| !varied.contains(*key));
        of_sweep.chain(others).map(String::as_str).collect()
    }
}

/// The keys of a lab's settings that name a file.
fn file_keys(lab: &str) -> BTreeSet<&'static str> {
    let knobs = labs::find(lab).map_or(vec![], |lab| (lab.knobs)());
    knobs.iter().filter(|knob| knob.file_kind().is_some()).map(|knob| knob.key).collect()
}

fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(sweep: &str, settings: &[(&str, Value)], changed: &[&str]) -> RunRow {
        let settings: BTreeMap<String, Value> =
            settings.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let changed = settings.iter().filter(|(key, _)| changed.contains(&key.as_str()));
        RunRow {
            lab: "fast_slow".into(),
            sweep: sweep.into(),
            changed: changed.map(|(key, value)| (key.clone(), value.clone())).collect(),
            settings,
            ..RunRow::default()
        }
    }

    #[test]
    fn what_the_sweep_varies_comes_first() {
        let settings = |pool: i64, rate: f64| {
            [
                ("corpus.file", Value::Text("/data/texts/own.txt".into())),
                ("model.pool", Value::Int(pool)),
                ("run.threads", Value::Int(1)),
                ("train.lr", Value::Float(rate)),
                ("train.steps", Value::Int(40)),
            ]
        };
        let differing = ["corpus.file", "run.threads", "train.lr", "train.steps"];
        let of = |sweep: &str, pool, rate| row(sweep, &settings(pool, rate), &differing);
        let unread = RunRow { sweep: "sw".into(), ..RunRow::default() };
        let rows = [of("sw", 4, 0.006), unread, of("sw", 4, 0.001), of("sw", 8, 0.006), of("", 4, 0.001)];
        let settings = TableSettings::new(&rows);
        let rest = ["corpus.file own.txt", "train.steps 40"];
        let with = |first: [&str; 2]| first.into_iter().chain(rest).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(settings.of_run(&rows[0]), with(["model.pool 4", "train.lr 0.006"]), "the preset's pool too");
        assert_eq!(settings.of_run(&rows[3]), with(["model.pool 8", "train.lr 0.006"]));
        assert_eq!(settings.of_run(&rows[4]), ["corpus.file own.txt", "train.lr 0.001", "train.steps 40"]);
        assert!(settings.of_run_in_full(&rows[4]).contains(&"corpus.file /data/texts/own.txt".to_owned()));
        assert_eq!(settings.of_run(&rows[1]), Vec::<String>::new());
    }

    #[test]
    fn a_setting_changed_in_training_has_both_values() {
        let rate = Value::Float(0.001);
        let trained_with = |last: Value| RunRow {
            changed_in_training: BTreeMap::from([("train.lr".to_owned(), last)]),
            ..row("", &[("train.lr", rate.clone())], &[])
        };
        let rows = [trained_with(Value::Float(0.0005)), trained_with(rate.clone())];
        let settings = TableSettings::new(&rows);
        let labels = rows.each_ref().map(|row| settings.of_run(row).join(", "));
        assert_eq!(labels, ["train.lr 0.001 \u{2192} 0.0005", "train.lr (back at 0.001)"]);
        assert_eq!(settings.of_run_in_full(&rows[0]), settings.of_run(&rows[0]));
    }
}
