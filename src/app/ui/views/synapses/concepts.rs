//! Looks for a synapse that stands for a concept: what to look for, the synapses of the search with their correlations
//! on new sentences, random weights beside each, and the verdict.

mod drawing;

use self::drawing::{name_of, nouns_ui, rows_ui};
use super::concept_effect::{synapse, test_ui};
use crate::{
    labs::{self, bdh::BdhSettings, corpus::CorpusSettings, synapses::settings::ConceptSettings},
    ui::views::prelude::*,
};

/// The concepts that can be searched for: name, which is the id of the built-in ones, and tip. The last two are the user's own
/// sentences.
const CONCEPTS: [(&str, &str); 4] = [
    (
        "currency",
        "Sentences about currencies against the same sentences about goods, countries, cities and institutions.",
    ),
    (
        "country",
        "Sentences about countries against the same sentences about cities, institutions, currencies and goods.",
    ),
    (
        "own sentences",
        "Two lists of yours, one sentence a line. Every second one is kept to confirm with; write <F:en> before a sentence to name its language.",
    ),
    (
        "file",
        "The file under Concepts: a label, a tab and a sentence on each line. One label is the concept, as opposed to all others; every second sentence of each is kept to confirm what is found.",
    ),
];
/// The indices of the user's own sentences among these: typed, and from a file.
const TYPED_INDEX: usize = 2;
const FILE_INDEX: usize = 3;

/// The settings that name a file and its label.
const SENTENCES_KEY: &str = ConceptSettings::sentences.name;
const LABEL_KEY: &str = ConceptSettings::label.name;

const SENTENCES_WITH: &str = "The euro is weak.\nWe paid in dollars.\nThe pound fell again.\nNobody wants the yen.\nThe franc was strong.\nThe peso is old.\nHe kept the rouble.\nThe krone rose.";
const SENTENCES_WITHOUT: &str = "The wheat is weak.\nWe paid in March.\nThe timber fell again.\nNobody wants the coal.\nThe butter was strong.\nThe harbour is old.\nHe kept the copper.\nThe river rose.";

/// True if a config names a file or folder at this key.
fn names_file(config: &Config, key: &str) -> bool {
    config.get(key).is_some_and(|value| !value.to_string().trim().is_empty())
}

