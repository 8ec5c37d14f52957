"""Writes the checkpoints of this folder with PyTorch, and what their models answer.

    python make.py

BDH-GPU as in arXiv 2509.26507, appendix E, stated once more; sizes are tiny. `answers.safetensors` holds the
token ids and, for each file, the logits.
"""

import dataclasses
import math

import torch
from safetensors.torch import save_file

V, D, H, N, L, T = 256, 8, 2, 12, 3, 24


@dataclasses.dataclass
class Config:
    n_layer: int = L
    n_embd: int = D
    n_head: int = H
    dropout: float = 0.1
    vocab_size: int = V


def norm(x):
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), eps=1e-5)


def frequencies():
    pair = torch.arange(N, dtype=torch.float32).div(2).floor() * 2
    return 1.0 / 65536 ** (pair / N) / (2 * math.pi)


def in_pairs(x, turns):
    """Neighbours 2i and 2i + 1 turn together."""
    phase = (torch.arange(x.shape[-2])[:, None] * turns) % 1 * (2 * math.pi)
    other = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).reshape(x.shape)
    return x * phase.cos() + other * phase.sin()


def in_halves(x):
    """Neurons i and i + N/2 turn together, at a base of 10,000."""
    speed = 1.0 / 10000 ** (torch.arange(0, N, 2, dtype=torch.float32) / N)
    phase = torch.outer(torch.arange(x.shape[-2], dtype=torch.float32), speed).repeat(1, 2)
    other = torch.cat((-x[..., N // 2 :], x[..., : N // 2]), dim=-1)
    return x * phase.cos() + other * phase.sin()


def quarter(x):
    """The first half of a head's neurons turn, neighbours together, at a base of 10,000 (rotary_embedding_torch)."""
    speed = 1.0 / 10000 ** (torch.arange(0, N // 2, 2, dtype=torch.float32) / (N // 2))
    phase = torch.outer(torch.arange(x.shape[-2], dtype=torch.float32), speed).repeat_interleave(2, dim=-1)
    first, rest = x[..., : N // 2], x[..., N // 2 :]
    other = torch.stack((-first[..., 1::2], first[..., ::2]), dim=-1).reshape(first.shape)
    return torch.cat((first * phase.cos() + other * phase.sin(), rest), dim=-1)


def answer(embed, encoder, encoder_v, decoder, head, turn, tokens, final_norm=False):
    v = norm(embed[tokens])[:, None]  # (B, 1, T, D)
    for _ in range(L):
        x = torch.relu(v @ encoder)
        q = turn(x)
        a = norm((q @ q.mT).tril(-1) @ v)
        y = torch.relu(a @ encoder_v) * x
        read = y.transpose(1, 2).reshape(*tokens.shape, H * N) @ decoder
        v = v + norm(read)[:, None]
        v = v if final_norm else norm(v)
    return norm(v[:, 0]) @ head if final_norm else v[:, 0] @ head


def weights(seed):
    g = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=g) * 0.3

    return [draw(V, D), draw(H, D, N), draw(H, D, N), draw(H * N, D), draw(D, V)]


def usual(x):
    return in_pairs(x, frequencies())


def main():
    tokens = torch.randint(0, V, (2, T), generator=torch.Generator().manual_seed(5))
    answers = {"tokens": tokens}
    names = ["embed.weight", "encoder", "encoder_v", "decoder", "lm_head"]

    # as a training script of torch.compile saves it: prefixed, wrapped, with a config and an optimiser beside it
    w = weights(1)
    model = {f"_orig_mod.{n}": t.clone() for n, t in zip(names, w, strict=True)}
    model["_orig_mod.attn.freqs"] = frequencies().view(1, 1, 1, N)
    parameters = [torch.nn.Parameter(t.clone()) for t in w]
    optimiser = torch.optim.AdamW(parameters)
    sum(p.sum() for p in parameters).backward()
    optimiser.step()
    torch.save(
        {"model": model, "optimizer": optimiser.state_dict(), "config": Config(), "step": 12, "loss": 1.5},
        "compiled.pt",
    )
    answers["compiled.pt"] = answer(*w, usual, tokens)

    # a bare state dict of a module in half the precision, one tensor of it a view that is not row-major
    w = [t.to(torch.bfloat16) for t in weights(2)]
    bare = torch.nn.Module()
    for n, t in zip(names, w, strict=True):
        if n == "embed.weight":
            bare.embed = torch.nn.Embedding(V, D, dtype=torch.bfloat16)
            bare.embed.weight.data = t
        else:
            setattr(bare, n, torch.nn.Parameter(t.mT.contiguous().mT if n == "encoder" else t))
    torch.save(bare.state_dict(), "bare.pth")
    answers["bare.pth"] = answer(*[t.float() for t in w], usual, tokens)

    # safetensors under `model.`, f16
    w = [t.to(torch.float16) for t in weights(3)]
    save_file(
        {f"model.{n}": t for n, t in zip(names, w, strict=True)}, "wrapped.safetensors", {"config": '{"n_layer": 3}'}
    )
    answers["wrapped.safetensors"] = answer(*[t.float() for t in w], usual, tokens)

    # the names and the rotation of krychu/bdh, with the mask over the future that this code has not
    w = weights(4)
    torch.save({"emb.weight": w[0], "Dx": w[1], "Dy": w[2], "E": w[3], "readout": w[4]}, "krychu.pt")
    answers["krychu.pt"] = answer(*w, in_halves, tokens)

    # jploski/bdh-transformers with a head of its own, and with one that is tied to the embedding and left out
    w = weights(5)
    backbone = {f"backbone.{n}": t for n, t in zip(names[:4], w, strict=False)}
    save_file(backbone | {"lm_head.weight": w[4].T.contiguous()}, "transformers.safetensors")
    answers["transformers.safetensors"] = answer(*w, usual, tokens)
    save_file(backbone, "tied.safetensors")
    answers["tied.safetensors"] = answer(*w[:4], w[0].T, usual, tokens)

    # lucidrains/bdh-cq: linear layers lie (out, in), its rotary embedding keeps its frequencies
    w = weights(6)
    cq = {
        "token_embed.weight": w[0],
        "block.to_qk.weight": w[1].transpose(1, 2).reshape(H * N, D).contiguous(),
        "block.proj_up": w[2],
        "block.proj_out.weight": w[3].T.contiguous(),
        "to_logits.weight": w[4].T.contiguous(),
        "rope.freqs": 1.0 / 10000 ** (torch.arange(0, N // 2, 2, dtype=torch.float32) / (N // 2)),
    }
    torch.save(cq, "cq.pt")
    answers["cq.pt"] = answer(*w, quarter, tokens, final_norm=True)

    save_file({k: t.contiguous() for k, t in answers.items()}, "answers.safetensors")


if __name__ == "__main__":
    main()
