//! A partition of high modularity: Leiden (Traag, Waltman and van Eck, arXiv 1810.08473), for directed
//! and weighted graphs, from several seeds, the best kept; in small graphs each is perturbed and searched on.

use std::sync::atomic::{AtomicUsize, Ordering};

use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::{Graph, modularity};

/// A partition and its modularity.
#[derive(Debug, Clone, PartialEq)]
pub struct Communities {
    /// Community of each node; 0 has the most nodes.
    pub membership: Vec<u32>,
    /// The number of communities.
    pub count: usize,
    /// The modularity Q of the partition.
    pub modularity: f64,
}

/// The effort of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// The seed of the random choices.
    pub seed: u64,
    /// The number of independent runs; the best is kept.
    pub restarts: usize,
    /// Rounds of one run at most; a run ends early when a round gains nothing.
    pub rounds: usize,
    /// The number of times each run then dissolves some of its communities and searches on, keeping what is better;
    /// `None`: as often as costs well below a second, which is often for small graphs and never for large ones.
    pub perturbations: Option<usize>,
}

impl Default for Search {
    fn default() -> Self {
        Self { seed: 0, restarts: 5, rounds: 8, perturbations: None }
    }
}

/// Arcs, or nodes, that all perturbations of a run look at together.
const SIZE_PERTURBED: usize = 60_000;
const MAX_PERTURBATIONS: usize = 60;
/// Graphs with more arcs or nodes are searched without perturbations.
const MAX_PERTURBED_SIZE: usize = 8_000;

impl Search {
    fn perturbations(&self, graph: &Graph) -> usize {
        // each perturbation visits every node, whether it has arcs or not
        let size = graph.arcs().max(graph.nodes());
        let affordable =
            if size > MAX_PERTURBED_SIZE { 0 } else { (SIZE_PERTURBED / size.max(1)).min(MAX_PERTURBATIONS) };
        self.perturbations.unwrap_or(affordable)
    }
}

/// Communities that a perturbation dissolves.
const DISSOLVED: usize = 2;

/// The search ends after a round that gains less modularity than this.
const MIN_GAIN: f64 = 1e-5;

/// The best partition found. The same for the same graph and search, however many threads there are.
pub fn communities(graph: &Graph, search: Search) -> Communities {
    communities_with_progress(graph, search, |_| ())
}

/// Same as [`communities`]; `report` is given the number of restarts that are done.
pub fn communities_with_progress(graph: &Graph, search: Search, report: impl Fn(usize) + Sync) -> Communities {
    let (whole, done) = (Level::new(graph), AtomicUsize::new(0));
    let runs: Vec<Vec<u32>> = (0..search.restarts.max(1) as u64)
        .into_par_iter()
        .map(|run| {
            let mut rng = ChaCha8Rng::seed_from_u64(search.seed);
            rng.set_stream(run);
            let of = one_run(graph, &whole, search, &mut rng);
            report(done.fetch_add(1, Ordering::SeqCst) + 1);
            of
        })
        .collect();
    let scored = runs.into_iter().map(|of| (modularity::modularity(graph, &of).unwrap_or(0.0), of));
    let (modularity, of) = scored.reduce(|best, next| if next.0 > best.0 { next } else { best }).unwrap_or_default();
    let (of, count) = by_size(&of);
    Communities { membership: of, count, modularity }
}

/// Labels by falling size, equal sizes by first node.
pub(super) fn by_size(of: &[u32]) -> (Vec<u32>, usize) {
    let (of, count) = modularity::dense(of);
    let mut sizes = vec![0usize; count];
    of.iter().for_each(|c| sizes[*c as usize] += 1);
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|c| (std::cmp::Reverse(sizes[*c]), *c));
    let mut name = vec![0u32; count];
    order.iter().enumerate().for_each(|(new, old)| name[*old] = new as u32);
    (of.into_iter().map(|c| name[c as usize]).collect(), count)
}

