"""Scalars and measurements, without any library."""

from __future__ import annotations

import argparse
import array
import collections
import dataclasses
import inspect
import json
import math
import struct
import threading
import time
from pathlib import Path

import orrery_log
import pytest
from orrery_log import arrays, measurements, writer
from orrery_log.notices import Notices
from strict import Folder, value
from strict import array as read_array


def test_a_run_tells_its_settings_steps_and_end(begin):
    run = begin("my run", config={"lr": 0.1, "model": {"layers": 2}}, seed=3, total_steps=9)
    for step in range(3):
        run.log({"loss": 1.0 / (step + 1), "extra": {"a": step}}, step=step)
    folder = run.read()
    assert folder.scalar("loss") == [(0, 1.0), (1, 0.5), (2, 1 / 3)]
    assert folder.scalar("extra/a") == [(0, 0), (1, 1), (2, 2)]
    described = folder.run["run"]
    assert described["config"]["values"] == {"config.lr": 0.1, "model.layers": 2}
    assert (described["config"]["preset"], described["total_steps"], folder.run["seed"]) == ("my run", 9, 3)
    assert [e["state"] for e in folder.events] == ["running", "finished"]
    assert folder.path.name.endswith("-foreign-my_run-s3")


def test_steps_count_on_where_none_is_given(begin):
    run = begin()
    run.log({"a": 1})
    run.log({"a": 2})
    run.log({"a": 3}, step=10)
    run.log({"a": 4})
    assert [step for step, _ in run.read().scalar("a")] == [0, 1, 10, 11]


def test_numbers_that_are_not_finite_are_texts(begin):
    run = begin()
    run.log({"a": math.nan, "b": math.inf, "c": -math.inf, "d": 10**400, "e": True})
    (line,) = run.read().metrics
    assert (line["a"], line["b"], line["c"], line["d"], line["e"]) == ("NaN", "Infinity", "-Infinity", "Infinity", 1)


def test_what_is_no_number_is_refused_once_and_training_goes_on(begin, capfd):
    run = begin()
    for step in range(3):
        run.log({"good": step, "words": "text", "list": [1, 2], "complex": 1j, "nothing": None}, step=step)
    run.log({"good": 3}, step="late")
    run.log({"good": 4}, step=-1)
    run.log(None)
    folder = run.read()
    assert [v for _, v in folder.scalar("good")] == [0, 1, 2]
    said = capfd.readouterr().err
    for words in ("`words` is not a number", "`list` is an array", "`complex` is", "a step is a whole number"):
        assert said.count(words) == 1, said
        assert words in folder.notices()


def test_names_and_lines_stay_within_what_a_reader_takes(begin, monkeypatch, capfd):
    run = begin()
    run.log({"long" * 100: 1, "a": 1}, step=0)
    monkeypatch.setitem(writer.MAX_LINE, writer.METRICS, 10_000)
    run.log({f"name {n}": n for n in range(1000)}, step=1)
    run.log({"a": 2}, step=2)
    monkeypatch.setattr(measurements, "MAX_CHANNELS", 3)
    for n in range(5):
        run.text(f"t{n}", "words", step=2)
    run.text("t0", "more words", step=2)
    run.text("long" * 100, "words", step=2)
    read = run.read()
    assert read.scalar("a") == [(0, 1), (2, 2)] and set(read.metrics[0]) == {"step", "variant", "wall_secs", "a"}
    assert [line["channel"] for line in read.samples] == ["text/t0", "text/t1", "text/t2", "text/t0"]
    said = capfd.readouterr().err
    assert said.count("a scalar's name has at most 200 characters") == 1
    assert said.count("a line of metrics.jsonl is left out") == 1 and said.count("at most 3 names of measurements") == 1


