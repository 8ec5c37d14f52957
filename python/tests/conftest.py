from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def no_run_is_left(monkeypatch):
    """Every test begins without a run, as rank 0."""
    import orrery_log

    for name in ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"):
        monkeypatch.delenv(name, raising=False)
    yield
    orrery_log.finish()


@pytest.fixture
def begin(tmp_path):
    """Begins a run in a temporary folder; `read()` of what it returns ends the run and reads the folder strictly."""
    import orrery_log
    from strict import Folder

    def start(name="test", **options):
        run = orrery_log.init(name, dir=tmp_path, **options)

        def read():
            run.finish()
            return Folder(run.folder)

        run.read = read
        return run

    return start
