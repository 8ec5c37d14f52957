"""What is seen in PyTorch models while they train, against the same computed by hand."""

from __future__ import annotations

import copy
import importlib.util
import io
import math
import struct
import sys
import threading
from pathlib import Path

import orrery_log
import pytest
from strict import Folder, array, tensors

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

torch.set_num_threads(1)
EXAMPLES = Path(__file__).parents[1] / "examples"


def example(name):
    """An example as a module; skipped where what it imports is not here."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ImportError as e:
        if "orrery" in str(e):
            raise
        pytest.skip(str(e))
    return module


class SoftmaxAttention(nn.Module):
    """Attention as people write it by hand, with dropout."""

    def __init__(self, width=16, heads=2, causal=True):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.heads, self.causal = heads, causal
        self.drop = nn.Dropout(0.3)
        self.gamma = nn.Parameter(torch.tensor(0.5))
        self.act = nn.ReLU()

    def weights(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        if self.causal:
            scores = scores.masked_fill(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1), -math.inf)
        return F.softmax(scores, dim=-1), v

    def forward(self, x):
        weights, v = self.weights(x)
        y = (self.drop(weights) @ v).transpose(1, 2).flatten(2)
        return x + torch.tanh(self.gamma) * self.act(y)


class Model(nn.Module):
    def __init__(self, vocab=11, width=16, layer=SoftmaxAttention, **options):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList(layer(width, **options) for _ in range(2))
        self.head = nn.Linear(width, vocab)

    def forward(self, idx):
        x = self.embed(idx)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def train(model, run, steps, *, every_log=1, accumulate=1, seed=0):
    torch.manual_seed(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        for _ in range(accumulate):
            idx = torch.randint(11, (3, 7))
            loss = F.cross_entropy(model(idx).flatten(0, 1), idx.flatten())
            loss.backward()
        optimizer.step()
        if run is not None and step % every_log == 0:
            run.log({"loss": loss}, step=step)


def maps(folder, line=0):
    found = folder.channel("attention.maps")[line]
    return {layer["path"]: torch.tensor(array(layer["weights"])[1]).view(array(layer["weights"])[0])
            for layer in found["payload"]["layers"]}  # fmt: skip


def test_maps_of_attention_written_by_hand(begin):
    torch.manual_seed(1)
    model = Model()
    idx = torch.randint(11, (3, 7))
    with torch.no_grad():
        x = model.embed(idx)
        expected, _ = model.blocks[0].weights(x)
    run = begin()
    run.watch(model, decode=lambda ids: "abcdefghijk"[ids[0]])
    model(idx)
    run.log({"loss": 1.0}, step=1)
    folder = run.read()
    seen = maps(folder)
    assert list(seen) == ["blocks.0", "blocks.1"]
    torch.testing.assert_close(seen["blocks.0"], expected[0], atol=1e-3, rtol=1e-3)
    assert (seen["blocks.0"].triu(1) == 0).all()
    line = folder.channel("attention.maps")[0]
    assert line["tokens"] == ["abcdefghijk"[i] for i in idx[0]] and line["about"] == "batch item 0, 7 tokens"
    entropy = -(expected[0] * expected[0].clamp_min(1e-30).log()).sum(-1).mean(-1)
    assert line["payload"]["layers"][0]["entropy"] == pytest.approx(entropy.tolist(), rel=1e-4)
    uniform = sum(math.log(t + 1) for t in range(7)) / 7
    assert line["payload"]["layers"][0]["uniform_entropy"] == pytest.approx([uniform] * 2, rel=1e-5)
    assert folder.run["run"]["variants"][0]["params"] == sum(p.numel() for p in model.parameters())


class OneClass(nn.Module):
    """Attention in the watched model's own `forward`."""

    def __init__(self, softmax):
        super().__init__()
        self.linear, self.softmax = nn.Linear(4, 4), softmax

    def forward(self, x):
        return self.softmax(self.linear(x) @ x.transpose(1, 2)) @ x


