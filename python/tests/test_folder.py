"""The description of a run: settings, facts, seed, rank, and a folder that is gone on with."""

from __future__ import annotations

import json
import os
import sys
import types
from pathlib import Path

import orrery_log
import pytest
from strict import Folder


def described(run):
    return json.loads(Path(run.folder, "run.json").read_bytes())


def test_a_change_of_directory_loses_nothing(begin, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = orrery_log.init("moved", dir="runs")
    (tmp_path / "elsewhere").mkdir()
    os.chdir(tmp_path / "elsewhere")
    run.log({"a": 1})
    run.update({"late": 2})
    run.finish()
    read = Folder(next((tmp_path / "runs").iterdir()))
    assert read.scalar("a") == [(0, 1)] and read.run["run"]["config"]["values"] == {"config.late": 2}
    os.chdir(tmp_path)
    again = orrery_log.init(resume=os.path.relpath(run.folder))
    os.chdir(tmp_path / "elsewhere")
    again.log({"a": 2})
    again.finish()
    assert Folder(run.folder).scalar("a") == [(0, 1), (1, 2)]


def test_a_run_that_goes_on_keeps_what_is_not_given_anew(begin):
    run = begin("first", seed=7, total_steps=50, config={"a": 1})
    run.update(params=12, device="cuda:0", vocab=65)
    run.finish()
    before = described(run)
    orrery_log.init(resume=run.folder, config={"b": 2}).finish()
    after = described(run)
    assert after["run"].pop("config")["values"] == {"config.a": 1, "config.b": 2}
    before["run"].pop("config")
    assert after == before and after["seed"] == 7 and after["run"]["variants"][0]["params"] == 12
    orrery_log.init("second", resume=run.folder, seed=8, total_steps=60).finish()
    last = Folder(run.folder).run
    assert (last["run"]["config"]["preset"], last["seed"], last["run"]["total_steps"]) == ("second", 8, 60)
    assert last["run"]["vocab"] == 65


def test_a_folder_to_go_on_with_that_is_missing_is_made_anew(tmp_path, capfd):
    run = orrery_log.init("new", dir=tmp_path / "runs", resume=tmp_path / "missing")
    run.log({"a": 1})
    run.finish()
    assert Folder(run.folder).scalar("a") == [(0, 1)] and Path(run.folder).parent == tmp_path / "runs"
    said = capfd.readouterr().err
    assert said.count("missing` cannot be gone on with: No such file") == 1 and not (tmp_path / "missing").exists()


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"format": 2, "run": {"lab": "gates"}}, "of the lab `gates`"),
        (
            {"format": 2, "run": {"lab": "foreign", "variants": [{"id": "a"}, {"id": "b"}]}},
            "its variants are ['a', 'b']",
        ),
        ({"format": 2, "protocol": 2, "run": {"lab": "foreign"}}, "its protocol is 2"),
    ],
)
def test_the_run_of_another_program_is_not_overwritten(tmp_path, record, words, capfd):
    other = tmp_path / "other"
    other.mkdir()
    (other / "run.json").write_text(json.dumps(record))
    run = orrery_log.init("mine", dir=tmp_path, resume=other)
    run.log({"a": 1})
    run.finish()
    assert [p.name for p in other.iterdir()] == ["run.json"]
    assert json.loads((other / "run.json").read_text()) == record
    assert Folder(run.folder).scalar("a") == [(0, 1)] and words in capfd.readouterr().err


@pytest.mark.skipif(not os.path.exists("/proc/sys/kernel/random/boot_id"), reason="only Linux tells its start")
def test_the_lock_tells_on_which_machine_it_is_held(begin):
    run = begin()
    assert Path(run.folder, ".lock").read_bytes() == Path("/proc/sys/kernel/random/boot_id").read_bytes()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("name", ["run.json", "metrics.jsonl", "events.jsonl", ".lock"])
@pytest.mark.parametrize("trap", ["link", "pipe", "hard link"])
def test_what_is_no_file_of_its_folder_is_not_written(begin, tmp_path, name, trap, capfd):
    run = begin()
    run.log({"a": 1})
    run.finish()
    place, target = Path(run.folder, name), tmp_path / "target"
    kept = place.read_bytes() if place.exists() else b""
    place.unlink(missing_ok=True)
    target.write_bytes(kept)
    if trap == "pipe":
        os.mkfifo(place)
    else:
        (os.symlink if trap == "link" else os.link)(target, place)
    again = begin(resume=run.folder)
    again.log({"a": 2})
    again.finish()
    # what is replaced as a whole leaves the file of the other name as it is
    is_replaced = (name, trap) == ("run.json", "hard link")
    assert (again.folder == run.folder) == is_replaced and target.read_bytes() == kept
    assert is_replaced or f"`{name}` " in capfd.readouterr().err


