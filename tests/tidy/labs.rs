//! Checks the labs: none lacks anything that the window, the command line or the gallery needs, and all settings and
//! presets agree with the listings in `tests/tidy/labs`.
//!
//! A changed key, default, range, unit, symbol or tooltip appears in the listings' diff. After an intended change:
//! `UPDATE_SNAPSHOTS=1 cargo test --test tidy labs`.

use std::{collections::BTreeSet, fmt::Write, fs, path::Path};

use orrery::{
    config::{Applies, Config, FileKind, Knob, Range},
    labs::{LABS, Lab, drawing::Canvas},
    ui::views::VIEWS,
};

fn setting(text: &mut String, knob: &Knob) {
    let Knob { key, label, symbol, unit, default, .. } = knob;
    let log = if matches!(knob.range, Range::Float { log: true, .. }) { ", logarithmic" } else { "" };
    let applies = match knob.applies {
        Applies::AtReset => "at reset",
        Applies::Live => "at once",
        Applies::InViews => "in views alone",
    };
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
    text.push('\n');
    for h in lab.headlines {
        writeln!(text, "headline {}: {}, {}\n    {}", h.id, h.heading(h.id), h.better.label(), h.about).unwrap();
    }
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
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tidy/labs").join(format!("{}.txt", lab.id));
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

/// The faults of a lab: missing or superfluous parts.
fn faults(lab: &Lab) -> Vec<String> {
    let mut faults = vec![];
    let mut check = |ok: bool, fault: String| {
        if !ok {
            faults.push(format!("{}: {fault}", lab.id));
        }
    };
    check(lab.lesson.starts_with("# "), "its lesson has no title".into());
    check(lab.question.ends_with('?') || lab.question.ends_with('.'), "its question is not a sentence".into());
    let drawing = lab.draw(&Canvas { size: [344.0, 126.0], pointer: None });
    check(!drawing.shapes.is_empty() && !drawing.caption.is_empty(), "its drawing is empty".into());
    let moved = lab.draw(&Canvas { size: [344.0, 126.0], pointer: Some(0.1) });
    check(moved != drawing, "the pointer moves nothing in its drawing".into());
    check(!lab.panes.is_empty(), "it has no pane".into());
    for pane in lab.panes {
        check(VIEWS.iter().any(|v| v.id == pane.view), format!("there is no view `{}`", pane.view));
    }
    let knobs = (lab.knobs)();
    let keys: BTreeSet<&str> = knobs.iter().map(|k| k.key).collect();
    check(keys.len() == knobs.len(), "a key stands twice among its settings".into());
    for knob in &knobs {
        check(!knob.label.is_empty() && !knob.tip.is_empty(), format!("`{}` has no label or tooltip", knob.key));
        check(lab.groups.iter().any(|(g, _)| *g == knob.group()), format!("`{}` is in no group", knob.key));
        let mut config = Config::defaults(lab.id, &knobs);
        let kept = config.set(&knobs, knob.key, knob.default.clone());
        check(kept.is_ok(), format!("the default of `{}` is not in its range", knob.key));
    }
    for (group, _) in lab.groups {
        check(knobs.iter().any(|k| k.group() == *group), format!("the group `{group}` has no setting"));
    }
    essentials_faults(lab, &knobs).into_iter().for_each(|fault| check(false, fault));
    check(lab.file_key(FileKind::Text).is_some(), "it takes no text file".into());
    if let Err(e) = (lab.plan)(&Config::defaults(lab.id, &knobs)) {
        check(false, format!("its defaults make no plan: {e}"));
    }
    check(!lab.presets.is_empty(), "it has no preset".into());
    for preset in lab.presets {
        let is_here = preset.front.is_none_or(|front| lab.panes.iter().any(|pane| pane.view == front));
        check(is_here, format!("the view that its preset `{}` brings to the front is not on its page", preset.id));
    }
    faults
}

/// True for a setting that acts at once on what the lab is about, and not on its training or on how often it measures.
fn acts_now(knob: &Knob) -> bool {
    let is_routine = ["train", "run"].contains(&knob.group()) || knob.key.ends_with("every");
    knob.applies != Applies::AtReset && !is_routine
}

/// The faults of the settings that a lab's controls show at first.
fn essentials_faults(lab: &Lab, knobs: &[Knob]) -> Vec<String> {
    let essentials: BTreeSet<&str> = lab.essentials.iter().copied().collect();
    let mut faults = vec![];
    if !(5..=8).contains(&lab.essentials.len()) || essentials.len() != lab.essentials.len() {
        faults.push(format!("{} settings are essential, not 5 to 8 different ones", lab.essentials.len()));
    }
    let config = lab.config(None).unwrap();
    for key in lab.essentials {
        match knobs.iter().find(|k| k.key == *key) {
            None => faults.push(format!("its essential setting `{key}` is not one of its settings")),
            Some(knob) if !knob.has_effect(&config) || ["run.device", "run.threads"].contains(key) => {
                faults.push(format!("its essential setting `{}` has no control in the panel", knob.key));
            }
            Some(_) => {}
        }
    }
    let shown: Vec<&Knob> = knobs.iter().filter(|k| essentials.contains(k.key)).collect();
    let labels: BTreeSet<&str> = shown.iter().map(|k| k.label).collect();
    if labels.len() != shown.len() {
        faults.push("two of its essential settings have one label".into());
    }
    // at first sight they stand without the heading of their group
    for knob in shown.iter().filter(|knob| knobs.iter().any(|k| k.key != knob.key && k.label == knob.label)) {
        faults.push(format!("its essential setting `{}` has the label of another setting", knob.key));
    }
    if knobs.iter().any(acts_now) && !shown.iter().any(|knob| acts_now(knob)) {
        faults.push("none of its essential settings acts at once, and some of its settings do".into());
    }
    faults
}

#[test]
fn no_lab_lacks_anything() {
    let faults: Vec<String> = LABS.iter().flat_map(|lab| faults(lab)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// README's table has every lab once, by title and id, in the gallery's order.
#[test]
fn the_readme_names_every_lab() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let (_, table) = page.split_once("| lab | its question |\n").expect("a table of the labs");
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let named: Vec<&str> = rows.map(|row| row.split('|').nth(1).unwrap_or_default().trim()).collect();
    let labs: Vec<String> = LABS.iter().map(|lab| format!("*{}* `{}`", lab.title, lab.id)).collect();
    assert_eq!(named, labs);
}

#[test]
fn presets_and_config_files_are_each_others() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let mut files: BTreeSet<String> =
        fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    for lab in LABS {
        for preset in lab.presets {
            assert!(files.remove(&format!("{}.toml", preset.id)), "{} has no file of its own", preset.id);
            assert_eq!(Config::lab_id(preset.toml).unwrap(), lab.id, "{}", preset.id);
            let config = Config::from_toml(preset.toml, lab.id, &(lab.knobs)()).unwrap();
            assert_eq!(config.preset, preset.id, "the file calls itself otherwise");
            (lab.plan)(&config).unwrap();
        }
    }
    assert!(files.is_empty(), "no lab has these presets: {files:?}");
}