@pytest.mark.parametrize(
    "softmax", [lambda s: s.softmax(-1), lambda s: torch.special.softmax(s, -1), nn.Softmax(dim=-1)]
)
def test_attention_of_a_model_that_is_one_class(begin, softmax):
    run = begin()
    model = OneClass(softmax)
    run.watch(model)
    x = torch.randn(2, 5, 4)
    model(x)
    run.log({"loss": 1.0}, step=1)
    seen = maps(run.read())
    expected = (model.linear(x) @ x.transpose(1, 2)).softmax(-1)[0]
    torch.testing.assert_close(seen["OneClass"][0], expected, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("layer", ["hand", "multihead"])
def test_watching_changes_no_bit_of_the_training(begin, layer):
    class Encoder(nn.TransformerEncoderLayer):
        def __init__(self, width):
            super().__init__(width, 2, 32, dropout=0.2, batch_first=True)

    def fresh():
        torch.manual_seed(3)
        return Model(layer=SoftmaxAttention if layer == "hand" else Encoder)

    plain, watched = fresh(), fresh()
    train(plain, None, 6)
    run = begin()
    run.watch(watched, every=1, gates=True if layer == "hand" else None, activations=True if layer == "hand" else "*")
    train(watched, run, 6)
    folder = run.read()
    assert len(folder.channel("attention.maps")) == 6
    for a, b in zip(plain.parameters(), watched.parameters()):
        assert torch.equal(a, b)
    assert not watched._forward_hooks and not watched._forward_pre_hooks
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in watched.modules())


def test_steps_of_maps_with_sparse_logs_and_accumulation(begin):
    run = begin()
    run.watch(Model(), every=20)
    model = run.model
    train(model, run, 100, every_log=10)
    assert [line["step"] for line in run.read().channel("attention.maps")] == [1, 20, 40, 60, 80, 100]
    run = begin()
    run.watch(Model(), every=5)
    train(run.model, run, 20, accumulate=4)
    steps = [line["step"] for line in run.read().channel("attention.maps")]
    assert steps[0] in (0, 1) and steps[1:] == [5, 10, 15, 20]


def test_a_run_that_never_logs_shows_its_maps(begin):
    run = begin()
    run.watch(Model(), every=10)
    train(run.model, None, 35)
    assert [line["step"] for line in run.read().channel("attention.maps")] == [0, 10, 20, 30]


def test_evaluation_is_not_looked_at(begin):
    run = begin()
    model = Model()
    run.watch(model, every=1)
    model.eval()
    model(torch.zeros(1, 3, dtype=torch.long))
    model.train()
    with torch.no_grad():
        model(torch.zeros(1, 3, dtype=torch.long))
    run.log({"a": 1})
    assert not run.read().samples


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_in_the_model_reaches_the_script_and_leaves_no_hooks(begin, error):
    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = SoftmaxAttention()

        def forward(self, x):
            self.inner(x)
            raise error("mine")

    run = begin()
    model = Broken()
    run.watch(model, every=1)
    for _ in range(2):
        with pytest.raises(error, match="mine"):
            model(torch.zeros(1, 3, 16))
        run.log({"a": 1})
        assert not model.inner._forward_hooks
        from torch.overrides import _get_current_function_mode_stack

        assert not _get_current_function_mode_stack()


def dot_product(**given):
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.attn = nn.Identity()

        def forward(self, q, k, v):
            return F.scaled_dot_product_attention(q, k, v, **given)

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Attention()
            self.p = nn.Parameter(torch.zeros(()))

        def forward(self, q, k, v):
            return self.inner(q, k, v)

    return Outer()


@pytest.mark.parametrize("case", ["causal", "bool", "float", "batched mask", "grouped", "scale", "half"])
def test_maps_of_scaled_dot_product_attention(begin, case):
    torch.manual_seed(2)
    q, k = torch.randn(2, 4, 5, 8, requires_grad=True), torch.randn(2, 2 if case == "grouped" else 4, 5, 8)
    keep = torch.rand(5, 5) > 0.3
    keep.fill_diagonal_(True)
    given, bias = {}, torch.zeros(5, 5)
    if case in ("causal", "half"):
        given, bias = {"is_causal": True}, torch.full((5, 5), -math.inf).triu(1)
    elif case == "bool":
        given, bias = {"attn_mask": keep}, torch.zeros(5, 5).masked_fill(~keep, -math.inf)
    elif case == "float":
        bias = torch.randn(5, 5)
        given = {"attn_mask": bias}
    elif case == "batched mask":
        mask = torch.randn(2, 1, 5, 5)
        given, bias = {"attn_mask": mask}, mask[0]
    elif case == "grouped":
        given = {"enable_gqa": True}
    elif case == "scale":
        given = {"scale": 0.1}
    keys = k.repeat_interleave(2, 1) if case == "grouped" else k
    expected = (q[0] @ keys[0].mT * given.get("scale", 1 / math.sqrt(8)) + bias).softmax(-1).detach()
    if case == "half":
        q, k = q.bfloat16(), k.bfloat16()
    run = begin()
    model = dot_product(**given)
    run.watch(model)
    model(q, k, k)
    run.log({"a": 1})
    seen = maps(run.read())["inner"]
    tolerance = 3e-2 if case == "half" else 1e-3
    torch.testing.assert_close(seen, expected, atol=tolerance, rtol=tolerance)