def test_what_is_lost_is_said_after_the_last_sentence(capfd):
    notices = Notices()
    for n in range(150):
        notices.once(f"key {n}", f"sentence {n}." + "x" * 5000)
    notices.once("disk", "the disk is full")
    notices.once("disk", "the disk is full")
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 101 and "(the last of 100 sentences" in said[99] and "further" not in said[98]
    assert said[100] == "orrery-log: the disk is full" and len(said[99]) < 2200


def test_options_that_no_call_has_are_said(begin, tmp_path, capfd):
    run = orrery_log.init("r", dir=tmp_path, bogus=1)
    assert run.folder is not None
    orrery_log.update(function="x")
    orrery_log.finish()
    said = capfd.readouterr().err
    assert said.count("init() has no option `bogus`") == 1 and said.count("`function` is not a fact") == 1


def test_settings_of_every_kind_are_valid_toml(begin):
    @dataclasses.dataclass
    class Options:
        rate: float = 1e-3
        note: str = 'quotes " and \\ \n and \x7f \ud800'

    inner = {"huge": 2**70, "nan": math.nan, "small": 1e-20, "list": [1, None], "on": True, "wei rd.key": 1}
    config = {"options": Options(), "args": argparse.Namespace(x=1), "inner": inner}
    run = begin('name "quoted"', config=config)
    values = run.read().run["run"]["config"]["values"]
    assert values["options.rate"] == 1e-3 and values["args.x"] == 1
    assert values["inner.nan"] == "NaN" and values["inner.huge"] == str(2**70)
    tomllib = pytest.importorskip("tomllib")
    with open(f"{run.folder}/config.toml", "rb") as file:
        read = tomllib.load(file)
    assert read["inner"]["small"] == 1e-20 and read["inner"]["wei rd.key"] == 1 and read["inner"]["on"] is True
    assert read["preset"] == 'name "quoted"'


def test_attention_of_a_step_is_one_line_in_the_order_of_the_layers(begin):
    run = begin()
    causal = [[1.0, 0.0], [0.5, 0.5]]
    for step in (0, 1):
        run.attention("h.0", [causal, causal], step=step, tokens=["a", "b"])
        run.attention("h.1", causal, step=step)
        run.log({"loss": 1.0}, step=step)
    lines = run.read().channel("attention.maps")
    assert [line["step"] for line in lines] == [0, 1]
    assert [layer["path"] for layer in lines[0]["payload"]["layers"]] == ["h.0", "h.1"]
    first = lines[0]["payload"]["layers"][0]
    assert read_array(first["weights"]) == ([2, 2, 2], [1, 0, 0.5, 0.5] * 2)
    assert first["entropy"] == pytest.approx([math.log(2) / 2] * 2)
    assert first["uniform_entropy"] == pytest.approx([math.log(2) / 2] * 2)
    assert lines[0]["tokens"] == ["a", "b"]


def test_layers_of_a_slow_step_are_one_line(begin):
    run = begin()
    run.attention("h.0", [[1.0]], step=3)
    time.sleep(1.3)
    run.attention("h.1", [[1.0]], step=3)
    (line,) = run.read().channel("attention.maps")
    assert [layer["path"] for layer in line["payload"]["layers"]] == ["h.0", "h.1"]


def test_attention_that_nobody_follows_up_is_written_by_itself(begin, monkeypatch):
    from orrery_log import attention_maps

    monkeypatch.setattr(attention_maps, "HOLD_SECS", 0.2)
    run = begin()
    run.attention("h.0", [[1.0]])
    end = time.monotonic() + 60
    while time.monotonic() < end and b"attention" not in Path(run.folder, "samples.jsonl").read_bytes():
        time.sleep(0.05)
    assert time.monotonic() < end


