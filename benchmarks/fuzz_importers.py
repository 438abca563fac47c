"""Breaks files of every kind many times and imports them.

    python benchmarks/fuzz_importers.py [--files 10000] [--seed 0] [KIND ...]

Every broken file is refused with a message, or read without losing a machine in silence; anything
else ends the run with the file that did it. Prints a line a file of `tests/inventory/examples.py`.
"""

import argparse
import random
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "models")]

from tests.inventory.examples import EXAMPLES, Example  # noqa: E402 - needs the path above
from tests.inventory.fuzzing import breakages, check  # noqa: E402


def main() -> None:
    """Parse the arguments and fuzz every example of the kinds asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000, help="broken files an example")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("kinds", nargs="*", help="kinds to fuzz; all when left out")
    options = parser.parse_args()
    print(f"{'kind':20} {'files':>7} {'read':>7} {'refused':>7} {'seconds':>7}")
    for example in EXAMPLES:
        if not options.kinds or example.kind in options.kinds:
            fuzz(example, options.files, options.seed)


def fuzz(example: Example, files: int, seed: int) -> None:
    """Break one example many times; print what became of it."""
    rng = random.Random(f"{seed} {example.kind}")
    started = time.monotonic()
    read = 0
    for _ in range(files):
        text = breakages(rng, example.text)
        try:
            read += check(example, text)
        except BaseException:
            print(f"--- broken {example.kind}\n{text}\n---", file=sys.stderr)
            raise
    spent = time.monotonic() - started
    print(f"{example.kind:20} {files:7} {read:7} {files - read:7} {spent:7.1f}", flush=True)


if __name__ == "__main__":
    main()