def test_long_maps_are_cut_and_say_so(begin):
    torch.manual_seed(2)
    q = torch.randn(1, 2, 40, 8)
    run = begin()
    model = dot_product(is_causal=True)
    run.watch(model, max_tokens=6)
    model(q, q, q)
    run.log({"a": 1})
    folder = run.read()
    seen = maps(folder)["inner"]
    assert seen.shape == (2, 6, 6) and folder.samples[0]["about"].endswith("the first 6 of 40 tokens")
    torch.testing.assert_close(seen.sum(-1), torch.ones(2, 6), atol=3e-3, rtol=0)


def test_entropies_of_cut_maps_are_those_of_whole_rows(begin):
    q = torch.zeros(1, 2, 512, 8)
    run = begin()
    model = dot_product()
    run.watch(model, max_tokens=8)
    model(q, q, q)
    run.log({"a": 1})
    (layer,) = run.read().channel("attention.maps")[0]["payload"]["layers"]
    assert layer["entropy"] == pytest.approx([math.log(512)] * 2, rel=1e-4)
    assert layer["uniform_entropy"] == pytest.approx([math.log(512)] * 2, rel=1e-4)


class Sequences(nn.Module):
    """Attention over `(T, batch)` or `(batch, T)` ids."""

    def __init__(self, batch_first, by_hand=False):
        super().__init__()
        self.embed = nn.Embedding(11, 16)
        self.mha = SoftmaxAttention() if by_hand else nn.MultiheadAttention(16, 2, batch_first=batch_first)

    def forward(self, idx):
        x = self.embed(idx)
        return self.mha(x) if isinstance(self.mha, SoftmaxAttention) else self.mha(x, x, x)[0]


@pytest.mark.parametrize("shape", [(4, 4), (4, 3), (3, 4)])
@pytest.mark.parametrize("batch_first", [True, False])
def test_tokens_are_those_of_the_first_sequence(begin, shape, batch_first):
    idx = torch.arange(shape[0] * shape[1]).view(shape) % 11
    run = begin()
    run.watch(Sequences(batch_first))
    run.model(idx)
    run.log({"a": 1})
    expected = idx[0] if batch_first else idx[:, 0]
    assert run.read().samples[0]["tokens"] == [str(i) for i in expected.tolist()]


@pytest.mark.parametrize("batch_first", [None, True])
def test_tokens_of_a_square_batch_are_named_where_a_row_is_known(begin, capfd, batch_first):
    idx = torch.arange(16).view(4, 4) % 11
    run = begin()
    run.watch(Sequences(True, by_hand=True), batch_first=batch_first)
    run.model(idx)
    run.log({"a": 1})
    folder = run.read()
    assert folder.samples[0].get("tokens") == (["0", "1", "2", "3"] if batch_first else None)
    assert ("batch_first=True" in folder.notices()) is (batch_first is None)


@pytest.mark.parametrize("how", ["softmax", "dot product"])
def test_attention_whose_heads_share_an_axis_with_the_batch_says_one_head(begin, how):
    class Folded(nn.Module):
        def __init__(self):
            super().__init__()
            self.scores = Scores()

        def forward(self, x):
            return self.scores(x)

    class Scores(nn.Module):
        def forward(self, x):
            if how == "softmax":
                return (x @ x.mT).softmax(-1)
            return F.scaled_dot_product_attention(x, x, x)

    run = begin()
    run.watch(Folded())
    run.model(torch.randn(8, 5, 4))
    run.log({"a": 1})
    (line,) = run.read().channel("attention.maps")
    assert "one head" in line["about"] and array(line["payload"]["layers"][0]["weights"])[0] == [1, 5, 5]


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
def test_maps_of_multihead_attention(begin, batch_first, need_weights):
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.mha = nn.MultiheadAttention(16, 4, dropout=0.5, batch_first=batch_first)

        def forward(self, x, mask, padding):
            return self.mha(x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=need_weights)

    torch.manual_seed(4)
    model = Outer()
    x = torch.randn(2, 6, 16) if batch_first else torch.randn(6, 2, 16)
    mask = torch.ones(6, 6, dtype=torch.bool).triu(1)
    padding = torch.tensor([[False] * 6, [False] * 4 + [True] * 2])
    run = begin()
    run.watch(model)
    model(x, mask, padding)
    run.log({"a": 1})
    model.eval()
    with torch.no_grad():
        _, expected = model.mha(x, x, x, attn_mask=mask, key_padding_mask=padding, average_attn_weights=False)
    torch.testing.assert_close(maps(run.read())["mha"], expected[0], atol=1e-3, rtol=1e-3)


