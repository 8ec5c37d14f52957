//! A run folder's numbers over its steps.

use std::{path::Path, sync::Arc};

use crate::{
    labs::{
        self,
        headline::series::{NumberSeries, SeriesReading},
    },
    store::{Reader, StoreError},
    telemetry::RunInfo,
};

/// Reads a run folder through: what the run is, its headline numbers, and the scalars whose channels `keeps` wants.
///
/// # Errors
/// If it is no run folder, or the system refuses to read it.
pub fn read(folder: &Path, keeps: fn(&str) -> bool) -> Result<(Arc<RunInfo>, Vec<NumberSeries>), StoreError> {
    let reader = Reader::open(folder)?;
    let info =
        reader.info().unwrap_or_else(|| unreachable!("a reader that was just opened begins with what the run is"));
    let mut reading = SeriesReading::new(labs::find(&info.lab), keeps);
    reader.only(reading.measurements()).read_through(|event| reading.event(&event))?;
    let series = reading.finish(&info);
    Ok((info, series))
}
