"""The benchmark runs, and prints a ratio for each sampler. How fast this machine is today is not tested."""

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent / "benchmarks" / "sampling_speed.py"


def test_the_benchmark_runs_on_a_small_size(tmp_path):
    done = subprocess.run([sys.executable, "-W", "error", SCRIPT, "2000"], cwd=tmp_path, check=True,
                          capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
    for name in ("simulate_rounds, k = 4", "draw, V = 4", "draw, V = 1000"):
        (line,) = [line for line in done.stdout.splitlines() if line.startswith(name + " ")]
        assert len(re.findall(r"\d+\.?\d*", line.removeprefix(name))) == 5
