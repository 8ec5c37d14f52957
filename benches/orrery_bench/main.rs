//! `orrery-bench`: how long a training step takes, where its time goes, and how that compares with PyTorch. A
//! program of its own, since it serves those who make Orrery faster, not those who use it.

use std::process::ExitCode;

use clap::Parser;
use orrery::{
    cli::{self, Failure},
    nn::{self, memory::Counting},
};

mod case;
mod communities;
mod curves;
mod families;
mod frames;
mod graph_picture;
mod inference;
mod jobs;
mod latency;
mod line_peer;
mod operations;
mod peak;
mod peer;
mod products;
mod solvers;
mod streaming;
mod timing;
mod unwatched;

use case::{Case, Sizes};
use line_peer::LinePeer;

#[global_allocator]
static ALLOCATOR: Counting<mimalloc::MiMalloc> = Counting(mimalloc::MiMalloc);

/// Time training steps, alone or against PyTorch.
#[derive(Parser)]
#[command(name = "orrery-bench", version)]
struct BenchArgs {
    /// Only this case
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
    /// Threads; 0 for as many as the machine has
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Timed steps of a case
    #[arg(long, default_value_t = 20)]
    steps: usize,
    /// Steps before those, not timed
    #[arg(long, default_value_t = case::WARM)]
    warm: usize,
    #[command(flatten)]
    sizes: Sizes,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    /// Time single operations at the sizes of the fast-slow step and of the other families, and the peak
    /// of a matrix product
    #[arg(long, conflicts_with_all = ["case", "vs_torch"])]
    operations: bool,
    /// Time our matrix products in turn with those of the gemm crate, by shape, on one and on two threads
    #[arg(long, conflicts_with_all = ["case", "operations", "solvers", "latency", "communities", "json", "vs_torch"])]
    products: bool,
    /// Time solves of differential equations; with --vs-torch PYTHON benches/torchdiffeq_bench.py in turn
    /// with torchdiffeq
    #[arg(long, conflicts_with_all = ["case", "operations", "json"])]
    solvers: bool,
    /// Time answers of the ODE flow to a moved slider, while a run stands and while it trains
    #[arg(long, conflicts_with_all = ["case", "operations", "solvers", "json", "vs_torch"])]
    latency: bool,
    /// Time the search for communities; with --vs-torch PYTHON benches/communities_bench.py in turn with
    /// leidenalg, igraph and networkx
    #[arg(long, conflicts_with_all = ["case", "operations", "solvers", "json"])]
    communities: bool,
    /// Time a step of the neuron graph's layout and a frame of its picture on the adapter found; --steps
    /// is how many frames
    #[arg(long, conflicts_with_all = ["case", "operations", "solvers", "vs_torch", "json"])]
    graph_picture: bool,
    /// Time a streamed token of the EMA language model after 1,000, 10,000 and 100,000 others
    #[arg(long, conflicts_with_all = ["case", "operations", "products", "solvers", "latency", "communities", "graph_picture", "vs_torch", "json"])]
    streaming: bool,
    /// Time how a BDH of the public size (25 million weights) reads a text of 1,000 tokens, and tokens one by one; with
    /// --vs-torch PYTHON benches/bdh_inference_bench.py in turn with PyTorch
    #[arg(long, conflicts_with_all = ["case", "operations", "products", "solvers", "latency", "communities", "graph_picture", "streaming", "json"])]
    inference: bool,
    /// Open the window on this lab, drag, scrub and train by a script of a minute, and print how long frames took and what
    /// the run lost by being looked at; needs a display
    #[arg(long, value_name = "LAB", conflicts_with_all = ["case", "operations", "products", "solvers", "latency", "communities", "graph_picture", "streaming", "inference", "json", "vs_torch"])]
    frames: Option<String>,
    /// With --frames: a software adapter draws every frame whole, as a graphics card does
    #[arg(long, requires = "frames")]
    whole: bool,
    /// Time this many small runs (of --case, else fast_slow), one after another and in parallel on all cores, in turn,
    /// and print the ratio
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "8", conflicts_with_all = ["operations", "products", "solvers", "latency", "communities", "graph_picture", "streaming", "inference", "frames", "json", "vs_torch", "threads"])]
    jobs: Option<usize>,
    /// Interleave with this Python running this script (benches/torch_bench.py) and print ratios
    #[arg(long, num_args = 2, value_names = ["PYTHON", "SCRIPT"])]
    vs_torch: Option<Vec<String>>,
    /// With --vs-torch: four families (or --case) by tokens, width and batch, here and in PyTorch, with the exponents by which
    /// time grows; --steps 3 is enough
    #[arg(long, requires = "vs_torch", conflicts_with_all = ["solvers", "communities", "inference", "json", "tokens", "width", "batch"])]
    curves: bool,
    /// With --curves: write the charts to this SVG file
    #[arg(long, value_name = "FILE", requires = "curves")]
    picture: Option<std::path::PathBuf>,
    /// With --vs-torch or --jobs: how often each side runs
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// With --vs-torch: let the peer compile its models
    #[arg(long, requires = "vs_torch")]
    compile: bool,
}

