"""Coupled query-key dynamics of arXiv 2604.01683: q and k move together for some steps before they are scored."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .layers import RMS_EPS, LlamaBlock, SwiGluMlp, linear, merge_heads, rms_norm, rotate, split_heads

COUPLINGS = ("linear_mixing", "shared_mlp", "invertible")
KINDS = ("standard", "gqa", "diff", "mlp", "euler", "hamiltonian", *COUPLINGS)
# what the paper leaves for later: the evolution, then the differential score
DIFFERENTIAL = {"diff": None, "diff_euler": "euler", "diff_hamiltonian": "hamiltonian"}
INITIAL_STEP = 0.1


class CoupledAttention(nn.Module):
    """`evolve` is what a kind does before scoring; the differential kinds differ in the scoring itself."""

    def __init__(self, d: int, heads: int, kind: str, steps: int, layer: int, use_rope: bool):
        super().__init__()
        if kind not in (*KINDS, *DIFFERENTIAL):
            raise ValueError(f"{kind} is none of {', '.join((*KINDS, *DIFFERENTIAL))}")
        self.is_differential = kind in DIFFERENTIAL
        kind = DIFFERENTIAL.get(kind) or kind
        self.heads, self.kind, self.steps, self.use_rope = heads, kind, steps, use_rope
        self.kv_heads = heads // 4 if kind == "gqa" else heads
        width = d // heads
        self.wq, self.wk = linear(d, d), linear(d, self.kv_heads * width)
        self.wv, self.wo = linear(d, self.kv_heads * width), linear(d, d)
        if kind in ("mlp", "shared_mlp", "euler", "hamiltonian"):
            self.f1, self.f2 = linear(width, width), linear(width, width)
        if kind in ("euler", "hamiltonian"):
            self.tau = nn.Parameter(torch.full((heads,), math.log(INITIAL_STEP)))
        if kind == "linear_mixing":
            self.a, self.b = linear(width, width), linear(width, width)
        if kind == "invertible":
            self.s, self.t = linear(width, width), linear(width, width)
            self.u, self.w = linear(width, width), linear(width, width)
        if self.is_differential:
            self.lambda_0 = 0.8 - 0.6 * math.exp(-0.3 * layer)
            self.lam = nn.Parameter(torch.full((heads,), self.lambda_0))

    def force(self, q: Tensor) -> Tensor:
        return self.f2(F.silu(self.f1(q)))

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """q, k, v, (B, H, T, d) each."""
        q = split_heads(self.wq(x), self.heads)
        k, v = (split_heads(w(x), self.kv_heads) for w in (self.wk, self.wv))
        k, v = (z.repeat_interleave(self.heads // self.kv_heads, dim=1) for z in (k, v))
        return q, k, v

    def evolve(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        if self.kind == "mlp":
            return q + self.force(q), k
        if self.kind == "linear_mixing":
            return q + self.a(k), k + self.b(q)
        if self.kind == "shared_mlp":
            return q + self.force(k), k + self.force(q)
        if self.kind == "invertible":
            for _ in range(self.steps):
                q = q * self.s(k).exp() + self.t(k)
                k = k * self.u(q).exp() + self.w(q)
            return q, k
        if self.kind not in ("euler", "hamiltonian"):
            return q, k
        dt = self.tau.exp()[:, None, None]  # (H, 1, 1)
        for _ in range(self.steps):
            if self.kind == "euler":
                q, k = q + dt * k, k + dt * self.force(q)
            else:  # leapfrog
                k = k + dt / 2 * self.force(q)
                q = q + dt * k
                k = k + dt / 2 * self.force(q)
        return q, k

    def differential(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """The difference of two softmax maps, each of half the channels."""
        future = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool, device=q.device).triu(1)
        maps = []
        for half_q, half_k in zip(q.chunk(2, dim=-1), k.chunk(2, dim=-1), strict=True):
            scores = half_q @ half_k.mT / math.sqrt(half_q.shape[-1])
            maps.append(scores.masked_fill(future, -math.inf).softmax(dim=-1))
        y = (maps[0] - self.lam[:, None, None] * maps[1]) @ v
        return F.rms_norm(y, y.shape[-1:], eps=RMS_EPS) * (1 - self.lambda_0)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.project(x)
        q, k = self.evolve(q, k)
        if self.use_rope:
            # each half of a differential head by itself
            parts = 2 if self.is_differential else 1
            q, k = (torch.cat([rotate(part) for part in x.chunk(parts, dim=-1)], dim=-1) for x in (q, k))
        if self.is_differential:
            return self.wo(merge_heads(self.differential(q, k, v)))
        return self.wo(merge_heads(F.scaled_dot_product_attention(q, k, v, is_causal=True)))


class CoupledQk(nn.Module):
    """Learned positions, or with `use_rope` rotary ones after the evolution (`pos` then lies unused). With `classes` a
    linear classification head takes the place of the tied one."""

    def __init__(
        self,
        vocab: int,
        d: int,
        heads: int,
        ff: int,
        layers: int,
        ctx: int,
        kind: str,
        steps: int,
        use_rope: bool,
        classes: int | None = None,
    ):
        super().__init__()
        self.use_rope = use_rope
        self.embed, self.pos = nn.Embedding(vocab, d), nn.Embedding(ctx, d)
        self.layers = nn.ModuleList(
            LlamaBlock(d, CoupledAttention(d, heads, kind, steps, layer, use_rope), SwiGluMlp(d, ff))
            for layer in range(layers)
        )
        self.norm = rms_norm(d)
        self.class_head = None if classes is None else linear(d, classes)

    def embedded(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        return x if self.use_rope else x + self.pos.weight[: tokens.shape[1]]

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedded(tokens)
        for layer in self.layers:
            x = layer(x)
        x = self.norm(x)
        return x @ self.embed.weight.T if self.class_head is None else self.class_head(x)
