"""The dense decoder that the fast-slow lab compares with: SwiGLU, RMSNorm, tied head."""

from torch import Tensor, nn

from .layers import GroupedQueryAttention, LlamaBlock, SwiGluMlp, rms_norm


class Dense(nn.Module):
    def __init__(self, vocab: int, d: int, heads: int, kv_heads: int, layers: int, hidden: int):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList(
            LlamaBlock(d, GroupedQueryAttention(d, heads, kv_heads), SwiGluMlp(d, hidden)) for _ in range(layers)
        )
        self.norm = rms_norm(d)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)  # (B, T, D)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x) @ self.embed.weight.T
