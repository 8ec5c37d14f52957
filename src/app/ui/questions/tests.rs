//! Tests when a question is due, how long it has been open, and what its answer belongs to.

use super::*;
use crate::{config::Value, telemetry::Event};

const KEY: Key = ("flow", Some(0));

fn run_at(step: u64, state: RunState) -> Mirror {
    let mut mirror = Mirror::default();
    mirror.report(0, step, &[]);
    mirror.apply(Event::State(state));
    mirror
}

fn moment(scheduled: Option<u64>) -> QuestionTime {
    QuestionTime { at: None, scheduled, is_measured: scheduled.is_some() }
}

fn moment_at(at: u64) -> QuestionTime {
    QuestionTime { at: Some(at), ..moment(None) }
}

fn args(u0: f64) -> Args {
    Args::from([("u0".to_owned(), Value::Float(u0))])
}

#[test]
fn an_answer_ages_with_training_and_not_while_scrubbed() {
    let mut q = Questions::default();
    let fresh = Freshness::Steps(25);
    let running = |step| run_at(step, RunState::Running);
    assert!(q.is_due(KEY, &args(0.0), fresh, &running(100), &moment(None)));
    q.register(KEY, args(0.0), &running(100), &moment(None));
    assert!(!q.is_due(KEY, &args(0.0), fresh, &running(124), &moment(None)));
    assert!(q.is_due(KEY, &args(0.0), fresh, &running(125), &moment(None)));
    assert!(q.is_due(KEY, &args(0.0), fresh, &running(99), &moment(None)), "the run began again");
    assert!(q.is_due(KEY, &args(0.0), fresh, &running(100), &moment_at(40)), "other weights");
    q.register(KEY, args(0.0), &running(100), &moment_at(40));
    assert!(!q.is_due(KEY, &args(0.0), fresh, &running(999), &moment_at(40)), "the past does not age");
    assert!(q.is_due(KEY, &args(1.0), fresh, &running(100), &moment_at(40)), "another question");
    assert!(q.is_due(KEY, &args(0.0), fresh, &run_at(100, RunState::Paused), &moment(None)), "back to the newest");
    q.register(KEY, args(0.0), &running(100), &moment(None));
    assert!(q.is_due(KEY, &args(0.0), fresh, &run_at(101, RunState::Paused), &moment(None)), "paused a step later");
    assert!(!q.is_due(KEY, &args(0.0), fresh, &run_at(100, RunState::Paused), &moment(None)));
}

#[test]
fn a_live_change_asks_for_another_answer_of_the_newest_model() {
    let mut q = Questions::default();
    let mut mirror = run_at(100, RunState::Finished);
    let due = |q: &Questions, m: &Mirror, f, moment: &QuestionTime| q.is_due(KEY, &args(0.0), f, m, moment);
    q.register(KEY, args(0.0), &mirror, &moment(None));
    mirror.apply(Event::Changed { step: 100, key: "model.gate".into(), value: Value::Float(1.0) });
    assert!(due(&q, &mirror, Freshness::Steps(25), &moment(None)));
    assert!(due(&q, &mirror, Freshness::IfMissing, &moment(None)));
    let request = q.register(KEY, args(0.0), &mirror, &moment(None));
    assert!(q.matches_live_settings(request, &mirror) && !q.matches_live_settings(request - 1, &mirror));
    assert!(!due(&q, &mirror, Freshness::IfMissing, &moment(None)));
    q.register(KEY, args(0.0), &mirror, &moment_at(40));
    mirror.apply(Event::Changed { step: 100, key: "model.gate".into(), value: Value::Float(2.0) });
    assert!(!due(&q, &mirror, Freshness::Steps(25), &moment_at(40)), "the past had its own setting");
    q.register(KEY, args(0.0), &mirror, &moment(None));
    let (key, value) = ("model.gate".to_owned(), Value::Float(3.0));
    mirror.apply(Event::Set { step: 100, key: key.clone(), value: value.clone() });
    assert!(due(&q, &mirror, Freshness::Steps(25), &moment(None)), "it holds before the record has it");
    let request = q.register(KEY, args(0.0), &mirror, &moment(None));
    mirror.apply(Event::Changed { step: 100, key, value });
    assert!(q.matches_live_settings(request, &mirror), "the question itself made it part of the record");
}

#[test]
fn what_the_schedule_brings_is_asked_once_and_only_where_it_is_missing() {
    let mut q = Questions::default();
    let due =
        |q: &Questions, state, m: &QuestionTime| q.is_due(KEY, &args(0.0), Freshness::IfMissing, &run_at(5, state), m);
    assert!(!due(&q, RunState::Running, &moment(None)), "the schedule will bring it");
    assert!(!due(&q, RunState::Paused, &moment(Some(0))));
    assert!(due(&q, RunState::Paused, &moment(None)));
    q.register(KEY, args(0.0), &run_at(5, RunState::Paused), &moment(None));
    assert!(!due(&q, RunState::Paused, &moment(None)));
    assert!(due(&q, RunState::Running, &moment_at(2)), "nothing will bring the past");
}

#[test]
fn a_scheduled_measurement_asks_for_another_answer() {
    let mut q = Questions::default();
    let mirror = run_at(50, RunState::Running);
    q.register(KEY, args(0.0), &mirror, &moment(Some(25)));
    let due = |m: &QuestionTime| q.is_due(KEY, &args(0.0), Freshness::WithSchedule, &mirror, m);
    assert!(!due(&moment(Some(25))) && due(&moment(Some(50))));
}

