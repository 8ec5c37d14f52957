"""Evaluations of an ODE's field, with a solver of two evaluations a step."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest


class Handle:
    def __init__(self, hooks, key):
        self.hooks, self.key = hooks, key

    def remove(self):
        self.hooks.pop(self.key, None)


class Module:
    """As much of a PyTorch module as a field needs."""

    def __init__(self):
        self.hooks = {}
        self.training = True

    def register_forward_pre_hook(self, hook):
        key = object()
        self.hooks[key] = hook
        return Handle(self.hooks, key)

    def __call__(self, t, y):
        for hook in list(self.hooks.values()):
            hook(self, (t, y))
        return -y


def solve(field, y=1.0):
    return y + (field(0.0, y) + field(1.0, y)) / 2


def fresh(kind):
    module = Module()
    return {
        "module": lambda: module,
        "lambda": lambda: lambda t, y: -y,
        "module made anew": Module,
    }[kind]


@pytest.mark.parametrize("kind", ["module", "lambda", "module made anew"])
def test_a_field_that_is_given_in_each_step_is_counted_once(begin, kind):
    run, field = begin(), fresh(kind)
    for step in range(60):
        solve(run.ode(field(), every=25))
        run.log({"a": 1}, step=step)
    hooks = len(field().hooks) if kind == "module" else 0
    assert (len(run.collectors), len(run.listeners)) == (1, 1) and hooks <= 1
    folder = run.read()
    assert folder.scalar("ode/nfe") == [(step, 2) for step in range(60)] and not folder.notices()
    assert [line["step"] for line in folder.channel("curves/ode")] == [0, 25, 50]


def test_a_field_that_is_wrapped_already_is_not_counted_twice(begin):
    run = begin()
    solve(run.ode(run.ode(lambda t, y: -y)))
    run.log({"a": 1})
    assert run.read().scalar("ode/nfe") == [(0, 2)]


def test_a_module_that_goes_is_not_held(begin):
    run = begin()
    field = Module()
    solve(run.ode(field))
    seen = weakref.ref(field)
    del field
    gc.collect()
    assert seen() is None


def test_a_field_in_eval_mode_is_not_counted(begin):
    run, field = begin(), Module()
    func = run.ode(field)
    for step in range(2):
        solve(func)
        field.training = False
        solve(func)
        field.training = True
        run.log({"a": 1}, step=step)
    assert run.read().scalar("ode/nfe") == [(0, 2), (1, 2)]


def test_fields_of_other_names_and_runs_are_counted_apart(begin):
    field = Module()
    run = begin()
    solve(run.ode(field))
    solve(run.ode(lambda t, y: -y, name="plain"))
    run.log({"a": 1})
    folder = run.read()
    assert folder.scalar("ode/nfe") == folder.scalar("plain/nfe") == [(0, 2)] and not field.hooks
    second = begin()
    solve(second.ode(field))
    second.log({"a": 1})
    assert second.read().scalar("ode/nfe") == [(0, 2)]


def test_what_is_no_field_is_said_and_given_back(begin, capfd):
    run = begin()
    assert run.ode(Module, every="often") is Module and "the field is not watched" in run.read().notices()


def test_evaluations_that_answer_a_question_are_not_of_a_step(begin):
    run = begin(allow=["path"], answers={"path": lambda: field(0.0, 1.0)})
    field = run.ode(lambda t, y: -y)
    field(0.0, 1.0)
    Path(run.folder, "ask", "q.json").write_text('{"ask": "path"}')
    run.log({"a": 1}, step=1)
    assert Path(run.folder, "answer", "q.json").exists()
    field(0.0, 1.0)
    run.log({"a": 1}, step=2)
    assert run.read().scalar("ode/nfe") == [(1, 1), (2, 1)]