def test_ragged_and_wrong_arrays_are_refused_in_words(begin, capfd):
    run = begin()
    run.attention("h.0", [[1.0, 0.0], [1.0]])
    run.attention("h.1", [[1.0, 0.0]])
    run.attention("h.2", [[1.0]], tokens=["a", "b"])
    run.matrix("m", [[1], [2, 3]])
    run.matrix("n", 5)
    run.matrix("named", [[1, 2]], columns=["only one"])
    run.graph([0, 1], [1])
    run.graph([0], [-1])
    run.graph([0], [1], labels=["a"])
    run.curves("c", {"x": ([1, 2], [1])})
    run.histogram("h", ["a"])
    folder = run.read()
    assert {line["channel"] for line in folder.samples} == {"attention.maps", "matrix/named"}
    said = capfd.readouterr().err
    for words in ("is ragged", "(heads, T, T) is needed", "2 names for 1 tokens", "as many sources", "negative number",
                  "has 1 labels", "has 2 x and 1 y", "which is not a number"):  # fmt: skip
        assert words in said, words


def test_matrices_graphs_texts_histograms_and_curves(begin):
    run = begin()
    big = [[i * 10.0 + j for j in range(10)] for i in range(9)]
    run.matrix("m", big, step=4, rows=range(9), row_axis="from", about="test")
    run.matrix("buffer", array.array("f", [1.0, 2.0]), step=4)
    run.graph([0, 2], [1, 1], [0.5, -1.0], step=4, labels="abc", community=[0, None, 1])
    run.text("written", "a \u2028 line\nand more", step=4)
    run.histogram("h", [1.0, 2.0, 2.0, math.nan], step=4, bins=2)
    run.curves("c", {"t": ([1, 2], [0.0, math.inf])}, step=4, x_axis="x")
    folder = run.read()
    assert folder.channel("matrix/buffer")[0]["payload"]["values"] == [[1.0, 2.0]]
    matrix = folder.channel("matrix/m")[0]
    assert matrix["step"] == 4 and matrix["about"] == "test" and matrix["payload"]["rows"] == [str(i) for i in range(9)]
    assert read_array(matrix["payload"]["values"]) == ([9, 10], [v for row in big for v in row])
    graph = folder.channel("graph.neurons")[0]["payload"]
    assert graph["labels"] == ["a", "b", "c"] and graph["groups"] == {"community": [0, None, 1]}
    assert graph["edges"] == {"source": [0, 2], "target": [1, 1], "weight": [0.5, -1.0]}
    assert folder.channel("text/written")[0]["payload"]["text"] == "a \u2028 line\nand more"
    assert folder.channel("histogram/h")[0]["payload"]["counts"] == [1, 2]
    assert value(folder.channel("curves/c")[0]["payload"]["curves"][0]["y"][1]) == math.inf


def test_lists_of_other_kinds_and_texts_that_look_like_numbers(begin, capfd):
    run = begin()
    run.curves("c", {"a": (range(3), collections.deque([1.0, 2.0, 4.0]))})
    run.matrix("texts", [["1", "2"]])
    run.graph([0.9], [1.7])
    run.graph([0.0], [math.nan])
    run.graph([0.0], [1.0])
    run.histogram("h", [1e20, 1e20])
    read = run.read()
    assert read.channel("curves/c")[0]["payload"]["curves"][0] == {"name": "a", "x": [0, 1, 2], "y": [1, 2, 4]}
    assert not read.channel("matrix/texts") and len(read.channel("graph.neurons")) == 1
    made = read.channel("histogram/h")[0]["payload"]
    assert sum(made["counts"]) == 2 and made["edges"] == sorted(set(made["edges"]))
    assert len(set(array.array("f", made["edges"]))) == len(made["edges"])
    said = capfd.readouterr().err
    assert "`texts` holds str, which is not a number" in said and said.count("ends of edges are whole numbers") == 1


def test_what_single_precision_does_not_tell_apart_is_said(begin, capfd):
    run = begin()
    run.curves("time", {"loss": ([1.7e9, 1.7e9 + 1], [1, 2])})
    run.curves("steps", {"loss": ([0, 1, 1], [1, 2, 3])})
    run.histogram("times", [1.7e9, 1.7e9 + 1])
    run.read()
    said = capfd.readouterr().err
    assert said.count("single precision") == 2 and "curve `loss` of `time`" in said and "histogram `times`" in said


