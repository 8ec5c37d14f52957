"""Scripts of other tools with one changed line."""

from __future__ import annotations

import argparse
import copy
import os
import pickle

import orrery_log
import orrery_log.wandb as wandb
import pytest
from orrery_log.tensorboard import SummaryWriter
from strict import Folder


def test_a_script_for_wandb(tmp_path, capfd):
    options = {"mode": "offline", "names": {"val/loss": "loss/held_out"}}
    with wandb.init(project="shakespeare", name="mini", config={"lr": 0.1}, dir=tmp_path, **options) as run:
        wandb.config.batch = 4
        wandb.config.update(argparse.Namespace(depth=2))
        assert (wandb.config.lr, wandb.config["batch"], wandb.config.depth) == (0.1, 4, 2)
        wandb.define_metric("loss", summary="min")
        wandb.log({"loss": 2.0, "words": "the king", "h": wandb.Histogram([1, 2, 3])})
        wandb.log({"a": 1}, commit=False)
        wandb.log({"loss": 1.0})
        run.log({"val/loss": 3.0}, step=10)
        wandb.log({"picture": wandb.Image("x.png")}, step=11)
        wandb.run.summary["best"] = 1.0
        assert wandb.summary["loss"] == 1.0
        wandb.log({"last": 5}, commit=False)
        folder = orrery_log.run.folder
    read = Folder(folder)
    assert read.scalar("loss") == [(0, 2.0), (1, 1.0)] and read.scalar("a") == [(1, 1)]
    assert read.scalar("loss/held_out") == [(10, 3.0)]
    assert [value for _, value in read.scalar("last")] == [5] and wandb.run is None
    assert {s["channel"] for s in read.samples} == {"text/words", "histogram/h"}
    assert read.run["run"]["config"]["values"] == {"config.lr": 0.1, "config.batch": 4, "config.depth": 2}
    assert read.path.name.endswith("-foreign-mini-s0") and orrery_log.run is None
    said = capfd.readouterr().err
    assert said.count("wandb.Image has no meaning") == 1 and said.count("wandb.define_metric") == 1


@pytest.mark.parametrize("how", [("mode", "disabled"), ("WANDB_MODE", "disabled"), ("WANDB_DISABLED", "true")])
def test_a_disabled_run_of_wandb_writes_nothing(tmp_path, monkeypatch, how):
    key, value = how
    if key != "mode":
        monkeypatch.setenv(key, value)
    run = wandb.init(project="p", dir=tmp_path / "runs", mode=value if key == "mode" else None)
    wandb.log({"a": 1})
    assert os.path.isdir(os.path.join(wandb.run.dir, "")), "a script may keep files of its own there"
    run.finish()
    assert not (tmp_path / "runs").exists()


