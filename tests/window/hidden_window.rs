//! Tests that a minimised or covered window draws nothing and asks for no frame. eframe runs the application's logic alone
//! for such a window, as these tests do.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use eframe::{
    App as _,
    egui::{Key, RawInput, ViewportId, ViewportInfo},
};

use crate::ui::{Desktop, Worker, desk};

/// The times at which frames were asked for, and how long after them these are due.
type Requests = Arc<Mutex<Vec<(Instant, Duration)>>>;

fn record_requests(d: &Desktop) -> Requests {
    let requests = Requests::default();
    let recorded = Arc::clone(&requests);
    d.harness.ctx.set_request_repaint_callback(move |request| {
        recorded.lock().unwrap().push((Instant::now(), request.delay));
    });
    requests
}

/// Both ways in which a window is hidden, as the system reports them.
fn hidden() -> [ViewportInfo; 2] {
    let minimised = ViewportInfo { minimized: Some(true), occluded: Some(false), ..ViewportInfo::default() };
    let covered = ViewportInfo { minimized: Some(false), occluded: Some(true), ..ViewportInfo::default() };
    [minimised, covered]
}

/// Runs the logic of a window in this state, with no pass of the interface.
fn tick(d: &mut Desktop, viewport: &ViewportInfo) {
    let mut raw = RawInput::default();
    raw.viewports.insert(ViewportId::ROOT, viewport.clone());
    let (ctx, mut frame) = (d.harness.ctx.clone(), eframe::Frame::_new_kittest());
    let app = d.harness.state_mut();
    let _ = ctx.run_logic(&raw, |ctx| app.logic(ctx, &mut frame));
}

/// While frame times are shown, a visible window draws without pause.
#[test]
fn a_hidden_window_asks_for_no_frames() {
    let mut d = desk(Worker::Steps);
    d.press(Key::T);
    let requests = record_requests(&d);
    d.steps(3);
    assert!(requests.lock().unwrap().iter().any(|(_, delay)| delay.is_zero()), "a visible window asks for frames");
    for viewport in hidden() {
        // what the last visible frame asked for is still due
        (0..3).for_each(|_| tick(&mut d, &viewport));
        requests.lock().unwrap().clear();
        let (passes, frames) = (d.harness.ctx.cumulative_pass_nr(), d.harness.state().frame_stats().frames);
        (0..10).for_each(|_| tick(&mut d, &viewport));
        assert_eq!(*requests.lock().unwrap(), [], "{viewport:?}");
        assert_eq!(d.harness.ctx.cumulative_pass_nr(), passes, "nothing is laid out or drawn");
        assert_eq!(d.harness.state().frame_stats().frames, frames, "no frame is counted");
        d.steps(3);
        assert!(d.shows("frames: busy"), "it draws again once it is visible");
    }
}

#[test]
fn news_reach_a_hidden_window_twice_a_second() {
    let mut d = desk(Worker::Steps);
    d.press(Key::Space);
    d.until("running", |d| d.state() == "running" && d.page().newest() > 5);
    let requests = record_requests(&d);
    for viewport in hidden() {
        let began = Instant::now();
        (0..3).for_each(|_| tick(&mut d, &viewport));
        requests.lock().unwrap().clear();
        std::thread::sleep(Duration::from_millis(100));
        // one delivery may have read the pace before the window was hidden
        let due_soon = |(at, delay): &&(Instant, Duration)| *at + *delay < began + Duration::from_millis(400);
        let soon = requests.lock().unwrap().iter().filter(due_soon).count();
        assert!(soon <= 1, "{viewport:?}: {:?}", requests.lock().unwrap());
        let (before, began) = (d.page().newest(), Instant::now());
        while d.page().newest() == before {
            assert!(began.elapsed() < Duration::from_secs(10), "steps of training are still read");
            tick(&mut d, &viewport);
            std::thread::sleep(Duration::from_millis(3));
        }
        d.steps(3);
    }
}