def test_tokens_that_do_not_fit_every_layer_are_left_out(begin, capfd):
    run = begin()
    run.attention("h.0", [[1.0]], step=1, tokens=["a"])
    run.attention("h.1", [[1.0, 0.0], [0.5, 0.5]], step=1)
    (line,) = run.read().channel("attention.maps")
    assert "tokens" not in line and len(line["payload"]["layers"]) == 2
    assert capfd.readouterr().err.count("the names of the tokens are left out") == 1


def test_half_precision_keeps_what_is_not_zero_and_what_is_large():
    numpy = pytest.importorskip("numpy")
    values = numpy.zeros(100, dtype=numpy.float32)
    values[:3] = [1e-9, -1e-9, 0.25]
    shape, read = read_array(arrays.encode(arrays.copy(values), half=True))
    assert shape == [100] and read[0] > 0 > read[1] and read[2] == 0.25 and read[3] == 0
    values[0] = 1e6
    encoded = arrays.encode(arrays.copy(values), half=True)
    assert "f32" in encoded and read_array(encoded)[1][0] == 1e6


def test_a_copy_does_not_see_later_changes():
    numpy = pytest.importorskip("numpy")
    values = numpy.ones((3, 3))
    copied = arrays.copy(values)
    values[:] = 2
    assert list(arrays.flatten(copied).data) == [1.0] * 9


def test_numpy_scalars_and_arrays(begin):
    numpy = pytest.importorskip("numpy")
    run = begin()
    run.log({"f16": numpy.float16(0.5), "i": numpy.int64(3), "one": numpy.array([2.0]), "many": numpy.zeros(3)})
    run.attention("h", numpy.full((2, 70, 70), 1 / 70), about="even")
    run.log_weights({"w": numpy.eye(3, dtype=numpy.float32), "half": numpy.ones(2, dtype=numpy.float16)})
    folder = run.read()
    (line,) = folder.metrics
    assert (line["f16"], line["i"], line["one"]) == (0.5, 3, 2.0) and "many" not in line
    layer = folder.channel("attention.maps")[0]["payload"]["layers"][0]
    assert layer["entropy"] == pytest.approx([math.log(70)] * 2, rel=1e-5)
    from strict import tensors

    found = tensors(folder.path / "snapshots" / "step-00000000.safetensors")
    assert found["model/w"][0] == "F32" and struct.unpack("<9f", found["model/w"][2])[4] == 1.0


def test_snapshots_stay_within_their_budget_and_keep_both_ends(begin):
    numpy = pytest.importorskip("numpy")
    run = begin()
    weights = {"w": numpy.zeros(1000, dtype=numpy.float32), "other": numpy.zeros(1000, dtype=numpy.float32)}
    for step in range(0, 100, 10):
        run.log_weights(weights, step, budget=20_000, names=["w*"])
        assert run.flush()
    folder = run.read()
    steps = sorted(int(p.name[5:13]) for p in (folder.path / "snapshots").iterdir())
    assert steps[0] == 0 and steps[-1] == 90 and 3 <= len(steps) <= 4
    assert sum(p.stat().st_size for p in (folder.path / "snapshots").iterdir()) <= 20_000


def test_the_headers_of_snapshots_count_and_no_moment_is_above_the_budget(begin, capfd):
    numpy = pytest.importorskip("numpy")
    run = begin()
    weights = {"w": numpy.zeros(1000, dtype=numpy.float32)}
    run.log_weights(weights, 0, budget=8000)
    assert "do not fit twice" in capfd.readouterr().err
    folder = Path(run.folder, "snapshots")
    highest = []

    class Watching(dict):
        def __setitem__(self, step, size):
            highest.append(sum(p.stat().st_size for p in folder.iterdir()))
            super().__setitem__(step, size)

    run._snapshots.kept = Watching()
    for step in range(4):
        run.log_weights(weights, step, budget=9000)
        assert run.flush()
    run.read()
    assert sorted(p.name for p in folder.iterdir()) == ["step-00000000.safetensors", "step-00000003.safetensors"]
    assert len(highest) == 4 and max(highest) <= 9000


