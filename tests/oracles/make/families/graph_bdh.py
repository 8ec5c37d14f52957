"""BDH on a graph, equation (6) of arXiv 2509.26507: sparse G_x, G_y and G_s whose weights are parameters."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

EPS = 1e-5


class Edges(nn.Module):
    """k edges that end at each of n neurons; the weight is the size of the parameter."""

    def __init__(self, n: int, k: int, generator: torch.Generator):
        super().__init__()
        source = torch.stack([torch.randperm(n, generator=generator)[:k] for _ in range(n)])
        self.register_buffer("source", source.float())
        self.weight = nn.Parameter(torch.empty(n, k))

    def matrix(self) -> Tensor:
        n = self.weight.shape[0]
        return torch.zeros(n, n, dtype=self.weight.dtype).scatter_add(1, self.source.long(), self.weight.abs())


class Circuit(nn.Module):
    def __init__(self, n: int, k: int, generator: torch.Generator):
        super().__init__()
        self.excitatory, self.inhibitory = Edges(n, k, generator), Edges(n, k, generator)

    def matrix(self) -> Tensor:
        return self.excitatory.matrix() - self.inhibitory.matrix()


class GraphBdh(nn.Module):
    """Token by token, with the state of every pair of neurons, as the equation is printed."""

    def __init__(self, vocab: int, n: int, degree: int, synapses: int, layers: int, memory: float, norms: bool):
        super().__init__()
        generator = torch.Generator().manual_seed(n)
        self.layers, self.norms = layers, norms
        self.embed, self.head = nn.Embedding(vocab, n), nn.Linear(n, vocab, bias=False)
        self.gx, self.gy = Circuit(n, degree, generator), Circuit(n, degree, generator)
        self.gs = Edges(n, synapses, generator)
        time = memory ** (torch.arange(n, dtype=torch.float64) / (n - 1))
        self.register_buffer("keep", (-1 / time).exp(), persistent=False)

    def norm(self, x: Tensor) -> Tensor:
        return x / (x.square().mean(-1, keepdim=True) + EPS).sqrt() if self.norms else x

    def activity(self, tokens: Tensor) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """Logits (B, T, V), and of every layer x and y, (B, T, n) each."""
        wires, prods, written = self.gx.matrix(), self.gy.matrix(), self.gs.matrix()
        keep = self.keep.to(wires.dtype)
        rows, n = tokens.shape[0], keep.shape[0]
        sigma = [torch.zeros(rows, n, n, dtype=wires.dtype) for _ in range(self.layers)]
        logits, xs, ys = [], [], []
        for token in tokens.T:
            y, x = self.norm(F.relu(self.embed(token))), torch.zeros(rows, n, dtype=wires.dtype)
            xs.append([])
            ys.append([])
            for layer in range(self.layers):
                x = x + F.relu(y @ wires.T)
                a = self.norm((sigma[layer] @ x[:, :, None])[:, :, 0])
                sigma[layer] = (sigma[layer] + y[:, :, None] * x[:, None, :] * written) * keep[:, None]
                y = self.norm(F.relu(a @ prods.T) * x)
                xs[-1].append(x)
                ys[-1].append(y)
            logits.append(self.head(y))
        xs, ys = ([torch.stack(layer, 1) for layer in zip(*of, strict=True)] for of in (xs, ys))
        return torch.stack(logits, 1), xs, ys

    def forward(self, tokens: Tensor) -> Tensor:
        return self.activity(tokens)[0]
