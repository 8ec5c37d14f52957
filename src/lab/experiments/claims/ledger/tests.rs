//! Tests the ledger's verdicts and the mistakes that its check finds.

use super::*;
use crate::experiments::claims::{
    result::SeedNumbers,
    small_ledger::{PAPER, ledger, ledger_with, result},
};

fn ledger_from(numbers: &[f64]) -> Ledger {
    ledger_with(&result(numbers))
}

fn labels(ledger: &Ledger) -> Vec<String> {
    ledger.rows().iter().map(|row| row.standing.label()).collect()
}

/// Holm's family is all rules, run or not: one p of two rules counts twice.
#[test]
fn verdicts_are_corrected_for_all_rules_of_the_paper() {
    let five_hours = "not run: needs about 5 hours of two cores";
    assert_eq!(labels(&ledger()), ["not run", five_hours, "needs a GPU"]);
    let ledger = ledger_from(&[0.001, 0.0011, 0.0009]);
    assert_eq!(labels(&ledger), ["stands", five_hours, "needs a GPU"]);
    let judged = ledger.rows()[0].standing.judgement().cloned().unwrap();
    let raw = judged.outcome.unwrap().p();
    assert!((judged.p.unwrap() - 2.0 * raw).abs() < 1e-12, "{judged:?}");
    assert_eq!(labels(&ledger_from(&[0.5, 0.5001, 0.5002]))[0], "does not stand");
    assert_eq!(labels(&ledger_from(&[0.0, 0.01, 0.02]))[0], "cannot be told");
    assert_eq!(labels(&ledger_from(&[0.001, 0.0011]))[0], "cannot be told", "a run is missing");
}

/// JSON has no infinity, and a result with one could not be read again.
#[test]
fn a_result_without_a_finite_interval_is_read_again() {
    let ledger = ledger_from(&[1e308, -1e308, 1e308]);
    let stored = &ledger.results["X1"];
    assert_eq!(ClaimResult::parse("X1", &stored.to_json().unwrap()).unwrap(), *stored);
}

/// The window judges the runs that have ended so far without a ledger of its own.
#[test]
fn a_result_is_judged_in_place_of_the_stored_one() {
    let stored = ledger_from(&[0.5, 0.5001, 0.5002]);
    let raw = result(&[0.001, 0.0011, 0.0009]);
    let row = |ledger: &Ledger| ledger.rows()[0].standing.judgement().cloned();
    assert_eq!(stored.judge(&raw), row(&ledger_from(&[0.001, 0.0011, 0.0009])));
    assert_eq!(stored.judge(&stored.results["X1"]), row(&stored));
    assert_eq!(labels(&stored)[0], "does not stand", "what is stored stays");
    for claim in ["X12", "Z9"] {
        assert_eq!(stored.judge(&ClaimResult { claim: claim.to_owned(), ..raw.clone() }), None, "there is no rule");
    }
}

#[test]
fn the_check_finds_what_was_edited() {
    let good = ledger_from(&[0.001, 0.0011, 0.0009]);
    assert!(good.problems().is_empty(), "{:?}", good.problems());
    let read = ClaimResult::parse("X1", &good.results["X1"].to_json().unwrap()).unwrap();
    assert_eq!(read, good.results["X1"]);

    let edited = |change: &dyn Fn(&mut ClaimResult)| {
        let mut ledger = good.clone();
        ledger.results.values_mut().for_each(change);
        ledger.problems().join("\n")
    };
    assert!(edited(&|r| r.verdict = Verdict::DoesNotStand).contains("its numbers \u{201c}stands\u{201d}"));
    assert!(edited(&|r| r.effect = Some(0.002)).contains("not those of its numbers"));
    let numbers = edited(&|r| r.seeds[0].points[0].number = 0.5);
    assert!(numbers.contains("cannot be told") && numbers.contains("edited after the run"), "{numbers}");
    // an edit that changes no verdict is reported too
    assert_eq!(edited(&|r| r.made.cores = 64), "X1: the numbers, or what made them, were edited after the run");
    assert!(edited(&|r| r.claim = "X2".to_owned()).contains("the claim X2"));

    let mut ledger = good.clone();
    ledger.papers[0].file.claims[0].rule.as_mut().unwrap().stands.below = Some(0.02);
    assert!(ledger.problems().join("\n").contains("rule changed after the run"));
    assert_eq!(labels(&ledger)[0], "outdated: rule changed after the run");
    let summary = ledger.summary();
    assert!(summary.contains(": 0 stand, 0 do not stand, 0 cannot be told, 1 outdated;"), "{summary}");
    let result = ledger.results.remove("X1").unwrap();
    ledger.results.insert("Z9".to_owned(), result);
    assert!(ledger.problems().join("\n").contains("no such claim"));
}

