"""A Hugging Face model of random weights that learns to copy: its attention maps live in Orrery. Nothing is downloaded.

pip install transformers
python examples/huggingface.py --model llama
"""

from __future__ import annotations

import argparse

import orrery_log
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM


def build(kind: str, attention: str):
    if kind == "gpt2":
        config = GPT2Config(
            vocab_size=64, n_positions=64, n_embd=64, n_layer=2, n_head=4, bos_token_id=None, eos_token_id=None
        )
        config._attn_implementation = attention
        return GPT2LMHeadModel(config)
    config = LlamaConfig(
        vocab_size=64,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
    )
    config._attn_implementation = attention
    return LlamaForCausalLM(config)


def main(argv: list[str] | None = None) -> str | None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=["gpt2", "llama"], default="gpt2")
    parser.add_argument("--attention", choices=["sdpa", "eager"], default="sdpa")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--out", default="runs")
    args = parser.parse_args(argv)

    torch.manual_seed(0)
    model = build(args.model, args.attention)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    run = orrery_log.init(args.model, config=vars(args), dir=args.out, total_steps=args.steps)
    orrery_log.watch(model, every=25)
    for step in range(1, args.steps + 1):
        half = torch.randint(64, (16, 12))
        batch = torch.cat([half, half], dim=1)
        labels = batch.clone()
        labels[:, :12] = -100
        loss = model(input_ids=batch, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        orrery_log.log({"loss/train": loss}, step=step)
    orrery_log.finish()
    return run.folder


if __name__ == "__main__":
    print(main())