/// The id of the generated text that the run reads; `None` of a file or folder, which take its place.
fn generated_text(cx: &ViewCx<'_>) -> Option<&'static str> {
    let config = cx.run_config();
    if [CorpusSettings::file.name, CorpusSettings::folder.name].iter().any(|key| names_file(config, key)) {
        return None;
    }
    config.value(CorpusSettings::source).ok().map(|source| source.id())
}

/// True if the run trains a model on sentences of the parliament; `None` where it opens a trained one, of whose text
/// nothing is known, or trains none.
fn learns_parliament(cx: &ViewCx<'_>) -> Option<bool> {
    let config = cx.run_config();
    let is_trained = config.value(TrainSettings::steps).is_ok_and(|steps| steps > 0);
    let is_judged = is_trained && !names_file(config, BdhSettings::checkpoint.name);
    is_judged.then(|| generated_text(cx).is_some_and(|id| id.starts_with("parliament")))
}

pub struct Concepts {
    chosen: usize,
    with: String,
    without: String,
}

impl Default for Concepts {
    fn default() -> Self {
        Self { chosen: 0, with: SENTENCES_WITH.to_owned(), without: SENTENCES_WITHOUT.to_owned() }
    }
}

/// The text of a setting if it is not blank, such as the file of labelled sentences or the concept's label.
fn named(cx: &ViewCx<'_>, key: &str) -> Option<String> {
    cx.setting(key).map(|v| v.to_string()).filter(|words| !words.trim().is_empty())
}

/// The greatest correlation that any random model reached, in the search and on new nouns in new frames; NaN if there is
/// no random model.
fn best_random(search: &ConceptSearch) -> [f64; 2] {
    let best = |of: fn(&RandomSearch) -> f64| search.random_weights.iter().map(of).fold(f64::NAN, f64::max);
    [best(|r| r.search), best(|r| r.best)]
}

impl Concepts {
    /// True while a search in any model is running.
    fn is_searching(cx: &ViewCx<'_>) -> bool {
        let mut variants = 0..cx.mirror.variants().len();
        cx.can_ask() && variants.any(|v| cx.is_waiting_for::<ConceptSearch>(Some(v)))
    }

    fn choice_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        ui.horizontal_wrapped(|ui| {
            let has_file = cx.config.value(ConceptSettings::sentences).is_ok();
            for (k, (name, tip)) in CONCEPTS.iter().enumerate().filter(|(k, _)| *k != FILE_INDEX || has_file) {
                ui.selectable_value(&mut self.chosen, k, *name).on_hover_text(*tip);
            }
            let tip = "Searches this model and three untrained ones beside the training, for a minute or two. \
                       What is found is confirmed on sentences that took no part in the search.";
            let can_find = !Self::is_searching(cx) && (self.chosen != FILE_INDEX || named(cx, SENTENCES_KEY).is_some());
            cx.ask_button::<ConceptSearch>(ui, Button::new("Find"), can_find, tip, |cx| self.args(cx));
        });
        if Self::is_searching(cx) {
            let is_training = cx.mirror.state == Some(RunState::Running);
            let training = if is_training { " Training goes on meanwhile." } else { "" };
            let words = format!("Searching this model and three untrained ones: a minute or two.{training}");
            note_ui(ui, cx.theme, words);
        } else if let Some(words) = cx.refusal_of::<ConceptSearch>(Some(cx.selection.variant)) {
            ui.label(small_text(words, cx.theme.error));
        } else if learns_parliament(cx) == Some(false) && self.chosen < TYPED_INDEX {
            note_ui(ui, cx.theme, "This model learns from another text: it has read no sentence of the parliament.");
        } else if self.chosen == FILE_INDEX {
            let words = named(cx, SENTENCES_KEY).map_or_else(
                || "No file yet: name one under Concepts, Sentences.".to_owned(),
                |path| format!("{path}, concept: {}", named(cx, LABEL_KEY).unwrap_or("its first label".to_owned())),
            );
            note_ui(ui, cx.theme, words);
        }
        if self.chosen == TYPED_INDEX {
            ui.columns(2, |columns| {
                let lists = [("with the concept", &mut self.with), ("without it", &mut self.without)];
                for (ui, (name, list)) in columns.iter_mut().zip(lists) {
                    note_ui(ui, cx.theme, name);
                    ScrollArea::vertical().id_salt(name).max_height(84.0).show(ui, |ui| {
                        let response = ui.add(TextEdit::multiline(list).desired_rows(5).desired_width(f32::INFINITY));
                        response.widget_info(|| {
                            WidgetInfo::labeled(Role::MultilineTextInput, true, format!("sentences {name}"))
                        });
                    });
                }
            });
        }
    }

    /// The text of an empty view, which depends on what the run has done: why nothing is shown, and the next step.
    fn empty_text(cx: &ViewCx<'_>) -> String {
        const QUESTION_TEXT: &str =
            "Does one synapse rise for every currency, in every language, in sentences it has never met?";
        const TRAP_HINT: &str = " The preset The trap shows how easily one is fooled.";
        if Self::is_searching(cx) {
            let words =
                "The answer comes here: the ten synapses that the search put first, and how each did on new sentences.";
            return words.to_owned();
        }
        let has_preset = |id| labs::find(&cx.config.lab).is_some_and(|lab| lab.preset(id).is_some());
        let trap = if has_preset("synapses_naive") { TRAP_HINT } else { "" };
        let [train, ask] = match learns_parliament(cx) {
            Some(true) => ["Press Space to train on the parliament, then Find.", "Press Find."],
            Some(false) if has_preset("synapses") => {
                ["Train on the parliament (preset Parliament), then press Find."; 2]
            }
            _ => ["Press Find."; 2],
        };
        if cx.refusal_of::<ConceptSearch>(Some(cx.selection.variant)).is_some() {
            // the reason is shown beside the button
            return format!("{QUESTION_TEXT} {ask}{trap}");
        }
        let [hint, demand] = [train, ask].map(|next| format!("{QUESTION_TEXT} {next}{trap}"));
        cx.empty_reason_before_asking::<ConceptSearch>(&hint, &demand)
    }

    /// True if the shown search was for the chosen concept.
    fn shows(&self, search: &ConceptSearch) -> bool {
        let is_file = search.is_own && !search.contrast.is_empty();
        match self.chosen {
            FILE_INDEX => is_file,
            TYPED_INDEX => search.is_own && !is_file,
            built_in => !search.is_own && search.concept.starts_with(CONCEPTS[built_in].0),
        }
    }

    fn args(&self, cx: &ViewCx<'_>) -> ConceptSearchArgs {
        let usual = ConceptSearchArgs::default();
        match self.chosen {
            FILE_INDEX => {
                let (sentences, label) = (named(cx, SENTENCES_KEY), named(cx, LABEL_KEY));
                ConceptSearchArgs { sentences, label, ..usual }
            }
            TYPED_INDEX => {
                let (with, without) = (Some(self.with.clone()), Some(self.without.clone()));
                ConceptSearchArgs { with, without, ..usual }
            }
            built_in => {
                let naive = generated_text(cx) == Some("parliament_naive");
                let preset = format!("{}{}", CONCEPTS[built_in].0, if naive { "_naive" } else { "" });
                ConceptSearchArgs { preset: Some(preset), ..usual }
            }
        }
    }
}