def test_mixed_precision_is_looked_at_too(begin):
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(16, 16)
            self.mha = nn.MultiheadAttention(16, 2, batch_first=True)
            self.hand = SoftmaxAttention()

        def forward(self, x):
            x = self.first(x)
            return self.hand(self.mha(x, x, x)[0])

    run = begin()
    torch.manual_seed(0)
    model = Mixed()
    run.watch(model, activations=["first"])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model(torch.randn(2, 5, 16)).float().sum().backward()
    run.log({"a": 1})
    run.watch(example("bdh").BDH(layers=1, width=16, heads=2, neurons=64, vocab=11), every=1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        run.model(torch.zeros(1, 4, dtype=torch.long))
    run.log({"a": 1})
    folder = run.read()
    assert list(maps(folder)) == ["mha", "hand"] and list(maps(folder, 1)) == ["BDH.attn"]
    torch.testing.assert_close(maps(folder)["mha"].sum(-1), torch.ones(2, 5), atol=1e-2, rtol=0)
    assert not folder.notices()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_workers_of_a_data_loader_write_nothing(begin, capfd):
    import orrery_log

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, i):
            orrery_log.log({"worker": i})
            return torch.full((3,), i % 11)

    run = begin()
    model = Model()
    run.watch(model, every=1)
    for _ in range(2):
        for idx in torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=2, multiprocessing_context="fork"):
            model(idx).sum().backward()
            run.log({"loss": 1.0})
    folder = run.read()
    assert len(folder.scalar("loss")) == 8 and not folder.scalar("worker")
    assert len(folder.channel("attention.maps")) == 8 and folder.state() == "finished"


def test_the_linear_attention_and_activity_of_a_bdh(begin):
    bdh = example("bdh")
    torch.manual_seed(5)
    model = bdh.BDH(layers=2, width=16, heads=2, neurons=64, vocab=11)
    run = begin()
    run.watch(model)
    idx = torch.randint(11, (2, 6))
    model(idx)
    run.log({"a": 1})
    folder = run.read()
    seen = maps(folder)
    assert list(seen) == ["attn", "attn call 2"]
    with torch.no_grad():
        x = model.ln(model.embed(idx).unsqueeze(1))
        neurons = F.relu(x @ model.encoder)
        positions = torch.arange(6, dtype=torch.float32).view(1, 1, -1, 1)
        rotated = model.attn.rope(positions * model.attn.freqs, neurons)
        scores = (rotated @ rotated.mT).tril(-1)[0]
    shares = scores / scores.abs().sum(-1, keepdim=True).clamp_min(1e-30)
    torch.testing.assert_close(seen["attn"], shares, atol=2e-3, rtol=2e-3)
    torch.testing.assert_close(seen["attn"].abs().sum(-1)[:, 1:], torch.ones(2, 5), atol=5e-3, rtol=0)
    assert folder.channel("attention.maps")[0]["payload"]["layers"][0]["is_differential"] is True
    activity = folder.channel("synapses.activity")[0]["payload"]["layers"]
    assert activity[0]["trained"]["x"] == pytest.approx(float((neurons > 0).float().mean()), rel=1e-5)
    assert 0 < activity[1]["trained"]["y"] < 1 and activity[0]["random_weights"]["x"] == "NaN"


def test_gates_and_activations(begin):
    run = begin()
    model = Model()
    run.watch(model, every=1, gates=["blocks.*.gamma"], activations=["*.act"])
    train(model, run, 2)
    folder = run.read()
    assert folder.scalar("gate/tanh/blocks.0.gamma")[1][1] == pytest.approx(model.blocks[0].gamma.tanh().item())
    assert folder.scalar("gate/grad/blocks.1.gamma")[1][1] == pytest.approx(float(model.blocks[1].gamma.grad))
    assert 0 < folder.scalar("activation/blocks.0.act/zero")[0][1] < 1
    assert len(folder.scalar("activation/blocks.1.act/mean")) == 2
    run = begin()
    run.watch(model, gates={"mine": lambda: 0.25}, attention=False)
    run.log({"loss": 1.0})
    folder = run.read()
    assert folder.scalar("gate/tanh") == [(0, 0.25)]


