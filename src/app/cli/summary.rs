//! The headline numbers of a run as a small table: for each variant, or mean and standard deviation over seeds.

use std::borrow::Cow;

use super::damage;
use crate::{
    cli::prelude::*,
    experiments::{
        headline_values::HeadlineValues,
        headlines::{self, RunHeadlines},
        run_terms::RunTerms,
        seeds::{self, SeedSummary},
    },
    labs::headline::Headline,
};

/// A table that would be wider than this has a row for each number instead of a column.
const MAX_WIDTH: usize = 120;
const COLUMN_GAP: &str = "   ";

/// The table of a run folder; empty if nothing of it was measured. Reports which part of the record is lost.
pub fn table(folder: &Path) -> Result<String, StoreError> {
    let run = headlines::read(folder, |_| ())?;
    damage::report(folder, &run.damage);
    Ok(line(&run))
}

fn line(run: &RunHeadlines) -> String {
    let RunHeadlines { info, lab: Some(lab), found, .. } = run else { return String::new() };
    if found.values.is_empty() {
        return String::new();
    }
    let columns: Vec<(&str, &Headline)> =
        found.keys().into_iter().filter_map(|key| Some((key, lab.headline(key)?))).collect();
    let newest = found.values.iter().map(|v| v.step).max().unwrap_or(0);
    let corner = format!("at step {newest}");
    let terms = RunTerms::from(info.as_ref());
    let headings = columns.iter().map(|(key, headline)| terms.heading(headline, key));
    let head: Vec<String> = std::iter::once(corner).chain(headings).collect();
    let rows = |has_intervals: bool| {
        let mut rows = vec![head.clone()];
        for group in info.groups() {
            let members: Vec<_> = info.variants.iter().filter(|v| v.group == group).collect();
            let name = match members.as_slice() {
                [one] => one.label.clone(),
                many => format!("{group}, {} seeds", many.len()),
            };
            let cells = columns.iter().map(|(key, headline)| {
                let other = found.step(key, group).filter(|step| *step != newest);
                let interval = found.answer_count(key, group).and_then(|count| count.interval);
                let interval = interval.filter(|_| has_intervals).map_or(String::new(), |(low, high)| {
                    format!(" [{}, {}]", headline.digits.format(low), headline.digits.format(high))
                });
                format!("{}{interval}{}", cell(headline, found.group(key, group).as_ref()), step_suffix(other))
            });
            rows.push(std::iter::once(name).chain(cells).collect());
        }
        rows
    };
    let mut lines = fit_columns(&rows(true));
    let has_intervals = lines.iter().all(|line| line.chars().count() <= MAX_WIDTH);
    if !has_intervals {
        lines = fit_columns(&rows(false));
    }
    lines.extend(answers_legend(found, &columns, &info.groups(), has_intervals));
    let missing = found.missing.iter().filter_map(|m| Some(format!("no {}: {}", lab.headline(&m.id)?.name, m.why)));
    lines.extend(missing);
    lines.join("\n")
}

/// How many answers the shares of a table are of: "accuracy of 320 answers; [low, high]: 95% interval", where seeds are averaged
/// "accuracy of 320 answers each"; `None` where there is no share, or its answers were not counted.
fn answers_legend(
    found: &HeadlineValues,
    columns: &[(&str, &Headline)],
    groups: &[&str],
    has_intervals: bool,
) -> Option<String> {
    let counts = |key: &str| groups.iter().filter_map(|group| found.answer_count(key, group)).collect::<Vec<_>>();
    let share = |(key, headline): &(&str, &Headline)| {
        let counts = counts(key);
        let each = if counts.iter().any(|count| count.interval.is_none()) { " each" } else { "" };
        let answers = distinct(counts.iter().map(|count| count.answers.to_string()));
        (!answers.is_empty()).then(|| format!("{} of {} answers{each}", headline.heading(key), answers.join(" or ")))
    };
    let shares: Vec<String> = columns.iter().filter_map(share).collect();
    let mut all = columns.iter().flat_map(|(key, _)| counts(key));
    let is_shown = has_intervals && all.any(|count| count.interval.is_some());
    let interval = if is_shown { "; [low, high]: 95% interval" } else { "" };
    (!shares.is_empty()).then(|| format!("{}{interval}", shares.join("; ")))
}

/// The lines of a table with names in its first column; the table is transposed if it would be too wide.
pub(super) fn fit_columns(rows: &[Vec<String>]) -> Vec<String> {
    let is_left = |column| column == 0;
    let lines = laid_out(rows, is_left);
    match rows.first() {
        Some(first) if lines.iter().any(|line| line.chars().count() > MAX_WIDTH) => {
            let column = |i: usize| rows.iter().map(|row| row[i].clone()).collect();
            laid_out(&(0..first.len()).map(column).collect::<Vec<Vec<String>>>(), is_left)
        }
        _ => lines,
    }
}

/// The lines of a table whose columns stand to the left or to the right; every cell on one line.
pub(super) fn laid_out(rows: &[Vec<String>], is_left: impl Fn(usize) -> bool) -> Vec<String> {
    let rows: Vec<Vec<Cow<'_, str>>> = rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
    let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).map(width).collect();
    let line = |row: &Vec<Cow<'_, str>>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(i, (cell, width))| match is_left(i) {
            true => format!("{cell:<width$}"),
            false => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<String>>().join(COLUMN_GAP).trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// The number by [`SeedSummary::label`]; a dash without one.
