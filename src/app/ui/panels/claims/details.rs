//! The unfolded part of a claim's row: the quoted sentence, the picture, the rule in words, what speaks against it, and what runs
//! it here.

use super::{RunsHere, curve, picture};
use crate::{
    experiments::{
        claims::{ledger::Judgement, rule::Rule},
        short_number::short,
    },
    ui::panels::{
        prelude::*,
        sweep_process::{end_ui, stop_ui},
    },
};

/// Width of the names before facts, points.
const NAME_WIDTH: f32 = 136.0;
/// Widest text, points: longer lines cannot be read.
const MAX_TEXT_WIDTH: f32 = 880.0;
/// The button that makes the runs that are missing.
const RUN_ALL: &str = "Run all seeds";

/// Draws it; the action that is to be asked for, if it is one on the claim's runs.
pub fn details_ui(
    ui: &mut Ui,
    shell: &mut Shell<'_>,
    entry: &ClaimEntry,
    runs: Option<&RunsHere>,
) -> Option<RunsAction> {
    let margin = Margin { left: 24, right: 8, top: 4, bottom: 16 };
    let shown = Frame::NONE.inner_margin(margin).show(ui, |ui| {
        ui.set_width(ui.available_width().min(MAX_TEXT_WIDTH));
        ui.spacing_mut().item_spacing.y = 6.0;
        let (theme, facts) = (shell.theme, entry.facts());
        // that the runs do not test the claim is read before their numbers
        let (first, facts) = facts.split_at(usize::from(entry.claim.untested.is_some()));
        first.iter().for_each(|(name, text)| fact_ui(ui, theme, name, text));
        quote_ui(ui, theme, entry);
        if let (Some(rule), Some(judged)) = (&entry.claim.rule, entry.standing.judgement()) {
            if judged.is_rule_changed {
                let words = "Outdated: the numbers below were made by a rule other than the one shown, so they give no verdict \
                             on it.";
                ui.add(Label::new(RichText::new(words).color(theme.error)).wrap());
            }
            judgement_ui(ui, theme, rule, judged);
        }
        facts.iter().for_each(|(name, text)| fact_ui(ui, theme, name, text));
        let action = buttons_ui(ui, shell, entry, runs);
        if let (Some(rule), Some(runs)) = (&entry.claim.rule, runs) {
            runs_ui(ui, shell, entry, rule, runs);
        }
        action
    });
    shown.inner
}

fn quote_ui(ui: &mut Ui, theme: &Theme, entry: &ClaimEntry) {
    let claim = &entry.claim;
    ui.add(Label::new(RichText::new(claim.statement()).size(theme::TITLE).color(theme.text)).wrap());
    let number = claim.paper_number().map_or(String::new(), |number| format!(" · the paper's number: {number}"));
    wrapped_ui(ui, format!("{}{number}", claim.place), theme.secondary);
}

fn judgement_ui(ui: &mut Ui, theme: &Theme, rule: &Rule, judged: &Judgement) {
    picture::picture_ui(ui, theme, rule, judged);
    let confidence = short(100.0 * rule.confidence);
    let published = if rule.published_on_scale().is_some() { " Dashed: the paper's number." } else { "" };
    let statistic = rule.statistic.label();
    let words = format!(
        "Dots: seeds. Bar: the {statistic} with its {confidence}% interval. Shade: where the claim stands.{published}"
    );
    wrapped_ui(ui, words, theme.secondary);
    for chart in judged.curves(rule) {
        curve::curve_ui(ui, theme, &chart);
        wrapped_ui(ui, chart.caption, theme.secondary);
    }
}

fn fact_ui(ui: &mut Ui, theme: &Theme, name: &str, text: &str) {
    ui.horizontal_top(|ui| {
        ui.allocate_ui(vec2(NAME_WIDTH, 0.0), |ui| {
            ui.set_width(NAME_WIDTH);
            note_ui(ui, theme, name);
        });
        ui.add(Label::new(RichText::new(text).color(theme.text)).wrap());
    });
}

