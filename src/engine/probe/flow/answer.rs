//! The answer to the steering panel's question: one solve at a control, with everything that the panel shows.

use super::{
    FlowInput, FlowTarget, SolveParams,
    along::{DEPTHS, Motion},
    basis::{Basis, states_at},
    linspace, words,
};
use crate::{
    ode::{self, SolverOptions, Trace},
    probe::prelude::*,
};

/// The number of points on a path in the plane for each sampled depth.
const POINTS_PER_DEPTH: usize = 8;
/// Words whose probability is shown.
const RANKS: usize = 12;

impl Probe for FlowArgs {
    type Answer = FlowAnswer;
    type Subject<'m> = FlowModel<'m>;

    fn ask(&self, model: FlowModel<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let (input, params) = FlowInput::from_args(model, self, cx)?;
        let rhs = input.rhs(params.control)?;
        // Paths in the plane are cheap to sample and bend more.
        let every = if input.planar_field().is_some() { POINTS_PER_DEPTH } else { 1 };
        let times = linspace(0.0, 1.0, (DEPTHS - 1) * every + 1);
        let (trace, states, end) = states_at(&input, &rhs, &times, &params.options)?;
        let basis = Basis::new(&input, &params)?;
        let paths = paths(&input, &basis, &times, &states)?;
        let coarse: Vec<Tensor> = states.into_iter().step_by(every).collect();
        let FlowControl { u, alpha } = params.control;
        let answer = FlowAnswer {
            control: measurements::FlowControl { u, alpha },
            solver: solver_use(&params.options),
            token: input.token,
            outcome: match input.target {
                FlowTarget::Language(model) => FlowOutcome::Language(language(&input, model, &params, cx, &end)?),
                FlowTarget::Plane(_, field) => FlowOutcome::Plane(PlanarOutcome { field: field.id().to_owned() }),
            },
            paths,
            trace: solver_trace(&trace),
            motion: Motion::new(&rhs, &coarse)?.measured(),
        };
        let about = format!("{}, {}", input.describe(), params.describe());
        Ok(Answer::new(answer, about, input.tokens))
    }
}

/// Words: the next one's distribution steered and not, the classes' shares, the continuation.
fn language(
    input: &FlowInput<'_>,
    model: &dyn LanguageFlow,
    params: &SolveParams,
    cx: &ProbeInputs<'_>,
    end: &Tensor,
) -> Result<LanguageOutcome> {
    let p = words::next(model, end)?;
    let unsteered = if params.control.u == [0.0; 4] {
        p.clone()
    } else {
        let rhs = input.rhs(FlowControl { u: [0.0; 4], ..params.control })?;
        words::next(model, &ode::solve(&rhs, &input.start, ode::Span::UNIT, &params.options)?.end)?
    };
    let ranked = words::top(&p, RANKS);
    let text = |id: u32| cx.corpus.token_text(id);
    let first = ranked.first().copied().unwrap_or_default();
    let continued = words::continuation(input, model, params, cx, first)?;
    let next =
        |&id: &u32| NextToken { token: text(id), probability: p[id as usize], unsteered: unsteered[id as usize] };
    let class = |ids: &[u32]| SteeringClass {
        tokens: ids.iter().map(|&id| text(id)).collect(),
        probability: words::mass(&p, ids),
        unsteered: words::mass(&unsteered, ids),
    };
    Ok(LanguageOutcome {
        prompt: input.prompt.clone(),
        next: ranked.iter().map(next).collect(),
        continuation: continued.into_iter().map(text).collect(),
        classes: model.steering().map(|s| SteeringClasses { plus: class(&s.plus), minus: class(&s.minus) }),
    })
}

/// The path of each token (or start), in the basis, at every sampled depth.
fn paths(input: &FlowInput<'_>, basis: &Basis, times: &[f64], states: &[Tensor]) -> Result<FlowPaths> {
    let mut places: Vec<Vec<f32>> = vec![vec![]; input.tokens.len()];
    for state in states {
        for (path, row) in places.iter_mut().zip(host::rows_f64(state)?) {
            path.extend(basis.project(&row).iter().map(|v| *v as f32));
        }
    }
    let shape = [places.len(), times.len(), basis.components.len()];
    Ok(FlowPaths {
        taus: times.to_vec().into(),
        places: Array::new(shape, places.concat())?,
        explained: basis.components.iter().map(|c| c.explained_variance).collect(),
    })
}

fn solver_use(options: &SolverOptions) -> SolverUse {
    let method = options.method;
    SolverUse {
        method: method.id().to_owned(),
        policy: options.policy,
        rtol: options.rtol,
        atol: options.atol,
        steps: options.steps,
        is_adaptive: method.is_adaptive(),
        order: method.tableau().order,
        evaluations_per_step: method.evaluations_per_step(options.policy) as u32,
    }
}

fn solver_trace(trace: &Trace) -> SolverTrace {
    let attempt = |a: &ode::Attempt| {
        let ode::Attempt { t, h, error, accepted, growth_capped } = *a;
        SolverAttempt { t, h, error, accepted, growth_capped }
    };
    let Trace { h_init, d0, d1, d2, nfe, ref attempts } = *trace;
    SolverTrace { h_init, d0, d1, d2, nfe, attempts: attempts.iter().map(attempt).collect() }
}
