//! The headline numbers of a run folder: those that its lab declares, read from what it recorded.

use std::{path::Path, sync::Arc};

use crate::{
    labs::{
        self, Lab,
        headline::{Found, Reading},
    },
    store::{Reader, StoreError},
    telemetry::{Event, RunInfo},
};

/// The result of a run as its folder tells it.
pub struct RunHeadlines {
    pub info: Arc<RunInfo>,
    /// `None` where this version does not know the lab; then there are no headline numbers.
    pub lab: Option<&'static Lab>,
    pub found: Found,
}

/// Reads a run folder, whole or not; `each` is told every step, happening and notice besides.
///
/// # Errors
/// If it is no run folder, or the system refuses to read it.
pub fn read(folder: &Path, mut each: impl FnMut(&Event)) -> Result<RunHeadlines, StoreError> {
    let reader = Reader::open(folder)?;
    let info =
        reader.info().unwrap_or_else(|| unreachable!("a reader that was just opened begins with what the run is"));
    let lab = labs::find(&info.lab);
    let mut reading = lab.map(|lab| Reading::new(lab, &info));
    reader.only(lab.map(Reading::measurements).unwrap_or_default()).read_through(|event| {
        each(&event);
        if let Some(reading) = &mut reading {
            reading.event(&event);
        }
    })?;
    Ok(RunHeadlines { info, lab, found: reading.map(Reading::finish).unwrap_or_default() })
}