/// A graph as moving nodes needs it. Only the sum of both directions matters for what joins a node to a
/// community: dQ = links / m - (out_v In_C + in_v Out_C) / m^2.
struct Level {
    starts: Vec<usize>,
    /// Neighbour and weight of the arcs to and from it; no loops.
    links: Vec<(u32, f64)>,
    out: Vec<f64>,
    into: Vec<f64>,
    /// Weight of all arcs.
    m: f64,
}

impl Level {
    fn new(graph: &Graph) -> Self {
        let (out, into) = graph.strengths();
        let n = graph.nodes();
        let others = || graph.iter().filter(|(a, b, _)| a != b);
        let mut starts = vec![0usize; n + 1];
        for (a, b, _) in others() {
            starts[a + 1] += 1;
            starts[b + 1] += usize::from(graph.directed);
        }
        (0..n).for_each(|v| starts[v + 1] += starts[v]);
        let links = if graph.directed {
            let (mut links, mut next) = (vec![(0, 0.0); starts[n]], starts.clone());
            for (from, to, w) in others().flat_map(|(a, b, w)| [(a, b, w), (b, a, w)]) {
                links[next[from]] = (to as u32, w);
                next[from] += 1;
            }
            links
        } else {
            // each arc is there both ways already, by rows
            others().map(|(_, b, w)| (b as u32, 2.0 * w)).collect()
        };
        Self { starts, links, out, into, m: graph.total() }
    }

    fn nodes(&self) -> usize {
        self.out.len()
    }

    fn links(&self, v: usize) -> &[(u32, f64)] {
        &self.links[self.starts[v]..self.starts[v + 1]]
    }

    /// The graph with one node for each of `count` groups.
    fn merged(&self, group: &[u32], count: usize) -> Self {
        let (mut out, mut into) = (vec![0.0; count], vec![0.0; count]);
        for v in 0..self.nodes() {
            out[group[v] as usize] += self.out[v];
            into[group[v] as usize] += self.into[v];
        }
        let mut members: Vec<u32> = (0..self.nodes() as u32).collect();
        members.sort_by_key(|v| group[*v as usize]);
        let mut near = CommunityWeights::new(count);
        let (mut starts, mut links) = (vec![0], vec![]);
        for same in members.chunk_by(|a, b| group[*a as usize] == group[*b as usize]) {
            let home = group[same[0] as usize];
            let of = same.iter().flat_map(|v| self.links(*v as usize)).map(|(u, w)| (group[*u as usize], *w));
            near.accumulate(of.filter(|(c, _)| *c != home));
            links.extend(near.found.iter().map(|c| (*c, near.weight[*c as usize])));
            starts.push(links.len());
        }
        Self { starts, links, out, into, m: self.m }
    }
}

/// Weight from one node to each community nearby: written, read, and wiped where it was written. A
/// community joined by links of no weight may be found more than once, which changes nothing.
struct CommunityWeights {
    weight: Vec<f64>,
    found: Vec<u32>,
}

impl CommunityWeights {
    fn new(n: usize) -> Self {
        Self { weight: vec![0.0; n], found: vec![] }
    }

    fn accumulate(&mut self, links: impl Iterator<Item = (u32, f64)>) {
        self.found.drain(..).for_each(|c| self.weight[c as usize] = 0.0);
        for (c, w) in links {
            let sum = &mut self.weight[c as usize];
            if *sum == 0.0 {
                self.found.push(c);
            }
            *sum += w;
        }
    }
}

fn one_run(graph: &Graph, whole: &Level, search: Search, rng: &mut ChaCha8Rng) -> Vec<u32> {
    let alone = (0..whole.nodes() as u32).collect();
    let (mut best, mut most) = improve_partition(graph, whole, alone, search.rounds, rng);
    for _ in 0..search.perturbations(graph) {
        let (of, modularity) = improve_partition(graph, whole, dissolve_two(&best, rng), search.rounds, rng);
        if modularity > most {
            (best, most) = (of, modularity);
        }
    }
    best
}

