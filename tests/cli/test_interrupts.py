"""Ctrl-C late in a search: after the steps that call solvers, and while one of them runs."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.cli.test_commands import ENV, run

HARD = """{
  "cluster": {
    "nodes": [{"name": "a[1-5]", "gpus": 3, "offline": [2]}, {"name": "b", "gpus": 6}, {"name": "c", "gpus": 7},
      {"name": "d[1-2]", "gpus": 3}],
    "levels": [{"name": "leaf", "nodes_per_domain": 5, "weight": 1.5},
      {"name": "lone", "gpus_per_domain": 1, "weight": 0.25}]
  },
  "job": {"decoder": {"tp": 3, "cp": 2, "pp": 2, "ep": 2, "etp": 2}, "dp": 2},
  "objective": {"weights": {"pp": 0, "tp": 2.5}}
}"""


def test_an_interrupt_after_many_steps_ends_soon_with_the_best_plan(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(HARD)
    process = subprocess.Popen(
        [sys.executable, "-m", "planner", "solve", "c.json", "-o", "plan.json", "--time-limit", "300"],
        env=ENV, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    time.sleep(12)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "interrupted: this is the best plan so far" in err
    assert run("verify", "plan.json", cwd=tmp_path).returncode == 0
