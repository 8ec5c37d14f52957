//! Tests copying and opening links in the window, with real runs and the real host.

use std::time::Duration;

use eframe::egui::{Event, Key, Modifiers, OutputCommand};
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    config::Config,
    experiments::permalink::{Link, LinkSelection, Permalink},
    labs::{LABS, restrictions::Restrictions},
    ui::{
        app::{App, Opening},
        page::Page,
        views::VIEWS,
    },
};

use crate::{
    multiples::{record, small},
    real_host::window_on,
    ui::{Worker, open_labs},
    waiting::step_until,
};

struct TestWindow {
    harness: Harness<'static, App>,
    _folder: tempfile::TempDir,
}

fn link(config: Config, step: Option<u64>) -> Permalink {
    let selection = LinkSelection {
        variant: Some("frozen".into()),
        layer: Some("post.0".into()),
        head: Some(1),
        ..Default::default()
    };
    Permalink {
        config,
        restrictions: Restrictions::default(),
        step,
        views: vec!["gate".into(), "attention".into()],
        selection,
    }
}

impl TestWindow {
    /// Opens a window by a link, with recorded runs of these settings in its folder.
    fn open(link: Option<Permalink>, recorded: &[Config]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        recorded.iter().for_each(|config| record(folder.path(), config));
        let opening = link.map(|link| Opening::Page(Box::new(link)));
        let builder = Harness::builder().with_size([1280.0, 800.0]);
        Self { harness: window_on(builder, folder.path(), opening), _folder: folder }
    }

    fn page(&self) -> &Page {
        self.harness.state().page().expect("a lab is open")
    }

    fn shows(&self, words: &str) -> bool {
        self.harness.query_all_by_label_contains(words).next().is_some()
    }

    fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        step_until(Duration::from_secs(60), self, |d| d.harness.step(), what, is_so);
    }

    /// Runs the command *Copy link* from the palette and returns the copied link.
    fn copied(&mut self) -> String {
        self.harness.key_press_modifiers(Modifiers::COMMAND, Key::P);
        self.harness.run_steps(3);
        self.harness.event(Event::Text("Copy link".into()));
        self.harness.run_steps(3);
        let modifiers = Modifiers::NONE;
        self.harness.event(Event::Key { key: Key::Enter, physical_key: None, pressed: true, repeat: false, modifiers });
        self.harness.step();
        let commands = &self.harness.output().platform_output.commands;
        let text =
            commands.iter().find_map(|c| if let OutputCommand::CopyText(t) = c { Some(t.clone()) } else { None });
        text.expect("something is copied")
    }
}

#[test]
fn a_link_opens_the_page_and_trains_nothing() {
    let config = small("0.0123");
    let mut desk = TestWindow::open(Some(link(config.clone(), None)), &[]);
    desk.until("it says so", |d| d.shows("The lab is open with these settings. Space runs it."));
    desk.until("the models are ready", |d| d.page().run.as_ref().is_some_and(|r| r.state_label() == "ready"));
    assert_eq!((&desk.page().config, desk.page().newest()), (&config, 0));
    let selection = &desk.page().selection;
    assert_eq!((selection.variant, selection.layer.as_deref(), selection.head), (1, Some("post.0"), Some(1)));
    let mut front = desk.page().tiling.in_front();
    front.sort();
    assert_eq!(front, ["attention", "gate"], "the views in front, and no others");
    let copied = desk.copied();
    let Some(Ok(Link::Page(copied))) = Link::parse(&copied, LABS) else { panic!("{copied}") };
    assert_eq!(copied.config, config);
    assert_eq!((copied.step, copied.selection), (None, link(config, None).selection));
}