/// Rounds from a partition on, until one gains nothing; and the modularity then.
fn improve_partition(
    graph: &Graph,
    whole: &Level,
    mut of: Vec<u32>,
    rounds: usize,
    rng: &mut ChaCha8Rng,
) -> (Vec<u32>, f64) {
    let mut last = f64::NEG_INFINITY;
    for _ in 0..rounds.max(1) {
        of = one_round(whole, &of, rng);
        let now = modularity::modularity(graph, &of).unwrap_or(0.0);
        if now - last < MIN_GAIN {
            last = last.max(now);
            break;
        }
        last = now;
    }
    (of, last)
}

/// Dissolves two communities of a partition into single nodes, so that nodes that were merged wrongly early on can be
/// separated.
fn dissolve_two(of: &[u32], rng: &mut ChaCha8Rng) -> Vec<u32> {
    let mut communities: Vec<u32> = of.to_vec();
    communities.sort_unstable();
    communities.dedup();
    communities.shuffle(rng);
    communities.truncate(DISSOLVED);
    let mut free = of.iter().max().map_or(0, |most| most + 1);
    let alone = |c: &u32| {
        if !communities.contains(c) {
            return *c;
        }
        free += 1;
        free - 1
    };
    of.iter().map(alone).collect()
}

/// Moves, refines and merges until nothing moves. Algorithm A.1 of the paper.
fn one_round(whole: &Level, of: &[u32], rng: &mut ChaCha8Rng) -> Vec<u32> {
    // node of `whole` -> node of the level
    let mut place: Vec<u32> = (0..whole.nodes() as u32).collect();
    let mut owned: Option<Level> = None;
    let mut of = modularity::dense(of).0;
    loop {
        let level = owned.as_ref().unwrap_or(whole);
        move_nodes(level, &mut of, rng);
        let (labels, communities) = modularity::dense(&of);
        let (finer, parts) = modularity::dense(&refine(level, &labels, communities, rng));
        // nothing was merged: every part is one node, or the parts are the communities already
        if communities == level.nodes() || parts == level.nodes() {
            return place.iter().map(|p| labels[*p as usize]).collect();
        }
        let mut above = vec![0; parts];
        finer.iter().zip(&labels).for_each(|(part, c)| above[*part as usize] = *c);
        let next = level.merged(&finer, parts);
        place.iter_mut().for_each(|p| *p = finer[*p as usize]);
        of = above;
        owned = Some(next);
    }
}

/// Moves nodes to the community that gains most, in random order; the neighbours of a moved node are visited again.
/// Algorithm A.2.
fn move_nodes(level: &Level, of: &mut [u32], rng: &mut ChaCha8Rng) {
    let n = level.nodes();
    if level.m <= 0.0 {
        return;
    }
    // strengths out of and into each community, side by side because they are read together
    let (mut sums, mut size) = (vec![[0.0; 2]; n], vec![0usize; n]);
    for (v, c) in of.iter().enumerate() {
        let c = *c as usize;
        sums[c][0] += level.out[v];
        sums[c][1] += level.into[v];
        size[c] += 1;
    }
    let mut free: Vec<u32> = (0..n as u32).filter(|c| size[*c as usize] == 0).collect();
    let mut queue: Vec<u32> = (0..n as u32).collect();
    queue.shuffle(rng);
    let mut queue = std::collections::VecDeque::from(queue);
    let mut waits = vec![true; n];
    let mut near = CommunityWeights::new(n);
    let scale = 1.0 / level.m;
    while let Some(v) = queue.pop_front() {
        let v = v as usize;
        waits[v] = false;
        let home = of[v];
        let (o, i) = (level.out[v], level.into[v]);
        sums[home as usize][0] -= o;
        sums[home as usize][1] -= i;
        size[home as usize] -= 1;
        near.accumulate(level.links(v).iter().map(|(u, w)| (of[*u as usize], *w)));
        let gain = |c: u32| {
            let [out, into] = sums[c as usize];
            near.weight[c as usize] - (o * into + i * out) * scale
        };
        let (mut best, mut most) = (home, gain(home));
        for &c in &near.found {
            let g = gain(c);
            if g > most + 1e-12 * level.m {
                (best, most) = (c, g);
            }
        }
        // on its own it gains nothing, which can be the best
        if most < 0.0
            && size[home as usize] > 0
            && let Some(&c) = free.last()
        {
            best = c;
        }
        if best != home {
            if size[best as usize] == 0 {
                free.pop();
            }
            if size[home as usize] == 0 {
                free.push(home);
            }
            of[v] = best;
            for (u, _) in level.links(v) {
                if of[*u as usize] != best && !waits[*u as usize] {
                    waits[*u as usize] = true;
                    queue.push_back(*u);
                }
            }
        }
        sums[best as usize][0] += o;
        sums[best as usize][1] += i;
        size[best as usize] += 1;
    }
}

