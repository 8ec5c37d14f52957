"""`<oracle>.safetensors`: a small model of one family, its weights, gradients, outputs and a short training.

Weights and tokens are drawn from the seed, tensor after tensor in the order of the state dict, so that the same seed
gives the same file on every machine (PyTorch's CPU generator is the same everywhere).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor, nn

from families.alibi_gpt import AlibiGpt, CachedAlibiGpt
from families.bdh import Bdh
from families.coupled_qk import KINDS, CoupledQk
from families.dense import Dense
from families.fast_slow import FastSlow, causal_pool, causal_upsample
from families.graph_bdh import GraphBdh
from families.ode_flow import OdeFlow, PlainGpt
from families.spen import RATES, Spen, moving_average

SEQUENCES = 2
TRAINING_STEPS = 30
# Losses of f32 and f64 are further apart than this where rounding decides; fewer steps than these do not make a curve.
SETTLED, FEWEST_STEPS = 1e-4, 5
# So many trainings in f64 from weights that differ by this share may be so far apart: half of what the tests allow.
NEARBY_TRAININGS, NEARBY, NEARBY_SETTLED = 6, 3e-7, 5e-4
AUX_WEIGHT = 0.01
# An untrained model hides mistakes: norms of ones, biases of zeros, a gate that is shut. So every kind of
# parameter is drawn, and these scalars are set.
WEIGHT_STD, NORM_STD, BIAS_STD = 0.08, 0.1, 0.05
HEAD_STEPS = [0.05, 0.1, 0.2, 0.3]  # dt of each head
CONTROLS = [[1.0, 0.0, 0.0, 0.0], [-0.5, 0.25, 0.0, 1.0]]  # one for each sequence

Outputs = dict[str, Tensor]
IGNORE = 2**32 - 1  # a target that does not count


def no_outputs(_model: nn.Module, _tokens: Tensor) -> Outputs:
    return {}


def fast_slow_outputs(model: FastSlow, tokens: Tensor) -> Outputs:
    """Of the embedded tokens, before any block."""
    pooled = causal_pool(model.embed(tokens), model.pool)
    return {"pool": pooled, "upsample": causal_upsample(pooled, model.pool, tokens.shape[1])}


def bdh_outputs(model: Bdh, tokens: Tensor) -> Outputs:
    _, xs, ys = model.activity(tokens)
    return {f"{name}_{layer}": t for name, of in (("x", xs), ("y", ys)) for layer, t in enumerate(of)}


def graph_outputs(model: GraphBdh, tokens: Tensor) -> Outputs:
    """Also the graph, which is not a parameter."""
    _, xs, ys = model.activity(tokens)
    activity = {f"{name}_{layer}": t for name, of in (("x", xs), ("y", ys)) for layer, t in enumerate(of)}
    return activity | {name: buffer for name, buffer in model.named_buffers() if name.endswith("source")}


def flow_outputs(model: OdeFlow, tokens: Tensor) -> Outputs:
    """The slope at the embedded tokens, without positions."""
    return {"field_tau_0.3": model.field(0.3, model.embed(tokens), torch.tensor(CONTROLS))}


def spen_outputs(model: Spen, tokens: Tensor) -> Outputs:
    embedded = model.embed(tokens)
    return {f"ema_{rate}": moving_average(embedded, rate) for rate in RATES} | {"aux": model.aux.reshape(1)}


def coupled_outputs(model: CoupledQk, tokens: Tensor) -> Outputs:
    """q and k of the first layer, before and after they move."""
    layer = model.layers[0]
    q, k, _ = layer.attn.project(layer.norm1(model.embedded(tokens)))
    q_evolved, k_evolved = layer.attn.evolve(q, k)
    return {"q0": q, "k0": k, "q_evolved": q_evolved, "k_evolved": k_evolved}


@dataclass
class ModelOracle:
    """`config` is what the family's constructor takes and what the file's metadata holds."""

    family: Callable[..., nn.Module]
    config: dict
    tokens: int
    outputs: Callable[[nn.Module, Tensor], Outputs] = no_outputs
    scalars: dict[str, list[float]] = field(default_factory=dict)  # by the end of the parameter's name
    control: bool = False
    targets: Callable[[Tensor], Tensor] = lambda ids: ids[:, 1:]
    std: float = WEIGHT_STD


SLOW = dict(vocab=48, d=32, heads=4, kv_heads=2, n_pre=1, n_post=1, n_slow=2, n_rounds=2, pool=4)
SMALL = dict(vocab=32, d=16, n_slow=1)
FLOW = dict(vocab=48, d=32, heads=4, ctx=32, head_layers=1, tail_layers=1, control=4, steps=4)


def fast_slow(projector_hidden: int | None, **changes: object) -> ModelOracle:
    config = SLOW | {"projector_hidden": projector_hidden} | changes
    # 22 tokens: the last block is shorter than the pool
    return ModelOracle(FastSlow, config, 22, fast_slow_outputs, {"gamma": [0.3]})


def solved() -> ModelOracle:
    """Weights of Post for which x + R(x) + injection is a contraction near its fixed point: 1.1 times a quarter turn of
    pairs of channels of x / rms(x), less the direction of what that gives."""
    d = 16
    eye = torch.eye(d)
    turn = torch.block_diag(*[torch.tensor([[0.0, -1.1], [1.1, 0.0]])] * (d // 2))
    rest = torch.zeros(2 * d, d)
    post = {
        "attn.wv": eye,
        "attn.wo": turn,
        "mlp.up": torch.cat((eye, -eye, rest)),  # gelu(z) - gelu(-z) = z
        "mlp.down": torch.cat((-eye, eye, rest.T), dim=1),
    }
    scalars = {f"post.0.{name}.weight": weight.flatten().tolist() for name, weight in post.items()}
    scalars["gamma"] = [1.0986]
    changes = SMALL | dict(d=d, kv_heads=4, n_rounds=1, approach="deq", window=1, upsample="leaky")
    return replace(fast_slow(None, **changes), scalars=scalars)


def accelerated() -> ModelOracle:
    """Anderson's acceleration where a pass changes the residual, so that its quotient stands far above rounding."""
    oracle = solved()
    changes = dict(approach="anderson", passes=3, window=None, upsample="causal")
    return replace(oracle, config=oracle.config | changes, std=0.3)