@pytest.mark.parametrize(
    "text", ["", "[]", "[" * 30_000, '{"run": 5}', '{"run": {"variants": 5, "config": [], "vocab": "x"}}']
)
def test_a_description_that_is_damaged_is_written_anew(begin, text):
    run = begin()
    run.log({"a": 1})
    run.finish()
    Path(run.folder, "run.json").write_text(text)
    again = begin(resume=run.folder)
    again.log({"a": 2})
    assert again.read().scalar("a") == [(0, 1), (1, 2)] and again.folder == run.folder


def test_facts_of_a_run_are_counts_and_texts(begin, capfd):
    run = begin()
    run.update(device=types.SimpleNamespace(kind="cuda"), total_steps=1e4, params=-1)
    run.update(seed=3, vocab="many")
    run.update({"after": 1}, vocab=65)
    read = run.read()
    facts = read.run["run"]
    assert facts["device"] == "namespace(kind='cuda')" and facts["vocab"] == 65
    assert facts["total_steps"] == 10_000 and type(facts["total_steps"]) is int
    assert facts["variants"][0]["params"] == 0 and read.run["seed"] == 0
    assert facts["config"]["values"] == {"config.after": 1}
    said = capfd.readouterr().err
    assert said.count("`seed` is not a fact of a run") == 1 and said.count("`vocab` is left out: ValueError") == 1


@pytest.mark.parametrize("seed", [True, -1, 1.5, "3", 2**63])
def test_a_seed_that_is_none_is_said(begin, seed, capfd):
    read = begin(seed=seed).read()
    assert read.run["seed"] == 0 and "a seed is a whole number" in read.notices()
    assert capfd.readouterr().err.count("a seed is a whole number") == 1


def test_a_seed_of_numpy_is_a_seed(begin):
    numpy = pytest.importorskip("numpy")
    run = begin(seed=numpy.int64(42))
    assert run.read().run["seed"] == 42 and run.folder.endswith("-s42")


def test_settings_stay_within_what_a_reader_takes(begin, capfd):
    run = begin(config={f"k{n}": "漢" * 3000 for n in range(1000)})
    run.update({f"late{n}": "\x7f" * 2000 for n in range(1000)})
    run.update({"k" * 300: 1, "k0": "short"})
    read = run.read()  # strict.Folder checks the sizes of both files
    values = read.run["run"]["config"]["values"]
    assert 20 < len(values) < 1000 and values["config.k0"] == "short" and len(values["config.k1"]) == 2000
    assert not any(len(key) > 200 for key in values)
    assert "settings are left out, `config." in capfd.readouterr().err


def test_more_settings_than_are_kept_are_said(begin, capfd):
    run = begin(config={str(n): n for n in range(900)})
    run.update({str(n): n for n in range(800, 1200)})
    assert len(run.read().run["run"]["config"]["values"]) == 1000
    assert capfd.readouterr().err.count("200 settings are left out, `config.1000` first") == 1


def test_settings_that_clash_are_said(begin, capfd):
    run = begin(config={"a.b": 1, "a": {"b": 2}})
    assert run.read().run["run"]["config"]["values"] == {"a.b": 1}
    assert capfd.readouterr().err.count("setting `a.b` is given twice") == 1


def test_settings_of_any_object(begin, capfd):
    class Shared:
        rate = 0.1

    class Options:
        shared = "of the class"

        def __init__(self):
            self.rate = 0.1
            self._hidden = 1
            self.model = {"layers": 2}

        def method(self):
            pass

    assert begin(config=Options()).read().run["run"]["config"]["values"] == {"config.rate": 0.1, "model.layers": 2}
    assert begin(config=Options).read().run["run"]["config"]["values"] == {"config.shared": "of the class"}
    assert begin(config=Shared()).read().run["run"]["config"]["values"] == {"config.rate": 0.1}
    assert begin(config="options.yaml").read().run["run"]["config"]["values"] == {}
    assert capfd.readouterr().err.count("the settings are str: a dict is needed") == 1


def test_settings_of_one_number_are_numbers(begin):
    numpy = pytest.importorskip("numpy")
    config = {"a": numpy.float32(0.5), "b": numpy.int64(3), "c": numpy.array(2.0), "d": numpy.bool_(True)}
    values = begin(config=config).read().run["run"]["config"]["values"]
    assert values == {"config.a": 0.5, "config.b": 3, "config.c": 2.0, "config.d": True}
    assert type(values["config.b"]) is int and values["config.d"] is True