impl View for Concepts {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        ui.spacing_mut().item_spacing.y = 4.0;
        cx.controls_ui(ui, |ui, cx| self.choice_ui(ui, cx));
        let Some(measured) = cx.answered::<ConceptSearch>().filter(|m| !m.synapses.is_empty()) else {
            return cx.nothing_ui(ui, &Self::empty_text(cx));
        };
        let search: &ConceptSearch = measured.value;
        if !self.shows(search) && !Self::is_searching(cx) {
            let (below, chosen) = (&search.concept, CONCEPTS[self.chosen].0);
            let words = format!("Below is {below}, of step {}. Press Find for {chosen}.", measured.sample.step);
            note_ui(ui, cx.theme, words);
        }
        let yes = search.synapses.iter().any(|s| s.confirmed);
        let (sign, colour) = if yes { ("\u{2714}", cx.theme.accent) } else { ("\u{2013}", cx.theme.secondary) };
        ui.horizontal_wrapped(|ui| {
            ui.label(RichText::new(sign).color(colour));
            ui.label(RichText::new(&search.verdict).color(cx.theme.text));
        });
        cx.controls_ui(ui, |ui, cx| test_ui(ui, cx, search));
        let focus = search.synapses.iter().position(|s| cx.selection.get() == Some(&synapse(s))).unwrap_or(0);
        let below = if ui.available_height() > 260.0 { 116.0 } else { 0.0 };
        let random = best_random(search);
        let room = ui.available_height() - below - 6.0;
        let area = ScrollArea::vertical().id_salt("synapses found").max_height(room);
        let clicked = plot::rows_ui(ui, area, |ui| rows_ui(ui, cx.theme, search, random, focus)).inner;
        if let Some(k) = clicked {
            cx.selection.set(synapse(&search.synapses[k]));
        }
        if below > 0.0 {
            let what = if search.is_own { "sentence" } else { "noun" };
            let synapse = &search.synapses[focus];
            let title = format!("what drives {}, by {what}", name_of(search, synapse));
            nouns_ui(ui, cx.theme, &title, synapse.by_noun.data(), &search.nouns);
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let about = "one synapse for a concept, confirmed on sentences that took no part in the search";
        cx.answered_subtitle::<ConceptSearch>("", about)
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let measured = cx.answered::<ConceptSearch>()?;
        let languages = measured.synapses.first().map_or(&[][..], |s| &s.languages);
        let of_language = languages.iter().flat_map(|l| ["both new", "p"].map(|n| format!("{n} {}", l.language)));
        let columns = "rank,layer,y,x,search,new nouns,new frames,both new,low,high,p,holm,told,confirmed".split(',');
        let last = ["random_search", "random_both_new"].map(str::to_owned);
        let mut table = Table::new(columns.map(str::to_owned).chain(of_language).chain(last));
        for (k, s) in measured.synapses.iter().enumerate() {
            let (r, interval) = (&s.correlation, &s.interval);
            let mut row = [k + 1, s.layer, s.i, s.j].map(|v| v.to_string()).to_vec();
            let numbers = [r.search, r.new_nouns, r.new_frames, r.both_new, interval.low, interval.high, s.p, s.p_holm];
            row.extend(numbers.map(|v| v.to_string()));
            row.extend([s.significant_languages.to_string(), u8::from(s.confirmed).to_string()]);
            // a record of others may have fewer languages of one synapse than of the first
            let found = |k: usize| s.languages.get(k).map_or([f64::NAN; 2], |l| [l.correlation, l.p]);
            let numbers = (0..languages.len()).flat_map(found).chain(best_random(&measured));
            row.extend(numbers.map(|v| v.to_string()));
            table.row(row);
        }
        Some(table.finish())
    }
}
