"""BDH-GPU of arXiv 2509.26507, appendix E: one set of weights for all layers, linear attention over neurons."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def layer_norm(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:])


class Bdh(nn.Module):
    """d: width D; n: neurons of all heads together, N = n / H of them a head. `through_past`: gradients reach what
    earlier tokens have written; without, keys and values are detached (section 7.2). `normfree`: equation (7) in place
    of the listing, x is added up over the layers, v is what a layer reads out, and nothing is normalised. `equation_8`:
    the same with a norm on what is read out and on what attention gives.
    `gated`: BDH-GPU', the project's reading of "adds xLSTM-like gating mechanism, and merges next token predictions
    from all layers" (appendix B.2): a head weighs what it writes by sigmoid(w v + b), as an input gate does, and the
    logits are a mean over those of all layers with learned shares, a softmax."""

    def __init__(
        self,
        vocab: int,
        d: int,
        heads: int,
        n: int,
        layers: int,
        through_past: bool = True,
        normfree: bool = False,
        gated: bool = False,
        equation_8: bool = False,
    ):
        super().__init__()
        per_head = n // heads
        self.layers, self.through_past, self.normfree = layers, through_past, normfree
        self.adds_x = normfree or equation_8
        self.encoder = nn.Parameter(torch.empty(heads, d, per_head))
        self.encoder_v = nn.Parameter(torch.empty(heads, d, per_head))
        self.decoder = nn.Parameter(torch.empty(n, d))
        self.lm_head = nn.Parameter(torch.empty(d, vocab))
        self.embed = nn.Embedding(vocab, d)
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.02)
        self.gate = nn.Linear(d, heads) if gated else None
        self.merge = nn.Parameter(torch.zeros(layers)) if gated else None
        pair = torch.arange(per_head) // 2 * 2
        turns = 65536.0 ** (-pair.float() / per_head) / (2 * math.pi)  # turns a token
        self.register_buffer("turns", turns, persistent=False)

    def rotate(self, x: Tensor) -> Tensor:
        """Neurons 2i and 2i + 1 turn together; (B, H, T, N)."""
        time = torch.arange(x.shape[-2], device=x.device, dtype=x.dtype)
        phase = (time[:, None] * self.turns).frac() * (2 * math.pi)  # (T, N)
        even, odd = x[..., ::2], x[..., 1::2]
        swapped = torch.stack((-odd, even), dim=-1).flatten(-2)
        return x * phase.cos() + swapped * phase.sin()

    def activity(self, tokens: Tensor) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """Logits (B, T, V), and of every layer x and y, (B, H, T, N) each."""
        norm = (lambda z: z) if self.normfree else layer_norm
        v = norm(self.embed(tokens))[:, None]  # (B, 1, T, D)
        xs, ys, predictions = [], [], []
        for _ in range(self.layers):
            x = F.relu(v @ self.encoder)
            if self.adds_x and xs:
                x = x + xs[-1]
            q = self.rotate(x)
            k, values = (q, v) if self.through_past else (q.detach(), v.detach())
            if self.gate is not None:
                values = values * self.gate(v[:, 0]).sigmoid().mT[..., None]  # (B, H, T, D)
            a = norm((q @ k.mT).tril(-1) @ values)  # strictly past
            y = F.relu(a @ self.encoder_v) * x
            read = y.transpose(1, 2).flatten(-2)[:, None] @ self.decoder
            v = norm(read) if self.adds_x else layer_norm(v + layer_norm(read))
            xs.append(x)
            ys.append(y)
            predictions.append(v[:, 0] @ self.lm_head)
        if self.merge is None:
            return predictions[-1], xs, ys
        return torch.einsum("l,lbtv->btv", self.merge.softmax(dim=0), torch.stack(predictions)), xs, ys

    def forward(self, tokens: Tensor) -> Tensor:
        return self.activity(tokens)[0]
