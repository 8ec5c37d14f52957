"""The transformer that others are measured against: GPT-2 without positions, with scores that fall with distance (ALiBi, arXiv
2108.12409), in the equations of the paper on ALiBi."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .layers import BiasedAttention, Gpt2Block, linear


class AlibiAttention(BiasedAttention):
    """Head h of H has the slope 2^(-8 h / H)."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        place = torch.arange(q.shape[2], device=q.device)
        distance = place[:, None] - place[None, :]
        slopes = 2.0 ** (-8.0 * torch.arange(1, self.heads + 1, device=q.device) / self.heads)
        bias = (-slopes[:, None, None] * distance).masked_fill(distance < 0, float("-inf"))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


class AlibiGpt(nn.Module):
    def __init__(self, vocab: int, d: int, heads: int, layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList(Gpt2Block(d, heads, AlibiAttention) for _ in range(layers))
        self.ln, self.head = nn.LayerNorm(d), linear(d, vocab)

    def forward(self, tokens: Tensor) -> Tensor:
        h = self.embed(tokens)
        for layer in self.layers:
            h = layer(h)
        return self.head(self.ln(h))
