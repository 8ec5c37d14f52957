//! Tests the claims page through user input. With a stub host: display, filters, unfolding and requests. With the real
//! host: a click starts a rule's runs, and the verdict appears when they have ended.

mod references;
mod words;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use crossbeam::channel::{Receiver, Sender, bounded, unbounded};
use eframe::egui::{self, Key, Modifiers, OutputCommand, accesskit::Role};
use egui_kittest::{
    Harness,
    kittest::{NodeT, Queryable},
};
use image::RgbaImage;
use orrery::{
    cli::{host::DesktopHost, runs::Runs},
    config::Config,
    experiments::{
        claims::{
            entry::{ClaimRuns, PaperEntry},
            ledger::{Judgement, Ledger},
            result::StepValues,
        },
        sweep::results::SweepProcess,
    },
    telemetry::RunHandle,
    ui::{
        app::{App, Opening, Start},
        host::{Delivery, Host},
    },
};

use crate::ui::{rendered, retype};

const PAPER: &str = r#"
title = "A paper of five claims"
source = "arXiv 0"

[[claim]]
id = "X1"
starred = true
title = "the coupled model begins as the frozen one"
quote = "At initialisation both are identical, so that training starts from the standard model."
place = "section 1"
number = "0"
tier = "scaled"
counter = "they share a seed"
turns = "any difference"
hours = 2.0

[claim.rule]
base = "fast_slow"
steps = 4
seeds = 3
read = "held_out_loss of coupled"
beside = "held_out_loss of frozen"
at = 0
statistic = "paired_difference"
published = 0.0
stands = { above = -1e-6, below = 1e-6 }

[claim.rule.set]
"model.d_model" = 16
"train.window" = 32
"train.batch" = 2
"run.eval_every" = 2
"probe.residual_every" = 0

[[claim]]
id = "X2"
title = "it learns faster than the frozen one, and does so from the first steps on at every size that was tried"
quote = "Training is faster."
place = "Table 2"
number = "a tenth"
tier = "proxy"
counter = "a learning rate that suits one of both"
turns = "a loss that is not below"

[claim.rule]
base = "fast_slow_needed"
seeds = 3
read = "held_out_loss of coupled"
beside = "held_out_loss of frozen"
statistic = "paired_difference"
published = -0.4
stands = { below = 0.0 }

[[claim]]
id = "X3"
title = "the gate opens"
quote = "The gate opens."
place = "Figure 3"
number = ".2"
tier = "scaled"
counter = "the text needs it"
turns = "a gate that stays shut"

[claim.rule]
base = "fast_slow_needed"
seeds = 3
read = "gate of coupled"
statistic = "mean"
stands = { above = 0.1 }

[[claim]]
id = "X4"
title = "it scales"
quote = "It scales."
place = "section 2"
number = "1B"
tier = "scaled"
needs = "a GPU"

[[claim]]
id = "X5"
title = "it forgets nothing"
quote = "Nothing is forgotten."
place = "section 3"
number = ""
tier = "scaled"
open = "a text in two halves"
"#;

fn named(id: &str, text: &str) -> (String, String) {
    (id.to_owned(), text.to_owned())
}

fn hash(id: &str) -> String {
    let ledger = Ledger::new(&[named("paper", PAPER)], &[]).unwrap();
    let (_, claim) = ledger.claims().find(|(_, claim)| claim.id == id).unwrap();
    claim.rule.as_ref().unwrap().hash()
}

/// The id and the text of a result file with these numbers, one per seed.
fn result(id: &str, rule: &str, points: &[&str]) -> (String, String) {
    let seed = |(i, point): (usize, &&str)| format!(r#"{{"seed": {}, "points": [{point}]}}"#, 7 + i);
    let seeds: Vec<String> = points.iter().enumerate().map(seed).collect();
    let text = format!(
        r#"{{"claim": "{id}", "rule": "{rule}", "verdict": "stands", "seeds": [{}],
            "made": {{"version": "0.3.0", "cpu": "a processor", "cores": 2, "minutes": 3.5}}}}"#,
        seeds.join(", ")
    );
    (id.to_owned(), text)
}