/// A verdict could be picked among results by leaving out seeds, or by taking those of a replication.
#[test]
fn the_check_finds_seeds_that_the_rule_does_not_ask_for() {
    let good = result(&[0.001, 0.0011, 0.0009]);
    let problems = |change: &dyn Fn(&mut ClaimResult)| {
        let mut edited = good.clone();
        change(&mut edited);
        ledger_with(&edited.with_digest()).problems()
    };
    let words = "X1: its seeds are not 3 in a row from 7 on, as the rule asks";
    assert_eq!(problems(&|_| ()), Vec::<String>::new());
    assert_eq!(problems(&|r| r.seeds.iter_mut().for_each(|numbers| numbers.seed += 100)), [words]);
    assert_eq!(problems(&|r| drop(r.seeds.pop())), [words], "fewer, and no word on the last");
    assert_eq!(problems(&|r| r.seeds[1].seed = 8 + 3), [words], "one is left out");
    assert_eq!(problems(&|r| r.seeds.push(SeedNumbers { seed: 10, ..r.seeds[0].clone() })), [words], "one more");
    let missing = |r: &mut ClaimResult| r.missing.extend(r.seeds.pop().map(|numbers| numbers.seed));
    assert_eq!(problems(&missing), Vec::<String>::new(), "a seed without a number is named");

    // a user may name results with other seeds, which lie apart from the stored ones
    let mut others = good.clone();
    others.seeds.iter_mut().for_each(|numbers| numbers.seed += 100);
    let named = [("X1".to_owned(), ledger_with(&others.with_digest()).results["X1"].to_json().unwrap())];
    assert_eq!(ledger_with(&good).with_results_apart(&named).unwrap().problems(), Vec::<String>::new());
    assert_eq!(ledger_with(&good).with_results(&named).unwrap().problems(), [words]);
}

/// The rule's hash leaves out the words of the claim, its tier, and what its preset sets: a result keeps digests of these.
#[test]
fn the_check_names_the_terms_that_were_edited() {
    let earlier = ledger_from(&[0.001, 0.0011, 0.0009]);
    let facts = |ledger: &Ledger| -> String {
        let facts = ledger.entries()[0].claims[0].facts();
        facts.into_iter().find(|(name, _)| *name == "edited since").unwrap().1
    };
    assert_eq!(earlier.problems(), Vec::<String>::new(), "a result without terms was not edited");
    assert!(facts(&earlier).ends_with("; its terms were not recorded with the runs"), "{}", facts(&earlier));

    let terms = earlier.papers[0].file.claims[0].term_hashes();
    assert_eq!(terms.keys().collect::<Vec<_>>(), ["quote", "settings", "tier", "turns", "untested"]);
    let good = ledger_with(&ClaimResult { terms, ..result(&[0.001, 0.0011, 0.0009]) }.with_digest());
    assert_eq!(good.problems(), Vec::<String>::new());
    assert!(facts(&good).starts_with("neither the rule (") && facts(&good).ends_with("its terms nor the numbers"));
    let read = ClaimResult::parse("X1", &good.results["X1"].to_json().unwrap()).unwrap();
    assert_eq!(read, good.results["X1"], "they are written");
    type Edit<'a> = (&'a str, &'a dyn Fn(&mut Claim));
    let edits: [Edit<'_>; 5] = [
        ("quote", &|claim| claim.quote.push_str(" or nearly")),
        ("tier", &|claim| claim.tier = Tier::Exact),
        ("turns", &|claim| claim.turns.push_str(" for long")),
        ("untested", &|claim| claim.untested = Some("no gate could open".to_owned())),
        ("quote, tier", &|claim| (claim.quote, claim.tier) = ("Q".to_owned(), Tier::Proxy)),
    ];
    for (names, edit) in edits {
        let mut edited = good.clone();
        edit(&mut edited.papers[0].file.claims[0]);
        let words = format!("its terms were edited since they were recorded: {names}");
        assert_eq!(edited.problems(), [format!("X1: {words}")]);
        assert_eq!(facts(&edited), words);
        let (_, judged) = edited.rejudged().remove(0);
        assert_eq!(judged.terms, good.results["X1"].terms, "a new verdict does not renew them");
    }
    // as if its preset had another width when the runs were made
    let mut preset = good.clone();
    let result = preset.results.get_mut("X1").unwrap();
    result.terms.insert("settings".to_owned(), "another".to_owned());
    *result = result.clone().with_digest();
    let words = "X1: its terms were edited since they were recorded: settings";
    assert_eq!(preset.problems(), [words]);
    assert_eq!(preset.with_late_terms(true).problems(), [words], "the runs would have had other numbers");
}

