//! Every setting of every lab and every preset, against listings that are stored in `tests/labs`.
//!
//! A change of a key, default, range, unit, symbol or tooltip shows in their diff. After one that is
//! meant: `UPDATE_SNAPSHOTS=1 cargo test --test labs`.

use std::{fmt::Write, fs, path::Path};

use orrery::{
    config::{Knob, Range},
    labs::{LABS, Lab},
};

fn setting(text: &mut String, knob: &Knob) {
    let Knob { key, label, symbol, unit, default, .. } = knob;
    let log = if matches!(knob.range, Range::Float { log: true, .. }) { ", logarithmic" } else { "" };
    let applies = if knob.live { "at once" } else { "at reset" };
    writeln!(text, "{key} = {default:?}").unwrap();
    writeln!(text, "    label `{label}`, symbol `{symbol}`, unit `{unit}`").unwrap();
    writeln!(text, "    {}{log}, applies {applies}\n    {}", knob.accepts(), knob.tip).unwrap();
}

fn listing(lab: &Lab) -> String {
    let mut text = format!("{}: {}\n", lab.id, lab.title);
    for (prefix, heading) in lab.groups {
        writeln!(text, "group {prefix}: {heading}").unwrap();
    }
    text.push('\n');
    (lab.knobs)().iter().for_each(|knob| setting(&mut text, knob));
    for preset in lab.presets {
        let config = lab.config(Some(preset.id)).unwrap();
        write!(text, "\n--- {}: {}\n{}", preset.id, preset.title, config.to_toml()).unwrap();
    }
    text
}

#[test]
fn settings_and_presets_are_as_stored() {
    let mut changed = vec![];
    for lab in LABS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/labs").join(format!("{}.txt", lab.id));
        let now = listing(lab);
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            fs::write(&path, &now).unwrap();
        }
        let stored = fs::read_to_string(&path).unwrap_or_default();
        let lines = now.lines().zip(stored.lines());
        if let Some((new, old)) = lines.clone().find(|(new, old)| new != old) {
            changed.push(format!("{}: `{old}` is now `{new}`", lab.id));
        } else if now != stored {
            changed.push(format!("{}: {} lines are now {}", lab.id, stored.lines().count(), now.lines().count()));
        }
    }
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}