def test_groups_named_as_the_first_lines_of_the_toml_stay_apart(begin):
    config = {"seed": {"data": 1}, "lab": {"name": "x"}, "preset": 5}
    run = begin(config=config, seed=4)
    assert run.read().run["run"]["config"]["values"] == {
        "config.seed.data": 1,
        "config.lab.name": "x",
        "config.preset": 5,
    }
    tomllib = pytest.importorskip("tomllib")
    with open(f"{run.folder}/config.toml", "rb") as file:
        read = tomllib.load(file)
    assert read["seed"] == 4 and read["config"] == {"seed.data": 1, "lab.name": "x", "preset": 5}


@pytest.mark.parametrize("name", ["SLURM_PROCID", "OMPI_COMM_WORLD_RANK"])
def test_other_ranks_of_a_launcher_write_nothing_and_say_it(begin, monkeypatch, tmp_path, name, capfd):
    monkeypatch.setenv(name, "0")
    assert begin().folder is not None
    monkeypatch.setenv(name, "3")
    assert begin().folder is None
    assert f"rank 3 ({name}) writes no run" in capfd.readouterr().err
    assert "-rank3-" in begin(all_ranks=True).folder


def test_the_rank_of_torch_without_a_launcher(begin, monkeypatch):
    class Distributed:
        rank = 1
        is_available = is_initialized = staticmethod(lambda: True)

        @classmethod
        def get_rank(cls):
            return cls.rank

    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(distributed=Distributed))
    monkeypatch.setenv("SLURM_PROCID", "0")
    assert begin().folder is None
    Distributed.rank = 0
    assert begin().folder is not None
    monkeypatch.setenv("RANK", "1")
    assert begin().folder is None


def test_what_is_logged_after_the_end_is_said_once(begin, capfd):
    run = begin()
    run.log({"a": 1})
    run.finish()
    run.finish()
    assert "has ended" not in capfd.readouterr().err
    run.log({"a": 2})
    run.matrix("m", [[1]])
    assert capfd.readouterr().err.count("the run has ended") == 1
    assert Folder(run.folder).scalar("a") == [(0, 1)]


@pytest.mark.parametrize("when", ["before", "while it is written"])
def test_a_link_in_the_place_of_snapshots_is_not_followed(begin, tmp_path, when, capfd):
    numpy = pytest.importorskip("numpy")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = elsewhere / "step-00000001.safetensors"
    other.write_bytes(b"x" * 1000)
    run = begin()
    if when == "while it is written":
        run.log_weights({"w": numpy.zeros(3)}, 0)
        assert run.flush()
        (path,) = Path(run.folder, "snapshots").iterdir()
        path.unlink()
        Path(run.folder, "snapshots").rmdir()
    else:
        run.finish()
    os.symlink(elsewhere, Path(run.folder, "snapshots"))
    if when == "before":
        run = begin(resume=run.folder)
    for step in (1, 2, 3, 4):
        run.log_weights({"w": numpy.zeros(3)}, step, budget=800)
        run.flush()
    run.log({"a": 1}, step=5)
    run.finish()
    assert list(elsewhere.iterdir()) == [other] and other.stat().st_size == 1000
    said = capfd.readouterr().err
    assert said.count("snapshots` is a link or no folder") == 1 and "dropped" not in said


def test_a_link_among_the_snapshots_is_not_counted(begin, tmp_path):
    numpy = pytest.importorskip("numpy")
    run = begin()
    Path(run.folder, "snapshots").mkdir()
    os.symlink(tmp_path / "missing", Path(run.folder, "snapshots", "step-00000001.safetensors"))
    assert run.log_weights({"w": numpy.zeros(3)}, 1) and run.flush()
    run.finish()
    (path,) = Path(run.folder, "snapshots").iterdir()
    assert not path.is_symlink() and not (tmp_path / "missing").exists()


def test_links_in_the_places_of_ask_and_answer_are_refused_where_a_run_goes_on(begin, tmp_path, capfd):
    run = begin()
    run.finish()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    os.symlink(elsewhere, Path(run.folder, "answer"))
    again = begin(resume=run.folder, allow=["pause"])
    Path(run.folder, "ask", "q.json").write_text('{"ask": "pause"}')
    again.log({"a": 1})
    assert again.read().scalar("a") == [(0, 1)] and not list(elsewhere.iterdir())
    assert capfd.readouterr().err.count("answer` is a link or no folder") == 1
