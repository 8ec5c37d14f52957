"""The steps of what happens between two logs, and questions that do not wait for one."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

import pytest
from orrery_log.steps import StepCounter


@pytest.mark.parametrize(
    ("logs", "counted", "step_of_next", "reached"),
    [
        # logs as (step, events before it); events after the last one; the step of the next event; the step reached
        ([], 7, None, 7),
        ([(0, 0)], 40, 41, 40),  # a log before the training
        ([(0, 1), (1, 1)], 1, 3, 2),  # counted from 0
        ([(1, 1), (2, 1)], 1, 4, 3),  # from 1
        ([(10_001, 1)], 4, 10_006, 10_005),  # a training that went on
        ([(500, 500)], 40, 541, 540),
        ([(0, 1000)], 500, 1, 0),  # epochs of 1000 updates
        ([(0, 1000), (1, 1000)], 999, 2, 1),
        ([(40, 1), (80, 1)], 2, 200, 160),  # micro-batches
        ([(5, 5), (5, 0)], 3, 9, 8),  # a step that is logged in parts
        ([(9, 9), (3, 1)], 2, 6, 5),  # steps that fall
    ],
)
def test_steps_of_updates(logs, counted, step_of_next, reached):
    counter = StepCounter(is_update=True)
    for step, events in logs:
        counter.count += events
        counter.logged(step)
    counter.count += counted
    assert counter.step_of(counter.count + 1) == step_of_next and counter.finished_step(None) == reached


def test_steps_of_passes_are_not_known_before_an_interval():
    counter = StepCounter(is_update=False)
    counter.logged(0)
    counter.count = 80_000
    assert counter.step_of(80_000) is None and counter.finished_step(0) == 0
    interval = counter.logged(2000)
    assert [interval.step_of(n) for n in (1, 40, 41, 79_961, 80_000)] == [1, 1, 2, 2000, 2000]
    assert counter.step_of(40) == 2001 and counter.step_of(41) == 2002


def ask(run, id, question):
    path = Path(run.folder, "ask", f"{id}.json")
    path.with_name(f".{id}").write_text(json.dumps(question))
    os.replace(path.with_name(f".{id}"), path)


def answer(run, id):
    path = Path(run.folder, "answer", f"{id}.json")
    return json.loads(path.read_bytes()) if path.exists() else None


def trained(torch, run=None, steps=0, log_every=None, first=1):
    """A parameter that SGD moves `steps` times; gives what makes one more update."""
    weight = torch.nn.Parameter(torch.ones(()))
    optimizer = torch.optim.SGD([weight], lr=0.1)

    def update():
        optimizer.zero_grad()
        weight.square().backward()
        optimizer.step()

    for step in range(first, first + steps):
        update()
        if log_every and step % log_every == 0:
            run.log({"loss": 1.0}, step=step)
    return update


def test_a_question_does_not_wait_for_the_next_log(begin):
    torch = pytest.importorskip("torch")
    run = begin(allow=["lesson"], answers={"lesson": lambda: "yes"})
    ask(run, "before", {"ask": "lesson"})
    update = trained(torch, run, 40, log_every=20)
    assert answer(run, "before")["step"] == 1
    ask(run, "after", {"ask": "lesson"})
    update()
    assert answer(run, "after")["state"] == "answered" and answer(run, "after")["step"] == 41
    run.log({"loss": 1.0}, step=60)
    assert [step for step, _ in run.read().scalar("loss")] == [20, 40, 60]


def test_an_answer_in_a_long_epoch_has_the_step_of_the_last_log(begin):
    torch = pytest.importorskip("torch")
    run = begin(allow=["lesson"], answers={"lesson": lambda: "yes"})
    update = trained(torch)
    for epoch in range(2):
        for _ in range(100):
            update()
        run.log({"loss": 1.0}, step=epoch)
    for _ in range(50):
        update()
    ask(run, "q", {"ask": "lesson"})
    update()
    assert answer(run, "q")["step"] == 1


def test_training_pauses_between_two_logs(begin):
    torch = pytest.importorskip("torch")
    run = begin(allow=["pause"])
    update = trained(torch, run, 1, log_every=1)
    ask(run, "a", {"ask": "pause"})
    done = []
    thread = threading.Thread(target=lambda: (update(), done.append(1)))
    thread.start()
    end = time.monotonic() + 60
    while answer(run, "a") is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    run.log({"loss": 1.0}, step=2)  # of another thread, which does not wait
    time.sleep(0.2)
    assert not done and answer(run, "a")["words"] == "paused after step 2"
    ask(run, "b", {"ask": "resume"})
    thread.join(60)
    assert done and [e["state"] for e in run.read().events if "state" in e][1:3] == ["paused", "running"]


def test_an_answer_that_logs_and_steps_is_answered_once(begin):
    torch = pytest.importorskip("torch")
    update = trained(torch)
    calls = []

    def lesson():
        calls.append(1)
        update()
        run.log({"inside": 1.0}, step=5)
        return "yes"

    run = begin(allow=["lesson"], answers={"lesson": lesson})
    ask(run, "q", {"ask": "lesson"})
    update()
    assert calls == [1] and answer(run, "q")["words"] == "yes"


def test_no_hook_stays_and_none_is_put_without_need(begin):
    torch = pytest.importorskip("torch")
    hooks = sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks
    run = begin()
    run.log({"a": 1})
    assert not hooks
    run = begin(allow=["pause"])
    model = torch.nn.Linear(1, 1)
    run.watch(model)
    assert len(hooks) == 1
    run.finish()
    assert not hooks
    disabled = begin(allow=["pause"], enabled=False)
    disabled.watch(model)
    assert not hooks


def test_pytorch_that_comes_late_is_hooked_at_a_log(begin, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.delitem(sys.modules, "torch.optim.optimizer")
    run = begin(allow=["lesson"], answers={"lesson": lambda: "yes"})
    monkeypatch.undo()
    update = trained(torch)
    ask(run, "q", {"ask": "lesson"})
    update()
    assert answer(run, "q") is None
    run.log({"a": 1}, step=1)
    ask(run, "r", {"ask": "lesson"})
    update()
    assert answer(run, "q")["step"] == 1 and answer(run, "r")["step"] == 2


def test_a_broken_look_reaches_no_optimizer(begin, monkeypatch, capfd):
    torch = pytest.importorskip("torch")
    run = begin(allow=["pause"])
    monkeypatch.setattr(run._questions, "look", lambda step: 1 / 0)
    trained(torch, run, 3)
    assert capfd.readouterr().err.count("ZeroDivisionError") == 1


def test_optimizers_inside_a_backward_pass_are_counted_and_not_stopped(begin):
    torch = pytest.importorskip("torch")
    run = begin(allow=["lesson"], answers={"lesson": lambda: "yes"})
    weights = [torch.nn.Parameter(torch.ones(())) for _ in range(2)]
    optimizers = {w: torch.optim.SGD([w], lr=0.1) for w in weights}
    for weight in weights:
        weight.register_post_accumulate_grad_hook(lambda w: optimizers[w].step())
    ask(run, "q", {"ask": "lesson"})
    (weights[0] * weights[1]).backward()
    assert answer(run, "q") is None and run.updates.steps.count == 1
    run.log({"a": 1}, step=1)
    assert answer(run, "q")["step"] == 1


def test_a_compiled_optimizer_steps_on(begin):
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    run = begin(allow=["pause"])
    step = torch.compile(optimizer.step, backend="eager")
    for n in range(3):
        weight.grad = torch.ones(3)
        step()
        run.log({"a": 1}, step=n)
    assert torch.allclose(weight, torch.full((3,), 0.7)) and not run.read().notices()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_answer_for_its_parent(begin):
    torch = pytest.importorskip("torch")
    run = begin(allow=["lesson"], answers={"lesson": lambda: "yes"})
    update = trained(torch, run, 1)
    ask(run, "q", {"ask": "lesson"})
    child = os.fork()
    if child == 0:
        code = 1
        try:
            update()
            code = len(sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks)
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and answer(run, "q") is None