/// Terms that were not there when the runs were made can be recorded afterwards, and the result says so.
#[test]
fn terms_that_are_recorded_later_are_named() {
    let bare = ledger_from(&[0.001, 0.0011, 0.0009]);
    let late = |ledger: &Ledger| ledger.results["X1"].late_terms.join(" ");
    let recorded = bare.clone().with_late_terms(false);
    assert_eq!(recorded.results["X1"].terms, recorded.papers[0].file.claims[0].term_hashes());
    assert_eq!((late(&recorded).as_str(), recorded.problems()), ("quote settings tier turns untested", vec![]));
    let facts = recorded.entries()[0].claims[0].facts();
    let (_, edits) = facts.iter().find(|(name, _)| *name == "edited since").unwrap();
    assert!(edits.ends_with("; recorded after the runs: quote, settings, tier, turns, untested"), "{edits}");
    assert_eq!(recorded.clone().with_late_terms(false), recorded, "once");

    // those that were recorded with the runs are renewed where that is asked for, and not forgotten
    let claim = &bare.papers[0].file.claims[0];
    let made = ClaimResult { terms: claim.term_hashes(), ..result(&[0.001, 0.0011, 0.0009]) }.with_digest();
    let mut edited = ledger_with(&made);
    edited.papers[0].file.claims[0].tier = Tier::Proxy;
    assert_eq!(edited.clone().with_late_terms(false), edited, "an edit is not accepted unasked");
    let renewed = edited.with_late_terms(true);
    assert_eq!((late(&renewed).as_str(), renewed.problems()), ("tier", vec![]));
    let changed = ledger_with(&ClaimResult { rule: "another".to_owned(), ..result(&[0.1, 0.2, 0.3]) }.with_digest());
    assert_eq!(changed.clone().with_late_terms(true), changed, "the settings of another rule are not known");
}

/// Returns results of X1 and X2, whose p-values are corrected together; X12 has no rule.
fn ledger_with_both() -> Ledger {
    let first = result(&[0.001, 0.0011, 0.0009]);
    let mut ledger = ledger_with(&first);
    let (_, claim) = ledger.claims().nth(1).unwrap();
    let (id, rule) = (claim.id.clone(), claim.rule.as_ref().unwrap().hash());
    let mut seeds = first.seeds.clone();
    seeds.iter_mut().flat_map(|seed| &mut seed.points).for_each(|point| point.beside = Some(1.0));
    let second = ClaimResult { claim: id.clone(), rule, seeds, ..first }.with_digest();
    ledger.results.insert(id, second);
    ledger.results = ledger.rejudged().into_iter().map(|(_, now)| (now.claim.clone(), now)).collect();
    ledger
}

