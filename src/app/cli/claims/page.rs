//! The ledger as one HTML file: a table a paper, each claim with its seeds as dots, and unfolded with quote, rule, machine and
//! command. It has no script of its own and needs no network.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::report::page::{escaped, finish, head};
use crate::{
    experiments::claims::{
        entry::ClaimEntry,
        ledger::{Judgement, Ledger, LedgerRow},
        rule::Rule,
        table::summary,
    },
    ui::{
        panels::claims::{curve::curve_svg, picture::picture_svg},
        theme::Theme,
    },
};

/// Width of the picture of a judgement, and of its effects along an axis, points.
const PICTURE_WIDTH: f32 = 320.0;
const CURVE_WIDTH: f32 = 480.0;

/// The whole file, of these rows.
pub fn html(ledger: &Ledger, rows: &[LedgerRow]) -> String {
    let note = "A verdict says its scale, the paper's or ours; dots are seeds, the bar is the interval, the dashed line the paper's \
                number, the shade where the claim stands.";
    let mut out = head("The ledger of claims", "", &format!("{}. {note}", summary(rows)));
    let (entries, theme) = (ledger.entries(), Theme::light());
    for (paper, entries) in ledger.papers.iter().zip(&entries) {
        let entry = |row: &LedgerRow| entries.claims.iter().find(|entry| entry.claim.id == row.claim.id);
        let of_paper: Vec<&LedgerRow> = rows.iter().filter(|row| row.paper.id == paper.id).collect();
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
            table_row(row, entry(row), &theme, &mut out);
        }
        out.push_str("</table>\n");
    }
    finish(&mut out, &Value::Array(vec![]), &Value::Null);
    out
}

/// An SVG as a part of the page: one image, named by its title.
fn image(svg: &str) -> String {
    svg.replacen("<svg ", "<svg role=\"img\" ", 1)
}

/// The value of each seed, and the effects over steps and sizes with their words.
fn values_and_curves(theme: &Theme, rule: &Rule, judged: &Judgement) -> String {
    let mut out = format!("<br>values: {}", escaped(&judged.values_label()));
    for curve in judged.curves(rule) {
        // writing to a string does not fail
        let _ = write!(out, "<br>{}<br>{}", escaped(&curve.label), image(&curve_svg(theme, &curve, CURVE_WIDTH)));
    }
    out
}

fn table_row(row: &LedgerRow, entry: Option<&ClaimEntry>, theme: &Theme, out: &mut String) {
    let claim = row.claim;
    let star = if claim.starred { " ★" } else { "" };
    let judged = claim.rule.as_ref().zip(row.standing.judgement());
    let picture = judged.and_then(|(rule, judged)| picture_svg(theme, rule, judged, PICTURE_WIDTH));
    let picture = picture.map_or(String::new(), |svg| format!("{}<br>", image(&svg)));
    let drawn = judged.map_or(String::new(), |(rule, judged)| values_and_curves(theme, rule, judged));
    // rule, seeds, machine and other facts, in the wording of `orrery claims show`
    let fact = |(name, text): (&str, String)| format!("<br>{}: {}", escaped(name), escaped(&text));
    let facts: String = entry.map(ClaimEntry::facts).unwrap_or_default().into_iter().map(fact).collect();
    let command = entry.and_then(ClaimEntry::command);
    let command = command.map_or(String::new(), |command| format!("<br><code>{}</code>", escaped(&command)));
    let _ = writeln!(
        out,
        "<tr><td>{}{star}</td><td><details><summary>{}</summary>{} ({}){facts}{command}{drawn}</details>\
         </td><td>{}</td><td>{picture}{}</td><td>{}</td></tr>",
        escaped(&claim.id),
        escaped(&claim.title),
        escaped(&claim.statement()),
        escaped(&claim.place),
        escaped(&claim.number),
        escaped(&row.effect_label()),
        escaped(&row.verdict_label()),
    );
}
