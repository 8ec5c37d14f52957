//! Frame times and the times from the start of the process, which `--timings` prints and the hidden overlay shows.

use std::{
    collections::VecDeque,
    io::Write as _,
    mem,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use eframe::egui::Vec2;

/// Frames that percentiles are taken over: a minute at 60 frames per second.
const FRAME_HISTORY: usize = 3600;
/// A gap between two frames that is longer than this means that the window was idle, not slow.
const IDLE_GAP: Duration = Duration::from_secs(1);

/// Deliveries closer together than this share a frame.
const COALESCE_WINDOW: Duration = Duration::from_millis(8);
/// The minimum interval between frames that the software renderer draws only because of new events.
const FRAME_INTERVAL: Duration = Duration::from_millis(25);
/// The minimum interval if the whole window changes: such a frame takes all cores for about half as long.
const FULL_FRAME_INTERVAL: Duration = Duration::from_millis(200);
/// The interval between reads of events while the window is hidden.
const HIDDEN_INTERVAL: Duration = Duration::from_millis(500);

/// How long news from a run wait for their frame, as workers' threads read it. Input never waits.
#[derive(Debug)]
pub struct EventPacing {
    began: Instant,
    /// Milliseconds from then on at which the next frame may begin.
    next_ms: AtomicU64,
}

impl Default for EventPacing {
    fn default() -> Self {
        Self { began: Instant::now(), next_ms: AtomicU64::new(0) }
    }
}

impl EventPacing {
    /// Records the start of a frame. `changed`: the share of the window that the software renderer redrew for the last
    /// frame; `None` with a graphics card.
    pub fn frame_begins(&self, now: Instant, is_hidden: bool, changed: Option<f32>) {
        let apart = match changed {
            _ if is_hidden => HIDDEN_INTERVAL,
            // with a graphics card, drawing takes no processor time from training
            None => Duration::ZERO,
            Some(share) => FULL_FRAME_INTERVAL.mul_f32(share.clamp(0.0, 1.0)).max(FRAME_INTERVAL),
        };
        let next = now.saturating_duration_since(self.began) + apart;
        self.next_ms.store(next.as_millis() as u64, Ordering::Relaxed);
    }

    /// How long an update that arrives now must wait for the next frame.
    pub fn wait(&self, now: Instant) -> Duration {
        let next = Duration::from_millis(self.next_ms.load(Ordering::Relaxed));
        next.saturating_sub(now.saturating_duration_since(self.began)).max(COALESCE_WINDOW)
    }
}

/// What fills the window. A frame in which it changes opens a page, or follows a change of the window's size.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WindowContent {
    pub lab: Option<&'static str>,
    /// The page of runs is open, its table has arrived, and a comparison is open in it.
    pub runs: [bool; 3],
    pub is_sweep_open: bool,
    pub is_claims_open: bool,
    /// In points.
    pub size: Vec2,
}

#[derive(Debug, Default)]
pub struct FrameTimes {
    /// Milliseconds the interface thread was busy with each frame.
    busy_ms: VecDeque<f32>,
    /// Milliseconds between the starts of successive frames while something moved.
    gap_ms: VecDeque<f32>,
    last_start: Option<Instant>,
    pub frames: u64,
    content: Option<WindowContent>,
    /// Frames, from the current one on, that are still to be left out of the percentiles.
    opening: u8,
    left_out: usize,
}

/// Percentiles of frame times in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FrameStats {
    pub frames: usize,
    pub busy_p50: f32,
    pub busy_p99: f32,
    pub gap_p50: f32,
    pub gap_p99: f32,
    /// The number of frames that count in none of these: pages opened in them, or the window changed its size.
    pub left_out: usize,
}

impl FrameTimes {
    /// A frame begins. `busy_secs`: what the last frame cost, painting included, if known.
    pub fn begin(&mut self, now: Instant, busy_secs: Option<f32>) {
        self.frames += 1;
        let last = self.last_start.replace(now);
        if self.opening > 0 {
            self.opening -= 1;
            self.left_out += 1;
            return;
        }
        if let Some(gap) = last.map(|last| now.duration_since(last)).filter(|gap| *gap < IDLE_GAP) {
            push_bounded(&mut self.gap_ms, gap.as_secs_f32() * 1e3);
        }
        if let Some(secs) = busy_secs {
            push_bounded(&mut self.busy_ms, secs * 1e3);
        }
    }

    /// The window shows this at the end of a frame. Where it is something new, this frame, which opened it, and the next,
    /// which is the first to draw it, are left out of the percentiles.
    pub fn frame_shows(&mut self, content: WindowContent) {
        if self.content.replace(content) != Some(content) {
            self.opening = 2;
        }
    }

    pub fn stats(&self) -> FrameStats {
        FrameStats {
            frames: self.busy_ms.len().max(self.gap_ms.len()),
            busy_p50: percentile(&self.busy_ms, 0.5),
            busy_p99: percentile(&self.busy_ms, 0.99),
            gap_p50: percentile(&self.gap_ms, 0.5),
            gap_p99: percentile(&self.gap_ms, 0.99),
            left_out: self.left_out,
        }
    }
}

impl std::fmt::Display for FrameStats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} frames: busy p50 {:.1} ms, p99 {:.1} ms; apart p50 {:.1} ms, p99 {:.1} ms",
            self.frames, self.busy_p50, self.busy_p99, self.gap_p50, self.gap_p99
        )
    }
}

