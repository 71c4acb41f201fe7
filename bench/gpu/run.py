"""What eight simulated H100 cost the agent, and what the agent costs their driver.

python bench/gpu/run.py             60 s at each cadence, then a driver that hangs
python bench/gpu/run.py --quick     30 s, which is once for what is read every 30 s

The simulated calls take the time that real ones take, as far as it is known (simulation/nvml/latency.c).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from bench.programs import Program, free_port, machine, running  # noqa: E402
from vigie.simulation.nvml import gpu_models  # noqa: E402
from vigie.simulation.nvml.build import build  # noqa: E402
from vigie.simulation.nvml.driver import SimulatedDriver  # noqa: E402
from vigie.sources.core.registry import find_sources  # noqa: E402

NVIDIA = [source.name for source in find_sources() if source.name.startswith("nvidia")]


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--quick", action="store_true", help="30 s instead of 60 for each row")
    seconds = 30.0 if arguments.parse_args().quick else 60.0
    print(f"Measured {machine()}.\n")
    print("| agent | CPU, % of a core | of it simulating | RSS, MB | driver, ms a s | longest stretch, ms |")
    print("|---|---|---|---|---|---|")
    for cadence in (10, 1):
        steady(cadence, seconds)
        steady(cadence, seconds, "without GPUs", "--no-sources=" + ",".join(NVIDIA))
    hang(10.0 if seconds < 60 else 60.0)


def simulated(directory: str) -> SimulatedDriver:
    """Return a machine with eight busy GPUs and calls that take their time."""
    home = Path(directory)
    script = [
        *gpu_models.h100(),
        "system latency on",
        *(f"{gpu} process.0 {4000 + gpu} 4000000" for gpu in range(8)),
    ]
    driver = SimulatedDriver(home / "driver", build(home), script)
    driver.count_calls()
    return driver


def agent(driver: SimulatedDriver, port: int, cadence: float) -> list[str]:
    """Return the command of an agent with all its sources."""
    command = [sys.executable, "-m", "vigie", "agent", f"--listen=127.0.0.1:{port}", "--socket=off"]
    return [*command, f"--cadence={cadence:g}", f"--nvml-library={driver.library}"]


def steady(cadence: float, seconds: float, what: str = "8 GPUs", *flags: str) -> None:
    """Print what goes on at one cadence with nobody scraping."""
    with tempfile.TemporaryDirectory() as directory:
        driver, port = simulated(directory), free_port()
        with running([*agent(driver, port, cadence), *flags], port, "/healthz") as program:
            time.sleep(3 * cadence if cadence < 5 else cadence)  # opened, and the first readings done
            cpu, before = program.cpu(), driver.describe()
            time.sleep(seconds)
            used, after, rss = program.cpu() - cpu, driver.describe(), program.rss()
        shares = [part / seconds * 100 for part in (used, after.processor - before.processor)]
        busy = (after.total - before.total) / seconds * 1000
        print(
            f"| {what}, every {cadence:g} s | {shares[0]:.2f} | {shares[1]:.2f} | {rss:.1f} "
            f"| {busy:.1f} | {after.longest * 1000:.1f} |"
        )


def hang(seconds: float) -> None:
    """Print how long other sources waited while every call of the driver hung."""
    with tempfile.TemporaryDirectory() as directory:
        driver, port = simulated(directory), free_port()
        with running(agent(driver, port, 1), port, "/status") as program:
            time.sleep(3)
            driver.set(f"* hang.* {seconds}")
            oldest = {"quick": 0.0, "slow": 0.0}
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                for name, age in ages(program):
                    oldest[name] = max(oldest[name], age)
                time.sleep(0.25)
    print(f"\nWhile every call hung for {seconds:g} s, at a cadence of 1 s, the oldest value was")
    print(f"{oldest['quick']:.1f} s old for sources of every tick, {oldest['slow']:.1f} s for slow ones.")


def ages(program: Program) -> list[tuple[str, float]]:
    """Return how old the values of sources that are read at every tick are now."""
    sources = json.loads(program.scrape("identity"))["sources"]
    kinds = {"cpu": "quick", "meminfo": "quick", "filesystem": "slow"}
    return [(kind, sources[name]["age_seconds"]) for name, kind in kinds.items()]


if __name__ == "__main__":
    main()
