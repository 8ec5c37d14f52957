//! Tests of numbers as of a step and over seeds, of brushing, ordering and averaging.

use std::collections::BTreeMap;

use super::{
    brush::{Brush, Dimension},
    order::{Column, PointOrder},
    *,
};

fn axis(key: &str, is_log: bool) -> ResultAxis {
    ResultAxis { key: key.into(), kind: AxisKind::Numbers { is_log } }
}

fn run(point: usize, seed: u64, state: Option<RowState>) -> SweepRun {
    let made =
        state.map(|state| MadeRun { path: format!("runs/{point}-{seed}").into(), state, state_label: String::new() });
    SweepRun { point, seed, made, refusal: None }
}

fn id(key: &str) -> NumberId {
    NumberId { key: key.into(), group: "a".into() }
}

/// Two rates and two sizes, two seeds each; the last point has no run, the third one cut off.
fn results() -> SweepResults {
    let places = [[0.001, 2.0], [0.001, 4.0], [0.1, 2.0], [0.1, 4.0]];
    let point = |p: [f64; 2]| ResultPoint { values: p.iter().map(f64::to_string).collect(), places: p.to_vec() };
    let finished = || Some(RowState::Finished);
    let runs = vec![
        run(0, 7, finished()),
        run(0, 8, finished()),
        run(1, 7, finished()),
        run(1, 8, Some(RowState::Failed("no number".into()))),
        run(2, 7, Some(RowState::Killed)),
        run(2, 8, None),
        run(3, 7, None),
        run(3, 8, None),
    ];
    let series = |points: &[(u64, f64)]| Arc::new(points.to_vec());
    let loss = vec![
        series(&[(0, 4.0), (10, 2.0), (20, 1.0)]),
        series(&[(0, 4.0), (10, 4.0), (20, 3.0)]),
        series(&[(0, 5.0), (20, 0.5)]),
        series(&[(0, f64::NAN)]),
        series(&[(5, 9.0)]),
        series(&[]),
        series(&[]),
        series(&[]),
    ];
    let number = |key: &str, better, series| Number {
        id: id(key),
        heading: key.into(),
        better,
        digits: Some(Digits::Decimals(2)),
        is_paired: false,
        series,
    };
    SweepResults {
        axes: vec![axis("train.lr", true), axis("model.pool", false)],
        points: places.map(point).into(),
        seeds: vec![7, 8],
        runs,
        numbers: vec![number("loss", Better::Lower, loss)],
        objective: Some(0),
        every: 1,
        ..SweepResults::default()
    }
}

#[test]
fn values_are_those_of_the_newest_recorded_step() {
    let r = results();
    let early = r.values_at_step(0, 9);
    let first = early.values[0].as_ref().unwrap();
    assert_eq!((first.mean, first.sd, first.steps), (4.0, Some(0.0), [0, 0]));
    assert_eq!(early.values[2].as_ref().unwrap().steps, [5, 5]);
    assert_eq!((early.points_without_value(), early.steps), (vec![3], Some([0, 5])), "what has no value is not a zero");
    let late = r.values_at_step(0, 20);
    let first = late.values[0].as_ref().unwrap();
    assert_eq!((first.mean, first.sd), (2.0, Some(2f64.sqrt())));
    assert_eq!(first.each, [(0, 1.0), (1, 3.0)]);
    assert_eq!(late.mean(1), None, "a seed that has no number leaves none to the mean");
    assert_eq!((late.extent(), r.last_step()), (Some([0.5, 9.0]), 20));
    assert_eq!((r.best(0, &late), r.best(0, &r.values_at_step(0, 0))), (Ok(vec![0]), Ok(vec![0])));
}

#[test]
fn a_value_of_an_earlier_step_is_not_compared_with_later_ones() {
    let mut r = results();
    // the run that was cut off has the lowest loss of all, but of step 5
    r.numbers[0].series[4] = Arc::new(vec![(5, 0.1)]);
    let late = r.values_at_step(0, 20);
    assert_eq!((late.newest_step(), late.mean(2), late.other_steps(2)), (Some(20), Some(0.1), Some([5, 5])));
    assert_eq!((late.other_steps(0), late.other_steps(3)), (None, None));
    assert_eq!(r.best(0, &late), Ok(vec![0]));
    assert_eq!(r.best(0, &r.values_at_step(0, 5)), Err(ONE_SEED), "at its own step it is compared, and has one seed");
    // one seed of the first point ended early
    r.numbers[0].series[1] = Arc::new(vec![(0, 4.0)]);
    let late = r.values_at_step(0, 20);
    assert_eq!((late.other_steps(0), r.best(0, &late)), (Some([0, 20]), Ok(vec![])));
}

