//! The views of a run that another program writes: those with something to show, and those of what it can be asked.

use std::collections::BTreeSet;

use super::{prelude::*, undo::remember};
use crate::{labs::foreign, ui::view::View};

/// The views that were opened for what a run has measured.
#[derive(Debug, Default)]
pub struct RecordedViews {
    /// The numbers of channels and of allowed questions when the views were last opened; `None` if the run could not be
    /// asked.
    seen: (usize, Option<usize>),
    /// The views that are open, in the order of their names.
    open: BTreeSet<String>,
}

/// Opens the views for which something new was measured: laid out again, or as tabs once the user arranged them.
pub fn open(page: &mut Page) {
    let Some(run) = page.run.as_ref().filter(|_| page.lab.id == foreign::LAB.id) else { return };
    let channels = run.mirror.channels();
    let asked = run.mirror.info.as_ref().map(|info| &info.asks[..]).filter(|_| run.mirror.can_be_asked_elsewhere());
    let seen = (channels.len(), asked.map(<[String]>::len));
    if seen == page.recorded_views.seen {
        return;
    }
    page.recorded_views.seen = seen;
    let panes = foreign::panes(channels.iter().map(|channel| channel.as_str()), asked);
    let views: BTreeSet<String> = panes.iter().map(|pane| pane.view.to_owned()).collect();
    if views.is_subset(&page.recorded_views.open) {
        return;
    }
    let shown: BTreeSet<String> = page.tiling.in_order().into_iter().map(|(_, view)| view).collect();
    if page.recorded_views.open.is_empty() || shown == page.recorded_views.open {
        let earlier = std::mem::replace(&mut page.tiling, Tiling::new(page.lab.id, &panes));
        keep_views(&mut page.tiling, earlier);
    } else {
        let selected = page.tiling.selected;
        for view in views.difference(&page.recorded_views.open) {
            page.tiling.show(view);
        }
        page.tiling.selected = selected;
    }
    page.recorded_views.open = views;
    // the user did not do this, so that it is not a step to undo
    remember(page);
}

/// Moves the living views of an earlier layout, with what was typed in them, to the tiles that have them now.
fn keep_views(tiling: &mut Tiling, mut earlier: Tiling) {
    let tiles = earlier.in_order();
    let living = tiles.into_iter().filter_map(|(id, view)| Some((view, (id, earlier.views.remove(&id)?))));
    let mut living: HashMap<_, (_, Box<dyn View>)> = living.collect();
    for (id, view) in tiling.in_order() {
        if let Some((former, living)) = living.remove(&view) {
            tiling.views.insert(id, living);
            if earlier.selected == Some(former) {
                tiling.selected = Some(id);
            }
        }
    }
}
