//! Describes, in words for the user, the lines that a resumed run moves out of its logs because training repeats those
//! steps.

use super::{log_file::superseded_name, prelude::*, record};

#[derive(Default)]
pub(super) struct Superseded {
    /// The number of answers to questions about steps that are made again.
    answers: usize,
    /// The last change of each live setting, by its key: "train.lr 0.01 at step 60".
    changes: BTreeMap<String, String>,
}

impl Superseded {
    /// Notes a line of samples after the checkpoint of `step`. Returns true if it is kept, because it answers a question about
    /// an earlier step.
    pub(super) fn keeps_sample(&mut self, line: &[u8], step: u64) -> bool {
        let answered = record::answered_step(line);
        self.answers += usize::from(answered.is_some_and(|at| at > step));
        answered.is_some_and(|at| at <= step)
    }

    /// Notes a changed setting in a line of events after the checkpoint. Returns false: none of these lines are kept.
    pub(super) fn keeps_event(&mut self, line: &[u8]) -> bool {
        if let Ok(Some((step, Event::Changed { key, value, .. }))) = record::event_from_line(line) {
            let words = format!("{key} {value} at step {step}");
            self.changes.insert(key, words);
        }
        false
    }

    /// Describes the lines that training will not produce again; `None` if there are none.
    pub(super) fn words(&self, folder: &Path) -> Option<String> {
        let answers = (self.answers > 0).then(|| {
            let (answers, aside) = (counted(self.answers, "answer"), folder.join(superseded_name(SAMPLES)));
            format!("set aside, as training goes over their steps again: {answers} in {}", aside.display())
        });
        let changes: Vec<&str> = self.changes.values().map(String::as_str).collect();
        let changes = (!changes.is_empty())
            .then(|| format!("changes of settings that are not made again: {}", changes.join(", ")));
        let words: Vec<String> = answers.into_iter().chain(changes).collect();
        (!words.is_empty()).then(|| words.join("; "))
    }
}