def test_activations_of_every_kind_are_found(begin, capfd):
    class SiLUActivation(nn.Module):  # as transformers calls its own
        forward = staticmethod(F.silu)

    class Own(nn.ReLU):
        pass

    model = nn.Sequential(SiLUActivation(), nn.Hardswish(), Own(), nn.Softmax(-1), nn.Linear(3, 3))
    run = begin()
    run.watch(model, every=1, activations=True)
    model(torch.zeros(2, 3))
    run.log({"a": 1}, step=0)
    folder = run.read()
    seen = {name for line in folder.metrics for name in line if name.startswith("activation/")}
    assert seen == {f"activation/{i}/{what}" for i in range(3) for what in ("mean", "std", "zero")}
    run = begin()
    run.watch(nn.Sequential(nn.Linear(3, 3)), activations=True)
    assert "no activation of the model is a module" in run.read().notices()


def test_a_step_that_is_logged_in_parts_has_its_gates_once(begin):
    model = Model()
    asked = []
    run = begin()
    run.watch(model, every=1, gates={"mine": lambda: asked.append(1) or 0.25}, activations=["*.act"])
    for step in (1, 2):
        model(torch.zeros(1, 3, dtype=torch.long))
        run.log({"loss": 1.0}, step=step)
        run.log({"lr": 0.1}, step=step)
    folder = run.read()
    assert len(asked) == 2 and folder.scalar("gate/tanh") == [(1, 0.25), (2, 0.25)]
    assert [step for step, _ in folder.scalar("activation/blocks.0.act/mean")] == [1, 2]
    assert [line["step"] for line in folder.channel("attention.maps")] == [1, 2]


def test_gates_of_one_number_and_of_many(begin):
    model = nn.Module()
    model.gate = nn.Parameter(torch.tensor([0.5], dtype=torch.bfloat16))
    model.gates = nn.Parameter(torch.tensor([[0.5, -1.0]]))
    run = begin()
    run.watch(model, gates=["gate*"])
    run.log({"loss": 1.0})
    model.gates.grad = torch.tensor([[1.0, 3.0]])
    run.log({"loss": 1.0})
    folder = run.read()
    assert folder.scalar("gate/tanh/gate")[0][1] == pytest.approx(math.tanh(0.5))
    assert folder.scalar("gate/tanh/gates")[0][1] == pytest.approx((math.tanh(0.5) + math.tanh(-1.0)) / 2)
    assert folder.scalar("gate/grad/gates") == [(1, 2.0)] and not folder.scalar("gate/grad/gate")


def test_the_summary_of_wandb_keeps_no_graph(tmp_path):
    import orrery_log.wandb as wandb

    weight = torch.ones((), requires_grad=True)
    with wandb.init(dir=tmp_path):
        wandb.log({"loss": weight * 2})
        assert wandb.summary["loss"] == 2 and wandb.summary["loss"].grad_fn is None


def test_patterns_that_match_nothing_are_said(begin, capfd):
    run = begin()
    assert run.watch(Model(), gates="nothing*") is None
    assert run.watch(Model(), activations="nothing*") is None
    assert run.watch("no model") is None
    assert "no parameter of the model matches" in run.read().notices()


def test_a_model_without_attention_is_said_once_unless_something_else_is_looked_at(begin, capfd):
    gates = {"gates": {"mine": lambda: 0.25}}
    for asked, more, said in ((True, gates, 1), (None, {}, 1), (None, gates, 0), (False, {}, 0)):
        run = begin()
        model = nn.Sequential(nn.Linear(3, 3), nn.Softmax(-1))
        run.watch(model, 1, asked, **more)
        for step in range(3):
            model(torch.zeros(2, 3))
            run.log({"a": 1}, step=step)
        assert run.read().notices().count("no attention was seen in a pass of Sequential") == said


def fresh():
    torch.manual_seed(0)
    return Model()


def test_compiled_models_train_on(begin, capfd):
    model = fresh()
    run = begin()
    run.watch(model, every=1)
    compiled = torch.compile(model, backend="eager")
    try:
        train(compiled, run, 2)
    except Exception as e:
        if "torch.compile" in str(e):
            pytest.skip(str(e))
        raise
    run.watch(compiled, gates=True)
    run.log({"a": 1}, step=5)
    folder = run.read()
    assert len(folder.scalar("loss")) == 2 and "a compiled model, or one with" in folder.notices()
    reference = fresh()
    train(reference, None, 2)
    assert all(torch.equal(a, b) for a, b in zip(reference.parameters(), model.parameters()))
    assert folder.scalar("gate/tanh/_orig_mod.blocks.0.gamma") or folder.scalar("gate/tanh/blocks.0.gamma")