def stepped() -> ModelOracle:
    """A backward Euler step with a Post so small that x0 + R(x) is a contraction."""
    d, generator = 24, torch.Generator().manual_seed(3)
    config = SMALL | dict(d=d, heads=3, kv_heads=1, pool=5, approach="backward_euler")
    oracle = fast_slow(None, **config)
    sizes = {"attn.wo": d * d, "mlp.down": 4 * d * d}
    weights = {name: 0.02 * torch.randn(size, generator=generator) for name, size in sizes.items()}
    scalars = {f"post.0.{name}.weight": weight.tolist() for name, weight in weights.items()}
    return replace(oracle, scalars=oracle.scalars | scalars)


def decaying(mixer: str) -> ModelOracle:
    """Weights so large that thirty steps do not turn the sign of what the first slow position reads: the norm of its
    one read, v (q k), keeps nothing of (q k) but the sign."""
    oracle = fast_slow(None, **SMALL, slow_mixer=mixer)
    scalars = oracle.scalars | ({"decay.bias": [0.4, -0.7]} if mixer == "decay" else {})
    return replace(oracle, tokens=86, scalars=scalars, std=0.6)


def coupled(kind: str) -> ModelOracle:
    config = dict(vocab=48, d=32, heads=4, ff=64, layers=2, ctx=32, kind=kind, steps=3, use_rope=False)
    return ModelOracle(CoupledQk, config, 20, coupled_outputs, {"tau": torch.tensor(HEAD_STEPS).log().tolist()})


