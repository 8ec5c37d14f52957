"""Scripts of other tools with one changed line."""

from __future__ import annotations

import argparse

import orrery_log
import orrery_log.wandb as wandb
from orrery_log.tensorboard import SummaryWriter
from strict import Folder


def test_a_script_for_wandb(tmp_path, capfd):
    with wandb.init(project="shakespeare", name="mini", config={"lr": 0.1}, dir=tmp_path, mode="offline") as run:
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
    assert read.scalar("loss/train") == [(0, 2.0), (1, 1.0)] and read.scalar("a") == [(1, 1)]
    assert read.scalar("loss/held_out") == [(10, 3.0)]
    assert [value for _, value in read.scalar("last")] == [5] and wandb.run is None
    assert {s["channel"] for s in read.samples} == {"text/words", "histogram/h"}
    assert read.run["run"]["config"]["values"] == {"config.lr": 0.1, "config.batch": 4, "config.depth": 2}
    assert read.path.name.endswith("-foreign-mini-s0") and orrery_log.run is None
    said = capfd.readouterr().err
    assert said.count("wandb.Image has no meaning") == 1 and said.count("wandb.define_metric") == 1


def test_a_disabled_run_of_wandb_writes_nothing(tmp_path):
    run = wandb.init(project="p", dir=tmp_path / "runs", mode="disabled")
    wandb.log({"a": 1})
    run.finish()
    assert not (tmp_path / "runs").exists()


def test_log_of_wandb_without_init_is_said(capfd):
    wandb.log({"a": 1})
    assert "before wandb.init()" in capfd.readouterr().err


def test_a_script_for_tensorboard(tmp_path, capfd):
    writer = SummaryWriter(tmp_path / "exp1")
    for step in range(3):
        writer.add_scalar("Loss/train", 1.0 / (step + 1), step)
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
    assert read.scalar("alone") == [(0, 5), (1, 6)] and read.scalar("both/b") == [(3, 2)]
    assert {s["channel"] for s in read.samples} == {"text/note", "histogram/weights"}
    assert read.path.parent == tmp_path and "-exp1-" in read.path.name
    assert capfd.readouterr().err.count("SummaryWriter.add_image") == 1