def test_weights_that_do_not_fit_are_refused(begin, capfd):
    numpy = pytest.importorskip("numpy")
    run = begin()
    run.log_weights({"w": numpy.zeros(10_000)}, budget=1000)
    run.log_weights({"w": numpy.zeros(3, dtype=numpy.complex64)})
    run.read()
    said = capfd.readouterr().err
    assert "do not fit twice" in said and "complex64" in said


def test_weights_may_be_nested_lists_and_what_is_not_kept_is_said_once(begin, capfd):
    run = begin()
    for step in range(2):
        run.log_weights({"a": [[1, 2], [3, 4.5]], "r": [[1, 2], [3]], "lr": 0.1, "none": None}, step)
        assert run.flush()
    folder = run.read()
    from strict import tensors

    found = tensors(folder.path / "snapshots" / "step-00000001.safetensors")
    assert found == {"model/a": ("F64", [2, 2], struct.pack("<4d", 1, 2, 3, 4.5))}
    said = capfd.readouterr().err
    assert all(said.count(part) == 1 for part in ("`r` is not kept: `r` is ragged", "type float ", "type NoneType ")), (
        said
    )


def test_threads_lose_nothing_and_tear_nothing(begin):
    run = begin()

    def work(thread):
        for i in range(300):
            run.log({f"thread/{thread}": i}, step=i)
            if i % 50 == 0:
                run.matrix(f"m{thread}", [[i] * 20] * 20, step=i)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    folder = run.read()
    for n in range(8):
        assert [v for _, v in folder.scalar(f"thread/{n}")] == list(range(300))
    assert len(folder.samples) == 8 * 6 and folder.torn == 0


def test_a_full_queue_drops_and_counts_and_never_waits(begin, monkeypatch, capfd):
    run = begin()
    monkeypatch.setattr(writer, "MAX_WAITING", 50)
    monkeypatch.setattr(writer, "MAX_WAITING_BYTES", 10_000)
    taken, held, released = threading.Event(), threading.Event(), []
    run.active.put(writer.METRICS, lambda: taken.set() or released.append(held.wait(60)))
    assert taken.wait(60)
    for step in range(500):
        run.log({"a": step}, step=step)
        run.matrix("m", [[1.0] * 40] * 40, step=step)
    assert not released, "a full queue made the training wait for the writer"
    held.set()
    folder = run.read()
    assert released == [True]
    written = len(folder.metrics) + len(folder.samples)
    assert 0 < written < 1000
    assert f"{1000 - written} lines were dropped" in folder.notices()
    assert capfd.readouterr().err.count("more is logged than can be written") == 1


def test_what_waits_is_bounded_in_bytes_and_states_are_kept(begin, monkeypatch):
    run = begin()
    monkeypatch.setattr(writer, "MAX_WAITING_BYTES", 50_000)
    taken, held = threading.Event(), threading.Event()
    run.active.put(writer.METRICS, lambda: taken.set() or (held.wait(60) and None))
    assert taken.wait(60)
    for step in range(1000):
        run.log({"a" * 150: step}, step=step)
        run.changed("train.lr", step, step)
    run.notices.once("late", "still said")
    waiting = len(run.active._queue)
    held.set()
    read = run.read()
    assert 0 < waiting < 600 and 0 < len(read.metrics) < 300
    assert 0 < sum("changed" in e for e in read.events) < 300
    assert "still said" in read.notices() and read.state() == "finished"


