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
    match content {
        Content::Curves(curves) => {
            let mut csv = Csv::new(["line", "x", "y"]);
            for (name, points) in &curves.lines {
                points.iter().for_each(|[x, y]| csv.row([name.as_str(), &x.to_string(), &y.to_string()]));
            }
            csv.finish()
        }
        Content::Matrix(matrix) => {
            let mut csv = Csv::new(["matrix", "row", "column", "value"]);
            for nth in 0..matrix.count() {
                let Some(view) = matrix.array.matrix(nth) else { continue };
                for (i, value) in view.data.iter().enumerate() {
                    let (row, col) = (i / view.cols.max(1), i % view.cols.max(1));
                    csv.row([nth.to_string(), row.to_string(), col.to_string(), value.to_string()]);
                }
            }
            csv.finish()
        }
        Content::Table(table) => {
            let mut csv = Csv::new(table.columns.iter().map(String::as_str));
            table.rows.iter().for_each(|row| csv.row(row));
            csv.finish()
        }
        Content::Text(words) => {
            let mut csv = Csv::new(["text"]);
            csv.row([words]);
            csv.finish()
        }
    }
}