#[test]
fn refusal_belongs_to_the_last_question() {
    let mut q = Questions::default();
    let mut mirror = run_at(5, RunState::Paused);
    let refused = |request| Event::Question { request, state: QuestionState::Refused("no text".into()) };
    assert_eq!(q.refusal(KEY, &mirror), None, "nothing was asked");
    let first = q.register(KEY, args(0.0), &mirror, &moment(None));
    assert!(q.is_open(KEY, 0, &mirror));
    mirror.apply(refused(first));
    assert_eq!(q.refusal(KEY, &mirror), Some("no text"));
    assert!(!q.is_open(KEY, 0, &mirror));
    q.register(KEY, args(0.0), &mirror, &moment(None));
    assert_eq!(q.refusal(KEY, &mirror), None, "it was asked again");
    assert!(q.is_open(KEY, first, &mirror));
}

#[test]
fn an_open_question_says_for_how_long_and_how_far() {
    let mut q = Questions::default();
    let mut mirror = run_at(5, RunState::Paused);
    let request = q.register(KEY, args(0.0), &mirror, &moment(None));
    q.touch(KEY);
    let keys = std::mem::take(&mut q.touched);
    assert_eq!(q.unanswered(&keys, &mirror, 10.0), [Unanswered { request, since: 0.0, share: None }]);
    mirror.apply(Event::Question { request, state: QuestionState::Working(Some(0.25)) });
    assert_eq!(q.unanswered(&keys, &mirror, 12.0), [Unanswered { request, since: 2.0, share: Some(0.25) }]);
    mirror.apply(Event::Question { request, state: QuestionState::Answered });
    assert!(q.unanswered(&keys, &mirror, 13.0).is_empty());
}

#[test]
fn a_question_that_follows_an_answer_is_put_again_after_the_next_one() {
    let mut q = Questions::default();
    let mirror = run_at(50, RunState::Running);
    let follower: Key = ("flow_field", Some(0));
    let answered = q.register(KEY, args(0.0), &mirror, &moment(None));
    let due = |q: &Questions, u0: f64, answer: u64| {
        q.is_due(follower, &args(u0), Freshness::FollowsAnswer(answer), &run_at(999, RunState::Running), &moment(None))
    };
    assert!(due(&q, 0.0, answered));
    q.register(follower, args(0.0), &mirror, &moment(None));
    assert!(!due(&q, 0.0, answered), "its age plays no part");
    assert!(due(&q, 1.0, answered), "other arguments");
    let next = q.register(KEY, args(1.0), &mirror, &moment(None));
    assert!(!due(&q, 0.0, answered), "the next answer has not come");
    assert!(due(&q, 0.0, next));
}

#[test]
fn numbers_go_on_over_runs() {
    let mut q = Questions::default();
    let mut mirror = Mirror::default();
    assert_eq!(q.register(KEY, args(0.0), &mirror, &moment(None)), 1);
    assert_eq!(q.next_number(), 2);
    assert_eq!((q.last_request, q.request(KEY)), (2, Some(1)));
    mirror.last_request = 40;
    q.follow_run(&mirror);
    assert_eq!(q.next_number(), 41, "a recorded question keeps its number");
}

#[test]
fn a_replaced_question_waits_since_the_first_one() {
    let mut q = Questions::default();
    let mut mirror = run_at(5, RunState::Paused);
    q.now = 10.0;
    q.register(KEY, args(0.0), &mirror, &moment(None));
    q.now = 12.0;
    let request = q.register(KEY, args(1.0), &mirror, &moment(None));
    assert_eq!((q.waiting_time(KEY), q.args_of(request)), (2.0, Some(&args(1.0))));
    mirror.apply(Event::Question { request, state: QuestionState::Answered });
    q.register(KEY, args(2.0), &mirror, &moment(None));
    assert_eq!(q.waiting_time(KEY), 0.0);
}

#[test]
fn the_schedule_of_a_run_is_that_of_its_lab_and_its_live_changes() {
    let lab = crate::labs::find("fast_slow").unwrap();
    let config = lab.config(None).unwrap();
    let probe = (lab.plan)(&config).unwrap().probes.into_iter().find(|p| p.probe == "causality").unwrap();
    let info = RunInfo { lab: lab.id.into(), config, total_steps: 1000, ..RunInfo::default() };
    let (mut q, mut mirror) = (Questions::default(), Mirror::begun(info));
    q.follow_run(&mirror);
    assert_eq!(q.next_scheduled("causality", &mirror), (probe.every > 0).then_some(0));
    mirror.apply(Event::Changed { step: 0, key: probe.interval_key, value: Value::Int(40) });
    mirror.report(0, 70, &[]);
    assert_eq!(q.next_scheduled("causality", &mirror), Some(80));
    assert_eq!(q.next_scheduled("settling", &mirror), None, "another lab asks that");
}

#[test]
fn a_question_asked_again_knows_that_it_was_answered() {
    let mut q = Questions::default();
    let mut mirror = run_at(100, RunState::Finished);
    q.register(KEY, args(0.0), &mirror, &moment(None));
    let request = q.register(KEY, args(0.0), &mirror, &moment_at(40));
    assert!(!q.repeats_answered(KEY), "nothing was answered");
    mirror.apply(Event::Question { request, state: QuestionState::Answered });
    for step in [50, 60] {
        q.register(KEY, args(0.0), &mirror, &moment_at(step));
        assert!(q.repeats_answered(KEY), "of step {step}");
    }
    q.register(KEY, args(1.0), &mirror, &moment_at(60));
    assert!(!q.repeats_answered(KEY), "it is another question");
}
