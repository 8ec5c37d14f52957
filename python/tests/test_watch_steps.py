"""The steps that maps are labelled with, however rarely a script logs and however it trains."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402


class Model(nn.Module):
    """One attention layer over places 0 to 2, whose first weight tells how many updates there were."""

    def __init__(self):
        super().__init__()
        self.inner = Scores()

    def forward(self, x):
        return self.inner(x)


class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.updates = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        first = torch.log1p(self.updates.detach()) * torch.eye(3)[None]
        return first.softmax(-1) @ x + 0 * self.updates


class Training:
    """Passes and updates of a model; every update makes its parameter one larger."""

    def __init__(self, by_hand=False):
        self.model = Model()
        weight = self.model.inner.updates
        self.weight, self.optimizer = weight, None if by_hand else torch.optim.SGD([weight], lr=1.0)

    def passes(self, count=1):
        for _ in range(count):
            self.model(torch.ones(1, 3, 2)).sum().backward()

    def update(self):
        if self.optimizer is None:
            with torch.no_grad():
                self.weight += 1
            return
        self.weight.grad = torch.tensor(-1.0)
        self.optimizer.step()


def steps_and_updates(run):
    """The label of each map, and how many updates there were when it was seen."""
    found = []
    for line in run.read().channel("attention.maps"):
        (layer,) = line["payload"]["layers"]
        weight = layer["weights"][0][0][0]
        found.append((line["step"], round(2 * weight / (1 - weight) - 1)))
    return found


def test_the_labels_of_this_file_are_read_right(begin):
    run, training = begin(), Training()
    run.watch(training.model, every=1)
    for step in range(4):
        training.passes()
        training.update()
        run.log({"a": 1}, step=step)
    assert steps_and_updates(run) == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_rare_logs_and_accumulated_gradients_label_by_updates(begin):
    run, training = begin(), Training()
    run.watch(training.model, every=10)
    for step in range(61):
        if step in (0, 60):
            run.log({"a": 1}, step=step)
        training.passes(8)
        training.update()
    # the last update is followed by no log
    assert steps_and_updates(run) == [(1, 0), (10, 9), (20, 19), (30, 29), (40, 39), (50, 49), (60, 59)]


@pytest.mark.parametrize("by_hand", [False, True])
def test_no_label_runs_ahead_of_the_steps_that_are_logged(begin, by_hand):
    run, training = begin(), Training(by_hand)
    run.watch(training.model, every=5)
    run.log({"a": 1}, step=0)
    for step in range(1, 41):
        training.passes(4)
        training.update()
        if step % 20 == 0:
            run.log({"a": 1}, step=step)
    found = steps_and_updates(run)
    assert all(step == updates + 1 for step, updates in found) and 2 <= len(found) <= (14 if by_hand else 9), found


@pytest.mark.parametrize("by_hand", [False, True])
def test_steps_that_are_epochs_label_by_epochs(begin, by_hand):
    run, training = begin(), Training(by_hand)
    run.watch(training.model, every=1)
    for epoch in range(4):
        for _ in range(30):
            training.passes()
            training.update()
        run.log({"a": 1}, step=epoch)
    found = steps_and_updates(run)
    assert [step for step, _ in found] == [0, 1, 2, 3]
    assert all(updates // 30 == step for step, updates in found), found


def test_epochs_after_a_log_before_the_training_are_looked_at(begin):
    run, training = begin(), Training()
    run.watch(training.model, every=1)
    run.log({"a": 1}, step=0)
    for epoch in range(1, 5):
        for _ in range(30):
            training.passes()
            training.update()
        run.log({"a": 1}, step=epoch)
    assert [step for step, _ in steps_and_updates(run)][-3:] == [2, 3, 4]


def test_a_log_before_the_update_labels_its_own_pass(begin):
    run, training = begin(), Training()
    run.watch(training.model, every=5)
    for step in range(41):
        training.passes()
        if step <= 10 or step == 40:
            run.log({"a": 1}, step=step)
        training.update()
    assert steps_and_updates(run) == [(step, step) for step in range(0, 41, 5)]


def test_a_step_whose_log_begins_and_ends_it_labels_its_own_pass(begin):
    run, training = begin(), Training()
    run.watch(training.model, every=1)
    for step in range(4):
        run.log({"lr": 1}, step=step)
        training.passes()
        training.update()
        run.log({"a": 1}, step=step)
    assert steps_and_updates(run) == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_optimizers_that_take_turns_make_one_update(begin):
    run, training = begin(), Training()
    other = torch.optim.SGD([nn.Parameter(torch.zeros(()))], lr=1.0)
    run.watch(training.model, every=10)
    run.log({"a": 1}, step=0)
    for step in range(1, 42):
        training.passes()
        other.step()
        training.update()
        if step == 40:
            run.log({"a": 1}, step=step)
    assert steps_and_updates(run) == [(1, 0), (10, 9), (20, 19), (30, 29), (40, 39)]


def test_passes_that_no_log_tells_the_step_of_are_few(begin, capfd):
    run, training = begin(), Training()
    run.watch(training.model, every=2)
    for _ in range(60):
        training.passes()
        training.update()
    assert capfd.readouterr().err.count("wait for the next log") == 1
    run.log({"a": 1}, step=60)
    found = steps_and_updates(run)
    assert len(found) == 8 and all(step == updates + 1 for step, updates in found), found


def test_a_model_that_trains_in_eval_mode_is_said(begin, capfd):
    run, training = begin(), Training()
    training.model.eval()
    run.watch(training.model, every=1)
    for step in range(30):
        training.passes()
        training.update()
        if step == 1:
            said = capfd.readouterr().err
        run.log({"a": 1}, step=step)
    assert said.count("is in eval mode") == 1 and "model.train()" in said
    assert "no forward pass" not in run.read().notices()


def test_a_model_that_trains_in_eval_mode_without_an_optimizer_is_said(begin, capfd):
    run, training = begin(), Training(by_hand=True)
    training.model.eval()
    run.watch(training.model)
    training.passes(20)
    assert capfd.readouterr().err.count("is in eval mode") == 1


def test_an_evaluation_between_updates_is_no_training_in_eval_mode(begin, capfd):
    run, training = begin(), Training()
    run.watch(training.model)
    training.model.eval()
    training.passes(3)  # a look before the training
    for step in range(3):
        training.model.train()
        training.passes()
        training.update()
        training.model.eval()
        training.passes(20)
        run.log({"a": 1}, step=step)
    assert not run.read().notices()


def test_a_first_step_of_many_passes_says_nothing_and_the_next_is_looked_at(begin, capfd):
    run, training = begin(), Training()
    run.watch(training.model, every=2)
    for step in range(1, 5):
        training.passes(40)
        training.update()
        run.log({"a": 1}, step=step)
    assert steps_and_updates(run) == [(1, 0), (2, 1), (4, 3)]
    assert "wait for the next log" not in capfd.readouterr().err


def test_a_pass_that_answers_a_question_is_no_step(begin):
    training = Training()
    run = begin(allow=["loss"], answers={"loss": lambda: training.model(torch.ones(1, 3, 2)).sum().item()})
    run.watch(training.model, every=2)
    for step in range(1, 5):
        training.passes()
        if step == 1:
            Path(run.folder, "ask", "q.json").write_text('{"ask": "loss"}')
        training.update()
        run.log({"a": 1}, step=step)
    assert Path(run.folder, "answer", "q.json").exists()
    assert steps_and_updates(run) == [(1, 0), (2, 1), (4, 3)]