def test_a_run_of_wandb_answers_what_scripts_ask_it(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("WANDB_PROJECT", "of the shell")
    with wandb.init(dir=tmp_path) as run:
        assert run.project == "of the shell" and "of_the_shell" in os.path.basename(run.dir)
        assert not run.resumed and run.sweep_id is None and run.group is None
        assert (*run.tags, "baseline") == ("baseline",)
        assert os.path.join("a", run.project, run.entity) == "a/of the shell/"
        assert isinstance(run, wandb.Run) and wandb.login()
        assert wandb.__version__.split(".")[0].isdigit()


def test_what_has_no_meaning_in_wandb_stops_no_script(tmp_path, capfd):
    with wandb.init(dir=tmp_path) as run:
        artifact = wandb.Artifact("weights", type="model")
        artifact.add_file("x.pt")
        artifact.metadata["epoch"] = 1
        run.log_artifact(artifact).wait()
        assert os.path.join(run.use_artifact("weights:latest").download(), "x.pt") == "x.pt"
        assert wandb.util.generate_id() + "-a" == "-a" and "a-" + wandb.util.generate_id() == "a-"
        assert f"{wandb.util.generate_id()}" == ""
        assert list(wandb.Api().runs("me/project")) == [] and not wandb.Api().run("x")
        assert isinstance(wandb.Image("x.png"), wandb.Image) and not isinstance(1.0, (wandb.Table, wandb.Video))
        with pytest.raises(KeyError, match="of the script"):
            try:
                raise KeyError("of the script")
            except (wandb.errors.CommError, wandb.errors.UsageError, wandb.Error):
                pass


def test_the_config_of_wandb_is_a_mapping(tmp_path, capfd):
    given = argparse.Namespace(lr=0.1)
    with wandb.init(dir=tmp_path, config=given) as run:
        wandb.config.setdefaults({"lr": 9, "depth": 2})
        assert list(wandb.config) == ["lr", "depth"] and len(wandb.config) == 2 and "lr" in wandb.config
        assert list(wandb.config.values()) == [0.1, 2] and dict(**wandb.config) == {"lr": 0.1, "depth": 2}
        with pytest.raises(KeyError):
            wandb.config["missing"]
        with pytest.raises(AttributeError):
            wandb.config.missing  # noqa: B018
        assert copy.deepcopy(wandb.config).lr == pickle.loads(pickle.dumps(wandb.config)).lr == 0.1
        folder = run.dir
    assert Folder(folder).run["run"]["config"]["values"] == {"config.lr": 0.1, "config.depth": 2}
    with wandb.init(dir=tmp_path, config="settings.yaml"):
        assert len(wandb.config) == 0
    assert "'settings.yaml' is not read" in capfd.readouterr().err


def test_nested_values_and_the_summary_of_wandb(tmp_path, capfd):
    class Loss(float):
        def detach(self):
            return "detached"

    with wandb.init(dir=tmp_path) as run:
        wandb.log({"train": {"loss": Loss(2.0), "h": wandb.Histogram([1, 2, 3])}}, step=4, sync=False)
        run.log({"other": 1.0}, step=5, sync=False)
        assert wandb.summary["train/loss"] == "detached"
        wandb.run.summary["best"] = 0.5
        wandb.summary.update({"note": "as good as before", "other": 1.0})
        folder = run.dir
    read = Folder(folder)
    assert read.scalar("train/loss") == [(4, 2.0)] and [s["step"] for s in read.channel("histogram/train/h")] == [4]
    assert read.scalar("summary/best") == [(5, 0.5)] and not read.scalar("summary/train/loss")
    assert read.channel("text/summary/note")[0]["payload"]["text"] == "as good as before"


def test_an_agent_of_wandb_runs_its_function_once(tmp_path, capfd):
    seen = []

    def script():
        with wandb.init(dir=tmp_path, config={"lr": 9, "depth": 2}):
            seen.append(dict(wandb.config))

    parameters = {"lr": {"values": [0.1, 0.2]}, "width": {"value": 8}, "drop": {"min": 0.0, "max": 1.0}}
    wandb.agent(wandb.sweep({"method": "grid", "parameters": parameters}, project="p"), function=script, count=5)
    assert seen == [{"lr": 0.1, "depth": 2, "width": 8, "drop": 0.0}]
    script()
    assert seen[1] == {"lr": 9, "depth": 2} and "runs once" in capfd.readouterr().err


def test_log_of_wandb_without_init_is_said(capfd):
    wandb.log({"a": 1})
    assert "before wandb.init()" in capfd.readouterr().err


def test_a_script_for_tensorboard(tmp_path, capfd):
    writer = SummaryWriter(tmp_path / "exp1", names={"Loss/test": "loss/held_out"})
    for step in range(3):
        writer.add_scalar("Loss/train", 1.0 / (step + 1), step)
    writer.add_scalar("Loss/test", 2.0, 0)
    writer.add_scalar("alone", 5)
    writer.add_scalar("alone", 6)
    writer.add_scalars("both", {"a": 1, "b": 2}, 3)
    writer.add_text("note", "hello", 3)
    writer.add_histogram("weights", [0.0, 1.0, 1.0], 3)
    writer.add_hparams({"lr": 0.1}, {"best": 0.5})
    writer.add_image("image", None)
    writer.flush()
    writer.close()
    read = Folder(writer.get_logdir())
    assert read.scalar("Loss/train") == [(0, 1.0), (1, 0.5), (2, 1 / 3)]
    assert read.scalar("loss/held_out") == [(0, 2.0)]
    assert read.scalar("alone") == [(0, 5), (1, 6)] and read.scalar("both/b") == [(3, 2)]
    assert {s["channel"] for s in read.samples} == {"text/note", "histogram/weights"}
    assert read.path.parent == tmp_path and "-exp1-" in read.path.name
    assert capfd.readouterr().err.count("SummaryWriter.add_image") == 1


def test_other_ways_to_make_a_summary_writer(tmp_path, capfd):
    from orrery_log import tensorboard

    tensorboard._notices = type(tensorboard._notices)()
    with SummaryWriter(str(tmp_path / "positional"), "c", None, 10, 120) as writer:
        writer.add_scalars("none", None)
        writer.add_scalars("both", {"a": 1}, 2)
        assert writer.logdir == writer.file_writer.get_logdir() == writer.get_logdir()
        assert list(writer.all_writers) == [writer.logdir]
        writer.export_scalars_to_json("all.json")
        with pytest.raises(AttributeError):
            writer.missing  # noqa: B018
    read = Folder(writer.logdir)
    assert read.scalar("both/a") == [(2, 1)] and read.path.parent == tmp_path
    assert capfd.readouterr().err.count("export_scalars_to_json") == 1
    with SummaryWriter(logdir=tmp_path / "of tensorboardX") as writer:
        assert os.path.dirname(writer.logdir) == str(tmp_path)


def test_tables_and_counted_histograms_of_wandb(tmp_path, capfd):
    with wandb.init(dir=tmp_path) as run:
        table = wandb.Table(columns=["word", "count"])
        table.add_data("ferry", 3)
        table.add_data("oven", float("nan"))
        table.add_column("kept", [True, None])
        other = wandb.Table(data=[[1, 2]])
        histogram = wandb.Histogram(np_histogram=([4, 6], [0.0, 1.0, 2.0]))
        wandb.log({"t": table, "many": [other], "pictures": [wandb.Image("a.png")] * 2, "h": histogram}, step=3)
        wandb.log({"wrong": wandb.Histogram(np_histogram=([4, 6], [0.0, 1.0]))}, step=4)
        assert table.get_column("word") == ["ferry", "oven"] and isinstance(table, wandb.Table)
        folder = run.dir
    read = Folder(folder)
    (written,) = read.channel("table/t")
    rows = [["ferry", 3, "True"], ["oven", "NaN", "None"]]
    assert written["payload"] == {"kind": "table", "columns": ["word", "count", "kept"], "rows": rows}
    assert read.channel("table/many/0")[0]["payload"]["rows"] == [[1, 2]]
    assert read.channel("histogram/h")[0]["payload"] == {"kind": "histogram", "edges": [0, 1, 2], "counts": [4, 6]}
    assert not read.channel("histogram/wrong")
    said = capfd.readouterr().err
    assert "is an array" not in said and "2 counts and 2 edges" in said


def test_watch_of_wandb_says_what_it_does_not_write(tmp_path, capfd):
    torch = pytest.importorskip("torch")
    with wandb.init(dir=tmp_path):
        wandb.watch(torch.nn.Linear(2, 2), log="all", log_freq=2)
        wandb.watch(torch.nn.Linear(2, 2), log=None)
    assert capfd.readouterr().err.count("log='all' are not written") == 1


def test_counted_histograms_and_tensors_of_a_summary_writer(tmp_path, capfd):
    with SummaryWriter(tmp_path / "exp") as writer:
        limits = {"bucket_limits": [0.5, 1.0], "bucket_counts": [1, 2]}
        writer.add_histogram_raw("raw", min=0, max=1, num=3, sum=2, sum_squares=2, global_step=4, **limits)
        writer.add_tensor("tensor", [[1.0, 2.0]], 4)
    read = Folder(writer.logdir)
    assert read.channel("histogram/raw")[0]["payload"] == {"kind": "histogram", "edges": [0, 0.5, 1], "counts": [1, 2]}
    assert read.channel("matrix/tensor")[0]["step"] == 4 and not capfd.readouterr().err
