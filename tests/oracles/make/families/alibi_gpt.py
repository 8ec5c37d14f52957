"""The transformer that others are measured against: GPT-2 without positions, with scores that fall with distance
(ALiBi, arXiv 2108.12409), in the equations of the paper on ALiBi."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .layers import RMS_EPS, BiasedAttention, Gpt2Block, linear


class AlibiAttention(BiasedAttention):
    """Head h of H has the slope 2^(-8 h / H)."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        place = torch.arange(q.shape[2], device=q.device)
        distance = place[:, None] - place[None, :]
        slopes = 2.0 ** (-8.0 * torch.arange(1, self.heads + 1, device=q.device) / self.heads)
        bias = (-slopes[:, None, None] * distance).masked_fill(distance < 0, float("-inf"))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


class CachedAttention(BiasedAttention):
    """The same with a first-in, first-out cache of the last `window` keys and values, token by token: each pushes its
    own and reads what the cache then holds. What an earlier part of the text has left is detached."""

    window = 0
    cache: tuple[Tensor, Tensor] | None = None

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        slopes = 2.0 ** (-8.0 * torch.arange(1, self.heads + 1, device=q.device) / self.heads)
        keys, values = ([], []) if self.cache is None else [list(past.detach().unbind(2)) for past in self.cache]
        reads = []
        for t in range(q.shape[2]):
            keys, values = (past[-self.window :] for past in ([*keys, k[:, :, t]], [*values, v[:, :, t]]))
            held = torch.stack(keys, dim=2)  # (B, H, S, d)
            scores = (held @ q[:, :, t, :, None]).squeeze(-1) / q.shape[-1] ** 0.5
            distance = torch.arange(len(keys) - 1, -1, -1, device=q.device)
            weights = (scores - slopes[:, None] * distance).softmax(dim=-1)
            reads.append(torch.einsum("bhs,bhsd->bhd", weights, torch.stack(values, dim=2)))
        self.cache = (torch.stack(keys, dim=2), torch.stack(values, dim=2))
        return torch.stack(reads, dim=2)


class LearnedMix(nn.Module):
    """A number for each source."""

    def __init__(self, d: int, sources: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(sources))

    def forward(self, sources: Tensor) -> Tensor:
        return torch.einsum("n,nbtd->btd", self.weight, sources)


class AttentionMix(nn.Module):
    """Attention Residuals (Kimi Team 2026): softmax over sources of a learned query and the sources over their RMS."""

    def __init__(self, d: int, sources: int):
        super().__init__()
        self.query = nn.Parameter(torch.zeros(d))

    def forward(self, sources: Tensor) -> Tensor:
        keys = F.rms_norm(sources, (sources.shape[-1],), eps=RMS_EPS)
        weights = torch.einsum("d,nbtd->nbt", self.query, keys).softmax(dim=0)
        return torch.einsum("nbt,nbtd->btd", weights, sources)


class AlibiGpt(nn.Module):
    """`residual`: "learned" or "attention" mixes the embedding and what the layers before added; else all are added."""

    def __init__(self, vocab: int, d: int, heads: int, layers: int, residual: str | None = None):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList(Gpt2Block(d, heads, AlibiAttention) for _ in range(layers))
        kinds: dict[str, type[nn.Module]] = {"learned": LearnedMix, "attention": AttentionMix}
        mixes = {} if residual is None else {str(i): kinds[residual](d, i + 1) for i in range(1, layers + 1)}
        self.residual = nn.ModuleDict(mixes)
        self.ln, self.head = nn.LayerNorm(d), linear(d, vocab)

    def mixed(self, h: Tensor) -> Tensor:
        sources = [h]
        for i, layer in enumerate(self.layers):
            sources.append(layer(h) - h)
            h = self.residual[str(i + 1)](torch.stack(sources))
        return h

    def forward(self, tokens: Tensor) -> Tensor:
        h = self.embed(tokens)
        if len(self.residual):
            return self.head(self.ln(self.mixed(h)))
        for layer in self.layers:
            h = layer(h)
        return self.head(self.ln(h))


class CachedAlibiGpt(AlibiGpt):
    """Reads a text in equal parts of `part` tokens; gradients stay within a part (arXiv 2509.26507, appendix B.2)."""

    def __init__(self, vocab: int, d: int, heads: int, layers: int, window: int, part: int):
        super().__init__(vocab, d, heads, layers)
        self.part = part
        for block in self.layers:
            cached = CachedAttention(d, heads)
            cached.window = window
            block.attn = cached

    def forward(self, tokens: Tensor) -> Tensor:
        for block in self.layers:
            block.attn.cache = None
        return torch.cat([super(CachedAlibiGpt, self).forward(part) for part in tokens.split(self.part, dim=1)], dim=1)