def coupled_differential(kind: str, **sizes: int) -> ModelOracle:
    config = coupled(kind).config | sizes
    heads = sizes["heads"]
    scalars = {"tau": torch.tensor(HEAD_STEPS[:heads]).log().tolist(), "lam": [0.3, 0.55, 0.8][:heads]}
    return ModelOracle(CoupledQk, config, 21, coupled_outputs, scalars)


def classified(ids: Tensor) -> Tensor:
    """One class of three for each sequence, after its last token; the second sequence is shorter."""
    targets = torch.full_like(ids[:, 1:], IGNORE)
    for row, last in enumerate((targets.shape[1] - 1, targets.shape[1] // 2)):
        targets[row, last] = ids[row, last] % 3
    return targets


def classifier() -> ModelOracle:
    config = coupled("hamiltonian").config | dict(d=24, heads=3, ff=40, ctx=28, steps=2, classes=3)
    return ModelOracle(
        CoupledQk, config, 26, scalars={"tau": torch.tensor(HEAD_STEPS[:3]).log().tolist()}, targets=classified
    )


def coupled_with_rope() -> ModelOracle:
    return ModelOracle(CoupledQk, coupled("euler").config | {"steps": 1, "use_rope": True}, 20)


def predicted_by_attention() -> ModelOracle:
    """Queries and keys so large that attention over slow traces, which differ little, is far from uniform."""
    d, generator = 30, torch.Generator().manual_seed(5)
    config = dict(vocab=40, d=d, ff=70, k=5, layers=3, predictor="full_softmax_attention", heads=5)
    weights = {name: 2.5 * torch.randn(d * d, generator=generator) for name in ("wq", "wk")}
    scalars = {f"pred.{name}.weight": weight.tolist() for name, weight in weights.items()}
    return ModelOracle(Spen, config, 83, spen_outputs, scalars, std=0.2)


def mixed_residual(residual: str, layers: int, **changes: float) -> ModelOracle:
    """Queries that prefer some layers, which differ by channel."""
    config = dict(vocab=32, d=16, heads=2, layers=layers, residual=residual)
    return ModelOracle(AlibiGpt, config, 20, scalars={"query": torch.linspace(-1, 1, 16).tolist()}, **changes)


ORACLES = {
    "fast_slow_linear": fast_slow(None),
    "fast_slow_mlp": fast_slow(40),
    "fast_slow_passes": fast_slow(None, **SMALL, approach="passes", passes=3),
    "fast_slow_anderson": accelerated(),
    "fast_slow_penalty": fast_slow(None, **SMALL, has_penalty=True),
    "fast_slow_deq": solved(),
    "fast_slow_backward_euler": stepped(),
    "fast_slow_cycles": fast_slow(None, **SMALL, cycle_passes=3),
    "fast_slow_last_cycle": fast_slow(24, **SMALL, cycle_passes=2, last_cycle_only=True),
    # 86 tokens: 22 pooled positions, more than one chunk of 16
    **{f"fast_slow_{mixer}": decaying(mixer) for mixer in ("gated_linear", "decay")},
    "dense_swiglu": ModelOracle(Dense, dict(vocab=48, d=32, heads=4, kv_heads=2, layers=2, hidden=128), 20),
    "plain_gpt": ModelOracle(PlainGpt, dict(vocab=48, d=32, heads=4, ctx=32, layers=2), 20),
    # three heads: their slopes are not powers of a half
    "alibi_gpt": ModelOracle(AlibiGpt, dict(vocab=48, d=36, heads=3, layers=2), 40),
    "alibi_gpt_learned": mixed_residual("learned", 4),
    "alibi_gpt_attention": mixed_residual("attention", 3, std=0.12),
    # three parts, each shorter than the cache, which is shorter than the text
    "alibi_gpt_cache": ModelOracle(CachedAlibiGpt, dict(vocab=40, d=24, heads=3, layers=2, window=17, part=12), 36),
    "ode_flow": ModelOracle(OdeFlow, FLOW, 20, flow_outputs, {"field.alpha": [0.4]}, control=True),
    "bdh": ModelOracle(Bdh, dict(vocab=48, d=32, heads=2, n=256, layers=3), 24, bdh_outputs),
    # weights with which neither layer vanishes
    "bdh_normfree": ModelOracle(
        Bdh, dict(vocab=40, d=20, heads=2, n=112, layers=2, normfree=True), 26, bdh_outputs, std=0.21
    ),
    "bdh_no_bptt": ModelOracle(Bdh, dict(vocab=48, d=24, heads=3, n=192, layers=2, through_past=False), 30),
    "bdh_equation_8": ModelOracle(
        Bdh, dict(vocab=36, d=24, heads=3, n=120, layers=3, equation_8=True), 23, bdh_outputs, std=0.2
    ),
    "bdh_gated": ModelOracle(
        Bdh,
        dict(vocab=40, d=20, heads=3, n=132, layers=3, gated=True),
        25,
        bdh_outputs,
        {"merge": [0.5, -0.4, 0.2]},
        std=0.2,
    ),
    "graph_bdh": ModelOracle(
        GraphBdh,
        dict(vocab=36, n=44, degree=5, synapses=7, layers=2, memory=12.0, norms=True),
        24,
        graph_outputs,
        std=0.4,
    ),
    "graph_bdh_normfree": ModelOracle(
        GraphBdh,
        dict(vocab=36, n=40, degree=6, synapses=9, layers=2, memory=6.0, norms=False),
        18,
        graph_outputs,
        std=0.5,
    ),
    # 153 tokens: more than two chunks of the moving average, the last one short
    "spen": ModelOracle(Spen, dict(vocab=48, d=24, ff=96, k=6, layers=2), 153, spen_outputs),
    "spen_full_softmax": predicted_by_attention(),
    **{f"qk_{kind}": coupled(kind) for kind in KINDS},
    "qk_diff_euler": coupled_differential("diff_euler", d=24, heads=3, ff=40, ctx=28, steps=2),
    "qk_diff_hamiltonian": coupled_differential("diff_hamiltonian", d=32, heads=2, ff=48, ctx=24, steps=4),
    "qk_diff_euler_rope": coupled_differential("diff_euler", d=24, heads=3, ff=40, ctx=28, steps=1, use_rope=True),
    "qk_euler_rope": coupled_with_rope(),
    "qk_classifier": classifier(),
}


def draw(model: nn.Module, scalars: dict[str, list[float]], generator: torch.Generator, std: float) -> None:
    """Matrices are normal about 0, gains about 1, biases about 0; what `scalars` names is set; the rest stays."""
    for name, parameter in model.named_parameters():
        fixed = [values for end, values in scalars.items() if name.endswith(end)]
        if fixed:
            parameter.data = torch.tensor(fixed[0]).reshape(parameter.shape)
        elif parameter.dim() >= 2:
            parameter.data = std * torch.randn(parameter.shape, generator=generator)
        elif name.endswith("weight"):
            normal = torch.randn(parameter.shape, generator=generator)
            parameter.data = torch.ones(parameter.shape).add(normal, alpha=NORM_STD)
        elif name.endswith("bias"):
            parameter.data = BIAS_STD * torch.randn(parameter.shape, generator=generator)


def losses(model: nn.Module, inputs: tuple[Tensor, ...], targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, mean cross-entropy in nats, and the total that is differentiated."""
    logits = model(*inputs)
    cross_entropy = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORE)
    aux = getattr(model, "aux", None)
    return logits, cross_entropy, cross_entropy if aux is None else cross_entropy + AUX_WEIGHT * aux


def train(model: nn.Module, inputs: tuple[Tensor, ...], targets: Tensor) -> Tensor:
    """Cross-entropy before each AdamW step on the one batch."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    seen = []
    for _ in range(TRAINING_STEPS):
        _, cross_entropy, total = losses(model, inputs, targets)
        seen.append(cross_entropy.item())
        optimizer.zero_grad()
        total.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return torch.tensor(seen, dtype=torch.float64)


def settled(oracle: ModelOracle, seed: int) -> Tensor:
    """The steps of the training whose loss does not depend on rounding. Where a model turns a difference of rounding
    into one of the weights (a norm of a read that is nearly 0, the quotient of Anderson's step, two units that are
    nearly the last to be kept), later ones say nothing."""
    curves = []
    nearby = torch.Generator().manual_seed(seed)
    for dtype, share in [(torch.float32, 0.0), (torch.float64, 0.0)] + NEARBY_TRAININGS * [(torch.float64, NEARBY)]:
        model, ids = drawn(oracle, seed)
        inputs = (ids[:, :-1], torch.tensor(CONTROLS, dtype=dtype)) if oracle.control else (ids[:, :-1],)
        torch.set_default_dtype(dtype)
        model = model.to(dtype)
        for parameter in model.parameters():
            parameter.data *= 1 + share * torch.randn(parameter.shape, generator=nearby)
        curves.append(train(model, inputs, oracle.targets(ids)))
        torch.set_default_dtype(torch.float32)
    limits = torch.tensor([SETTLED] + NEARBY_TRAININGS * [NEARBY_SETTLED])
    apart = ((torch.stack(curves[1:]) - curves[0]).abs() > limits[:, None]).any(0).nonzero()
    steps = int(apart[0]) if len(apart) else TRAINING_STEPS
    if steps < FEWEST_STEPS:
        raise ValueError(f"rounding decides after {steps} steps: choose other sizes or weights")
    return curves[0][:steps].float()


def drawn(oracle: ModelOracle, seed: int) -> tuple[nn.Module, Tensor]:
    """The model with its weights, and ids (sequences, tokens + 1)."""
    generator = torch.Generator().manual_seed(seed)
    model = oracle.family(**oracle.config)
    draw(model, oracle.scalars, generator, oracle.std)
    return model, torch.randint(0, oracle.config["vocab"], (SEQUENCES, oracle.tokens + 1), generator=generator)


def make_one(name: str, oracle: ModelOracle, seed: int, out: Path) -> None:
    model, ids = drawn(oracle, seed)
    tokens, targets = ids[:, :-1], oracle.targets(ids)
    inputs = (tokens, torch.tensor(CONTROLS)) if oracle.control else (tokens,)

    logits, cross_entropy, total = losses(model, inputs, targets)
    total.backward()
    tensors = {"in.tokens": tokens, "in.targets": targets, "out.logits": logits, "out.loss": cross_entropy.reshape(1)}
    if oracle.control:
        tensors["in.control"] = inputs[1]
    for parameter_name, parameter in model.named_parameters():
        tensors[f"w.{parameter_name}"] = parameter
        # positions that rotary ones replace are not reached by the loss
        tensors[f"grad.{parameter_name}"] = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
    with torch.no_grad():
        tensors |= {f"out.{key}": value for key, value in oracle.outputs(model, tokens).items()}
    saved = {key: tensor.detach().clone().contiguous() for key, tensor in tensors.items()}
    saved["out.train_losses"] = settled(oracle, seed)
    metadata = {"config": json.dumps(oracle.config), "torch": torch.__version__, "seed": str(seed)}
    save_file(saved, out / f"{name}.safetensors", metadata)


def make(seed: int, out: Path, only: str | None = None) -> None:
    for name, oracle in ORACLES.items():
        if only in (None, name):
            make_one(name, oracle, seed, out)
            print(f"{name}.safetensors", flush=True)