@pytest.mark.parametrize("how", ["parts before", "parts after", "in place before", "in place after"])
def test_a_model_compiled_in_parts_or_in_place_trains_to_the_same_bits(begin, capfd, how):
    def compile_it(model):
        if how.startswith("in place"):
            model.compile(backend="eager")
            return
        for i, block in enumerate(model.blocks):
            model.blocks[i] = torch.compile(block, backend="eager")

    reference, watched = fresh(), fresh()
    compile_it(reference)
    run = begin()
    if how.endswith("before"):
        compile_it(watched)
    run.watch(watched, every=1, gates=True, activations=True)
    if how.endswith("after"):
        compile_it(watched)
    train(reference, None, 3)
    train(watched, run, 3)
    folder = run.read()
    assert all(torch.equal(a, b) for a, b in zip(reference.parameters(), watched.parameters()))
    assert len([name for name in folder.metrics[-1] if name.startswith("gate/tanh/")]) == 2
    assert how == "in place after" or "a compiled model, or one with" in folder.notices()


def test_a_watched_model_is_copied_and_stored_without_its_hooks(begin):
    run = begin()
    model = fresh()
    run.watch(model, every=1)
    field = nn.Linear(1, 1)
    run.ode(field)
    averaged = torch.optim.swa_utils.AveragedModel(model)
    file = io.BytesIO()
    torch.save([model, field], file)
    assert b"orrery" not in file.getvalue()
    file.seek(0)
    stored, stored_field = torch.load(file, weights_only=False)
    ids = torch.zeros(1, 3, dtype=torch.long)
    for other in (averaged, copy.deepcopy(model), stored):
        other(ids)
    stored_field(torch.zeros(1))
    run.log({"a": 1}, step=1)
    model(ids)
    run.log({"a": 1}, step=2)
    folder = run.read()
    assert [line["step"] for line in folder.channel("attention.maps")] == [2] and not folder.scalar("ode/nfe")


