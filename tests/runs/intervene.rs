//! Tests `orrery model intervene` with the real binary: losses with changed neurons and synapses equal those of PyTorch
//! (`tests/oracles/bdh_interventions.safetensors`).

use std::fs;

use candle_core::Device;
use orrery::{nn::host, store::tensors};

use crate::eval::{Oracle, Outcome};

/// The mean cross-entropy of a text's tokens but the first, for PyTorch's logits `(T, V)`.
fn loss(oracle: &Oracle, row: usize, logits: &[f64]) -> f64 {
    let rows: Vec<&[f64]> = logits.chunks(48).collect();
    let nats: Vec<f64> = oracle
        .targets(row)
        .into_iter()
        .zip(rows)
        .map(|(target, logits)| logits.iter().map(|v| v.exp()).sum::<f64>().ln() - logits[target])
        .collect();
    nats.iter().sum::<f64>() / nats.len() as f64
}

/// The loss without and with the change, from the output.
fn losses(said: &str) -> (f64, f64) {
    let line = said.lines().find(|l| l.starts_with("loss ")).unwrap_or_else(|| panic!("{said}"));
    let numbers: Vec<f64> = line.split([' ', ',']).filter_map(|w| w.parse().ok()).collect();
    (numbers[0], numbers[1])
}

#[test]
fn losses_with_a_change_are_pytorchs() -> Outcome {
    let oracle = Oracle::new()?;
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracles/bdh_interventions.safetensors");
    let bytes = fs::read(&path)?;
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes)?;
    let cases = header.metadata().as_ref().and_then(|m| m.get("cases")).ok_or("no cases")?;
    let cases: Vec<serde_json::Value> = serde_json::from_str(cases)?;
    let all = tensors::read(&path, &Device::Cpu)?;
    for (k, case) in cases.iter().enumerate() {
        let float = |key: &str| case[key].as_f64().unwrap_or(f64::NAN);
        let action = match (float("scale"), float("value")) {
            (0.0, 0.0) => "silence".to_owned(),
            (0.0, value) => format!("clamp --amount={value}"),
            (scale, _) => format!("scale --amount={scale}"),
        };
        let target = match case["synapses"].as_array() {
            Some(all) => all.iter().map(|s| format!(" --synapse {}:{}:{}", s[0], s[1], s[2])).collect::<String>(),
            None => {
                let numbers: Vec<u64> =
                    case["neurons"].as_array().ok_or("no target")?.iter().filter_map(|v| v.as_u64()).collect();
                let names: Vec<String> = numbers.iter().map(|n| format!("{}:{}", n / 128, n % 128)).collect();
                let layer = case["layer"].as_u64().map_or(String::new(), |l| format!(" --layer {l}"));
                format!(" --neurons {} --part {}{layer}", names.join(","), case["part"].as_str().ok_or("no part")?)
            }
        };
        let (_, logits) = all.iter().find(|(n, _)| *n == format!("out.{k}")).ok_or("no logits")?;
        let wanted = loss(&oracle, 0, &host::to_f64(&logits.get(0)?)?);
        let words = format!(
            "model intervene three.safetensors 0.txt --vocabulary list.json --action {action}{target} --draws 2 --tokens 3 --csv out.csv"
        );
        let (before, after) = losses(&oracle.done(&words));
        let usual = oracle.nats(0);
        assert!((before - usual.iter().sum::<f64>() / usual.len() as f64).abs() < 1e-5, "{words}: {before}");
        assert!((after - wanted).abs() < 1e-5, "{words}: {after} and PyTorch's {wanted}");
        let table = fs::read_to_string(oracle.path("out.csv"))?;
        let mut rows = csv::Reader::from_reader(table.as_bytes());
        let column: Vec<f64> = rows.records().filter_map(|r| r.ok()?.get(3)?.parse().ok()).collect();
        assert_eq!(column.len(), 24, "{table}");
        assert!((column.iter().sum::<f64>() / 24.0 - after).abs() < 1e-6, "{words}");
    }
    Ok(())
}

#[test]
fn impossible_interventions_are_refused_with_a_reason() -> Outcome {
    let oracle = Oracle::new()?;
    let base = "model intervene three.safetensors 0.txt --vocabulary list.json";
    for (words, parts) in [
        ("--neurons 2:0", &["2 heads of 128"][..]),
        ("--neurons 0:x", &["head:index"]),
        ("--synapse 0:1:2", &["from 1 to 2"]),
        ("--synapse 1:1:256", &["no neuron `256`"]),
        ("--synapse 1:1", &["layer:i:j"]),
        ("--neurons 0:1 --layer 3", &["no layer 3"]),
        ("--neurons 0:1 --action scale", &["--amount"]),
        ("--neurons ,", &["no neuron or synapse is named"]),
        ("", &["--neurons"]),
    ] {
        oracle.refused(&format!("{base} {words}"), 2, parts);
    }
    fs::write(oracle.path("one.txt"), "!")?;
    let one = "model intervene three.safetensors one.txt --vocabulary list.json --neurons 0:1";
    oracle.refused(one, 2, &["a loss needs at least two"]);
    let said = oracle.done(&format!("{base} --neurons 0:1 --draws 0 --tokens 0"));
    assert!(said.contains("no random sets to compare with") && !said.contains("goes on"), "{said}");
    Ok(())
}