/// A ledger in which X2 has a result, and X3 has one that was made under an earlier rule.
fn ledger() -> Ledger {
    let differences = [1.50, 1.47, 1.52].map(|loss| format!(r#"{{"number": {loss}, "beside": 2.0}}"#));
    let gates = [0.2, 0.21, 0.19].map(|gate| format!(r#"{{"number": {gate}}}"#));
    fn texts(all: &[String; 3]) -> [&str; 3] {
        all.each_ref().map(String::as_str)
    }
    let results = [result("X2", &hash("X2"), &texts(&differences)), result("X3", "0123456789abcdef", &texts(&gates))];
    let mut ledger = Ledger::new(&[named("paper", PAPER)], &results).unwrap();
    let judged: Vec<_> = ledger.results.values().map(|result| ledger.judged(result)).collect();
    let at = |step: u64, values: [f64; 3]| StepValues { step, values: values.into(), beside: vec![] };
    let curve =
        vec![at(0, [0.1, -0.1, 0.05]), at(200, [-0.2, -0.21, -0.19]), at(400, [1.5 - 2.0, 1.47 - 2.0, 1.52 - 2.0])];
    ledger.results.extend(judged.into_iter().map(|result| (result.claim.clone(), result)));
    if let Some(result) = ledger.results.get_mut("X2") {
        result.curve = curve;
    }
    ledger.results.values_mut().for_each(|result| *result = result.clone().with_digest());
    ledger
}

/// The requests that the page made to the host.
#[derive(Default)]
struct Asked {
    read: Vec<String>,
    run: Vec<String>,
}

/// A host with a ledger. Of the three runs that it starts, one has ended when they are first read, and all at the next
/// reading.
struct Shelf {
    papers: Vec<PaperEntry>,
    asked: Arc<Mutex<Asked>>,
    sender: Sender<Delivery>,
    arrived: Receiver<Delivery>,
}

/// The runs of a claim; `ended` of them have ended. Has the verdict of X2 once all have.
fn runs(ended: usize) -> ClaimRuns {
    let ledger = ledger();
    let rows = ledger.rows();
    let whole = rows[1].standing.judgement().unwrap().clone();
    let values = whole.values[..ended].to_vec();
    let (outcome, p) = if ended == 3 { (whole.outcome, whole.p) } else { (None, None) };
    ClaimRuns {
        folder: "sweeps/fast_slow_needed-01234567".into(),
        total: 3,
        finished: ended,
        running: 3 - ended,
        failed: 0,
        process: if ended < 3 { SweepProcess::Running } else { SweepProcess::Absent },
        judged: Judgement { values, outcome, p, ..whole },
    }
}

impl Host for Shelf {
    fn launch(&mut self, _: &Config, _: bool) -> Result<RunHandle, String> {
        Err("nothing is launched here".into())
    }

    fn open_run(&mut self, _: PathBuf) -> RunHandle {
        RunHandle { commands: bounded(1).0, inbox: Default::default() }
    }

    fn list_claims(&mut self) {
        self.sender.send(Delivery::Claims(Ok(self.papers.clone()))).unwrap();
    }

    fn read_claim(&mut self, claim: String) {
        let mut asked = self.asked.lock().unwrap();
        let read = asked.run.contains(&claim).then(|| Box::new(runs(3)));
        asked.read.push(claim.clone());
        self.sender.send(Delivery::ClaimRuns { claim, read: Ok(read) }).unwrap();
    }

    fn run_claim(&mut self, claim: String) {
        self.asked.lock().unwrap().run.push(claim.clone());
        self.sender.send(Delivery::ClaimRuns { claim, read: Ok(Some(Box::new(runs(1)))) }).unwrap();
    }

    fn export_folder(&self) -> PathBuf {
        "exports".into()
    }

    fn deliveries(&mut self) -> Vec<Delivery> {
        self.arrived.try_iter().collect()
    }
}

struct TestWindow {
    harness: Harness<'static, App>,
    asked: Arc<Mutex<Asked>>,
}

fn desk_of(papers: Vec<PaperEntry>, opening: Option<Opening>, with_pictures: bool) -> TestWindow {
    let asked = Arc::<Mutex<Asked>>::default();
    let (sender, arrived) = unbounded();
    let host = Box::new(Shelf { papers, asked: Arc::clone(&asked), sender, arrived });
    let builder = Harness::builder().with_size([1280.0, 800.0]).with_step_dt(1.0 / 60.0);
    let builder = if with_pictures { builder.wgpu() } else { builder };
    let start = Start { opening, ..Start::default() };
    let mut desk = TestWindow { harness: builder.build_eframe(move |cc| App::new(cc, host, start)), asked };
    desk.steps(3);
    desk
}

/// A window with the real host and program over a folder with these claims, its page of claims open.
fn real_desk(here: &Path, paper: &str) -> TestWindow {
    fs::create_dir(here.join("ledger")).unwrap();
    fs::write(here.join("ledger/paper.toml"), paper).unwrap();
    let host = DesktopHost::new(here.join("runs"), Runs::new());
    let host = Box::new(host.with_program(env!("CARGO_BIN_EXE_orrery").into()).with_claims(here.join("ledger")));
    let builder = Harness::builder().with_size([1280.0, 800.0]).with_step_dt(1.0 / 30.0);
    let harness = builder.build_eframe(move |cc| App::new(cc, host, Start::default()));
    let mut d = TestWindow { harness, asked: Arc::default() };
    d.steps(3);
    d.click("Claims");
    d.until("the claims are read", |d| d.rows().len() == 5);
    d
}

/// The claims page, opened from the gallery.
fn desk() -> TestWindow {
    let mut desk = desk_of(ledger().entries(), None, false);
    desk.click("Claims");
    desk
}

impl TestWindow {
    fn steps(&mut self, n: usize) {
        (0..n).for_each(|_| self.harness.step());
    }

    fn click(&mut self, label: &str) {
        self.harness.get_by_label(label).click();
        self.steps(4);
    }

    fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !holds(self) {
            assert!(begun.elapsed() < Duration::from_secs(120), "waited in vain: {what}; {:?}", self.rows());
            self.harness.step();
            std::thread::sleep(Duration::from_millis(5));
        }
        self.steps(3);
    }

    /// Begins the runs of X1 once those that are there were looked for.
    fn run_all(&mut self) {
        self.unfold("X1");
        self.until("its runs were looked for", |d| {
            let button = d.harness.query_by_label("Run all seeds: X1");
            button.is_some_and(|button| !button.accesskit_node().is_disabled())
        });
        self.click("Run all seeds: X1");
    }

    fn shows(&self, words: &str) -> bool {
        self.harness.query_all_by_label_contains(words).next().is_some()
    }

    fn rows(&self) -> Vec<String> {
        let rows = self.harness.query_all_by_role(Role::ListItem);
        rows.filter_map(|node| node.accesskit_node().label()).collect()
    }

    /// The claims' ids in the rows that are shown.
    fn ids(&self) -> Vec<String> {
        self.rows().iter().map(|row| row.split(',').next().unwrap_or_default().to_owned()).collect()
    }

    /// Clicks the row of a claim.
    fn unfold(&mut self, id: &str) {
        let row = self.rows().into_iter().find(|row| row.starts_with(&format!("{id},"))).expect("a row");
        self.harness.get_by_role_and_label(Role::ListItem, &row).click();
        self.steps(4);
    }

    fn filter(&mut self, text: &str) {
        retype(&mut self.harness, "filter", text);
    }
}

#[test]
fn claims_are_listed_by_paper_with_their_counts() {
    let d = desk();
    assert_eq!(d.ids(), ["X1", "X2", "X3", "X4", "X5"]);
    assert!(d.shows("A paper of five claims") && d.shows("arXiv 0 · 5 claims: stands 1, outdated 1, not run 1"));
    assert!(d.shows("5 of 5 claims. A verdict says its scale"));
    let rows = d.rows();
    assert!(rows[1].ends_with(", stands, at our scale, by a proxy"), "{}", rows[1]);
    assert!(rows[3].ends_with(", needs a GPU") && rows[4].ends_with(", no rule yet"), "{rows:?}");
}

/// A result that was made under an earlier rule must not count as a verdict in the row, in the filter chips or in the
/// unfolded claim.
#[test]
fn a_result_of_an_edited_rule_is_outdated() {
    let mut d = desk();
    assert!(d.rows()[2].ends_with(", outdated: rule changed after the run"), "{:?}", d.rows());
    d.click("outdated 1");
    assert_eq!(d.ids(), ["X3"]);
    d.unfold("X3");
    assert!(d.shows("so they give no verdict on it"));
    assert!(d.shows("rule changed after the run") && d.shows("01234567 then"), "the hashes are shown");
    assert!(!d.shows("after Holm's correction"), "no effect is claimed");
}

#[test]
fn claims_are_found_by_the_filter_and_by_chips() {
    let mut d = desk();
    d.filter("lab:fast_slow !is:starred");
    assert_eq!(d.ids(), ["X2", "X3"]);
    assert!(d.shows("★ starred 0") && d.shows("needs data or hardware 0"), "chips count what the filter leaves");
    d.click("stands 1");
    assert_eq!(d.ids(), ["X2"]);
    assert!(d.shows("outdated 1"), "a chip that is on does not empty those beside it");
    d.click("not run 0");
    assert_eq!(d.ids(), ["X2"], "the only claim that was not run is starred");
    d.filter("gate<1");
    assert!(d.shows("a claim has no `gate`"));
    assert_eq!(d.ids(), ["X2"], "what was found stays while one types");
    d.filter("nothing-like-it");
    assert!(d.shows("No claim matches"));
    d.filter("identical");
    assert_eq!(d.ids(), ["X1"], "words of the quote");
    d.click("★ starred 1");
    assert_eq!(d.ids(), ["X1"]);
}

#[test]
fn an_unfolded_claim_shows_all_its_facts() {
    let mut d = desk();
    d.unfold("X2");
    for words in [
        "\u{201c}Training is faster.\u{201d}",
        "Table 2 · the paper's number: a tenth",
        "the paired difference of held_out_loss of coupled beside held_out_loss of frozen lies below 0",
        "a learning rate that suits one of both",
        "a loss that is not below",
        "3: 7 to 9",
        "Orrery 0.3.0 (commit not recorded), 2 cores of a processor, 3.5 minutes",
        "stands if below 0; p ",
        "against the bound, after Holm's correction",
        "neither the rule (",
        "its terms were not recorded with the runs",
        "from step 0 across the bound; from step 200 within the bound.",
        "orrery claims run X2",
    ] {
        assert!(d.shows(words), "{words}");
    }
    let picture = d.harness.query_all_by_role(Role::Image).filter_map(|node| node.accesskit_node().label());
    let picture: Vec<String> = picture.filter(|label| label.starts_with("3 seeds, effect -0.50")).collect();
    assert_eq!(picture.len(), 1, "a picture of the seeds");
    assert_eq!(d.asked.lock().unwrap().read, ["X2"], "its runs here were looked for");
    d.unfold("X2");
    assert!(!d.shows("a loss that is not below"), "a second click folds it");
    d.unfold("X5");
    assert!(d.shows("a text in two halves") && !d.shows("orrery claims run X5"));
}

#[test]
fn enter_unfolds_a_claim_and_escape_leads_back_to_the_gallery() {
    let mut d = desk();
    let row = d.rows().remove(0);
    d.harness.get_by_role_and_label(Role::ListItem, &row).focus();
    d.steps(2);
    d.harness.key_press(Key::Enter);
    d.steps(3);
    assert!(d.shows("they share a seed"), "Enter unfolds the row that has the focus");
    d.harness.key_press(Key::Escape);
    d.steps(2);
    d.harness.key_press(Key::Escape);
    d.steps(3);
    assert!(d.shows("What moves inside a small model while it learns?"), "Escape leads back to the gallery");
    d.harness.key_press_modifiers(Modifiers::COMMAND, Key::P);
    d.steps(3);
    d.harness.event(egui::Event::Text("Claims: what".into()));
    d.steps(3);
    d.harness.key_press(Key::Enter);
    d.steps(4);
    assert_eq!(d.rows().len(), 5, "the palette opens it too");
}

#[test]
fn the_command_of_a_claim_is_copied() {
    let mut d = desk();
    // the window is high and no other claim is listed, so that the buttons are visible
    d.harness.set_size(egui::vec2(1280.0, 960.0));
    d.filter("id:X2");
    d.unfold("X2");
    d.harness.get_by_label("Copy the command: X2").click();
    let mut copied = None;
    for _ in 0..4 {
        d.steps(1);
        let commands = &d.harness.output().platform_output.commands;
        let text = |c: &OutputCommand| if let OutputCommand::CopyText(text) = c { Some(text.clone()) } else { None };
        copied = copied.or_else(|| commands.iter().find_map(text));
    }
    assert_eq!(copied.as_deref(), Some("orrery claims run X2"));
}

#[test]
fn a_claim_opens_its_lab_with_the_settings_of_its_rule() {
    let mut d = desk();
    d.unfold("X1");
    d.click("Open in the lab: X1");
    let page = d.harness.state().page().expect("the lab is open");
    let config = &page.config;
    let setting = |key: &str| config.get(key).map(ToString::to_string);
    assert_eq!((config.lab.as_str(), config.preset.as_str()), ("fast_slow", "fast_slow"));
    assert_eq!((setting("train.steps").as_deref(), setting("model.d_model").as_deref()), (Some("4"), Some("16")));
    for _ in 0..3 {
        if d.harness.state().page().is_some() {
            d.harness.key_press(Key::Escape);
            d.steps(4);
        }
    }
    assert!(d.shows("they share a seed"), "Escape leads back to the claim");
}

#[test]
fn a_verdict_fills_in_as_seeds_end() {
    let mut d = desk();
    assert!(d.rows()[0].ends_with(", not run: needs about 2 hours of two cores"), "{}", d.rows()[0]);
    d.unfold("X1");
    assert!(d.shows("takes about 2 hours of two cores"), "it is said before the click that begins them");
    d.click("Run all seeds: X1");
    assert_eq!(d.asked.lock().unwrap().run, ["X1"]);
    assert!(d.rows()[0].ends_with("1 of 3 runs have ended here"), "{}", d.rows()[0]);
    assert!(d.shows("1 of 3 seeds have their number so far.") && d.shows("They go on when the window closes."));
    assert!(d.harness.query_by_label("Run all seeds: X1").is_none() && d.shows("Stop: X1"));
    d.steps(150);
    assert_eq!(d.asked.lock().unwrap().read, ["X1", "X1"], "read again once, and no more when all have ended");
    assert!(d.rows()[0].ends_with(", stands, at our scale, by runs here"), "{}", d.rows()[0]);
    assert!(d.shows("stands, by these runs, at our scale: -0.5"));
    d.click("Open the sweep: X1");
    d.harness.key_press(Key::Escape);
    d.steps(4);
    assert_eq!(d.rows().len(), 5, "Escape leads from the sweep back to the claims");
}

/// The file may be there: its absence is what the runs themselves say, after the click.
#[test]
fn runs_that_need_a_file_are_offered_with_their_need() {
    let mut ledger = ledger();
    ledger.papers[0].file.claims[0].needs = Some("a file".to_owned());
    let mut d = desk_of(ledger.entries(), None, false);
    d.click("Claims");
    assert!(d.rows()[0].ends_with(", needs a file"), "{}", d.rows()[0]);
    d.unfold("X1");
    let button = d.harness.get_by_label("Run all seeds: X1").rect();
    let is_beside = |need: egui::Rect| need.left() > button.right() && need.y_range().contains(button.center().y);
    assert!(d.harness.query_all_by_label("needs a file").any(|need| is_beside(need.rect())), "beside the button");
    d.click("Run all seeds: X1");
    assert_eq!(d.asked.lock().unwrap().run, ["X1"]);
}

/// The time of runs is known before the click that begins them.
#[test]
fn runs_that_were_made_are_offered_with_their_time() {
    let mut d = desk();
    d.unfold("X2");
    assert!(d.harness.query_by_label("Run all seeds: X2").is_some());
    assert!(d.shows("took 3.5 minutes on 2 cores of a processor"), "it is beside the button");
}

/// Runs that stop write a checkpoint first, which may take a while.
#[test]
fn stopping_is_shown_as_soon_as_it_is_clicked() {
    let mut d = desk();
    d.unfold("X1");
    d.click("Run all seeds: X1");
    d.click("Stop: X1");
    assert!(d.shows("stopping\u{2026}") && d.harness.query_by_label("Stop: X1").is_none());
    d.steps(150);
    assert!(!d.shows("stopping\u{2026}"), "their end was read");
}

/// The numbers of runs that do not test the claim are not read before that is said.
#[test]
fn a_card_begins_with_why_its_runs_do_not_test_the_claim() {
    let mut ledger = ledger();
    ledger.papers[0].file.claims[1].untested = Some("both were trained alike".to_owned());
    let mut d = desk_of(ledger.entries(), None, false);
    d.click("Claims");
    assert!(d.rows()[1].ends_with(", cannot be told, at our scale, by a proxy"), "{}", d.rows()[1]);
    assert!(d.shows("cannot be told 1"), "it is counted as such");
    d.unfold("X2");
    let top = |words: &str| d.harness.get_by_label_contains(words).rect().top();
    assert!(top("both were trained alike") < top("\u{201c}Training is faster.\u{201d}"));
    assert!(d.shows("stands if below 0; p "), "the numbers follow");
    assert!(d.shows("stands; the reason was recorded after the runs"), "and the verdict that they give");
}

#[test]
fn a_lab_leads_to_the_claims_that_it_can_decide() {
    let mut d = desk_of(ledger().entries(), Some(Opening::Lab("fast_slow".into())), false);
    d.click("Menu");
    d.harness.get_by_label_contains("Claims that it can decide (3)").click();
    d.steps(4);
    assert_eq!(d.ids(), ["X1", "X2", "X3"]);
    assert!(d.shows("3 of 5 claims"));
    d.harness.get_by_role_and_label(Role::TextInput, "filter").focus();
    d.steps(1);
    d.harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
    d.harness.key_press(Key::Delete);
    d.steps(3);
    assert_eq!(d.ids().len(), 5, "without a filter all are there");
}

#[test]
fn an_empty_ledger_says_how_it_fills() {
    let mut d = desk_of(vec![], None, false);
    d.click("Claims");
    assert!(d.shows("A file claims/PAPER.toml holds those of a paper."));
}

/// With the real host and program, the window starts the runs and reads them, and `orrery claims run` then finds
/// nothing left to run. Otherwise the window and the command would repeat each other's work.
#[test]
fn runs_that_the_window_begins_are_those_of_the_command() {
    let here = tempfile::tempdir().unwrap();
    let mut d = real_desk(here.path(), &PAPER.replace("seeds = 3", "seeds = 2"));
    d.run_all();
    d.until("its runs are made", |d| d.rows()[0].ends_with(", stands, at our scale, by runs here"));
    assert!(d.shows("2 of 2 runs ended"));

    // the process that trains the runs may end a moment after the last run; until then the command refuses
    let begun = Instant::now();
    let (is_done, said) = loop {
        let mut command = Command::new(env!("CARGO_BIN_EXE_orrery"));
        let output =
            command.args(["claims", "run", "X1", "--from", "ledger"]).current_dir(here.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        if !said.contains("are being made by process") || begun.elapsed() > Duration::from_secs(30) {
            break (output.status.success(), said);
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    assert!(is_done && said.contains("2 runs, 0 to make"), "{said}");
    assert!(said.contains("X1: stands, at our scale"), "{said}");
    d.click("Refresh");
    d.until("the stored result is shown", |d| d.rows()[0].ends_with(", stands, at our scale"));
}

/// The user who stopped the runs sees why their process ended and how they are completed.
#[test]
fn runs_that_are_stopped_have_not_failed() {
    let here = tempfile::tempdir().unwrap();
    let paper = PAPER.replace("seeds = 3", "seeds = 2").replace("steps = 4\n", "steps = 100000\n");
    let mut d = real_desk(here.path(), &paper);
    d.run_all();
    d.until("a run is made", |d| d.shows(", 1 running") || d.shows(", 2 running"));
    d.click("Stop: X1");
    d.until("they have stopped", |d| d.shows("Stopped. 0 of 2 runs are made; Run all seeds makes the others."));
    assert!(!d.shows("The process that made the runs ended"), "it is not a failure");
    assert!(d.shows("Run all seeds: X1"));
}

/// Renders the page with a claim unfolded.
pub fn picture(dark: bool) -> RgbaImage {
    let mut d = desk_of(ledger().entries(), None, true);
    d.click("Claims");
    d.unfold("X2");
    rendered(&mut d.harness, dark)
}
