"""Fuzzing by hand: `make fuzz`, or `python -m tests.fuzz.run --help`. What fails is left in build/fuzz."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))  # last: an installed build is not hidden

from tests.fuzz import corpus, loop  # noqa: E402
from tests.fuzz.mutation import Mutator  # noqa: E402
from tests.support import builds, processes  # noqa: E402

_FAULTS: Final = ROOT / "build" / "fuzz"
_LONGEST: Final = 300
"""Bytes of an input that goes into a corpus."""


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where nothing failed."""
    parser = argparse.ArgumentParser(description="Give made-up bytes to the product: does it keep its promises?")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(corpus.TARGETS)}; none: all")
    parser.add_argument("--inputs", type=int, default=1 << 62, help="of each target, at most")
    parser.add_argument("--seconds", type=float, default=60, help="for each target, at most")
    parser.add_argument("--seed", type=int, default=1, help="the same one gives the same inputs")
    parser.add_argument("--coverage", action="store_true", help="let atheris choose the inputs")
    parser.add_argument("--distil", action="store_true", help="write the corpus anew, from seeds and what is found")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.targets) - set(corpus.TARGETS)
    if unknown:
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(corpus.TARGETS)}")
    print(f"querytap: {builds.under_test()} build, {builds.where()}", flush=True)
    failed = False
    for name in chosen.targets or corpus.TARGETS:
        if chosen.distil:
            print(f"{name}: {_distil(name, chosen.seconds, chosen.seed)} inputs", flush=True)
        elif chosen.coverage:
            failed |= _with_coverage(name, chosen.seconds) != 0
        else:
            limits = loop.Limits(inputs=chosen.inputs, seconds=chosen.seconds, seed=chosen.seed)
            figures = loop.run(name, limits, _FAULTS / name)
            print(figures, *figures.faults, sep="\n  ", flush=True)
            failed |= bool(figures.faults)
    return int(failed)


def _with_coverage(name: str, seconds: float) -> int:
    folder = _FAULTS / name
    found = folder / "found"
    found.mkdir(parents=True, exist_ok=True)
    options = [f"-max_total_time={seconds:.0f}", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"]
    places = [f"-artifact_prefix={folder}/", str(found), str(corpus.FOLDER / name)]
    with tempfile.TemporaryFile() as said:
        done = subprocess.run(
            processes.module("tests.fuzz.coverage", name, *options, *places),
            cwd=ROOT, check=False, stdout=said, stderr=subprocess.STDOUT,
        )  # fmt: skip
        said.seek(0)
        lines = said.read().decode("utf-8", "replace").splitlines()
    wanted = [line for line in lines if line.startswith(("stat::", "SKIPPED")) or "DONE" in line]
    print(name, *(wanted if done.returncode == 0 else lines[-40:]), sep="\n  ", flush=True)
    return done.returncode


def _distil(name: str, seconds: float, seed: int) -> int:
    """Look for new outcomes for so long, then keep what reaches lines that nothing shorter does."""
    run = corpus.target(name)
    grown = [path.read_bytes() for path in (_FAULTS / name / "found").glob("*")]
    mutator = Mutator([*corpus.seeds(name), *corpus.load(name), *grown], seed)
    inputs = []
    until = time.monotonic() + seconds
    for data in mutator.inputs():
        if time.monotonic() > until:
            break
        if mutator.learn(data, run(data)) and len(data) <= _LONGEST:
            inputs.append(data)
    return corpus.save(name, corpus.distilled(run, inputs))


if __name__ == "__main__":
    sys.exit(main())