#[test]
fn points_within_the_spread_are_best_together_and_all_of_them_are_none() {
    let mut r = results();
    (1..4).for_each(|series| r.numbers[0].series[series] = Arc::clone(&r.numbers[0].series[0]));
    let late = r.values_at_step(0, 20);
    assert_eq!((late.mean(0), late.mean(1), r.best(0, &late)), (Some(1.0), Some(1.0), Ok(vec![])));
    let best = |better, numbers: &[(usize, f64, Option<f64>)]| best_within_spread(better, numbers.iter().copied());
    let alike = [(0, 1.0, Some(0.5)), (1, 1.2, Some(0.5))];
    assert_eq!(best(Better::Lower, &alike), Ok(vec![]), "none is best where all are alike");
    let numbers = [(2, 1.0, Some(0.2)), (3, 1.3, Some(0.2)), (5, 1.5, Some(0.2)), (7, f64::NAN, None)];
    assert_eq!(best(Better::Lower, &numbers), Ok(vec![2, 3]));
    assert_eq!(best(Better::Higher, &numbers), Ok(vec![3, 5]));
    assert_eq!((best(Better::Neither, &numbers), best(Better::Lower, &[])), (Ok(vec![]), Ok(vec![])));
}

/// Its spread is not 0, by which it would be told from all others, but unknown.
#[test]
fn a_point_of_one_seed_leaves_the_best_untold() {
    let best = |numbers: [(usize, f64, Option<f64>); 3]| best_within_spread(Better::Lower, numbers.into_iter());
    let known = [(0, 1.0, Some(0.1)), (1, 2.0, Some(0.1)), (2, 3.0, Some(0.1))];
    assert_eq!(best(known), Ok(vec![0]));
    for place in 0..3 {
        let mut numbers = known;
        numbers[place].2 = None;
        assert_eq!(best(numbers), Err(ONE_SEED), "{place}");
    }
    let mut r = results();
    let number = r.numbers[0].clone();
    let no_side = Number { better: Better::Neither, ..number.clone() };
    assert!(r.can_mark_best(&number) && !r.can_mark_best(&no_side));
    r.seeds = vec![7];
    assert!(!r.can_mark_best(&number), "of one seed no spread is known, and no mark is explained");
}

#[test]
fn seeds_fold_where_both_have_a_step() {
    let r = results();
    assert_eq!(r.curve(0, 0), [[0.0, 4.0, 0.0], [10.0, 3.0, 2f64.sqrt()], [20.0, 2.0, 2f64.sqrt()]]);
    assert!(r.curve(0, 3).is_empty());
    let long: Vec<(u64, f64)> = (0..10).map(|i| (i, 0.0)).collect();
    let (kept, every) = downsampled(&long, 4);
    assert_eq!((kept.iter().map(|p| p.0).collect::<Vec<_>>(), every), (vec![0, 3, 6, 9], 3));
    assert_eq!(downsampled(&long, 10).1, 1);
}

#[test]
fn a_brush_leaves_the_points_inside_every_range() {
    let (r, mut brush) = (results(), Brush::default());
    let numbers = BTreeMap::from([(id("loss"), r.values_at_step(0, 20))]);
    assert_eq!(brush.selected(&r, &numbers), [true; 4]);
    brush.set(Dimension::Axis(0), [0.5, 0.05]);
    assert_eq!(brush.selected(&r, &numbers), [false, false, true, true], "ends in any order");
    brush.set(Dimension::Number(id("loss")), [0.0, 10.0]);
    assert_eq!(brush.selected(&r, &numbers), [false, false, true, false], "no value is inside no range");
    assert_eq!(brush.ranges.remove(&Dimension::Axis(0)), Some([0.05, 0.5]));
    assert_eq!(brush.selected(&r, &numbers), [true, false, true, false]);
    brush.ranges.clear();
    assert_eq!(brush.selected(&r, &numbers), [true; 4]);
}

