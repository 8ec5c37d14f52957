//! Writes the current page as a link, and selects what a link selects.

use super::prelude::*;
use crate::experiments::permalink::{LinkSelection, Permalink};

pub fn link(page: &Page) -> Permalink {
    let selection = &page.selection;
    let variants = page.mirror().map_or(&[][..], |m| m.variants());
    let wide = |n: Option<usize>| n.map(|n| n as u64);
    let is_example = page.run.as_ref().is_some_and(Run::is_example);
    let is_of_run = page.newest() > 0 && page.pending().is_empty() && !is_example;
    Permalink {
        config: page.config.clone(),
        restrictions: page.restrictions.clone(),
        step: is_of_run.then(|| page.shown_step()),
        views: page.tiling.in_front_of_large_page(page.lab.id),
        selection: LinkSelection {
            variant: variants.get(selection.variant).filter(|_| selection.variant > 0).map(|v| v.id.clone()),
            layer: selection.layer.clone(),
            head: wide(selection.head),
            token: wide(selection.token),
            neuron: selection.neuron.map(u64::from),
        },
    }
}

/// Warnings for a user who passes the link on; empty if there are none.
pub fn link_text(page: &Page, link: &Permalink) -> String {
    let mut words = vec![];
    if !page.pending().is_empty() && page.newest() > 0 {
        words.push("It has the settings shown, which apply at the next reset, and no step.".to_owned());
    }
    if let Some((step, key, _)) = page.mirror().and_then(|m| m.changes.first()) {
        words.push(format!(
            "The run was changed while it trained ({key} at step {step}): the link has the last values."
        ));
    }
    let files: Vec<&str> = link.files(page.lab).iter().map(|file| file.key).collect();
    if !files.is_empty() {
        words.push(format!("It names files of this machine: {}.", files.join(", ")));
    }
    words.join(" ")
}

pub fn select(page: &mut Page, link: &Permalink) {
    let selected = &link.selection;
    let plan = (page.lab.plan)(&link.config);
    let variants = plan.as_ref().map_or(&[][..], |plan| &plan.variants);
    let narrow = |n: Option<u64>| n.and_then(|n| usize::try_from(n).ok());
    let of_id = |id: &String| variants.iter().position(|v| v.id == *id);
    page.selection = Selection {
        variant: selected.variant.as_ref().and_then(of_id).unwrap_or(0),
        layer: selected.layer.clone(),
        head: narrow(selected.head),
        token: narrow(selected.token),
        neuron: selected.neuron.and_then(|n| u32::try_from(n).ok()),
        ..Selection::default()
    };
}
