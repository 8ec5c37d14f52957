//! The ledger as one HTML file: a table a paper, each claim with its seeds as dots, and unfolded with quote, rule, machine and
//! command. It has no script of its own and needs no network.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::report::page::{escaped, finish, head};
use crate::experiments::{
    claims::{
        entry::{ClaimEntry, EffectCurve},
        ledger::{Judgement, Ledger, Row},
    },
    short_number::short,
};

/// Size of a picture, points.
const WIDTH: f64 = 220.0;
const HEIGHT: f64 = 28.0;

/// The whole file, of these rows.
pub fn html(ledger: &Ledger, rows: &[Row]) -> String {
    let mut out = head("The ledger of claims");
    // writing to a string does not fail
    let _ = writeln!(
        out,
        "<p class=\"note\">{}. A verdict says its scale, the paper's or ours; dots are seeds, the bar is the interval, the dashed \
         line the paper's number, the shade where the claim stands.</p>",
        escaped(&ledger.summary())
    );
    let entries = ledger.entries();
    for (paper, entries) in ledger.papers.iter().zip(&entries) {
        let entry = |row: &Row| entries.claims.iter().find(|entry| entry.claim.id == row.claim.id);
        let of_paper: Vec<&Row> = rows.iter().filter(|row| row.paper.id == paper.id).collect();
        if of_paper.is_empty() {
            continue;
        }
        let (title, source) = (escaped(&paper.file.title), escaped(&paper.file.source));
        let _ = writeln!(
            out,
            "<h2>{title}</h2>\n<p class=\"note\">{source}</p>\n<table>\n<tr><th></th><th>claim</th><th>the paper</th>\
             <th>seeds and interval</th><th>verdict</th></tr>"
        );
        for row in of_paper {
            table_row(row, entry(row), &mut out);
        }
        out.push_str("</table>\n");
    }
    finish(&mut out, &Value::Array(vec![]), &Value::Null);
    out
}

/// Height of a chart of effects, points.
const CHART_HEIGHT: f64 = 60.0;

/// A chart of effects under its words.
fn effect_chart(curve: &EffectCurve) -> String {
    let (Some(first), Some(last)) = (curve.points.first(), curve.points.last()) else { return String::new() };
    let (low, high) = curve.ends;
    let x = |at: f64| (at - first.at) / (last.at - first.at) * (WIDTH - 4.0) + 2.0;
    let y = |value: f64| (high - value) / (high - low) * (CHART_HEIGHT - 4.0) + 2.0;
    let words = escaped(&curve.label);
    let mut out = format!(
        "<br>{words}<br><svg width=\"{WIDTH}\" height=\"{CHART_HEIGHT}\" role=\"img\" aria-label=\"effect {words}\">"
    );
    // writing to a string does not fail
    if let Some(region) = curve.region {
        let (top, bottom) = (region.below.map_or(0.0, y), region.above.map_or(CHART_HEIGHT, y));
        let _ = write!(
            out,
            "<rect y=\"{top:.1}\" width=\"{WIDTH}\" height=\"{:.1}\" fill=\"#888\" fill-opacity=\".15\"/>",
            (bottom - top).max(0.0)
        );
    }
    let mut line = String::new();
    for point in curve.points {
        let (at, (below, above)) = (x(point.at), point.interval);
        let _ = write!(
            out,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"#26c\" stroke-opacity=\".5\"/>",
            y(above),
            y(below)
        );
        let _ = write!(line, "{at:.1},{:.1} ", y(point.effect));
    }
    let _ = write!(out, "<polyline points=\"{}\" fill=\"none\" stroke=\"#26c\"/></svg>", line.trim_end());
    out
}

fn table_row(row: &Row, entry: Option<&ClaimEntry>, out: &mut String) {
    let claim = row.claim;
    let star = if claim.starred { " ★" } else { "" };
    let picture = row.standing.judgement().map(|judged| picture(row, judged)).unwrap_or_default();
    let curves = claim.rule.as_ref().zip(row.standing.judgement()).map(|(rule, judged)| judged.curves(rule));
    let effect_charts: String = curves.into_iter().flatten().map(|curve| effect_chart(&curve)).collect();
    // rule, seeds, machine and what else is known, in the words of `orrery claims show`
    let fact = |(name, text): (&str, String)| format!("<br>{}: {}", escaped(name), escaped(&text));
    let facts: String = entry.map(ClaimEntry::facts).unwrap_or_default().into_iter().map(fact).collect();
    let command = entry.and_then(ClaimEntry::command);
    let command = command.map_or(String::new(), |command| format!("<br><code>{}</code>", escaped(&command)));
    let _ = writeln!(
        out,
        "<tr><td>{}{star}</td><td><details><summary>{}</summary>\u{201c}{}\u{201d} ({}){facts}{command}{effect_charts}</details>\
         </td><td>{}</td><td>{picture}{}</td><td>{}</td></tr>",
        escaped(&claim.id),
        escaped(&claim.title),
        escaped(&claim.quote),
        escaped(&claim.place),
        escaped(&claim.number),
        escaped(&row.effect_label()),
        escaped(&row.verdict_label()),
    );
}

/// Dots, interval, the region in which the claim stands, and the paper's number.
fn picture(row: &Row, judged: &Judgement) -> String {
    let Some(rule) = &row.claim.rule else { return String::new() };
    let interval = judged.outcome.map(|o| [o.interval.0, o.interval.1]);
    let Some((low, high)) = judged.extent(rule) else { return String::new() };
    let x = |value: f64| ((value - low) / (high - low)).clamp(0.0, 1.0) * WIDTH;
    let mut out = format!(
        "<svg width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        escaped(&format!("{} seeds, {}", judged.values.len(), row.effect_label()))
    );
    let (from, until) = (rule.stands.above.map_or(0.0, x), rule.stands.below.map_or(WIDTH, x));
    let _ = write!(
        out,
        "<rect x=\"{from:.1}\" width=\"{:.1}\" height=\"{HEIGHT}\" fill=\"#888\" fill-opacity=\".15\"/>",
        (until - from).max(0.0)
    );
    if let Some(published) = rule.published {
        let at = x(published);
        let _ = write!(
            out,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y2=\"{HEIGHT}\" stroke=\"#888\" stroke-dasharray=\"3 3\"/>"
        );
    }
    if let Some([a, b]) = interval {
        let _ = write!(
            out,
            "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"20\" y2=\"20\" stroke=\"#26c\" stroke-width=\"2\"/>",
            x(a),
            x(b)
        );
    }
    for (seed, value) in judged.dots(rule) {
        let _ = write!(
            out,
            "<circle cx=\"{:.1}\" cy=\"9\" r=\"3\" fill=\"#26c\" fill-opacity=\".6\"><title>seed {seed}: {}</title></circle>",
            x(*value),
            short(*value)
        );
    }
    out.push_str("</svg>");
    out
}
