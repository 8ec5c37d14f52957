"""A small BDH with the parts of the public code (github.com/pathwaycom/bdh), trained on bytes: its linear attention,
and the share of its neurons that fire, live in Orrery.

    python examples/bdh.py --text tinyshakespeare.txt
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import orrery_log
import torch
from torch import nn
from torch.nn import functional as F

TEXT = "To be, or not to be, that is the question:\nWhether 'tis nobler in the mind to suffer\n" * 40


class Attention(nn.Module):
    def __init__(self, neurons: int) -> None:
        super().__init__()
        pairs = torch.arange(neurons, dtype=torch.float32).div(2, rounding_mode="floor") * 2
        self.register_buffer("freqs", (1.0 / 2 ** (16 * pairs / neurons) / (2 * math.pi)).view(1, 1, 1, neurons))

    @staticmethod
    def rope(phases, v):
        turned = torch.stack((-v[..., 1::2], v[..., ::2]), dim=-1).view(*v.shape)
        phases = (phases % 1) * (2 * math.pi)
        return (v * phases.cos()).to(v.dtype) + (turned * phases.sin()).to(v.dtype)

    def forward(self, Q, K, V):
        places = torch.arange(Q.shape[2], device=Q.device, dtype=self.freqs.dtype).view(1, 1, -1, 1)
        turned = self.rope(places * self.freqs, Q)
        return (turned @ turned.mT).tril(diagonal=-1) @ V


class BDH(nn.Module):
    def __init__(self, layers: int = 3, width: int = 64, heads: int = 4, neurons: int = 1024, vocab: int = 256) -> None:
        super().__init__()
        self.layers = layers
        self.decoder = nn.Parameter(torch.zeros(neurons, width).normal_(std=0.02))
        self.encoder = nn.Parameter(torch.zeros(heads, width, neurons // heads).normal_(std=0.02))
        self.encoder_v = nn.Parameter(torch.zeros(heads, width, neurons // heads).normal_(std=0.02))
        self.attn = Attention(neurons // heads)
        self.ln = nn.LayerNorm(width, elementwise_affine=False, bias=False)
        self.embed = nn.Embedding(vocab, width)
        self.drop = nn.Dropout(0.1)
        self.lm_head = nn.Parameter(torch.zeros(width, vocab).normal_(std=0.02))

    def forward(self, idx):
        x = self.ln(self.embed(idx).unsqueeze(1))
        for _ in range(self.layers):
            x_sparse = F.relu(x @ self.encoder)
            y_kv = self.ln(self.attn(Q=x_sparse, K=x_sparse, V=x))
            y_sparse = F.relu(y_kv @ self.encoder_v)
            xy_sparse = self.drop(x_sparse * y_sparse)
            y = xy_sparse.transpose(1, 2).reshape(idx.shape[0], 1, idx.shape[1], -1) @ self.decoder
            x = self.ln(x + self.ln(y))
        return x.squeeze(1) @ self.lm_head


def main(argv: list[str] | None = None) -> str | None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", default="", help="a text file; without it two lines of Hamlet")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--out", default="runs")
    args = parser.parse_args(argv)

    torch.manual_seed(0)
    data = torch.tensor(list(Path(args.text).read_bytes() if args.text else TEXT.encode()))
    model = BDH()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    run = orrery_log.init("bdh", config=vars(args), dir=args.out, total_steps=args.steps)
    orrery_log.watch(model, every=25, max_tokens=64, decode=lambda ids: chr(ids[0]))
    for step in range(1, args.steps + 1):
        starts = torch.randint(len(data) - args.length - 1, (8,))
        batch = torch.stack([data[s : s + args.length + 1] for s in starts])
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        orrery_log.log({"loss/train": loss}, step=step)
        if step % 100 == 0:
            orrery_log.log_weights(model, step, budget=256 << 20)
    orrery_log.finish()
    return run.folder


if __name__ == "__main__":
    print(main())