/// The well-connected parts of each community: single nodes join the part of their community that gains most, if both
/// are well connected to the rest of it. Algorithm A.3, with the best part in place of a random one: at the paper's
/// theta = 0.01 the draw hardly ever picks another.
fn refine(level: &Level, of: &[u32], count: usize, rng: &mut ChaCha8Rng) -> Vec<u32> {
    let n = level.nodes();
    let mut part: Vec<u32> = (0..n as u32).collect();
    if level.m <= 0.0 {
        return part;
    }
    let (mut out_of, mut into_of) = (vec![0.0; count], vec![0.0; count]);
    for (v, c) in of.iter().enumerate() {
        out_of[*c as usize] += level.out[v];
        into_of[*c as usize] += level.into[v];
    }
    let (mut out, mut into) = (level.out.clone(), level.into.clone());
    let mut alone = vec![true; n];
    // weight from each part to the rest of its community
    let mut edge: Vec<f64> =
        (0..n).map(|v| level.links(v).iter().filter(|(u, _)| of[*u as usize] == of[v]).map(|(_, w)| w).sum()).collect();
    let scale = 1.0 / level.m;
    let joined = |c: usize, o: f64, i: f64, edge: f64| {
        edge >= (o * (into_of[c] - i) + i * (out_of[c] - o)) * scale - 1e-12 * level.m
    };
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.shuffle(rng);
    let mut near = CommunityWeights::new(n);
    for v in order {
        let v = v as usize;
        let c = of[v] as usize;
        let (o, i) = (level.out[v], level.into[v]);
        if !alone[v] || !joined(c, o, i, edge[v]) {
            continue;
        }
        let inside = level.links(v).iter().filter(|(u, _)| of[*u as usize] as usize == c);
        near.accumulate(inside.map(|(u, w)| (part[*u as usize], *w)));
        let (mut best, mut most) = (v as u32, 0.0);
        for &p in &near.found {
            let at = p as usize;
            let gain = near.weight[at] - (o * into[at] + i * out[at]) * scale;
            if gain > most && joined(c, out[at], into[at], edge[at]) {
                (best, most) = (p, gain);
            }
        }
        if best as usize != v {
            let at = best as usize;
            out[at] += o;
            into[at] += i;
            edge[at] += edge[v] - 2.0 * near.weight[at];
            part[v] = best;
            alone[at] = false;
            alone[v] = false;
        }
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_without_arcs_count_for_the_effort() {
        let perturbations = |nodes| Search::default().perturbations(&Graph::new(nodes, &[(0, 1, 1.0)], false).unwrap());
        assert_eq!([2, 6_000, 300_000].map(perturbations), [60, 10, 0]);
    }

    #[test]
    fn each_restart_is_reported() {
        let graph = Graph::new(4, &[(0, 1, 1.0), (2, 3, 1.0)], false).unwrap();
        let (search, reported) = (Search { restarts: 3, ..Search::default() }, std::sync::Mutex::new(vec![]));
        let found = communities_with_progress(&graph, search, |done| reported.lock().unwrap().push(done));
        let mut reported = reported.into_inner().unwrap();
        reported.sort_unstable();
        assert_eq!(reported, [1, 2, 3]);
        assert_eq!(found, communities(&graph, search));
    }
}
