//! The headline numbers of a run folder: those that its lab declares, read from what it recorded.

use std::{path::Path, sync::Arc};

use super::headline_values::{HeadlineReader, HeadlineValues};
use crate::{
    labs::{self, Lab},
    store::{Damage, Reader, StoreError},
    telemetry::{Event, RunInfo},
};

/// The headline numbers of a folder, with its run and its lab.
pub struct RunHeadlines {
    pub info: Arc<RunInfo>,
    /// `None` where this version has no such lab; then there are no headline numbers.
    pub lab: Option<&'static Lab>,
    pub found: HeadlineValues,
    /// The parts of the record that could not be read.
    pub damage: Damage,
}

/// A reader of a run folder, and the description that it begins with.
pub(super) fn open(folder: &Path) -> Result<(Reader, Arc<RunInfo>), StoreError> {
    let reader = Reader::open(folder)?;
    let info =
        reader.info().unwrap_or_else(|| unreachable!("a reader that was just opened begins with what the run is"));
    Ok((reader, info))
}

/// Reads a run folder, complete or not, and calls `each` with every step, event and notice.
pub fn read(folder: &Path, mut each: impl FnMut(&Event)) -> Result<RunHeadlines, StoreError> {
    let (reader, info) = open(folder)?;
    let lab = labs::find(&info.lab);
    let mut reading = lab.map(|lab| HeadlineReader::new(lab, &info));
    let wanted = lab.map(HeadlineReader::measurements).unwrap_or_default();
    let damage = reader.only(wanted).read_through(|event| {
        each(&event);
        if let Some(reading) = &mut reading {
            reading.event(&event);
        }
    })?;
    let found = reading.as_ref().map(HeadlineReader::newest_values).unwrap_or_default();
    Ok(RunHeadlines { info, lab, found, damage })
}