pub(super) fn cell(headline: &Headline, group: Option<&SeedSummary>) -> String {
    group.map_or_else(|| "-".to_owned(), |group| group.label(Some(headline.digits), headline.is_paired()))
}

/// The meaning of the spreads in such cells; `None` where there is none.
pub(super) fn spread_legend<'a>(cells: impl Iterator<Item = (&'a Headline, &'a SeedSummary)>) -> Option<String> {
    let with_spread = cells.filter(|(_, number)| number.seeds > 1);
    seeds::spread_legend(with_spread.map(|(headline, _)| headline.is_paired()))
}

/// A [`cell`] with the step of its number if that differs from the table's: "5.5500 (step 0)".
pub(super) fn cell_at(headline: &Headline, group: Option<&SeedSummary>, other_step: Option<u64>) -> String {
    format!("{}{}", cell(headline, group), step_suffix(other_step))
}

/// " (step 0)", after a number whose step differs from the table's.
pub(super) fn step_suffix(other_step: Option<u64>) -> String {
    other_step.map_or(String::new(), |step| format!(" (step {step})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        experiments::headline_values::{HeadlineValue, HeadlineValues},
        labs::headline::common::{DIFFERENCE_FROM_FIRST, LOSS},
        store::Damage,
        telemetry::{RunInfo, VariantInfo},
    };

    #[test]
    fn a_number_of_another_step_than_the_heads_says_so() {
        let lab = labs::find("fast_slow").unwrap();
        let variant = VariantInfo { id: "a".into(), label: "A".into(), group: "a".into(), seed: 7, params: 1 };
        let value = |key: &str, step, value| HeadlineValue {
            key: key.into(),
            variant: "a".into(),
            group: "a".into(),
            step,
            value,
            answers: None,
        };
        let values = vec![value(LOSS.id, 0, 5.55), value("gate", 78, 0.25)];
        let found = HeadlineValues { values, ..HeadlineValues::default() };
        let info = Arc::new(RunInfo { variants: vec![variant], ..RunInfo::default() });
        let words = line(&RunHeadlines { info, lab: Some(lab), found, damage: Damage::default() });
        assert!(words.contains("at step 78") && words.contains("5.5500 (step 0)"), "{words}");
        assert!(!words.contains("(step 78)"), "{words}");
    }

    #[test]
    fn a_share_says_how_many_answers_it_is_of() {
        let lab = labs::find("fast_slow").unwrap();
        let variant = |id: &str, seed| {
            let group = id.trim_end_matches(char::is_numeric).to_owned();
            VariantInfo { id: id.into(), label: id.into(), group, seed, params: 1 }
        };
        let value = |variant: &VariantInfo| HeadlineValue {
            key: "accuracy".into(),
            variant: variant.id.clone(),
            group: variant.group.clone(),
            step: 9,
            value: 0.5,
            answers: Some(100),
        };
        let said = |variants: Vec<VariantInfo>| {
            let found = HeadlineValues { values: variants.iter().map(value).collect(), ..HeadlineValues::default() };
            let info = Arc::new(RunInfo { variants, ..RunInfo::default() });
            line(&RunHeadlines { info, lab: Some(lab), found, damage: Damage::default() })
        };
        let one = said(vec![variant("a", 1)]);
        assert!(one.contains("0.5000 [0.4038, 0.5962]"), "{one}");
        assert!(one.contains("accuracy of 100 answers; [low, high]: 95% interval"), "{one}");
        let seeds = said(vec![variant("a1", 1), variant("a2", 2)]);
        assert!(seeds.contains("0.5000 ± 0.0000") && seeds.ends_with("accuracy of 100 answers each"), "{seeds}");
    }

    #[test]
    fn seeds_become_mean_and_spread_and_gaps_a_dash() {
        assert_eq!(cell(&LOSS, SeedSummary::new(&[]).as_ref()), "-");
        assert_eq!(cell(&LOSS, SeedSummary::new(&[0.25]).as_ref()), "0.2500");
        assert_eq!(cell(&LOSS, SeedSummary::new(&[1.0, 3.0]).as_ref()), "2.0000 ± 1.4142");
        let paired = cell(&DIFFERENCE_FROM_FIRST, SeedSummary::new(&[1.0, 2.0, 3.0]).as_ref());
        assert_eq!(paired, "2.0000 [-0.4841, 4.4841]");
    }

    #[test]
    fn a_legend_names_the_spreads_that_are_there() {
        let [one, three] = [&[1.0][..], &[1.0, 2.0, 3.0]].map(|values| SeedSummary::new(values).unwrap());
        let legend = |cells: &[(&Headline, &SeedSummary)]| spread_legend(cells.iter().copied()).unwrap_or_default();
        assert_eq!(legend(&[(&LOSS, &one), (&DIFFERENCE_FROM_FIRST, &one)]), "");
        assert_eq!(legend(&[(&LOSS, &three)]), "mean ± standard deviation over seeds");
        let both = legend(&[(&LOSS, &three), (&DIFFERENCE_FROM_FIRST, &three)]);
        assert!(both.contains("standard deviation") && both.contains("95% interval"), "{both}");
    }
}
