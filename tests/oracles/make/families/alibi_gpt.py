"""The transformer that others are measured against: GPT-2 without positions, with scores that fall with distance (ALiBi, arXiv
2108.12409), in the equations of the paper on ALiBi."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .layers import GeluMlp, linear, merge_heads, split_heads


class AlibiAttention(nn.Module):
    """Causal multi-head attention with biases; head h of H has the slope 2^(-8 h / H)."""

    def __init__(self, d: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (split_heads(z, self.heads) for z in self.qkv(x).chunk(3, dim=-1))
        place = torch.arange(x.shape[1], device=x.device)
        distance = place[:, None] - place[None, :]
        slopes = 2.0 ** (-8.0 * torch.arange(1, self.heads + 1, device=x.device) / self.heads)
        bias = (-slopes[:, None, None] * distance).masked_fill(distance < 0, float("-inf"))
        return self.proj(merge_heads(F.scaled_dot_product_attention(q, k, v, attn_mask=bias)))


class AlibiBlock(nn.Module):
    def __init__(self, d: int, heads: int):
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(d), AlibiAttention(d, heads)
        self.ln2, self.mlp = nn.LayerNorm(d), GeluMlp(d, bias=True)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class AlibiGpt(nn.Module):
    def __init__(self, vocab: int, d: int, heads: int, layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList(AlibiBlock(d, heads) for _ in range(layers))
        self.ln, self.head = nn.LayerNorm(d), linear(d, vocab)

    def forward(self, tokens: Tensor) -> Tensor:
        h = self.embed(tokens)
        for layer in self.layers:
            h = layer(h)
        return self.head(self.ln(h))