/// The buttons that open the claim's lab, begin its runs and copy its command.
fn buttons_ui(ui: &mut Ui, shell: &mut Shell<'_>, entry: &ClaimEntry, runs: Option<&RunsHere>) -> Option<RunsAction> {
    let (rule, command) = (entry.claim.rule.as_ref()?, entry.command()?);
    let id = &entry.claim.id;
    let here = runs.and_then(|runs| runs.read.as_ref());
    let mut asked = None;
    ui.add_space(4.0);
    ui.horizontal_wrapped(|ui| {
        if let Some(link) = &entry.link {
            let about = "Opens the lab with the settings of the rule's first run; Space runs it.";
            shell.on_click(named_ui(ui, "Open in the lab", id, about), OpenAction::Link(link.clone()));
        }
        asked = run_all_ui(ui, shell, entry, rule, runs);
        if let Some(here) = here {
            let about = "The page of these runs, with every number over steps.";
            shell.on_click(named_ui(ui, "Open the sweep", id, about), OpenAction::Sweep(here.folder.clone()));
        }
        let about = "Copies the command that makes the runs and writes the result.";
        if named_ui(ui, "Copy the command", id, about).clicked() {
            shell.act(MessageAction::CopyText(command.clone()));
            shell.act(MessageAction::Toast(format!("Copied: {command}")));
        }
        ui.label(RichText::new(&command).font(theme::numbers()).color(shell.theme.text));
    });
    asked
}

/// Starts the runs that are missing, or stops those that this window makes. What they need and how long they take is said
/// beside the button; a run whose file is not there says so itself.
fn run_all_ui(
    ui: &mut Ui,
    shell: &mut Shell<'_>,
    entry: &ClaimEntry,
    rule: &Rule,
    runs: Option<&RunsHere>,
) -> Option<RunsAction> {
    let id = &entry.claim.id;
    let here = runs.and_then(|runs| runs.read.as_ref());
    if let Some(here) = here.filter(|here| here.process.is_alive()) {
        stop_ui(ui, shell, &here.process, &here.folder, &format!("Stop: {id}"));
        return None;
    }
    if here.is_some_and(|here| here.finished == here.total) {
        return None;
    }
    let time = match (&entry.made, entry.claim.time_label()) {
        (Some(made), _) => Some(format!("took {} minutes on {}", short(made.minutes), made.machine())),
        (None, Some(expected)) => Some(format!("takes {expected}")),
        (None, None) => None,
    };
    let about = format!(
        "Begins the runs of all {} seeds in the background, as many at once as there are cores. Runs that have ended are not \
         made again.",
        rule.seeds
    );
    let is_reading = runs.is_some_and(|runs| runs.is_reading);
    let run_all = ui.add_enabled_ui(!is_reading, |ui| named_ui(ui, RUN_ALL, id, &about)).inner;
    let needs = entry.claim.needs.as_ref().map(|needs| format!("needs {needs}"));
    for words in [needs, time].into_iter().flatten() {
        ui.label(RichText::new(words).color(shell.theme.text));
    }
    run_all.clicked().then(|| RunsAction::RunClaim(id.clone()))
}

/// A button that is named with the claim's id, as several rows have one.
fn named_ui(ui: &mut Ui, words: &str, id: &str, about: &str) -> Response {
    let button = ui.button(words);
    button.widget_info(|| WidgetInfo::labeled(Role::Button, button.enabled(), format!("{words}: {id}")));
    button.on_hover_text(about)
}

/// The runs of the rule in this folder, and their results so far.
fn runs_ui(ui: &mut Ui, shell: &Shell<'_>, entry: &ClaimEntry, rule: &Rule, runs: &RunsHere) {
    let theme = shell.theme;
    if let Some(words) = &runs.error_message {
        wrapped_ui(ui, words, theme.error);
    }
    let Some(here) = &runs.read else { return };
    end_ui(ui, theme, &here.process, RUN_ALL, here.finished, here.total);
    ui.add_space(4.0);
    note_ui(ui, theme, "runs here");
    wrapped_ui(ui, progress_label(here), theme.secondary);
    if here.judged.values.is_empty() {
        return;
    }
    judgement_ui(ui, theme, rule, &here.judged);
    let words = match (here.state(), here.judged.effect_label(rule)) {
        (Some(state), Some(effect)) => {
            format!("{}, by these runs, {}: {effect}.", state.label(), entry.claim.tier.scale_label())
        }
        (Some(state), None) => format!("{}: fewer seeds have a number than the rule asks for.", state.label()),
        (None, _) => format!("{} of {} seeds have their number so far.", here.judged.values.len(), rule.seeds),
    };
    ui.add(Label::new(RichText::new(words).color(theme.text)).wrap());
}

/// For example "12 of 20 runs ended, 2 running, 1 failed (not counted), in sweeps/NAME.".
fn progress_label(here: &ClaimRuns) -> String {
    let running = if here.running > 0 { format!(", {} running", here.running) } else { String::new() };
    let failed = if here.failed > 0 { format!(", {} failed (not counted)", here.failed) } else { String::new() };
    let kept = match here.finished == here.total {
        true => " The command above writes their result.",
        false if here.process == SweepProcess::Running => " They go on when the window closes.",
        false => "",
    };
    format!("{} of {} runs ended{running}{failed}, in {}.{kept}", here.finished, here.total, here.folder.display())
}
