//! A run folder packed into one file, such as the recorded example of a lab: gzip of its `run.json` and its three logs, each
//! after a line with its name. `scripts/examples` packs it.

use std::io::Read;

use flate2::read::GzDecoder;

use super::{RunRecord, prelude::*, record::FORMAT};

/// The largest number of bytes that a packed folder may unfold to.
const MAX_UNPACKED: u64 = 32 << 20;

pub(super) struct PackedRun {
    pub info: RunInfo,
    pub metrics: Vec<u8>,
    pub samples: Vec<u8>,
    pub events: Vec<u8>,
}

/// Unpacks a packed run folder. Errors: these are not the bytes of one, or of one in another format.
pub(super) fn unpack(bytes: &[u8]) -> Result<PackedRun, StoreError> {
    let mut content = vec![];
    let length = GzDecoder::new(bytes)
        .take(MAX_UNPACKED + 1)
        .read_to_end(&mut content)
        .map_err(|e| StoreError::with_source(format!("a packed run cannot be read: {e}"), e))?;
    if length as u64 > MAX_UNPACKED {
        return Err(StoreError::new(format!("a packed run holds more than {MAX_UNPACKED} bytes")));
    }
    let mut files: [Vec<u8>; 4] = Default::default();
    let mut current = None;
    for line in content.split_inclusive(|b| *b == b'\n') {
        let name = line.trim_ascii();
        match [RUN, METRICS, SAMPLES, EVENTS].iter().position(|known| known.as_bytes() == name) {
            Some(file) => current = Some(file),
            None => match current.and_then(|file: usize| files.get_mut(file)) {
                Some(file) => file.extend_from_slice(line),
                None => return Err(StoreError::new(format!("a packed run does not begin with the name {RUN}"))),
            },
        }
    }
    let [run, metrics, samples, events] = files;
    let record: RunRecord = serde_json::from_slice(&run)
        .map_err(|e| StoreError::with_source(format!("{RUN} of a packed run is damaged: {e}"), e))?;
    if record.format != FORMAT {
        let format = record.format;
        return Err(StoreError::new(format!("a packed run is of format {format}, and this program reads {FORMAT}")));
    }
    Ok(PackedRun { info: record.run, metrics, samples, events })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::{super::Reader, *};
    use crate::{
        store::Environment,
        telemetry::{Event, VariantInfo},
    };

    fn packed(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(vec![], Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn run(format: u32) -> String {
        let variant = VariantInfo { id: "a".into(), label: "a".into(), group: "a".into(), seed: 7, params: 1 };
        let run = RunInfo { lab: "x".into(), variants: vec![variant], total_steps: 2, ..RunInfo::default() };
        let environment = Environment::default();
        let started_at = String::new();
        let record =
            RunRecord { format, protocol: 0, asks: vec![], started_at, seed: 7, environment, run, resumed: vec![] };
        format!("run.json\n{}\n", serde_json::to_string(&record).unwrap())
    }

    #[test]
    fn a_packed_run_tells_its_events_in_order() {
        let logs = "metrics.jsonl\n{\"step\":1,\"variant\":\"a\",\"wall_secs\":0.5,\"loss/train\":2.0}\n\
                    {\"step\":2,\"variant\":\"a\",\"wall_secs\":1,\"loss/train\":1.5}\n\
                    samples.jsonl\nevents.jsonl\n{\"step\":1,\"checkpoint\":{\"step\":1}}\n";
        let events: Vec<Event> = Reader::packed(&packed(&(run(FORMAT) + logs))).unwrap().collect();
        let [Event::Started(info), Event::Step(first), Event::Checkpoint { step: 1 }, Event::Step(last)] = &events[..]
        else {
            panic!("{events:?}")
        };
        assert_eq!((info.lab.as_str(), info.folder.as_ref()), ("x", None));
        assert_eq!((first.step, last.step, last.scalars[0].1), (1, 2, 1.5));
    }

    #[test]
    fn invalid_packed_runs_are_refused() {
        let refusal = |bytes: &[u8]| unpack(bytes).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(refusal(b"run.json\n").contains("cannot be read"));
        assert!(refusal(&packed("{}\n")).contains("does not begin"));
        assert!(refusal(&packed("run.json\n{")).contains("damaged"));
        assert!(refusal(&packed(&run(FORMAT + 1))).contains("format"));
        assert!(refusal(&packed(&"\n".repeat(MAX_UNPACKED as usize + 1))).contains("more than"));
    }
}
