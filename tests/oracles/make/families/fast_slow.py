"""The fast-slow model of arXiv 2606.16730: a slow path over pooled blocks, let in through tanh(gamma)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .layers import GeluMlp, GroupedQueryAttention, LlamaBlock, linear, rms_norm


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


class FastSlow(nn.Module):
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
    ):
        super().__init__()

        def blocks(count: int) -> nn.ModuleList:
            made = (LlamaBlock(d, GroupedQueryAttention(d, heads, kv_heads), GeluMlp(d)) for _ in range(count))
            return nn.ModuleList(made)

        self.n_rounds, self.pool = n_rounds, pool
        self.embed = nn.Embedding(vocab, d)
        self.pre, self.slow, self.post = blocks(n_pre), blocks(n_slow), blocks(n_post)
        self.phi: nn.Module = linear(d, d)
        if projector_hidden is not None:
            self.phi = nn.Sequential(linear(d, projector_hidden), nn.GELU(), linear(projector_hidden, d))
        self.phi_norm = rms_norm(d)
        self.gamma = nn.Parameter(torch.zeros(()))
        self.norm = rms_norm(d)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)  # (B, T, D)
        for block in self.pre:
            x = block(x)
        for _ in range(self.n_rounds):
            y = causal_pool(x, self.pool)  # (B, ceil(T / P), D)
            for block in self.slow:
                y = block(y)
            from_slow = self.phi_norm(self.phi(causal_upsample(y, self.pool, x.shape[1])))
            x = x + torch.tanh(self.gamma) * from_slow
            for block in self.post:
                x = block(x)
        return self.norm(x) @ self.embed.weight.T