/// A claim whose p moved alone is not accused: what moved it is named.
#[test]
fn the_check_names_what_moved_a_p() {
    let good = ledger_with_both();
    assert!(good.problems().is_empty(), "{:?}", good.problems());
    let of = |ledger: &Ledger, id: &str| -> Vec<String> {
        ledger.problems().into_iter().filter(|words| words.starts_with(id)).collect()
    };
    let mut edited = good.clone();
    edited.results.get_mut("X2").unwrap().seeds[0].points[0].number = 1.5;
    assert_eq!(of(&edited, "X1"), ["X1: p after Holm's correction changed, because X2 did"]);
    assert!(of(&edited, "X2").join("\n").contains("edited after the run"), "{:?}", edited.problems());
    let mut missing = good;
    missing.results.remove("X2");
    let said = of(&missing, "X1");
    assert!(said.len() == 1 && said[0].contains("new or missing (there is none of X2)"), "{said:?}");
}

/// If the interval lies inside the region but the claim stays undecided, the text names Holm's correction as reason.
#[test]
fn a_verdict_that_the_correction_takes_says_so() {
    let effect = |numbers: &[f64]| {
        let ledger = ledger_from(numbers);
        let row = ledger.rows().remove(0);
        let (rule, judged) = (row.claim.rule.as_ref().unwrap(), row.standing.judgement().unwrap());
        (judged.verdict, judged.outcome.unwrap().p() < 0.05, judged.effect_label(rule).unwrap())
    };
    let (verdict, is_decided_alone, words) = effect(&[0.005, 0.006, 0.0075]);
    assert_eq!((verdict, is_decided_alone), (Verdict::CannotBeTold, true));
    assert!(words.contains("correction for the paper's 2 rules") && words.contains("cannot be told"), "{words}");
    let (_, _, words) = effect(&[0.001, 0.0011, 0.0009]);
    assert!(!words.contains("cannot be told"), "{words}");
    assert!(words.contains(", stands if ") && words.contains(" against the bound, after Holm's"), "{words}");
}

/// It is not a verdict for the paper nor against it. The stored result keeps that of its numbers, and the rule its
/// hash.
#[test]
fn a_claim_that_its_runs_do_not_test_cannot_be_told() {
    let text = PAPER.replacen("turns =", "untested = \"no gate could open\"\nturns =", 1);
    let mut ledger = Ledger::new(&[("paper".to_owned(), text)], &[]).unwrap();
    for (numbers, verdict) in
        [([0.001, 0.0011, 0.0009], Verdict::Stands), ([0.5, 0.5001, 0.5002], Verdict::DoesNotStand)]
    {
        ledger.results = ledger_from(&numbers).results;
        assert_eq!(ledger.problems(), Vec::<String>::new());
        let alone = format!("{}; the reason was recorded after the runs", verdict.label());
        assert_eq!(ledger.judged(&ledger.results["X1"]).verdict, verdict);
        assert_eq!(labels(&ledger)[0], "cannot be told");
        assert!(ledger.summary().contains(": 0 stand, 0 do not stand, 1 cannot be told;"), "{}", ledger.summary());
        let facts = ledger.entries()[0].claims[0].facts();
        assert_eq!(facts[0], ("not tested", "no gate could open".to_owned()), "the card begins with the reason");
        assert!(facts.contains(&("by its numbers alone", alone.clone())), "{facts:?}");
        assert!(ledger.markdown().contains("| cannot be told, at our scale: no gate could open |"));
        let line = format!("\n- X1: not tested: no gate could open. By its numbers alone: {alone}.\n");
        assert!(ledger.results_markdown().contains(&line), "{line}");
    }
    let with_terms =
        |result: ClaimResult, claim: &Claim| ClaimResult { terms: claim.term_hashes(), ..result }.with_digest();
    let claim = ledger.papers[0].file.claims[0].clone();
    ledger.results.values_mut().for_each(|result| *result = with_terms(result.clone(), &claim));
    let alone = ledger.rows()[0].standing.judgement().and_then(Judgement::voided_label);
    assert_eq!(alone.as_deref(), Some("does not stand; the reason was recorded with the runs"));
    ledger.results = ledger_from(&[0.0, 0.01, 0.02]).results;
    let alone = ledger.rows()[0].standing.judgement().and_then(Judgement::voided_label);
    assert_eq!(alone, None, "numbers that tell nothing have no verdict to lose");
}

