"""The fast-slow model of arXiv 2606.16730: a slow path over pooled blocks, let in through tanh(gamma)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .layers import GeluMlp, GroupedQueryAttention, LlamaBlock, linear, merge_heads, rms_norm, split_heads

SOLVE_PASSES = 120


def causal_pool(x: Tensor, pool: int) -> Tensor:
    """(B, T, D) -> (B, ceil(T / P), D): the mean of each block; a short last block by its own length."""
    tokens = x.shape[1]
    missing = -tokens % pool
    sums = F.pad(x, (0, 0, 0, missing)).unflatten(1, (-1, pool)).sum(dim=2)
    lengths = torch.full((sums.shape[1], 1), float(pool), device=x.device)
    lengths[-1] -= missing
    return sums / lengths


def causal_upsample(blocks: Tensor, pool: int, tokens: int) -> Tensor:
    """(B, K, D) -> (B, T, D): token t reads block t // P - 1; tokens of the first block read zero."""
    repeated = blocks.repeat_interleave(pool, dim=1)
    return F.pad(repeated, (0, 0, pool, 0))[:, :tokens]


class GatedLinearAttention(nn.Module):
    """S_t = diag(a_t) S_{t-1} + k_t v_t^T, o_t = q_t S_t, position by position. a_t = sigmoid(W x_t + b)^(1/16) for
    each channel of the keys, or sigmoid(b)^(1/16) for each key head. RMSNorm on each head of q, k and o; q / sqrt(d).
    """

    def __init__(self, d: int, heads: int, kv_heads: int, decay: str):
        super().__init__()
        self.heads, self.kv_heads = heads, kv_heads
        width = d // heads
        self.wq, self.wk = linear(d, d), linear(d, kv_heads * width)
        self.wv, self.wo = linear(d, kv_heads * width), linear(d, d)
        by_channel = decay == "gated_linear"
        self.decay: nn.Module = nn.Linear(d, kv_heads * width) if by_channel else HeadDecay(kv_heads, width)
        self.q_norm, self.k_norm, self.o_norm = rms_norm(width), rms_norm(width), rms_norm(width)

    def forward(self, x: Tensor) -> Tensor:
        group = self.heads // self.kv_heads
        q = self.q_norm(split_heads(self.wq(x), self.heads))
        k = self.k_norm(split_heads(self.wk(x), self.kv_heads)).repeat_interleave(group, dim=1)
        v = split_heads(self.wv(x), self.kv_heads).repeat_interleave(group, dim=1)
        a = torch.sigmoid(split_heads(self.decay(x), self.kv_heads)).pow(1 / 16).repeat_interleave(group, dim=1)
        state = torch.zeros(*q.shape[:2], q.shape[-1], q.shape[-1])
        read = []
        for t in range(x.shape[1]):
            state = a[:, :, t, :, None] * state + k[:, :, t, :, None] * v[:, :, t, None, :]
            read.append((q[:, :, t, None, :] @ state).squeeze(-2) / q.shape[-1] ** 0.5)
        return self.wo(merge_heads(self.o_norm(torch.stack(read, dim=2))))


class HeadDecay(nn.Module):
    """The same argument of the sigmoid for every position and channel of a head."""

    def __init__(self, kv_heads: int, width: int):
        super().__init__()
        self.width = width
        self.bias = nn.Parameter(torch.zeros(kv_heads))

    def forward(self, x: Tensor) -> Tensor:
        return self.bias.repeat_interleave(self.width).expand(*x.shape[:2], -1)


def anderson_step(x: Tensor, image: Tensor, last: tuple[Tensor, Tensor] | None) -> Tensor:
    """The two-point secant method, one alpha a position. `last`: the iterate before and its residual."""
    if last is None:
        return image
    r = image - x
    dx, dr = x - last[0], r - last[1]
    alpha = (dr * r).sum(-1, keepdim=True) / (dr.square().sum(-1, keepdim=True) + 1e-12)
    return x + r - alpha * (dx + dr)