def test_measurements_end_at_the_limit_and_scalars_go_on(begin):
    run = begin(max_bytes=5000)
    for step in range(20):
        run.matrix("m", [[1.5] * 20] * 20, step=step)
        run.log({"a": step}, step=step)
        run.flush()
    folder = run.read()
    assert 0 < len(folder.samples) < 20 and len(folder.metrics) == 20
    assert (folder.path / "samples.jsonl").stat().st_size <= 5000
    assert "max_bytes" in folder.notices()


def test_a_broken_collector_and_a_broken_payload_stop_nothing(begin):
    run = begin()
    run.collectors.append(lambda step: 1 / 0)
    run.sample("matrix/broken", lambda: 1 / 0, 0, 1)
    run.log({"a": 1})
    folder = run.read()
    assert folder.scalar("a") == [(0, 1)] and "ZeroDivisionError" in folder.notices()


def test_without_a_run_it_is_said_and_nothing_happens(capfd):
    for _ in range(2):
        orrery_log.log({"a": 1})
        orrery_log.matrix("m", [[1]])
        orrery_log.finish()
    assert orrery_log.ode(abs) is abs and orrery_log.watch(object()) is None
    assert capfd.readouterr().err.count("without a run") <= 1


def test_init_has_the_signature_of_a_run_and_says_what_it_takes():
    assert inspect.signature(orrery_log.init).parameters == inspect.signature(orrery_log.Run).parameters
    assert "max_bytes:" in orrery_log.init.__doc__


def test_settings_that_cannot_be_read_are_said_and_the_run_is_written(begin, capfd):
    class Broken(dict):
        def items(self):
            raise KeyError("no")

    run = begin(config=Broken(a=1), total_steps=None)
    run.log({"a": 1})
    run = begin(total_steps="many", allow=["pause"])
    run.log({"a": 1})
    assert run.read().scalar("a") == [(0, 1)]
    assert capfd.readouterr().err.count("settings of the run are left out") == 2


def test_settings_can_be_added_later(begin):
    run = begin(config={"a": 1})
    run.update({"b": 2}, total_steps=100, vocab=65)
    folder = run.read()
    assert folder.run["run"]["config"]["values"] == {"config.a": 1, "config.b": 2}
    assert folder.run["run"]["total_steps"] == 100 and folder.run["run"]["vocab"] == 65


def test_other_ranks_write_nothing_unless_asked(begin, monkeypatch, tmp_path):
    monkeypatch.setenv("RANK", "1")
    run = begin()
    run.log({"a": 1})
    assert run.folder is None and not list(tmp_path.iterdir())
    run = begin("both", all_ranks=True)
    run.log({"a": 1})
    assert "both-rank1" in run.read().path.name


def test_texts_that_utf8_cannot_hold_lose_that_alone(begin):
    run = begin()
    run.text("t", "\ud800 \x00 \U0001f600")
    raw = (run.read().path / "samples.jsonl").read_bytes()
    assert json.loads(raw.decode("utf-8"))["payload"]["text"] == "? \x00 \U0001f600"


def test_a_listener_that_fails_stops_neither_the_others_nor_the_end(tmp_path, capfd):
    class Failing:
        def logged(self, step):
            raise ValueError("no")

        def finish(self):
            raise ValueError("no end")

    class Other(Failing):
        def __init__(self):
            self.seen = []

        def logged(self, step):
            self.seen.append(step)

        def finish(self):
            self.seen.append("end")

    run = orrery_log.init("r", dir=str(tmp_path))
    other = Other()
    run.listeners += [Failing(), other]
    orrery_log.log({"loss": 1.0}, step=0)
    folder = run.folder
    orrery_log.finish()
    assert other.seen == [0, "end"]
    assert Folder(folder).events[-1]["state"] == "finished"
    assert capfd.readouterr().err.count("a measurement was left out: ValueError") == 1