#[test]
fn a_view_that_a_link_opens_says_how_to_begin() {
    let lab = LABS.iter().find(|lab| lab.id == "neuron_graph").unwrap();
    let views = vec!["graph_modularity".to_owned()];
    let page = Permalink { views, selection: LinkSelection::default(), ..link(lab.config(None).unwrap(), None) };
    let mut desk = open_labs(Opening::Page(Box::new(page)), Worker::Steps, VIEWS, [1280.0, 800.0]);
    desk.until("the models are ready", |d| d.state() == "ready");
    desk.steps(3);
    assert!(desk.shows("as it trains: press Space."));
}

#[test]
fn a_link_of_a_step_offers_to_run_to_it() {
    let mut desk = TestWindow::open(Some(link(small("0.0123"), Some(6))), &[small("0.02")]);
    desk.until("it looks for a run", |d| d.shows("which is 6 steps away"));
    assert_eq!(desk.page().newest(), 0, "nothing is trained before it is wanted");
    desk.until("the models are ready", |d| d.page().run.as_ref().is_some_and(|r| r.state_label() == "ready"));
    desk.harness.get_by_label("Run to step 6").click();
    desk.until("it runs", |d| d.page().newest() >= 6);
    desk.until("it pauses", |d| d.page().run.as_ref().is_some_and(|r| r.state_label() == "paused"));
    assert_eq!(desk.page().newest(), 6);
    let copied = desk.copied();
    assert!(copied.contains("train.lr=0.0123") && copied.contains("#step=6&view="), "{copied}");
}

#[test]
fn a_link_finds_the_run_of_its_settings() {
    let mut desk = TestWindow::open(Some(link(small("0.0123"), Some(6))), &[small("0.02"), small("0.0123")]);
    desk.until("the run is found", |d| d.shows("A run of the link's settings was here: it is shown at step 6"));
    desk.until("it is read", |d| d.page().newest() == 9);
    assert_eq!((desk.page().shown_step(), desk.page().selection.variant), (6, 1));
    assert!(desk.page().run.as_ref().is_some_and(|r| r.replayed_folder().is_some()));
}

#[test]
fn a_link_that_names_files_is_asked_about() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("mine.txt");
    std::fs::write(&text, "the ferry left at dawn and came back at night. ".repeat(2000)).unwrap();
    let mut config = small("0.0123");
    let knobs = (LABS.iter().find(|lab| lab.id == config.lab).unwrap().knobs)();
    config.set_text(&knobs, "corpus.file", text.to_str().unwrap()).unwrap();
    let mut desk = TestWindow::open(Some(link(config.clone(), None)), &[]);
    desk.until("it asks", |d| d.shows("The link names files of this machine"));
    assert!(desk.shows(text.to_str().unwrap()), "the path is shown");
    desk.harness.get_by_label("Do not open").click();
    desk.harness.run_steps(5);
    assert!(!desk.shows("The link names files") && desk.harness.state().page().is_none(), "nothing is opened");
    desk.harness.event(Event::Paste(link(config.clone(), None).to_string()));
    desk.until("it asks again", |d| d.shows("The link names files of this machine"));
    assert!(desk.harness.state().page().is_none());
    desk.harness.get_by_label("Open with these files").click();
    desk.until("the page", |d| d.harness.state().page().is_some());
    assert_eq!(desk.page().config, config);
}

#[test]
fn a_link_is_pasted_and_a_broken_one_says_why() {
    let mut desk = TestWindow::open(None, &[]);
    desk.harness.run_steps(2);
    desk.harness.event(Event::Paste("orrery:fast_slow?train.lrr=1".into()));
    desk.until("the complaint", |d| d.shows("did you mean `train.lr`"));
    desk.harness.event(Event::Paste("orrery:fast_slow#view=nothing".into()));
    desk.until("the complaint", |d| d.shows("names a view \u{201c}nothing\u{201d}"));
    desk.harness.event(Event::Paste(link(small("0.0123"), None).to_string()));
    desk.until("the page", |d| d.harness.state().page().is_some());
    assert_eq!(desk.page().config, small("0.0123"));
}
