//! The CSV export of the view of logged channels.

use super::{content::Content, entry::Entry};
use crate::ui::{table::Table as Csv, view::ViewCx};

/// Every number as of the shown step.
pub(super) fn numbers(cx: &ViewCx<'_>, entries: &[Entry]) -> Option<String> {
    let mut csv = Csv::new(["channel", "variant", "step", "value"]);
    for entry in entries.iter().filter(|entry| !entry.is_measured) {
        for variant in &entry.variants {
            let curve = cx.mirror.curve(*variant, entry.channel.as_str());
            let Some((step, value)) = curve.and_then(|curve| curve.point_at(cx.step)) else { continue };
            let label = cx.mirror.variants().get(*variant).map_or("run", |v| v.id.as_str());
            csv.row([entry.channel.as_str(), label, &step.to_string(), &value.to_string()]);
        }
    }
    csv.finish_if_any()
}

/// A measurement whole.
pub(super) fn content(content: &Content) -> String {
    let mut csv;
    match content {
        Content::Curves(curves) => {
            csv = Csv::new(["line", "x", "y"]);
            for (name, points) in &curves.lines {
                points.iter().for_each(|[x, y]| csv.cells(&[name, x, y]));
            }
        }
        Content::Matrix(matrix) => {
            csv = Csv::new(["matrix", "row", "column", "value"]);
            for nth in 0..matrix.count() {
                let Some(view) = matrix.array.matrix(nth) else { continue };
                let cols = view.cols.max(1);
                view.data.iter().enumerate().for_each(|(i, value)| csv.cells(&[&nth, &(i / cols), &(i % cols), value]));
            }
        }
        Content::Table(table) => {
            csv = Csv::new(&table.columns);
            table.rows.iter().for_each(|row| csv.row(row));
        }
        Content::Text(words) => {
            csv = Csv::new(["text"]);
            csv.row([words]);
        }
    }
    csv.finish()
}