def test_a_second_thread_in_a_watched_model_leaves_the_pass_of_the_first_alone(begin):
    class Waiting(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = SoftmaxAttention(), SoftmaxAttention()

        def forward(self, x, inside=None, resume=None):
            x = self.first(x)
            if inside is not None:
                inside.set()
                assert resume.wait(60)
            return self.second(x)

    from torch.overrides import _len_torch_function_stack

    run = begin()
    model = Waiting()
    run.watch(model, every=1, activations=["*.act"])
    inside, resume, left = threading.Event(), threading.Event(), []

    def looked_at():
        model(torch.zeros(1, 3, 16), inside, resume)
        left.append(_len_torch_function_stack())

    thread = threading.Thread(target=looked_at)
    thread.start()
    assert inside.wait(60)
    model(torch.zeros(1, 3, 16))
    run.log({"a": 1}, step=1)
    resume.set()
    thread.join(60)
    run.log({"a": 1}, step=2)
    folder = run.read()
    assert list(maps(folder)) == ["first", "second"] and left == [0] and not folder.notices()
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_a_thread_that_ends_in_a_pass_leaves_the_next_to_be_looked_at(begin):
    class Leaving(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = SoftmaxAttention()

        def forward(self, x, leaves=False):
            if leaves:
                sys.exit()
            return self.inner(x)

    run = begin()
    model = Leaving()
    run.watch(model, every=1)

    def leave():
        with pytest.raises(SystemExit):
            model(torch.zeros(1, 3, 16), True)

    thread = threading.Thread(target=leave)
    thread.start()
    thread.join(60)
    for step in (1, 2):
        run.log({"a": 1}, step=step)
        model(torch.zeros(1, 3, 16))
    folder = run.read()
    assert [line["step"] for line in folder.channel("attention.maps")] == [2, 3]


def test_a_run_that_ends_during_the_pass_of_another_thread_leaves_no_hooks(begin):
    class Ending(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = SoftmaxAttention()

        def forward(self, x):
            thread = threading.Thread(target=run.finish)
            thread.start()
            thread.join(60)
            return self.inner(x)

    run = begin()
    model = Ending()
    run.watch(model, every=1)
    model(torch.zeros(1, 3, 16))
    assert not run.read().notices()
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_two_watched_models_share_a_line_and_no_name(begin):
    run = begin()
    first, second = Model(), Model()
    run.watch(first, every=1, activations=["*.act"], gates=["*.gamma"])
    run.watch(second, every=1, activations=["*.act"], gates=["*.gamma"])
    run.watch(Model(), every=1, name="judge")
    run.watch(first, gates={"mine": lambda: 0.25}, attention=False)
    for step in (1, 2):
        for model in (first, second):
            model(torch.zeros(1, 3, dtype=torch.long))
        run.log({"loss": 1.0}, step=step)
    folder = run.read()
    assert [line["step"] for line in folder.channel("attention.maps")] == [1, 2]
    assert list(maps(folder)) == ["blocks.0", "blocks.1", "Model.blocks.0", "Model.blocks.1"]
    assert folder.channel("attention.maps")[0]["about"] == "batch item 0, 3 tokens"
    assert {"activation/blocks.0.act/mean", "activation/Model.blocks.0.act/mean"} < set(folder.metrics[0])
    assert {"gate/tanh/blocks.0.gamma", "gate/tanh/Model.blocks.0.gamma", "gate/tanh"} < set(folder.metrics[0])
    each = sum(p.numel() for p in first.parameters())
    assert folder.run["run"]["variants"][0]["params"] == 3 * each and not folder.notices()


@pytest.mark.filterwarnings("ignore:.*jit.*:FutureWarning")
def test_scripted_parts_hide_nothing_else(begin):
    model = Model()
    model.head = torch.jit.trace(model.head, torch.zeros(1, 16))
    run = begin()
    run.watch(model)
    model(torch.zeros(1, 3, dtype=torch.long))
    run.log({"a": 1})
    assert list(maps(run.read())) == ["blocks.0", "blocks.1"]


def test_tensors_of_every_type_are_numbers(begin, capfd):
    run = begin()
    run.log({
        "bf16": torch.tensor(1.5, dtype=torch.bfloat16), "half": torch.tensor([0.25], dtype=torch.float16),
        "grad": torch.tensor(2.0, requires_grad=True) * 2, "int": torch.tensor(7), "bool": torch.tensor(True),
        "nan": torch.tensor(math.nan), "meta": torch.zeros((), device="meta"), "many": torch.zeros(2),
    })  # fmt: skip
    run.log({"after": 1})
    folder = run.read()
    line = folder.metrics[0]
    assert (line["bf16"], line["half"], line["grad"], line["int"], line["bool"], line["nan"]) == (
        1.5,
        0.25,
        4,
        7,
        1,
        "NaN",
    )
    assert "many" not in line and "shape (2,)" in folder.notices() and folder.scalar("after") == [(1, 1)]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA here")
def test_a_model_on_a_graphics_card(begin):
    check_model_on(begin(), "cuda")


def test_a_model_on_the_processor(begin):
    check_model_on(begin(), "cpu")


def check_model_on(run, device):
    model = Model().to(device)
    run.watch(model, every=1)
    loss = model(torch.zeros(1, 3, dtype=torch.long, device=device)).float().square().mean()
    loss.backward()
    run.log({"loss": loss, "half": loss.bfloat16()}, step=1)
    run.matrix("weights", next(model.parameters()), step=1)
    run.log_weights(model, step=1)
    folder = run.read()
    assert folder.scalar("loss") == [(1, pytest.approx(loss.item()))] and len(folder.scalar("half")) == 1
    assert maps(folder) and folder.channel("matrix/weights") and not folder.notices()
    kept = tensors(folder.path / "snapshots" / "step-00000001.safetensors")
    assert len(kept) == len(model.state_dict())


def test_matrices_of_every_type(begin):
    run = begin()
    values = torch.arange(100, dtype=torch.float32).view(10, 10)
    run.matrix("bf16", values.bfloat16().requires_grad_())
    run.matrix("transposed", values.T)
    run.matrix("sparse", values.to_sparse())
    run.matrix("mixed", [values[0], values[1]])
    run.matrix("complex", torch.zeros(2, 2, dtype=torch.complex64))
    folder = run.read()
    expected = values.flatten().tolist()
    assert array(folder.channel("matrix/bf16")[0]["payload"]["values"])[1] == expected
    assert array(folder.channel("matrix/transposed")[0]["payload"]["values"])[1] == values.T.flatten().tolist()
    assert array(folder.channel("matrix/sparse")[0]["payload"]["values"])[1] == expected
    assert array(folder.channel("matrix/mixed")[0]["payload"]["values"]) == ([2, 10], expected[:20])
    assert not folder.channel("matrix/complex") and "complex" in folder.notices()


def test_histograms_of_tensors(begin):
    run = begin()
    run.histogram("h", torch.tensor([0.0, 1.0, 1.0, math.nan, math.inf]), bins=2)
    run.histogram("empty", torch.tensor([math.nan]))
    folder = run.read()
    assert folder.channel("histogram/h")[0]["payload"] == {
        "kind": "histogram",
        "edges": [0.0, 0.5, 1.0],
        "counts": [1, 2],
    }
    assert sum(folder.channel("histogram/empty")[0]["payload"]["counts"]) == 0


def test_snapshots_hold_the_bits_of_the_moment(begin):
    run = begin()
    model = nn.Linear(3, 2).bfloat16()
    before = model.weight.detach().clone()
    run.log_weights(model, 7)
    with torch.no_grad():
        model.weight.zero_()
    folder = run.read()
    path = folder.path / "snapshots" / "step-00000007.safetensors"
    dtype, shape, data = tensors(path)["model/weight"]
    assert (dtype, shape) == ("BF16", [2, 3])
    bits = torch.tensor(struct.unpack("<6h", data), dtype=torch.int16).view(torch.bfloat16).view(2, 3)
    assert torch.equal(bits, before)
    safetensors = pytest.importorskip("safetensors.torch")
    assert torch.equal(safetensors.load_file(path)["model/weight"], before)


def test_a_field_has_no_hook_after_its_run(begin):
    run = begin()
    field = nn.Linear(1, 1)
    run.ode(field)
    field(torch.zeros(1))
    run.log({"a": 1})
    assert run.read().scalar("ode/nfe") == [(0, 1)] and not field._forward_pre_hooks


def test_a_weight_that_cannot_be_kept_leaves_the_others(begin, capfd):
    run = begin()
    run.log_weights({"sparse": torch.eye(3).to_sparse(), "dense": torch.eye(3)}, 1)
    folder = run.read()
    assert set(tensors(folder.path / "snapshots" / "step-00000001.safetensors")) == {"model/dense"}
    assert "`sparse`" in folder.notices()


def test_evaluations_of_a_field_are_counted(begin):
    torchdiffeq = pytest.importorskip("torchdiffeq")

    class Field(nn.Module):
        def __init__(self):
            super().__init__()
            self.rate = nn.Parameter(torch.tensor(-1.0))

        def forward(self, t, y):
            return self.rate * y

    run = begin()
    field, calls = Field(), []
    assert run.ode(field) is field
    function = run.ode(lambda t, y: calls.append(t) or -y, name="plain")
    times, start = torch.tensor([0.0, 1.0]), torch.ones(1)
    for step in range(2):
        torchdiffeq.odeint(function, start, times)
        torchdiffeq.odeint_adjoint(field, start, times).sum().backward()
        run.log({"a": 1}, step=step)
    folder = run.read()
    assert folder.scalar("plain/nfe")[0][1] == len(calls) / 2 > 5
    assert folder.scalar("ode/nfe")[1][1] > 5
    (line,) = folder.channel("curves/ode")
    y = line["payload"]["curves"][0]["y"]
    assert max(y) >= 1.0 and y[-1] < 0.5, "the backward pass goes back to 0"


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_maps_of_hugging_face_models(begin, kind, attention):
    huggingface = example("huggingface")
    torch.manual_seed(6)
    model = huggingface.build(kind, attention)
    model.train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    idx = torch.randint(64, (2, 9))
    run = begin()
    run.watch(model)
    model(input_ids=idx)
    run.log({"a": 1})
    reference = huggingface.build(kind, "eager")
    reference.load_state_dict(model.state_dict())
    reference.eval()
    with torch.no_grad():
        expected = reference(input_ids=idx, output_attentions=True).attentions
    folder = run.read()
    seen = list(maps(folder).values())
    assert len(seen) == len(expected) == 2
    for a, b in zip(seen, expected):
        torch.testing.assert_close(a, b[0], atol=2e-3, rtol=2e-3)
    assert folder.samples[0]["tokens"] == [str(i) for i in idx[0].tolist()]


@pytest.mark.parametrize(
    ("name", "loss", "channels"),
    [
        ("nanogpt_like", "loss/train", {"attention.maps"}),
        ("bdh", "loss/train", {"attention.maps", "synapses.activity"}),
        ("neural_ode", "loss", {"curves/ode"}),
        ("huggingface", "loss/train", {"attention.maps"}),
    ],
)
def test_examples_run(tmp_path, name, loss, channels):
    folder = Folder(example(name).main(["--steps", "3", "--out", str(tmp_path)]))
    assert {line["channel"] for line in folder.samples} == channels
    assert [step for step, _ in folder.scalar(loss)] == [1, 2, 3] and folder.state() == "finished"
    assert not folder.notices()


def test_nothing_imports_torch_before_the_script_does():
    assert "torch" in sys.modules
    import subprocess

    code = "import sys, orrery_log, orrery_log.capture, orrery_log.weights; print('torch' in sys.modules)"
    path = str(Path(__file__).parents[1])
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=path, check=True)
    assert out.stdout.strip() == "False"
    assert orrery_log.PROTOCOL == 1