#[test]
fn points_are_ordered_by_a_column_and_those_without_a_value_stand_last() {
    let (r, mut order) = (results(), PointOrder::default());
    let values_at_step = r.values_at_step(0, 20);
    order.click(Column::Number(id("loss")));
    assert_eq!(order.sorted(&r, Some(&values_at_step)), [0, 2, 1, 3]);
    order.click(Column::Number(id("loss")));
    assert_eq!(order.sorted(&r, Some(&values_at_step)), [2, 0, 1, 3], "turned round, and still last");
    order.click(Column::Axis(1));
    assert_eq!(order.sorted(&r, None), [0, 2, 1, 3]);
    order.click(Column::Runs);
    order.click(Column::Runs);
    assert_eq!(order.sorted(&r, None), [0, 1, 2, 3]);
}

#[test]
fn two_axes_make_cells_and_each_axis_a_line_of_means() {
    let r = results();
    let cells = r.cells().unwrap();
    assert_eq!(cells.places, [vec![0.001, 0.1], vec![2.0, 4.0]]);
    assert_eq!((cells.points[&(0, 1)], cells.points[&(1, 0)]), (1, 2));
    let line = r.mean_line(&r.values_at_step(0, 20), 0);
    assert!(!line.is_binned);
    // over 1, 3 and 0.5 at the small rate, 9 at the large one
    let [[x, low], [_, high]] = line.points[..] else { panic!("{line:?}") };
    assert!((x - 0.001).abs() < 1e-12 && (low - 1.5).abs() < 1e-12 && high == 9.0, "{line:?}");
    let mut scattered = r.clone();
    scattered.points.iter_mut().enumerate().for_each(|(i, p)| p.places = vec![0.01 * (i + 1) as f64, i as f64]);
    assert!(scattered.cells().is_none() && scattered.mean_line(&r.values_at_step(0, 20), 0).is_binned);
}

#[test]
fn the_progress_label_counts_runs_by_state() {
    let r = results();
    assert_eq!(r.progress(), RunCounts { finished: 3, running: 0, paused: 0, unfinished: 1, failed: 1, missing: 3 });
    assert_eq!(r.progress_label(), "3 of 8 runs finished, 1 cut off, 1 failed, 3 not begun");
    assert_eq!((r.progress().to_make(), r.failures()), (5, vec!["no number".to_owned()]));
    assert_eq!(r.point_name(1), "lr 0.001, pool 4");
    let mut long = r.clone();
    long.points[1] =
        ResultPoint { values: vec!["0.00464158883361".into(), "4".into()], places: vec![0.00464158883361, 4.0] };
    assert_eq!(long.point_name(1), "lr 0.004642, pool 4");
    assert_eq!((r.number(&id("loss")), r.number(&id("none")), r.first_number()), (Some(0), None, Some(0)));
}

#[test]
fn axes_of_a_sweep_are_numbers_or_words() {
    use crate::{experiments::sweep::SweepFile, labs};
    let lab = labs::find("fast_slow").unwrap();
    let base = lab.config(None).unwrap();
    let text = "base = \"fast_slow\"\n[axes]\n\"train.lr\" = [1e-3, 1e-2]\n\"variants.dense_swiglu\" = [true, false]\n";
    let sweep = Sweep::new(&SweepFile::parse(text).unwrap(), lab, &base).unwrap();
    let (axes, points) = ResultAxis::from_sweep(&sweep);
    assert!(axes[0].is_log() && axes[0].name() == "lr", "a logarithmic setting has a logarithmic axis: {axes:?}");
    assert_eq!(axes[1].kind, AxisKind::Words(vec!["true".into(), "false".into()]));
    assert_eq!(points[3].places, [0.01, 1.0]);
    assert_eq!(points[3].values, ["0.01", "false"]);
}

#[test]
fn each_point_counts_its_own_runs() {
    let mut r = results();
    r.runs.pop();
    assert_eq!([0, 1, 2, 3].map(|point| r.run_count(point)), [2, 2, 2, 1]);
}
