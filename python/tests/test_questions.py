"""Questions over files: only what is allowed is done, everything else is refused in words."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest
from orrery_log import questions
from strict import array


def ask(run, id, question):
    """As a window does it: written under a temporary name, then renamed."""
    path = Path(run.folder, "ask")
    text = question if isinstance(question, (str, bytes)) else json.dumps(question)
    temporary = path / f".{id}"
    temporary.write_bytes(text if isinstance(text, bytes) else text.encode())
    os.replace(temporary, path / f"{id}.json")


def answer(run, id):
    found = json.loads(Path(run.folder, "answer", f"{id}.json").read_bytes())
    assert found["id"] == id and found["protocol"] == 1
    return found["state"], found["words"], found.get("sample")


class Optimizer:
    def __init__(self):
        self.param_groups = [{"lr": 0.1}, {"lr": 0.2}]


def test_a_run_that_allows_nothing_is_not_asked(begin):
    run = begin()
    run.log({"a": 1})
    assert not Path(run.folder, "ask").exists()


def test_the_learning_rate_is_scaled_and_told(begin):
    run = begin(allow=["scale_lr"])
    run.optimizer = Optimizer()
    ask(run, "q1", {"protocol": 1, "ask": "scale_lr", "args": {"factor": 0.5}})
    run.log({"a": 1}, step=4)
    assert [g["lr"] for g in run.optimizer.param_groups] == [0.05, 0.1]
    state, words, _ = answer(run, "q1")
    assert state == "answered" and words.startswith("learning rate 0.1 -> 0.05")
    run.log({"a": 1}, step=5)
    assert run.optimizer.param_groups[0]["lr"] == 0.05, "a question is answered once"
    folder = run.read()
    assert folder.run["asks"] == ["scale_lr"]
    (changed,) = [e["changed"] for e in folder.events if "changed" in e]
    assert changed == {"step": 4, "key": "train.lr", "value": 0.05}


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"ask": "pause"}, "is not allowed"),
        ({"ask": "__import__('os').system('true')"}, "is not allowed"),
        ({"ask": "scale_lr", "args": {"factor": 0}}, "above 0"),
        ({"ask": "scale_lr", "args": {"factor": "2"}}, "not a number"),
        ({"ask": "scale_lr", "args": {"factor": True}}, "not a number"),
        ('{"ask": "scale_lr", "args": {"factor": NaN}}', "not a number"),
        ({"ask": "scale_lr", "args": {"other": 1}}, "unexpected keyword"),
        ({"ask": "scale_lr"}, "missing"),
        ({"ask": "scale_lr", "args": [1]}, "not an object"),
        ({"ask": "own"}, "gives no function"),
        ({"ask": 5}, "not an object"),
        ({"protocol": 2, "ask": "scale_lr"}, "of protocol 2"),
        ("[1]", "not an object"),
        ("{", "not JSON"),
        ("[" * 30000, "not JSON"),
        (b"\xff\xfe", "not JSON"),
        ("{}" + " " * 70000, "more than 65,536 bytes"),
    ],
)
def test_other_questions_are_refused_in_words(begin, question, words):
    run = begin(allow=["scale_lr", "own"])
    run.optimizer = Optimizer()
    ask(run, "q", question)
    run.log({"a": 1})
    state, said, _ = answer(run, "q")
    assert state == "refused" and words in said, said
    assert run.optimizer.param_groups[0]["lr"] == 0.1


@pytest.mark.parametrize(
    ("wait", "age", "state"),
    [
        (60, 30, "answered"),
        (60, 110, "answered"),  # as far as clocks may differ
        (60, 200, "refused"),
        (0.5, 200, "refused"),
        (3600, 200, "answered"),
        (None, 3600, "answered"),
        ("long", 3600, "answered"),
        (-1, 3600, "answered"),
        (None, 90_000, "refused"),
        (10**30, 90_000, "refused"),
        (60, -3600, "answered"),  # of a clock that goes ahead
    ],
)
def test_a_question_that_nobody_waits_for_is_refused(begin, wait, age, state):
    run = begin(allow=["lesson"], answers={"lesson": lambda: "yes"})
    ask(run, "q", {"ask": "lesson"} if wait is None else {"ask": "lesson", "wait": wait})
    asked = time.time() - age
    os.utime(Path(run.folder, "ask", "q.json"), (asked, asked))
    run.log({"a": 1})
    assert answer(run, "q")[0] == state
    assert state == "answered" or "nobody waits" in answer(run, "q")[1]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_links_pipes_and_odd_names_are_not_followed(begin, tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text('{"ask": "scale_lr", "args": {"factor": 0.5}}')
    run = begin(allow=["scale_lr"])
    run.optimizer = Optimizer()
    path = Path(run.folder, "ask")
    os.symlink(secret, path / "link.json")
    os.mkfifo(path / "pipe.json")
    (path / "folder.json").mkdir()
    (path / "..odd name.json").write_text(secret.read_text())
    run.log({"a": 1})  # does not wait for whoever would write into the pipe
    assert answer(run, "link")[0] == answer(run, "pipe")[0] == answer(run, "folder")[0] == "refused"
    assert len(list(Path(run.folder, "answer").iterdir())) == 3 and run.optimizer.param_groups[0]["lr"] == 0.1


def test_folders_that_became_links_are_not_used(begin, tmp_path):
    run = begin(allow=["scale_lr"])
    run.optimizer = Optimizer()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    Path(run.folder, "answer").rmdir()
    os.symlink(elsewhere, Path(run.folder, "answer"))
    ask(run, "q", {"ask": "scale_lr", "args": {"factor": 0.5}})
    run.log({"a": 1}, step=1)
    assert not list(elsewhere.iterdir()) and run.optimizer.param_groups[0]["lr"] == 0.1
    Path(run.folder, "ask", "q.json").unlink()
    Path(run.folder, "ask").rmdir()
    (elsewhere / "q2.json").write_text('{"ask": "scale_lr", "args": {"factor": 0.5}}')
    os.symlink(elsewhere, Path(run.folder, "ask"))
    run.log({"a": 1}, step=2)
    assert run.optimizer.param_groups[0]["lr"] == 0.1


def test_pause_waits_until_resume(begin):
    run = begin(allow=["pause"])
    ask(run, "a", {"ask": "pause"})
    done = []
    thread = threading.Thread(target=lambda: (run.log({"a": 1}, step=1), done.append(time.monotonic())))
    thread.start()
    end = time.monotonic() + 60
    while not Path(run.folder, "answer", "a.json").exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    time.sleep(0.3)
    assert not done and answer(run, "a")[:2] == ("answered", "paused after step 1")
    ask(run, "b", {"ask": "resume"})
    thread.join(60)
    assert done and answer(run, "b")[0] == "answered"
    states = [e["state"] for e in run.read().events if "state" in e]
    assert states == ["running", "paused", "running", "finished"]


def test_what_is_done_between_two_logs_has_one_step(begin):
    run = begin(allow=["pause", "scale_lr"])
    run.optimizer = Optimizer()
    run.log({"a": 1}, step=7)
    ask(run, "a", {"ask": "scale_lr", "args": {"factor": 0.5}})
    ask(run, "b", {"ask": "pause"})
    threading.Timer(0.3, lambda: ask(run, "c", {"ask": "resume"})).start()
    run._questions.look(8)  # an update after the log
    run.log({"a": 1}, step=9)
    assert answer(run, "b")[:2] == ("answered", "paused after step 8")
    events = run.read().events
    assert [(e["step"], e["changed"]["step"]) for e in events if "changed" in e] == [(8, 8)]
    assert [(e["step"], e["state"]) for e in events if "state" in e][1:3] == [(8, "paused"), (8, "running")]


def test_save_by_the_scripts_function_or_by_a_snapshot(begin):
    saved = []
    run = begin(allow=["save"], on_save=lambda: saved.append(1))
    ask(run, "a", {"ask": "save"})
    run.log({"a": 1})
    assert saved == [1] and answer(run, "a")[0] == "answered"
    run = begin(allow=["save"])
    ask(run, "a", {"ask": "save"})
    run.log({"a": 1})
    assert "nothing to save" in answer(run, "a")[1]
    numpy = pytest.importorskip("numpy")
    run.model = {"w": numpy.zeros(3)}
    ask(run, "b", {"ask": "save"})
    run.log({"a": 1}, step=9)
    assert (run.read().path / "snapshots" / "step-00000009.safetensors").exists()


def test_save_that_is_refused_is_not_said_to_be_done(begin):
    numpy = pytest.importorskip("numpy")
    run = begin(allow=["save"])
    run.model = {"w": numpy.zeros(3, dtype=numpy.complex64)}
    ask(run, "a", {"ask": "save"})
    run.log({"a": 1}, step=1)
    assert answer(run, "a")[:2][0] == "refused" and "there are no weights to keep" in answer(run, "a")[1]
    run.model = {"w": numpy.zeros(3)}
    assert run.log_weights(run.model, 2, budget=10) is False and run.log_weights(run.model, 2) is True
    run._snapshots._busy = True
    assert run.log_weights(run.model, 3) is False
    ask(run, "b", {"ask": "save"})
    run.log({"a": 1}, step=4)
    assert answer(run, "b")[0] == "refused" and "still being written" in answer(run, "b")[1]


def test_answers_hold_arrays_and_any_number(begin):
    class Unknown:
        def __str__(self):
            return "something"

    def arrays():
        many = numpy.arange(200.0)
        return {"h.0": numpy.array(1.5), "h.1": numpy.float32(2.5), "few": numpy.ones(2), "many": [many, {"in": many}]}

    norms = {"huge": 10**400, "range": range(3), "other": Unknown(), "texts": ["a"]}
    run = begin(allow=["norms", "arrays"], answers={"norms": lambda: norms, "arrays": arrays})
    ask(run, "1", {"ask": "norms"})
    run.log({"a": 1})
    made = answer(run, "1")[2]["payload"]
    assert made == {"huge": "Infinity", "range": [0, 1, 2], "other": "something", "texts": ["a"]}
    numpy = pytest.importorskip("numpy")

    ask(run, "2", {"ask": "arrays"})
    run.log({"a": 1})
    made = answer(run, "2")[2]["payload"]
    assert (made["h.0"], made["h.1"], made["few"]) == (1.5, 2.5, [1, 1])
    assert array(made["many"][0]) == array(made["many"][1]["in"]) == ([200], list(range(200)))


def test_answers_hold_tensors(begin):
    torch = pytest.importorskip("torch")
    weights = torch.ones(3, requires_grad=True)
    answers = {
        "norms": lambda: {"h.0": weights.norm(), "all": [weights.norm(), 1.0], "rows": weights.reshape(1, 3) * 2},
        "loss": lambda: weights.sum(),
    }
    run = begin(allow=list(answers), answers=answers)
    ask(run, "1", {"ask": "norms"})
    ask(run, "2", {"ask": "loss"})
    run.log({"a": 1})
    made = answer(run, "1")[2]["payload"]
    assert made["h.0"] == pytest.approx(3**0.5) and made["all"][0] == made["h.0"] and made["rows"] == [[2, 2, 2]]
    assert answer(run, "2")[2]["payload"] == 3.0


def test_the_scripts_own_functions_answer(begin):
    answers = {
        "attention": lambda text: ({"h.0": [[1.0, 0.0], [0.5, 0.5]]}, list(text)),
        "next_tokens": lambda text, count=2: [("a", 0.75), ("b", 0.25)][:count],
        "lesson": lambda: "well done",
        "broken": lambda: 1 / 0,
        "norms": lambda: [[1.0, 2.0], [3.0, 4.0]],
        "table": lambda: {"columns": ["word"], "rows": [["ferry"]]},
        "typed": lambda text: {"channel": "text.next_tokens", "payload": {"prompt": text}},
    }
    run = begin(allow=list(answers), answers=answers)
    ask(run, "1", {"ask": "attention", "args": {"text": "hi"}})
    ask(run, "2", {"ask": "next_tokens", "args": {"text": "hi", "count": 1}})
    ask(run, "3", {"ask": "lesson"})
    ask(run, "4", {"ask": "broken"})
    ask(run, "5", {"ask": "norms"})
    ask(run, "6", {"ask": "table"})
    ask(run, "7", {"ask": "typed", "args": {"text": "hi"}})
    run.log({"a": 1}, step=3)
    state, _, sample = answer(run, "1")
    assert state == "answered" and sample["step"] == 3 and sample["tokens"] == ["h", "i"]
    assert array(sample["payload"]["layers"][0]["weights"])[0] == [1, 2, 2]
    assert answer(run, "2")[2]["payload"]["likely"] == [{"token": "a", "probability": 0.75}]
    assert answer(run, "3")[1] == "well done"
    assert answer(run, "4")[0] == "refused" and "ZeroDivisionError" in answer(run, "4")[1]
    norms = answer(run, "5")[2]
    assert (norms["channel"], norms["step"]) == ("answer/norms", 3)
    assert array(norms["payload"]) == ([2, 2], [1, 2, 3, 4])
    assert answer(run, "6")[2]["payload"] == {"columns": ["word"], "rows": [["ferry"]]}
    assert answer(run, "7")[2]["channel"] == "text.next_tokens"


def test_a_question_that_was_withdrawn_is_not_answered(begin, monkeypatch):
    run = begin(allow=["lesson"], answers={"lesson": lambda: "yes"})
    ask(run, "a", {"ask": "lesson"})
    opened = os.open
    gone = []

    def withdrawing(path, *args, **kwargs):
        if str(path).endswith("a.json") and not gone:
            gone.append(os.unlink(path))
        return opened(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", withdrawing)
    run.log({"a": 1}, step=1)
    assert gone and not list(Path(run.folder, "answer").iterdir())


def test_many_questions_are_answered_over_some_steps(begin):
    run = begin(allow=["lesson"], answers={"lesson": lambda: "yes"})
    for n in range(30):
        ask(run, f"q{n}", {"ask": "lesson"})
    for step in range(5):
        run.log({"a": step}, step=step)
    assert len(list(Path(run.folder, "answer").iterdir())) == 30


def test_a_look_at_nothing_reads_no_folder(begin, monkeypatch):
    # so that what was made a moment ago counts as known
    monkeypatch.setattr(questions, "COARSE_SECS", -1.0)
    run = begin(allow=["pause"])
    run.log({"a": 0})
    calls = []
    for name in ("lstat", "stat", "scandir", "listdir", "open"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, real=real, name=name, **o: calls.append(name) or real(*a, **o))
    run._questions.look(1)
    run._questions.look(2)
    monkeypatch.undo()
    assert calls == ["lstat", "lstat"]


class Listed(list):
    def tolist(self):
        return self


class Tensor:
    """As much of a tensor `(T, n)` as silencing takes."""

    def __init__(self, rows):
        self.rows = rows
        self.shape = (len(rows), len(rows[0]))

    def detach(self):
        return self

    def clone(self):
        return Tensor([list(row) for row in self.rows])

    def abs(self):
        return Tensor([[abs(v) for v in row] for row in self.rows])

    def reshape(self, _rows, size):
        assert size == self.shape[1]
        return self

    def mean(self, axis):
        assert axis == 0
        return Listed(sum(column) / len(self.rows) for column in zip(*self.rows))

    def __setitem__(self, place, value):
        every, unit = place
        assert every is Ellipsis
        for row in self.rows:
            row[unit] = value


class Module:
    """A module of ten units whose sum is the loss; unit u has the activation u."""

    def __init__(self):
        self.hooks = []

    def named_modules(self):
        return [("", self), ("mlp", self)]

    def register_forward_hook(self, hook):
        self.hooks.append(hook)
        return type("Handle", (), {"remove": lambda _: self.hooks.remove(hook)})()

    def loss(self, text="aa"):
        output = Tensor([[float(u) for u in range(10)] for _ in text])
        for hook in self.hooks:
            output = hook(self, (), output)
        return sum(sum(row) for row in output.rows) / len(text)


def test_a_unit_is_silenced_beside_random_ones_as_active(begin):
    model = Module()
    run = begin(allow=["silence"], answers={"silence": model.loss})
    run.model = model
    ask(run, "1", {"ask": "silence", "args": {"module": "mlp", "unit": 7, "draws": 2, "text": "hey"}})
    ask(run, "2", {"ask": "silence", "args": {"module": "mlp", "unit": 10}})
    ask(run, "3", {"ask": "silence", "args": {"module": "attn", "unit": 0}})
    ask(run, "4", {"ask": "silence", "args": {"module": "mlp", "unit": 0, "draws": 1000}})
    ask(run, "5", {"ask": "silence", "args": {"module": "mlp", "unit": 3, "draws": 0}})
    run.log({"a": 1}, step=3)
    state, words, sample = answer(run, "1")
    assert state == "answered" and words.startswith("loss 45.0000 -> 38.0000 without unit 7; "), words
    rows = sample["payload"]["rows"]
    assert rows[:2] == [["none", "", 45.0], [7, 7.0, 38.0]] and len(rows) == 4
    assert all(u != 7 and loss == 45 - u and activity == u for u, activity, loss in rows[2:])
    assert (sample["channel"], sample["about"]) == ("answer/silence", "mlp, unit 7")
    for id, part in (("2", "has 10 units"), ("3", "some are mlp"), ("4", "from 0 to 100")):
        state, words, _ = answer(run, id)
        assert state == "refused" and part in words, words
    assert answer(run, "5")[1] == "loss 45.0000 -> 42.0000 without unit 3"
    assert not model.hooks


@pytest.mark.filterwarnings("error")
def test_silencing_a_module_of_torch(begin):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 1))
    x = torch.randn(8, 4)
    run = begin(allow=["silence"], answers={"silence": lambda: model(x).square().mean()})
    run.model = model
    ask(run, "1", {"ask": "silence", "args": {"module": "1", "unit": 2, "draws": 3}})
    run.log({"a": 1}, step=3)
    rows = answer(run, "1")[2]["payload"]["rows"]
    hidden = model[1](model[0](x)).detach()
    hidden[:, 2] = 0
    assert rows[1][2] == pytest.approx(model[2](hidden).square().mean().item(), rel=1e-5) and len(rows) == 5


def test_a_question_without_its_function_is_said_at_once(begin, capfd):
    begin(allow=["pause", "attention", "lesson"], answers={"lesson": lambda: "done"})
    said = capfd.readouterr().err
    assert said.count("`attention`: allowed, but init(answers=..) has no function") == 1 and "lesson" not in said