/// A card may not withdraw a verdict by a note that the runs do not test the claim, since `untested` says so.
#[test]
fn no_card_takes_its_verdict_back() {
    let ledger = Ledger::built_in().unwrap();
    let label = |row: &LedgerRow| row.standing.label();
    for row in ledger.rows() {
        let is_decided = ["stands", "does not stand"].contains(&label(&row).as_str());
        let taken_back = ["untested", "not tested", "no run could", "not contradict", "premise is not"];
        let taken_back = taken_back.into_iter().find(|words| row.claim.counter.contains(words));
        assert!(!is_decided || taken_back.is_none(), "{}: {}", row.claim.id, row.claim.counter);
    }
    for id in ["A19", "B15", "B28", "B31"] {
        let rows = ledger.rows();
        let row = rows.iter().find(|row| row.claim.id == id).unwrap();
        assert_eq!((label(row).as_str(), row.claim.untested.is_some()), ("cannot be told", true), "{id}");
    }
}

/// A t test weighs by the spread of the values, and there is none: no p is given, least of all 0.
#[test]
fn seeds_that_do_not_differ_have_no_p() {
    let ledger = ledger_from(&[0.3; 3]);
    let row = ledger.rows().remove(0);
    let (rule, judged) = (row.claim.rule.as_ref().unwrap(), row.standing.judgement().unwrap());
    assert_eq!((judged.verdict, judged.p, ledger.results["X1"].p), (Verdict::DoesNotStand, None, None));
    let words = judged.effect_label(rule).unwrap();
    assert!(words.ends_with("; no p value: the values of the seeds do not differ"), "{words}");
    assert_eq!(ledger.problems(), Vec::<String>::new());
    let page = ledger.results_markdown();
    assert!(page.contains("| does not stand, at our scale |  | 3 |") && page.contains("\n- X1: no p value:"), "{page}");
}

#[test]
fn an_id_stands_once() {
    let twice = format!("{PAPER}\n{}", PAPER.split("\n\n").nth(1).unwrap());
    assert!(Ledger::new(&[("p".to_owned(), twice)], &[]).unwrap_err().to_string().contains("twice"));
}

/// The ledger of this repository: every rule can be followed, and every verdict is that of its numbers.
#[test]
fn the_ledger_that_is_built_in_is_sound() {
    let ledger = Ledger::built_in().unwrap();
    assert_eq!(ledger.problems(), Vec::<String>::new());
    let results = || ledger.results.values().chain(ledger.replications.values());
    assert!(results().all(|result| result.p.is_none_or(|p| p > 0.0)), "no p is 0");
    assert!(results().all(|result| !result.terms.is_empty()), "`orrery claims check --write` records the terms");
    assert!(ledger.claims().count() >= 120, "{}", ledger.claims().count());
    assert_eq!(ledger.claims().filter(|(_, claim)| claim.starred).count(), 20);
}

/// A claim without a result says why: its hours, what it needs, or what a rule would take.
#[test]
fn claims_not_run_say_what_they_need() {
    let ledger = Ledger::built_in().unwrap();
    let is_silent = |row: &&LedgerRow| match &row.standing {
        ClaimStanding::NotRun { hours } => hours.is_none(),
        ClaimStanding::Needs(words) | ClaimStanding::Open(words) => words.trim().is_empty(),
        ClaimStanding::Held(_) | ClaimStanding::Judged(_) => false,
    };
    let rows = ledger.rows();
    let silent: Vec<&str> = rows.iter().filter(is_silent).map(|row| row.claim.id.as_str()).collect();
    assert!(silent.is_empty(), "without `hours`: {silent:?}");
}

/// Runs of a small preset are not of the paper's scale. E23 is mathematics, which has none.
#[test]
fn exact_rules_run_presets_of_the_papers_size() {
    let ledger = Ledger::built_in().unwrap();
    for (_, claim) in ledger.claims().filter(|(_, claim)| claim.tier == Tier::Exact && claim.id != "E23") {
        let base = claim.rule.as_ref().map_or("_paper", |rule| rule.base.as_str());
        assert!(base.ends_with("_paper"), "{} is exact, by runs of {base}", claim.id);
    }
}
