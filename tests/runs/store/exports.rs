//! Tests exports as CSV and as TensorBoard files, which are parsed record by record.

use std::{collections::BTreeMap, fs};

use orrery::{
    store::export::{self, Record},
    telemetry::{
        Measurement,
        measurements::{Residual, ResidualCurve, ResidualMethod},
    },
};

use super::*;

fn run(out: &Path) -> PathBuf {
    write(
        out,
        &[
            started(&["coupled", "a, \"b\""]),
            step(1, 0, &[("loss/train", 5.5), ("train/lr", 0.1)]),
            step(1, 1, &[("loss/train", f64::NAN)]),
            step(1, 0, &[("loss/held_out", 6.5)]),
            step(2, 0, &[("loss/train", f64::INFINITY), ("gate/tanh, raw", -1e-30), ("train/lr", 1.0 / 3.0)]),
        ],
    )
}

#[test]
fn csv_holds_every_scalar() {
    let out = tempfile::tempdir().unwrap();
    let path = out.path().join("scalars.csv");
    assert_eq!(export::csv(Record::intact(&run(out.path())), &path).unwrap().written, 3);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], r#"step,variant,wall_secs,loss/train,train/lr,loss/held_out,"gate/tanh, raw""#);
    assert_eq!(lines[1], "1,coupled,0.125,5.5,0.1,6.5,");
    assert_eq!(lines[2], r#"1,"a, ""b""",0.125,NaN,,,"#);
    let fields: Vec<_> = lines[3].split(',').collect();
    assert_eq!(fields[..4], ["2", "coupled", "0.25", "inf"]);
    assert_eq!(fields[4].parse::<f64>().unwrap(), 1.0 / 3.0, "full precision");
    assert_eq!(fields[6].parse::<f64>().unwrap(), -1e-30);
}

#[test]
fn every_measurement_becomes_a_table() {
    let out = tempfile::tempdir().unwrap();
    let curve = ResidualCurve { method: ResidualMethod::Deq, round: 1, residual: vec![0.5, f64::NAN].into() };
    let residual = Residual { curves: vec![curve] }.into_payload();
    let events = [started(&["a"]), step(1, 0, &[]), sample(1, Residual::CHANNEL, Some(3), residual)];
    let files =
        export::samples(Record::intact(&write(out.path(), &events)), &out.path().join("tables")).unwrap().written;
    assert_eq!(files, [out.path().join("tables/fast_slow.residual.csv")]);
    let expected = "step,variant,request,field,index,value\n1,a,3,curves.method,0,deq\n1,a,3,curves.residual,0 0,0.5\n\
                    1,a,3,curves.residual,0 1,NaN\n1,a,3,curves.round,0,1\n";
    assert_eq!(fs::read_to_string(&files[0]).unwrap(), expected);
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let out = tempfile::tempdir().unwrap();
    let run = run(out.path());
    let e = export::csv(Record::intact(&run), &out.path().join("nowhere/x.csv")).unwrap_err().to_string();
    assert!(e.contains("nowhere/x.csv"), "{e}");
}

/// The fields of a protobuf message: number, value as varint or bits, bytes.
fn fields(mut m: &[u8]) -> Vec<(u64, u64, Vec<u8>)> {
    fn varint(m: &mut &[u8]) -> u64 {
        let mut v = 0;
        for shift in (0..).step_by(7) {
            let byte = m[0];
            *m = &m[1..];
            v |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        v
    }
    let mut all = vec![];
    while !m.is_empty() {
        let key = varint(&mut m);
        let n = match key & 7 {
            0 => {
                all.push((key >> 3, varint(&mut m), vec![]));
                continue;
            }
            1 => 8,
            2 => varint(&mut m) as usize,
            5 => 4,
            wire => panic!("wire type {wire}"),
        };
        let (now, rest) = m.split_at(n);
        all.push((key >> 3, 0, now.to_vec()));
        m = rest;
    }
    all
}

/// CRC-32C (Castagnoli) with TFRecord's mask, computed bit by bit and independently of the tested code.
fn masked_crc(data: &[u8]) -> u32 {
    let mut crc = !0_u32;
    for byte in data {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 * (crc & 1));
        }
    }
    (!crc).rotate_right(15).wrapping_add(0xa282_ead8)
}

fn frames(mut file: &[u8]) -> Vec<Vec<u8>> {
    let u32_at = |b: &[u8]| u32::from_le_bytes(b[..4].try_into().unwrap());
    let mut all = vec![];
    while !file.is_empty() {
        let n = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
        assert_eq!(u32_at(&file[8..]), masked_crc(&file[..8]));
        let data = &file[12..12 + n];
        assert_eq!(u32_at(&file[12 + n..]), masked_crc(data));
        all.push(data.to_vec());
        file = &file[16 + n..];
    }
    all
}

#[test]
fn tensorboard_files_hold_every_scalar() {
    let out = tempfile::tempdir().unwrap();
    let to = out.path().join("board");
    let paths = export::tensorboard(Record::intact(&run(out.path())), &to).unwrap().written;
    assert_eq!(paths.len(), 2, "one file a variant");
    assert_eq!(paths[0].parent().unwrap(), to.join("coupled"));
    assert_eq!(paths[1].parent().unwrap(), to.join("a___b_"));
    assert!(paths[0].file_name().unwrap().to_str().unwrap().starts_with("events.out.tfevents."));
    let frames = frames(&fs::read(&paths[0]).unwrap());
    assert_eq!(fields(&frames[0])[1], (3, 0, b"brain.Event:2".to_vec()));
    let mut told: BTreeMap<(u64, String), f32> = BTreeMap::new();
    for frame in &frames[1..] {
        let event = fields(frame);
        let began = f64::from_le_bytes(event[0].2[..].try_into().unwrap());
        assert!(began > 1.6e9, "seconds since 1970: {began}");
        for (_, _, value) in fields(&event[2].2) {
            let value = fields(&value);
            let tag = String::from_utf8(value[0].2.clone()).unwrap();
            told.insert((event[1].1, tag), f32::from_le_bytes(value[1].2[..].try_into().unwrap()));
        }
    }
    let expected = [
        ((1, "loss/held_out"), 6.5),
        ((1, "loss/train"), 5.5),
        ((1, "train/lr"), 0.1),
        ((2, "gate/tanh, raw"), -1e-30),
        ((2, "loss/train"), f32::INFINITY),
        ((2, "train/lr"), 1.0 / 3.0),
    ];
    assert_eq!(told, expected.into_iter().map(|((s, t), v)| ((s, t.to_owned()), v)).collect());
}
