"""SPEN of arXiv 2604.08556: moving averages at three rates in place of attention, and a sparse MLP."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .layers import linear, merge_heads, split_heads

RATES = (0.5, 0.1, 0.02)
CHUNK = 64


def moving_average(x: Tensor, rate: float) -> Tensor:
    """h_t = (1 - a) h_{t-1} + a x_t with h_{-1} = 0, along T of (B, T, D); exact, a chunk at a time."""
    age = torch.arange(min(CHUNK, x.shape[1]), device=x.device)
    since = (age[:, None] - age[None, :]).clamp(min=0)
    weights = (rate * (1 - rate) ** since.to(x.dtype)).tril()  # (C, C)
    fade = ((1 - rate) ** (age + 1).to(x.dtype))[:, None]  # (C, 1)
    before = x.new_zeros(x.shape[0], 1, x.shape[2])
    chunks = []
    for chunk in x.split(CHUNK, dim=1):
        n = chunk.shape[1]
        chunks.append(weights[:n, :n] @ chunk + fade[:n] * before)
        before = chunks[-1][:, -1:]
    return torch.cat(chunks, dim=1)


class SoftmaxPredictor(nn.Module):
    """Full causal softmax attention in place of a linear map: a token sees itself and all before it."""

    def __init__(self, d: int, heads: int):
        super().__init__()
        self.heads = heads
        self.wq, self.wk, self.wv = (linear(d, d) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (split_heads(w(x), self.heads) for w in (self.wq, self.wk, self.wv))
        return merge_heads(F.scaled_dot_product_attention(q, k, v, is_causal=True))


class SpenBlock(nn.Module):
    def __init__(self, d: int, ff: int, k: int, heads: int | None):
        super().__init__()
        self.k = k
        self.pred = linear(d, d) if heads is None else SoftmaxPredictor(d, heads)
        self.wf, self.wm, self.ws, self.we = (linear(d, d) for _ in range(4))
        self.ln, self.up, self.down = nn.LayerNorm(d), linear(d, ff), linear(ff, d)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The new stream (B, T, D) and the balance loss of the kept units."""
        fast, middle, slow = (moving_average(x, rate) for rate in RATES)
        predicted = self.pred(slow / slow.norm(dim=-1, keepdim=True).clamp(min=1e-6))
        mixed = x + self.wf(fast) + self.wm(middle) + self.ws(slow) + self.we(x - predicted)
        z = F.gelu(self.up(self.ln(mixed)))  # (B, T, F)
        kept = (z >= z.topk(self.k, dim=-1).values[..., -1:]).to(z.dtype)
        sparse = z + (z * kept - z).detach()  # every unit gets its gradient
        frequency = kept.mean((0, 1)) / self.k
        probability = z.softmax(dim=-1).mean((0, 1))
        return x + self.down(sparse), z.shape[-1] * (frequency * probability).sum()


class Spen(nn.Module):
    """`aux`, set by each forward pass, is the blocks' balance loss; training adds a hundredth of it. `heads` are those
    of the predictor `full_softmax_attention`."""

    def __init__(
        self, vocab: int, d: int, ff: int, k: int, layers: int, predictor: str = "static", heads: int | None = None
    ):
        super().__init__()
        if (predictor == "static") != (heads is None):
            raise ValueError(f"heads {heads} do not go with the predictor {predictor}")
        self.embed = nn.Embedding(vocab, d)
        self.blocks = nn.ModuleList(SpenBlock(d, ff, k, heads) for _ in range(layers))
        self.ln = nn.LayerNorm(d)
        self.aux: Tensor | None = None

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        balances = []
        for block in self.blocks:
            x, balance = block(x)
            balances.append(balance)
        self.aux = torch.stack(balances).sum()
        return self.ln(x) @ self.embed.weight.T
