"""A transformer whose middle is a flow (continuous depth), and the discrete baseline of the same lab."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .layers import BiasedAttention, GeluMlp, Gpt2Block, linear


class VectorField(nn.Module):
    """dH/dtau = alpha (attn(ln1(Hc)) + mlp(ln2(Hc))), Hc = H + time(tau) + control(u)."""

    def __init__(self, d: int, heads: int, control: int):
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(d), BiasedAttention(d, heads)
        self.ln2, self.mlp = nn.LayerNorm(d), GeluMlp(d, bias=True)
        self.time1, self.time2 = nn.Linear(1, d), nn.Linear(d, d)
        self.control = nn.Linear(control, d)
        self.alpha = nn.Parameter(torch.tensor(0.1))

    def forward(self, tau: float, h: Tensor, u: Tensor) -> Tensor:
        """h: (B, T, D); u: (B, C)."""
        time = self.time2(F.silu(self.time1(h.new_tensor([tau]))))  # (D,)
        shifted = h + time + self.control(u)[:, None]
        return self.alpha * (self.attn(self.ln1(shifted)) + self.mlp(self.ln2(shifted)))


class OdeFlow(nn.Module):
    def __init__(
        self, vocab: int, d: int, heads: int, ctx: int, head_layers: int, tail_layers: int, control: int, steps: int
    ):
        super().__init__()
        self.steps = steps
        self.embed, self.pos = nn.Embedding(vocab, d), nn.Embedding(ctx, d)
        self.head_layers = nn.ModuleList(Gpt2Block(d, heads) for _ in range(head_layers))
        self.field = VectorField(d, heads, control)
        self.tail_layers = nn.ModuleList(Gpt2Block(d, heads) for _ in range(tail_layers))
        self.ln, self.head = nn.LayerNorm(d), linear(d, vocab)

    def forward(self, tokens: Tensor, u: Tensor | None = None) -> Tensor:
        """u: (B, C), a control for each row; none means zero. Euler steps over tau in [0, 1]."""
        h = self.embed(tokens) + self.pos.weight[: tokens.shape[1]]
        if u is None:
            u = h.new_zeros(tokens.shape[0], self.field.control.in_features)
        for layer in self.head_layers:
            h = layer(h)
        for step in range(self.steps):
            h = h + self.field(step / self.steps, h, u) / self.steps
        for layer in self.tail_layers:
            h = layer(h)
        return self.head(self.ln(h))


class PlainGpt(nn.Module):
    def __init__(self, vocab: int, d: int, heads: int, ctx: int, layers: int):
        super().__init__()
        self.embed, self.pos = nn.Embedding(vocab, d), nn.Embedding(ctx, d)
        self.layers = nn.ModuleList(Gpt2Block(d, heads) for _ in range(layers))
        self.ln, self.head = nn.LayerNorm(d), linear(d, vocab)

    def forward(self, tokens: Tensor) -> Tensor:
        h = self.embed(tokens) + self.pos.weight[: tokens.shape[1]]
        for layer in self.layers:
            h = layer(h)
        return self.head(self.ln(h))
