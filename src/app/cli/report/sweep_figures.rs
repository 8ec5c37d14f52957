//! What each axis of a sweep does to its numbers: slices along every axis, and a heat map where there are two, as SVG. It
//! computes nothing of its own.

use std::fmt::Write as _;

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{
    super::sweep::table::{Column, Row, Table},
    page::escaped,
};
use crate::{
    gpu::colour::ColourMap,
    labs::sweep::Sweep,
    ui::{
        plot::{Axis, Band, Chart, ChartState, Line, Mark, Stroke},
        theme::Theme,
    },
};

/// Numbers that are drawn; all stand in the table.
const MOST_COLUMNS: usize = 6;
/// Width and height of a cell of the heat map, and room for the words around it.
const CELL: [f64; 2] = [92.0, 36.0];
const LEFT: f64 = 110.0;
const HEAD: f64 = 44.0;

/// Figures of the objective first, then of the other numbers.
pub fn axes(out: &mut String, sweep: &Sweep, table: &Table, theme: &Theme) {
    let mut shown: Vec<usize> = (0..table.columns.len()).collect();
    if let Some((objective, _)) = table.best {
        shown.sort_by_key(|i| *i != objective);
    }
    let left_out = shown.len().saturating_sub(MOST_COLUMNS);
    shown.truncate(MOST_COLUMNS);
    if shown.is_empty() {
        return;
    }
    let more = if left_out > 0 { format!(" {left_out} more numbers stand in the table alone.") } else { String::new() };
    let _ = writeln!(
        out,
        "<h2>What the axes do</h2>\n<p class=\"note\">Means over seeds, with one standard deviation.{more}</p>\n<div class=\"grid\">"
    );
    for column in &shown {
        let heading = &table.columns[*column].heading;
        if let [_, _] = sweep.axes.as_slice()
            && let Some(svg) = heat_map(table, *column)
        {
            figure(out, heading, &svg, "Light is high, dark is low; a cell is a point, and its words are its mean.");
        }
        for axis in 0..sweep.axes.len() {
            if let Some(svg) = slice(table, *column, axis, theme) {
                let about = if sweep.axes.len() > 1 { "A line for each value of the other axes." } else { "" };
                figure(out, &format!("{heading} along {}", sweep.axes[axis].key), &svg, about);
            }
        }
    }
    out.push_str("</div>\n");
}

fn figure(out: &mut String, title: &str, svg: &str, about: &str) {
    let (title, data) = (escaped(title), STANDARD.encode(svg));
    let _ = writeln!(
        out,
        "<figure><h3>{title}</h3><img alt=\"{title}\" src=\"data:image/svg+xml;base64,{data}\"><figcaption>{}</figcaption></figure>",
        escaped(about)
    );
}

/// The different values of an axis, in order: numbers by size, others as they come.
fn values(table: &Table, axis: usize) -> Vec<String> {
    let mut found: Vec<String> = vec![];
    for row in &table.rows {
        if !found.contains(&row.values[axis]) {
            found.push(row.values[axis].clone());
        }
    }
    if found.iter().all(|v| v.parse::<f64>().is_ok()) {
        let number = |v: &String| v.parse::<f64>().unwrap_or(f64::NAN);
        found.sort_by(|a, b| number(a).total_cmp(&number(b)));
    }
    found
}

/// A number along one axis: lines where several points share all other values, else a dot a point.
fn slice(table: &Table, column: usize, axis: usize, theme: &Theme) -> Option<String> {
    let known = values(table, axis);
    let numbers: Option<Vec<f64>> = known.iter().map(|v| v.parse().ok()).collect();
    let place = |value: &String| -> f64 {
        let at = known.iter().position(|k| k == value).unwrap_or(0);
        numbers.as_ref().map_or(at as f64, |numbers| numbers[at])
    };
    let x = match &numbers {
        Some(of) => {
            let (low, high) = of.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(*v), high.max(*v)));
            let label = Axis::new(table.axes[axis].clone());
            if low > 0.0 && high >= 20.0 * low { label.log() } else { label }
        }
        None => {
            let names: Vec<String> = known.iter().enumerate().map(|(i, name)| format!("{i}: {name}")).collect();
            Axis::new(format!("{} ({})", table.axes[axis], names.join(", "))).whole()
        }
    };
    let mut chart = Chart::new("slice", x, Axis::new(table.columns[column].heading.clone()));
    let lines = lines(table, column, axis);
    let is_grid = lines.iter().any(|(_, rows)| rows.len() > 1);
    let mut dots: Vec<[f64; 2]> = vec![];
    for (i, (label, rows)) in lines.iter().enumerate() {
        let mut points: Vec<[f64; 3]> = rows
            .iter()
            .filter_map(|row| row.numbers[column].as_ref().map(|n| [place(&row.values[axis]), n.mean, n.sd]))
            .collect();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        // every point is in sight, and its spread
        chart.y.include.extend(points.iter().flat_map(|p| [p[1] - p[2], p[1] + p[2]]));
        let of = |sign: f64| points.iter().map(|p| [p[0], p[1] + sign * p[2]]).collect::<Vec<_>>();
        if !is_grid {
            dots.extend(of(0.0));
            continue;
        }
        let colour = theme.series(i);
        if points.iter().any(|p| p[2] > 0.0) {
            chart.bands.push(Band { label: label.clone(), colour, low: of(-1.0).into(), high: of(1.0).into() });
        }
        chart = chart.line(Line::new(label.clone(), colour, of(0.0)).dots());
    }
    if !is_grid {
        dots.sort_by(|a, b| a[0].total_cmp(&b[0]));
        chart = chart.line(Line::new("a point", theme.text, dots).stroke(Stroke::Marks(Mark::Ring)));
    }
    chart.svg(&ChartState::default(), theme)
}

