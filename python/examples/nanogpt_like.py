"""A character model like nanoGPT, trained on a text file, with its attention maps live in Orrery.

python examples/nanogpt_like.py --text tinyshakespeare.txt
orrery follow runs/<the folder that it prints>
"""

from __future__ import annotations

import argparse
from pathlib import Path

import orrery_log
import torch
from torch import nn
from torch.nn import functional as F

TEXT = "To be, or not to be, that is the question:\nWhether 'tis nobler in the mind to suffer\n" * 40


class CausalSelfAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.n_head = heads
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.n_head, -1).transpose(1, 2) for t in self.c_attn(x).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = CausalSelfAttention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, vocab: int, length: int, layers: int, heads: int, width: int) -> None:
        super().__init__()
        self.wte = nn.Embedding(vocab, width)
        self.wpe = nn.Embedding(length, width)
        self.h = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocab, bias=False)

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1], device=idx.device))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def main(argv: list[str] | None = None) -> str | None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", default="", help="a text file; without it two lines of Hamlet")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--out", default="runs")
    args = parser.parse_args(argv)

    torch.manual_seed(0)
    text = Path(args.text).read_text(encoding="utf-8") if args.text else TEXT
    letters = sorted(set(text))
    data = torch.tensor([letters.index(c) for c in text])
    split = len(data) * 9 // 10
    model = GPT(len(letters), args.length, args.layers, args.heads, args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    def loss_of(part):
        starts = torch.randint(len(part) - args.length, (args.batch,))
        x = torch.stack([part[s : s + args.length] for s in starts])
        y = torch.stack([part[s + 1 : s + args.length + 1] for s in starts])
        return F.cross_entropy(model(x).flatten(0, 1), y.flatten())

    run = orrery_log.init(
        "nanogpt", config=vars(args), dir=args.out, total_steps=args.steps, allow=["pause", "scale_lr"]
    )
    orrery_log.watch(
        model, every=50, optimizer=optimizer, activations=["h.*.mlp.1"], decode=lambda ids: letters[ids[0]]
    )
    for step in range(1, args.steps + 1):
        loss = loss_of(data[:split])
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scalars = {"loss/train": loss, "train/lr": optimizer.param_groups[0]["lr"], "train/grad_norm": norm}
        if step % 50 == 0:
            model.eval()
            with torch.no_grad():
                scalars["loss/held_out"] = loss_of(data[split:])
            model.train()
            orrery_log.log_weights(model, step, names=["h.0.*"], budget=64 << 20)
        orrery_log.log(scalars, step=step)
    orrery_log.finish()
    return run.folder


if __name__ == "__main__":
    print(main())