fn push_bounded(ring: &mut VecDeque<f32>, value: f32) {
    if ring.len() == FRAME_HISTORY {
        ring.pop_front();
    }
    ring.push_back(value);
}

/// The nearest-rank percentile, 0 of nothing.
fn percentile(values: &VecDeque<f32>, share: f32) -> f32 {
    let mut sorted: Vec<f32> = values.iter().copied().collect();
    sorted.sort_by(f32::total_cmp);
    let rank = (share * sorted.len() as f32).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// Prints to standard error when the window first showed something and when training first made a step.
#[derive(Debug)]
pub struct Milestones {
    began: Instant,
    /// Each one is printed once it is reached (`--timings`).
    pub(super) is_printed: bool,
    has_shown_frame: bool,
    has_stepped: bool,
    /// The time at which training was first asked for.
    requested_at: Option<Instant>,
}

impl Milestones {
    /// `is_printed`: print each one once it is reached (`--timings`).
    pub fn new(began: Instant, is_printed: bool) -> Self {
        Self { began, is_printed, has_shown_frame: false, has_stepped: false, requested_at: None }
    }

    /// True if the first frame still has to be noticed by the frame after it.
    pub fn wants_second_frame(&self) -> bool {
        self.is_printed && !self.has_shown_frame
    }

    pub fn frame_shown(&mut self) {
        if !mem::replace(&mut self.has_shown_frame, true) {
            self.print_timing("first frame", self.began, "the start");
        }
    }

    /// Training was asked for: what the first step is timed from.
    pub fn note_run_request(&mut self) {
        self.requested_at.get_or_insert_with(Instant::now);
    }

    pub fn step_seen(&mut self) {
        if !mem::replace(&mut self.has_stepped, true) {
            let (began, since) = self.requested_at.map_or((self.began, "the start"), |at| (at, "Run"));
            self.print_timing("first training step", began, since);
        }
    }

    pub fn finished(&self, stats: FrameStats) {
        if self.is_printed {
            let left_out = stats.left_out;
            let why = "in which a page opened or the window changed size";
            let _ = writeln!(std::io::stderr(), "timings: {stats}; left out: {left_out} frames {why}");
        }
    }

    fn print_timing(&self, what: &str, began: Instant, since: &str) {
        if self.is_printed {
            let after = began.elapsed().as_secs_f64();
            let _ = writeln!(std::io::stderr(), "timings: {what} {after:.3} s after {since}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        let values: VecDeque<f32> = (1..=100).map(|v| v as f32).collect();
        assert_eq!(percentile(&values, 0.5), 50.0);
        assert_eq!(percentile(&values, 0.99), 99.0);
        assert_eq!(percentile(&VecDeque::new(), 0.5), 0.0);
    }

    #[test]
    fn news_wait_where_drawing_takes_from_training() {
        let pace = EventPacing::default();
        let now = Instant::now() + Duration::from_secs(1);
        let wait = |is_hidden, changed, after: u64| {
            pace.frame_begins(now, is_hidden, changed);
            pace.wait(now + Duration::from_millis(after)).as_millis()
        };
        assert_eq!(wait(false, None, 0), 8, "a graphics card draws");
        assert!((24..=25).contains(&wait(false, Some(0.05), 0)));
        assert!((14..=15).contains(&wait(false, Some(0.05), 10)), "counted from the beginning of the frame");
        assert_eq!(wait(false, Some(0.05), 100), 8);
        assert!((99..=100).contains(&wait(false, Some(0.5), 0)));
        assert!((199..=200).contains(&wait(false, Some(f32::INFINITY), 0)));
        assert!((499..=500).contains(&wait(true, None, 0)), "nobody looks");
    }

    #[test]
    fn idleness_is_not_a_slow_frame() {
        let mut t = FrameTimes::default();
        let start = Instant::now();
        t.begin(start, None);
        t.begin(start + Duration::from_millis(16), Some(0.004));
        t.begin(start + Duration::from_secs(60), Some(0.005));
        let s = t.stats();
        assert!(s.gap_p99 < 17.0, "{s}");
        assert!((s.busy_p99 - 5.0).abs() < 1e-3);
    }

    #[test]
    fn openings_and_resizes_are_left_out() {
        let (mut t, start) = (FrameTimes::default(), Instant::now());
        let home = WindowContent { size: Vec2::new(1280.0, 800.0), ..WindowContent::default() };
        let compared = WindowContent { runs: [true; 3], ..home };
        let resized = WindowContent { size: Vec2::new(900.0, 600.0), ..compared };
        // each content opens in a frame of 200 ms and is first drawn in another; its other frames take 4 ms
        let frames = [home, compared, resized].into_iter().flat_map(|content| {
            [content; 10].into_iter().enumerate().map(|(i, content)| (content, if i < 2 { 200 } else { 4 }))
        });
        let (mut at, mut busy) = (start, None);
        for (content, ms) in frames {
            t.begin(at, busy);
            t.frame_shows(content);
            (at, busy) = (at + Duration::from_millis(ms), Some(ms as f32 / 1e3));
        }
        t.begin(at, busy);
        let s = t.stats();
        assert_eq!((s.frames, s.left_out, t.frames), (24, 6, 31));
        assert!((s.busy_p99 - 4.0).abs() < 1e-3 && (s.gap_p99 - 4.0).abs() < 1e-3, "{s}");
    }
}