/// Points that differ in this axis alone, with what they share in words.
fn lines(table: &Table, column: usize, axis: usize) -> Vec<(String, Vec<&Row>)> {
    let mut found: Vec<(String, Vec<&Row>)> = vec![];
    for row in table.rows.iter().filter(|row| row.numbers[column].is_some()) {
        let others = table.axes.iter().zip(&row.values).enumerate().filter(|(i, _)| *i != axis);
        let words: Vec<String> =
            others.map(|(_, (key, value))| format!("{} {value}", key.rsplit('.').next().unwrap_or(key))).collect();
        let words = if words.is_empty() { "mean".to_owned() } else { words.join(", ") };
        match found.iter_mut().find(|(label, _)| *label == words) {
            Some((_, rows)) => rows.push(row),
            None => found.push((words, vec![row])),
        }
    }
    found
}

/// A cell a point of a grid of two axes; `None` where the points are no grid.
fn heat_map(table: &Table, column: usize) -> Option<String> {
    let (down, across) = (values(table, 0), values(table, 1));
    if down.len() * across.len() != table.rows.len() || down.len() < 2 || across.len() < 2 {
        return None;
    }
    let Column { headline, .. } = &table.columns[column];
    let means = table.rows.iter().filter_map(|row| row.numbers[column].as_ref()).map(|n| n.mean);
    let (low, high) = means
        .filter(|m| m.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), m| (low.min(m), high.max(m)));
    let (width, height) = (LEFT + CELL[0] * across.len() as f64, HEAD + CELL[1] * down.len() as f64 + 4.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n"
    );
    let text = |svg: &mut String, [x, y]: [f64; 2], anchor: &str, colour: &str, words: &str| {
        let words = escaped(words);
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{words}</text>");
    };
    const INK: &str = "#1d2127";
    text(&mut svg, [LEFT, 14.0], "start", "#5d6670", &format!("{} \u{2192}", table.axes[1]));
    text(&mut svg, [LEFT - 8.0, 34.0], "end", "#5d6670", &format!("{} \u{2193}", table.axes[0]));
    for (j, value) in across.iter().enumerate() {
        text(&mut svg, [LEFT + CELL[0] * (j as f64 + 0.5), 34.0], "middle", INK, value);
    }
    for (i, value) in down.iter().enumerate() {
        let top = HEAD + CELL[1] * i as f64;
        text(&mut svg, [LEFT - 8.0, top + CELL[1] / 2.0 + 4.0], "end", INK, value);
        for (j, other) in across.iter().enumerate() {
            let row = table.rows.iter().find(|row| row.values[0] == *value && row.values[1] == *other)?;
            let number = row.numbers[column].as_ref();
            let share = number.map(|n| if high > low { ((n.mean - low) / (high - low)) as f32 } else { 0.5 });
            let [r, g, b] = share.map_or([0xe4, 0xe1, 0xda], |share| ColourMap::Viridis.at(share));
            let left = LEFT + CELL[0] * j as f64;
            let (wide, high) = (CELL[0] - 2.0, CELL[1] - 2.0);
            let _ = writeln!(
                svg,
                "<rect x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{high}\" fill=\"#{r:02x}{g:02x}{b:02x}\"/>"
            );
            let light = 0.299 * f64::from(r) + 0.587 * f64::from(g) + 0.114 * f64::from(b) > 140.0;
            let words = number.map_or("no run".to_owned(), |n| headline.digits.words(n.mean));
            let ink = if light { INK } else { "#ffffff" };
            text(&mut svg, [left + CELL[0] / 2.0, top + CELL[1] / 2.0 + 4.0], "middle", ink, &words);
        }
    }
    svg.push_str("</svg>\n");
    Some(svg)
}
