"""Layers that several families use: rotary positions, attention, gated and plain MLPs, transformer blocks.

Shapes: B sequences, T tokens, D model width, H heads, d = D / H.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

RMS_EPS = 1e-6


def linear(n_in: int, n_out: int) -> nn.Linear:
    return nn.Linear(n_in, n_out, bias=False)


def rms_norm(width: int) -> nn.RMSNorm:
    return nn.RMSNorm(width, eps=RMS_EPS)


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(B, T, H d) -> (B, H, T, d)."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """(B, H, T, d) -> (B, T, H d)."""
    return x.transpose(1, 2).flatten(-2)


def rotate(x: Tensor, theta: float = 1e4) -> Tensor:
    """Rotary positions on (B, H, T, d); channel i is paired with channel i + d/2."""
    tokens, width = x.shape[-2:]
    speeds = theta ** (-torch.arange(0, width, 2, device=x.device) / width)
    angles = torch.outer(torch.arange(tokens, device=x.device, dtype=speeds.dtype), speeds)  # (T, d/2)
    cos, sin = angles.cos(), angles.sin()
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)


class GroupedQueryAttention(nn.Module):
    """Causal, no bias; RMSNorm on each head of q and k, then rotary positions."""

    def __init__(self, d: int, heads: int, kv_heads: int):
        super().__init__()
        self.heads, self.kv_heads = heads, kv_heads
        head_width = d // heads
        self.wq, self.wk = linear(d, d), linear(d, kv_heads * head_width)
        self.wv, self.wo = linear(d, kv_heads * head_width), linear(d, d)
        self.q_norm, self.k_norm = rms_norm(head_width), rms_norm(head_width)

    def forward(self, x: Tensor) -> Tensor:
        q = rotate(self.q_norm(split_heads(self.wq(x), self.heads)))
        k = rotate(self.k_norm(split_heads(self.wk(x), self.kv_heads)))
        v = split_heads(self.wv(x), self.kv_heads)
        k, v = (z.repeat_interleave(self.heads // self.kv_heads, dim=1) for z in (k, v))
        return self.wo(merge_heads(F.scaled_dot_product_attention(q, k, v, is_causal=True)))


class GeluMlp(nn.Module):
    """down(gelu(up(x))), hidden width 4 D."""

    def __init__(self, d: int, bias: bool = False):
        super().__init__()
        self.up, self.down = nn.Linear(d, 4 * d, bias=bias), nn.Linear(4 * d, d, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.gelu(self.up(x)))


class SwiGluMlp(nn.Module):
    """down(silu(gate(x)) * up(x))."""

    def __init__(self, d: int, hidden: int):
        super().__init__()
        self.gate, self.up, self.down = linear(d, hidden), linear(d, hidden), linear(hidden, d)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class LlamaBlock(nn.Module):
    """x += attn(norm1(x)); x += mlp(norm2(x)), with RMSNorm and the attention and MLP that it is given."""

    def __init__(self, d: int, attn: nn.Module, mlp: nn.Module):
        super().__init__()
        self.norm1, self.attn, self.norm2, self.mlp = rms_norm(d), attn, rms_norm(d), mlp

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class BiasedAttention(nn.Module):
    """Causal multi-head attention with biases; q, k and v in one map."""

    def __init__(self, d: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (split_heads(z, self.heads) for z in self.qkv(x).chunk(3, dim=-1))
        return self.proj(merge_heads(self.attend(q, k, v)))


class Gpt2Block(nn.Module):
    """The block of GPT-2: LayerNorm and biases."""

    def __init__(self, d: int, heads: int, attention: type[BiasedAttention] = BiasedAttention):
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(d), attention(d, heads)
        self.ln2, self.mlp = nn.LayerNorm(d), GeluMlp(d, bias=True)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))
