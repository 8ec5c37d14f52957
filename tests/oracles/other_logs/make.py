"""Writes the logs of other tools that the tests of imports read, each by the tool's own writer.

    python -m venv venv && venv/bin/pip install tensorboard==2.21.0 wandb==0.31.0 trackio==0.43.0 pyyaml
    venv/bin/pip download --no-deps lightning==2.6.6
    unzip lightning-2.6.6-*.whl 'lightning/fabric/loggers/*' -d lightning_source
    venv/bin/python make.py

The CSV logger of Lightning is loaded alone, with stand-ins for what it imports and does not use, since the whole
package needs PyTorch. Trackio's database is rewritten by SQLite with pages of 512 bytes, which keeps the file small
and its tables deep; `wal` is the same database with rows that only its write-ahead log holds.

What is logged, at the steps 0, 2, .. 10: `loss` = 3 / (step + 1), `acc` = step / 20, `odd` = 1 but NaN at 4, inf at 6,
-inf at 8.
"""

import importlib.util
import math
import os
import shutil
import sqlite3
import sys
import tempfile
import time
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
STEPS = range(0, 12, 2)
CONFIG = {"lr": 0.001, "model": {"layers": 2, "name": "small"}, "betas": [0.9, 0.99], "amp": True, "seed": 5}


def odd(step: int) -> float:
    return {4: math.nan, 6: math.inf, 8: -math.inf}.get(step, 1.0)


def values(step: int) -> dict[str, float]:
    return {"loss": 3 / (step + 1), "acc": step / 20, "odd": odd(step)}


def emptied(name: str) -> Path:
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def tensorboard() -> None:
    """`train` in the old form and `validation` in the new one, which also has a text and a histogram."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.histogram.summary_v2 import histogram_pb
    from tensorboard.plugins.scalar.summary_v2 import scalar_pb
    from tensorboard.plugins.text.summary_v2 import text_pb
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    folder = emptied("tensorboard")
    old = [
        (step, Summary(value=[Summary.Value(tag=tag, simple_value=v) for tag, v in values(step).items()]))
        for step in STEPS
    ]
    new = [(step, scalar_pb(tag, v)) for step in STEPS for tag, v in values(step).items()]
    new += [(0, text_pb("note", "the ferry left at dawn")), (2, histogram_pb("weights", [0.0, 1.0, 2.0], buckets=4))]
    for name, summaries in [("train", old), ("validation", new)]:
        writer = EventFileWriter(str(folder / name))
        for step, summary in summaries:
            writer.add_event(Event(wall_time=1.8e9 + step, step=step, summary=summary))
        writer.close()
        (written,) = (folder / name).iterdir()
        written.rename(folder / name / "events.out.tfevents.1800000000.machine.1.0")


def wandb() -> None:
    os.environ |= {"WANDB_MODE": "offline", "WANDB_SILENT": "true"}
    import wandb

    folder = emptied("wandb")
    with tempfile.TemporaryDirectory() as place:
        settings = wandb.Settings(
            host="machine",
            x_disable_stats=True,
            x_disable_meta=True,
            x_disable_machine_info=True,
            disable_git=True,
            disable_code=True,
            console="off",
            x_save_requirements=False,
        )
        run = wandb.init(
            project="demo", name="small", id="abc12345", notes="a note", config=CONFIG, dir=place, settings=settings
        )
        for step in STEPS:
            run.log(
                {"loss": values(step)["loss"], "nested": {"acc": values(step)["acc"]}, "odd": odd(step), "word": "hi"},
                step=step,
            )
        run.finish()
        # the last bytes are written by another process
        time.sleep(2)
        (log,) = Path(place).glob("wandb/offline-run-*/run-*.wandb")
        shutil.copy(log, folder / log.name)


def lightning() -> None:
    import yaml

    def module(name: str, **names: object) -> None:
        stand_in = types.ModuleType(name)
        stand_in.__dict__.update(names)
        sys.modules[name] = stand_in

    import fsspec

    plain = lambda f: f  # noqa: E731
    module("torch", Tensor=type("Tensor", (), {}))
    module("lightning")
    module("lightning.fabric")
    module("lightning.fabric.loggers")
    module("lightning.fabric.loggers.logger", Logger=object, rank_zero_experiment=plain)
    module("lightning.fabric.utilities")
    module("lightning.fabric.utilities.cloud_io", _is_dir=None, get_filesystem=lambda _: fsspec.filesystem("file"))
    module("lightning.fabric.utilities.logger", _add_prefix=lambda metrics, *_: metrics)
    module("lightning.fabric.utilities.rank_zero", rank_zero_only=plain, rank_zero_warn=print)
    module("lightning.fabric.utilities.types", _PATH=str)
    spec = importlib.util.spec_from_file_location(
        "csv_logs", HERE / "lightning_source/lightning/fabric/loggers/csv_logs.py"
    )
    csv_logs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(csv_logs)

    folder = emptied("lightning") / "version_0"
    logger = csv_logs._ExperimentWriter(str(folder))
    for step in STEPS:
        one = values(step)
        logger.log_metrics({"loss": one["loss"], "epoch": step // 4}, step)
        if step % 4 == 0:
            logger.log_metrics({"acc": one["acc"], "odd": one["odd"], "epoch": step // 4}, step)
            logger.save()
    logger.save()
    (folder / "hparams.yaml").write_text(yaml.dump(CONFIG))


def trackio() -> None:
    folder = emptied("trackio")
    with tempfile.TemporaryDirectory() as place:
        os.environ |= {"TRACKIO_DIR": place}
        import trackio

        for name, lr in (("wide", 0.001), ("narrow", 0.01)):
            trackio.init(project="demo", name=name, config=CONFIG | {"lr": lr})
            for step in STEPS:
                trackio.log(values(step) | {"word": "hi"}, step=step)
            trackio.finish()
        database = sqlite3.connect(Path(place) / "demo.db")
        database.execute("PRAGMA journal_mode=DELETE")
        database.execute("PRAGMA page_size=512")
        database.execute("VACUUM")
        database.close()
        shutil.copy(Path(place) / "demo.db", folder / "demo.db")
        # rows that are in the write-ahead log alone, as while a run goes on
        database = sqlite3.connect(Path(place) / "demo.db")
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA wal_autocheckpoint=0")
        row = database.execute("SELECT run_id, timestamp, run_name FROM metrics WHERE run_name = 'wide'").fetchone()
        for step in (12, 14):
            one = (*row, step, f'{{"loss":{3 / (step + 1)}}}')
            database.execute(
                "INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?, ?)", one
            )
            database.commit()
        (folder / "wal").mkdir()
        for name in ("demo.db", "demo.db-wal"):
            shutil.copy(Path(place) / name, folder / "wal" / name)
        database.close()


if __name__ == "__main__":
    for make in (tensorboard, wandb, lightning, trackio):
        make()