class OwnTokenAttention(GroupedQueryAttention):
    """A window of one token: a softmax over one key is 1, and queries and keys change nothing."""

    def forward(self, x: Tensor) -> Tensor:
        v = split_heads(self.wv(x), self.kv_heads)
        return self.wo(merge_heads(v.repeat_interleave(self.heads // self.kv_heads, dim=1)))


class FastSlow(nn.Module):
    """`approach`: "passes" or "anderson", with this many evaluations of Post; "deq" solves Post(x) - x + injection = 0,
    and "backward_euler" x = x0 + Post(x) - x from the injected state x0, by plain passes, and its gradient by as many
    products with the transposed Jacobian. `upsample`: "leaky" reads a token's own block. `has_penalty`: `aux` is
    |x - Post(x)|^2 of the states that leave the rounds, summed over channels, mean over tokens and rounds.
    `cycle_passes`: no pooling, but this many passes of Post with y held before each update of y; with `last_cycle_only`
    what the cycles before the last add is a constant."""

    def __init__(
        self,
        vocab: int,
        d: int,
        heads: int,
        kv_heads: int,
        n_pre: int,
        n_post: int,
        n_slow: int,
        n_rounds: int,
        pool: int,
        projector_hidden: int | None = None,
        approach: str = "passes",
        passes: int = 1,
        has_penalty: bool = False,
        slow_mixer: str = "attention",
        window: int | None = None,
        upsample: str = "causal",
        cycle_passes: int | None = None,
        last_cycle_only: bool = False,
    ):
        super().__init__()

        def blocks(count: int, mixer: str = "attention") -> nn.ModuleList:
            def attention() -> nn.Module:
                if mixer == "own_token":
                    return OwnTokenAttention(d, heads, kv_heads)
                if mixer == "attention":
                    return GroupedQueryAttention(d, heads, kv_heads)
                return GatedLinearAttention(d, heads, kv_heads, mixer)

            return nn.ModuleList(LlamaBlock(d, attention(), GeluMlp(d)) for _ in range(count))

        self.n_rounds, self.pool = n_rounds, pool
        self.approach, self.passes, self.has_penalty = approach, passes, has_penalty
        self.upsample = upsample
        self.cycle_passes, self.last_cycle_only = cycle_passes, last_cycle_only
        self.embed = nn.Embedding(vocab, d)
        if window not in (None, 1):
            raise ValueError("the fast path sees its whole past or one token")
        fast = "attention" if window is None else "own_token"
        self.pre, self.slow, self.post = blocks(n_pre, fast), blocks(n_slow, slow_mixer), blocks(n_post, fast)
        self.phi: nn.Module = linear(d, d)
        if projector_hidden is not None:
            self.phi = nn.Sequential(linear(d, projector_hidden), nn.GELU(), linear(projector_hidden, d))
        self.phi_norm = rms_norm(d)
        self.gamma = nn.Parameter(torch.zeros(()))
        self.norm = rms_norm(d)

    def refine(self, x: Tensor) -> Tensor:
        for block in self.post:
            x = block(x)
        return x

    def approached(self, x: Tensor) -> Tensor:
        last = None
        for _ in range(self.passes):
            image = self.refine(x)
            new = anderson_step(x, image, last) if self.approach == "anderson" else image
            last, x = (x, image - x), new
        return x

    def solved(self, x: Tensor, held: Tensor, less: float) -> Tensor:
        """x = Post(x) - less x + held."""

        def image_of(x: Tensor) -> Tensor:
            return self.refine(x) - less * x

        with torch.no_grad():
            for _ in range(SOLVE_PASSES):
                x = image_of(x) + held
        value = image_of(x) + held
        if value.requires_grad:
            at = x.detach().requires_grad_()
            image = image_of(at)

            def implicit(grad: Tensor) -> Tensor:
                u = grad
                for _ in range(SOLVE_PASSES):
                    u = grad + torch.autograd.grad(image, at, u, retain_graph=True)[0]
                return u

            value.register_hook(implicit)
        return value

    def cycles(self, start: Tensor, passes: int) -> Tensor:
        """(B, T, D) -> (B, T, D), all at token rate."""
        x, y = start, torch.zeros_like(start)
        for cycle in range(self.n_rounds):
            if self.last_cycle_only and cycle == self.n_rounds - 1:
                x, y = start + (x - start).detach(), y.detach()
            for _ in range(passes):
                x = self.refine(x + torch.tanh(self.gamma) * self.phi_norm(self.phi(y)))
            y = y + x
            for block in self.slow:
                y = block(y)
        return x + torch.tanh(self.gamma) * self.phi_norm(self.phi(y))

    def forward(self, tokens: Tensor) -> Tensor:
        misses = []
        x = self.embed(tokens)  # (B, T, D)
        for block in self.pre:
            x = block(x)
        if self.cycle_passes is not None:
            return self.norm(self.cycles(x, self.cycle_passes)) @ self.embed.weight.T
        for _ in range(self.n_rounds):
            y = causal_pool(x, self.pool)  # (B, ceil(T / P), D)
            for block in self.slow:
                y = block(y)
            if self.upsample == "leaky":
                up = y.repeat_interleave(self.pool, dim=1)[:, : x.shape[1]]
            else:
                up = causal_upsample(y, self.pool, x.shape[1])
            forcing = torch.tanh(self.gamma) * self.phi_norm(self.phi(up))
            x = x + forcing
            if self.approach == "deq":
                x = self.solved(x, forcing, 0.0)
            elif self.approach == "backward_euler":
                x = self.solved(x, x, 1.0)
            else:
                x = self.approached(x)
            misses.append((x - self.refine(x)).square().sum(-1).mean())
        if self.has_penalty:
            self.aux = torch.stack(misses).mean()
        return self.norm(x) @ self.embed.weight.T
