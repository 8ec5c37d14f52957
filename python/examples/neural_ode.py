"""A neural ODE that learns a spiral, solved by torchdiffeq: how often its field is evaluated, and when, live in Orrery.

pip install torchdiffeq
python examples/neural_ode.py
"""

from __future__ import annotations

import argparse

import orrery_log
import torch
from torch import nn
from torchdiffeq import odeint


class Field(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2))

    def forward(self, t, y):
        return self.net(y**3)


def main(argv: list[str] | None = None) -> str | None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--method", default="dopri5")
    parser.add_argument("--out", default="runs")
    args = parser.parse_args(argv)

    torch.manual_seed(0)
    times = torch.linspace(0.0, 5.0, 100)
    spiral = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    start = torch.tensor([[2.0, 0.0]])
    with torch.no_grad():
        true = odeint(lambda t, y: y**3 @ spiral, start, times)

    field = Field()
    optimizer = torch.optim.RMSprop(field.parameters(), lr=1e-3)
    run = orrery_log.init("neural_ode", config=vars(args), dir=args.out, total_steps=args.steps)
    func = orrery_log.ode(field, every=25)
    for step in range(1, args.steps + 1):
        path = odeint(func, start, times[:20], method=args.method)
        loss = (path - true[:20]).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        orrery_log.log({"loss": loss}, step=step)
        if step % 25 == 0:
            found, wanted = path.detach()[:, 0], true[:20, 0]
            curves = {}
            for i, axis in enumerate("xy"):
                curves[f"{axis}, model"] = (times[:20], found[:, i])
                curves[f"{axis}, true"] = (times[:20], wanted[:, i])
            orrery_log.curves("spiral", curves, step, x_axis="t", y_axis="place on the spiral")
            orrery_log.log_weights(field, step)
    orrery_log.finish()
    return run.folder


if __name__ == "__main__":
    print(main())
