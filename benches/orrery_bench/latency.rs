//! How long a person waits for an answer after moving a slider of the ODE flow: from the question's way into
//! the run's queue to the answer in the reader's hands, while the run is paused and while it trains. A window
//! draws it in its next frame.

use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, bounded, unbounded};

use orrery::{
    cli::Failure,
    config::{Arguments, Value},
    labs::{self, RunSettings},
    telemetry::{
        Command, Event, Measurement, Question, Sink,
        measurements::{FlowAnswer, FlowArgs},
    },
    trainer::{self, DriveOptions},
};

/// Questions of each kind; u goes up and down its range.
const QUESTIONS: u64 = 300;
/// Updates before anything is timed.
const WARM: u64 = 30;

/// Tells when answers and steps come.
struct Clock(crossbeam::channel::Sender<Arrival>);

enum Arrival {
    Answer(u64, Instant),
    Step(u64),
}

impl Sink for Clock {
    fn event(&mut self, event: &Event) -> Result<(), String> {
        let arrival = match event {
            Event::Sample(s) if s.channel.as_str() == FlowAnswer::CHANNEL => {
                s.request.map(|r| Arrival::Answer(r, Instant::now()))
            }
            Event::Step(s) => Some(Arrival::Step(s.step)),
            Event::State(orrery::telemetry::RunState::Failed { message }) => return Err(message.clone()),
            _ => None,
        };
        // nobody listens any more at the end
        arrival.map_or(Ok(()), |c| self.0.send(c).or(Ok(())))
    }
}

pub fn report(threads: usize) -> Result<(), Failure> {
    let failed = |e: &dyn std::fmt::Display| Failure::run(format!("the latency could not be measured: {e}"));
    let lab = labs::find("ode_flow").ok_or_else(|| failed(&"there is no lab ode_flow"))?;
    let mut config = lab.config(None).map_err(|e| failed(&e))?;
    let knobs = (lab.knobs)();
    config.set(&knobs, RunSettings::threads.name, Value::Int(threads as i64)).map_err(|e| failed(&e))?;
    let plan = (lab.plan)(&config).map_err(|e| failed(&e))?;
    let (commands, receiver) = bounded(1024);
    let (came, arrivals) = unbounded();
    std::thread::scope(move |scope| {
        let driver = std::thread::Builder::new().stack_size(64 << 20);
        let options = DriveOptions { stay: true, ..DriveOptions::default() };
        let run =
            driver.spawn_scoped(scope, move || trainer::drive(plan, options, &receiver, vec![Box::new(Clock(came))]));
        let run = run.map_err(|e| failed(&e))?;
        let send = |c: Command| commands.send(c).map_err(|_| failed(&"the run ended"));
        send(Command::Run)?;
        until_step(&arrivals, WARM).ok_or_else(|| failed(&"the run did not train"))?;
        println!("{threads} threads, default preset of the lab, {QUESTIONS} questions each; milliseconds");
        for (words, command, first) in
            [("while it trains", Command::Run, 1), ("while it stands", Command::Pause, 10_000)]
        {
            send(command)?;
            let mut all = vec![];
            for i in 0..QUESTIONS {
                let sent = Instant::now();
                send(Command::Measure(question(first + i)))?;
                let at = until_answer(&arrivals, first + i).ok_or_else(|| failed(&"an answer did not come"))?;
                all.push((at - sent).as_secs_f64() * 1e3);
                // a hand moves a slider about once a frame
                std::thread::sleep(Duration::from_millis(16));
            }
            all.sort_by(f64::total_cmp);
            let share = |p: f64| all[((all.len() - 1) as f64 * p).round() as usize];
            println!("{words:<18} p50 {:6.1}   p99 {:6.1}   most {:6.1}", share(0.5), share(0.99), share(1.0));
        }
        send(Command::Stop)?;
        run.join().map_err(|_| failed(&"the run panicked"))?;
        Ok(())
    })
}

fn question(request: u64) -> Question {
    let turn = (request % 80) as f64 / 40.0;
    let u0 = if turn < 1.0 { 4.0 * turn - 2.0 } else { 6.0 - 4.0 * turn };
    let args = FlowArgs { u0: Some(u0), ..FlowArgs::default() };
    Question { request, probe: FlowArgs::PROBE.into(), variant: Some(0), args: args.to_args(), at: None }
}

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn until_answer(arrivals: &Receiver<Arrival>, request: u64) -> Option<Instant> {
    loop {
        match arrivals.recv_timeout(PATIENCE).ok()? {
            Arrival::Answer(r, at) if r == request => return Some(at),
            _ => {}
        }
    }
}

fn until_step(arrivals: &Receiver<Arrival>, step: u64) -> Option<()> {
    loop {
        match arrivals.recv_timeout(PATIENCE).ok()? {
            Arrival::Step(s) if s >= step => return Some(()),
            _ => {}
        }
    }
}
