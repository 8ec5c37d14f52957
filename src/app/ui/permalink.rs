//! A page's link: copied, opened, and led to its step, in a run that is on the disk or in one that has yet to be trained.

use std::path::PathBuf;

use eframe::egui::Context;

use super::{action::Action, app::App, page::Page, tiling::Tiling, views::Selection, waiting::Waiting};
use crate::{
    labs::{
        TrainSettings,
        permalink::{Link, LinkSelection, Permalink},
    },
    telemetry::Level,
    ui::widgets::number::grouped,
};

impl Page {
    /// What is shown, as a link.
    fn link(&self) -> Permalink {
        let selection = &self.selection;
        let variants = self.mirror().map_or(&[][..], |m| m.variants());
        let wide = |n: Option<usize>| n.map(|n| n as u64);
        let is_of_run = self.newest() > 0 && self.pending().is_empty();
        Permalink {
            config: self.config.clone(),
            step: is_of_run.then(|| self.shown_step()),
            views: self.tiling.in_front(),
            selection: LinkSelection {
                variant: variants.get(selection.variant).filter(|_| selection.variant > 0).map(|v| v.id.clone()),
                layer: selection.layer.clone(),
                head: wide(selection.head),
                token: wide(selection.token),
                neuron: selection.neuron.map(u64::from),
            },
        }
    }

    /// What somebody should know who hands the link on; empty if nothing.
    fn words_on_link(&self, link: &Permalink) -> String {
        let mut words = vec![];
        if !self.pending().is_empty() && self.newest() > 0 {
            words.push("It has the settings shown, which wait for a reset, and no step.".to_owned());
        }
        if let Some((step, key, _)) = self.mirror().and_then(|m| m.changes.first()) {
            words.push(format!(
                "The run was changed while it trained ({key} at step {step}): the link has the last values."
            ));
        }
        let files = link.files(self.lab);
        if !files.is_empty() {
            words.push(format!("It names files of this machine: {}.", files.join(", ")));
        }
        words.join(" ")
    }

    /// Selects what a link selects.
    fn select(&mut self, link: &Permalink) {
        let selected = &link.selection;
        let plan = (self.lab.plan)(&link.config);
        let variants = plan.as_ref().map_or(&[][..], |plan| &plan.variants);
        let narrow = |n: Option<u64>| n.and_then(|n| usize::try_from(n).ok());
        let of_id = |id: &String| variants.iter().position(|v| v.id == *id);
        self.selection = Selection {
            variant: selected.variant.as_ref().and_then(of_id).unwrap_or(0),
            layer: selected.layer.clone(),
            head: narrow(selected.head),
            token: narrow(selected.token),
            neuron: selected.neuron.and_then(|n| u32::try_from(n).ok()),
            ..Selection::default()
        };
    }
}

impl App {
    pub(super) fn copy_link(&mut self, ctx: &Context) {
        let Some(page) = self.page() else {
            return self.toasts.push(Level::Info, "Open a lab first: a link leads to a page of one.".into());
        };
        let link = page.link();
        let more = page.words_on_link(&link);
        ctx.copy_text(link.to_string());
        let what =
            if link.step.is_some() { "settings, seed, step, selection and views" } else { "settings, seed and views" };
        let words =
            format!("Copied a link to this page: {what}. `orrery open LINK` opens it, and so does Ctrl V here. {more}");
        self.toasts.push(Level::Info, words.trim_end().to_owned());
    }

    /// Opens what a link leads to, or says what is wrong with it.
    pub(super) fn open_link(&mut self, link: Result<Link, String>, ctx: &Context) {
        match link {
            Ok(Link::Lesson(link)) => self.open_lesson(&link, ctx),
            Ok(Link::Page(link)) => self.open_page(*link, ctx),
            Err(words) => self.toasts.push(Level::Error, words),
        }
    }

    /// A link as text, if it is one.
    pub(super) fn link_of(&self, text: &str) -> Option<Result<Link, String>> {
        Link::parse(text, self.lists.labs)
    }

    /// Opens a lab with a link's settings and views. Nothing is trained.
    pub(super) fn open_page(&mut self, link: Permalink, ctx: &Context) {
        if let Some(view) = link.views.iter().find(|id| !self.lists.views.iter().any(|v| v.id == **id)) {
            let words =
                format!("The link names a view `{view}`, which this build does not have; the page was not opened.");
            return self.toasts.push(Level::Error, words);
        }
        let Some(lab) = self.lists.lab(&link.config.lab) else { return };
        if self.waits(lab.id, "open this link") {
            self.waiting = Some(Waiting::Action(Action::OpenLink(link.to_string())));
            return;
        }
        let layout = (!link.views.is_empty()).then(|| {
            let mut tiling = Tiling::new(lab.id, lab.panes);
            tiling.bring_in_front(&link.views);
            tiling.tree
        });
        if !self.open_settings(link.config.clone(), layout, ctx) {
            return;
        }
        if let Some(page) = self.page_mut() {
            page.select(&link);
        }
        match link.step {
            Some(step) if step > 0 => {
                if !self.host.find_run(&link) {
                    self.offer_to_run(&link, step);
                }
            }
            _ => self.toasts.push(Level::Info, "The link's page is open. Space runs it.".into()),
        }
    }

    /// The host has looked for a run of the link's settings.
    pub(super) fn found_run(&mut self, link: Permalink, run: Option<PathBuf>, ctx: &Context) {
        // by now something else may be in front
        let is_here = self.page().is_some_and(|page| page.config == link.config && page.newest() == 0);
        let Some(step) = link.step.filter(|_| is_here) else { return };
        match run {
            None => self.offer_to_run(&link, step),
            Some(folder) => {
                self.sought = Some((folder.clone(), link));
                self.open_run(folder, ctx);
            }
        }
    }

    fn offer_to_run(&mut self, link: &Permalink, step: u64) {
        let total = link.config.get(TrainSettings::steps.name).and_then(|v| v.as_f64()).unwrap_or(f64::INFINITY);
        if step as f64 > total {
            let words = format!("The link is of step {step}, but its settings end at step {total}. Space runs it.");
            return self.toasts.push(Level::Warning, words);
        }
        let shown = grouped(step);
        let words =
            format!("The link is of step {shown}, which is {shown} steps away: no run of these settings is here.");
        self.toasts.push_with(Level::Info, words, (format!("Run to step {shown}"), Action::RunTo(step)));
    }

    /// A run that was opened from its folder is shown: if a link led to it, as the link wants it.
    pub(super) fn lead_to_step(&mut self) {
        let Some(page) = self.open.and_then(|id| self.pages.get_mut(id)) else { return };
        let folder = page.run.as_ref().and_then(|run| run.replayed.clone());
        let Some((_, link)) = self.sought.take_if(|(sought, _)| Some(&*sought) == folder.as_ref()) else { return };
        page.select(&link);
        if let Some(step) = link.step {
            page.scrub_to(step);
            let words = format!("A run of the link's settings was here: it is shown at step {}.", grouped(step));
            self.toasts.push(Level::Info, words);
        }
    }
}