impl BenchArgs {
    fn threads(&self) -> usize {
        if self.threads > 0 { self.threads } else { std::thread::available_parallelism().map_or(1, usize::from) }
    }

    fn cases(&self) -> Result<Vec<Case>, Failure> {
        let chosen = match &self.case {
            Some(name) => std::slice::from_ref(Case::named(name)?),
            None => case::CASES,
        };
        chosen.iter().map(|case| case.at(self.sizes)).collect()
    }
}

fn main() -> ExitCode {
    cli::prepare_process();
    cli::exit_code(run(&BenchArgs::parse()))
}

fn run(args: &BenchArgs) -> Result<(), Failure> {
    let cases = args.cases()?;
    if let Some(lab) = &args.frames {
        return frames::report(lab, args.whole);
    }
    if args.graph_picture {
        return graph_picture::report(args.steps);
    }
    if args.products {
        products::report();
        return Ok(());
    }
    if args.latency {
        return latency::report(args.threads());
    }
    if args.solvers || args.communities || args.inference {
        if args.steps == 0 {
            return Err(Failure::usage("--steps 0 times nothing; use 1 or more"));
        }
        nn::set_threads(args.threads());
        let peer = match args.vs_torch.as_deref() {
            Some([python, script]) => Some(LinePeer::start(python, script, args.threads())?),
            _ => None,
        };
        return match (args.solvers, args.communities) {
            (true, _) => solvers::report(args, peer),
            (_, true) => communities::report(args, peer),
            _ => inference::report(args, peer),
        };
    }
    if let Some([python, script]) = args.vs_torch.as_deref() {
        return match args.curves {
            true => curves::report(args, python, script, args.picture.as_deref()),
            false => peer::compare(args, &cases, python, script),
        };
    }
    if args.steps == 0 {
        return Err(Failure::usage("--steps 0 times nothing; use 1 or more"));
    }
    if let Some(jobs) = args.jobs {
        return jobs::report(args, jobs);
    }
    nn::set_threads(args.threads());
    // backward recurses over the graph
    let worker = std::thread::scope(|scope| {
        let body = || match (args.operations, args.streaming) {
            (true, _) => operations::report(),
            (_, true) => streaming::report(),
            _ => measure(args, &cases),
        };
        match std::thread::Builder::new().stack_size(64 << 20).spawn_scoped(scope, body) {
            Ok(worker) => worker.join().unwrap_or_else(|_| Err(candle_core::Error::Msg("the bench panicked".into()))),
            Err(e) => Err(e.into()),
        }
    });
    worker.map_err(|e| Failure::run(format!("the bench failed: {e}")))
}

fn measure(args: &BenchArgs, cases: &[Case]) -> candle_core::Result<()> {
    if !args.json {
        println!(
            "{:<12}{:>10}{:>12}{:>20}{:>12}{:>12}",
            "case", "params", "ms per step", "least .. most", "GFLOP/s", "peak MiB"
        );
    }
    for case in cases {
        let found = case.measure(args.warm, args.steps)?;
        if args.json {
            println!("{}", serde_json::to_string(&found).map_err(candle_core::Error::wrap)?);
            continue;
        }
        println!(
            "{:<12}{:>10}{:>12.2}{:>20}{:>12.0}{:>12}",
            found.case,
            found.params,
            found.ms_median,
            format!("{:.2} .. {:.2}", found.ms_min, found.ms_max),
            found.gflop / found.ms_median * 1e3,
            found.peak_mib.map_or("-".to_owned(), |m| format!("{m:.0}")),
        );
        println!(
            "{:<12}{:.0} allocations of {:.1} MiB a step, {:.2} GFLOP of products",
            "", found.allocations, found.allocated_mib, found.gflop
        );
    }
    Ok(())
}
