#!/usr/bin/env python3
"""Makes large captures to measure with. Needs nothing but Python and memray.

    python3 -m pip install memray==1.20.0
    python3 bench/make_captures.py              all kinds: some minutes, about 0.6 GB
    python3 bench/make_captures.py --scale 0.01 small ones of the same kinds: seconds

Runs the workloads with the interpreter that it is run with, and leaves out what that interpreter
has no modules for. Captures that are there already are kept. Addresses and times differ from run to
run, so a capture cannot be made a second time byte for byte; its size is about the same.
"""

import argparse
import dataclasses
import importlib.util
import os
import pathlib
import subprocess
import sys
import time
from typing import List, Tuple

HERE = pathlib.Path(__file__).resolve().parent
PYTHON_ALLOCATORS = ["--trace-python-allocators"]


@dataclasses.dataclass(frozen=True)
class Capture:
    name: str
    kind: str
    # What is run: arguments of the interpreter. OUTPUT stands for the capture if it tracks itself.
    command: List[str]
    # Options of `memray run`, or none for a command that tracks itself.
    options: Tuple[str, ...] = ()
    tracks_itself: bool = False
    needs: Tuple[str, ...] = ()


def captures(scale):
    def times(amount):
        return str(max(1, round(amount * scale)))

    def run(name, kind, command, *options, needs=()):
        return Capture(name, kind, command, (*PYTHON_ALLOCATORS, *options), needs=needs)

    suite = ["-m", "test", *suite_arguments(scale)]
    rounds = times(165 if has("pandas") else 290)
    long_run = ["long_run.py", "OUTPUT", str(80 * scale), times(250_000)]
    return [
        run("suite", "suite", suite, needs=("test.test_set",)),
        run("suite-plain", "suite", suite, "--no-compress", needs=("test.test_set",)),
        Capture("long", "long", long_run, tracks_itself=True),
        run("native", "native", ["native_calls.py", rounds], "--native", "--no-compress"),
        run("threads", "threads", ["many_threads.py", *threads_arguments(scale)]),
        run("web", "web", ["web_shop.py", times(400)]),
        run("pandas", "pandas", ["data_frames.py", times(200_000)], needs=("pandas",)),
    ]


def suite_arguments(scale):
    """CPython's own tests of sets: as often as asked for, or a part of them."""
    if scale < 0.05:
        return ["test_set", "--match", "TestBasicOps*"]
    if scale < 1:
        return ["test_set", "--match", "*Mutating_Set_Set*"]
    return ["test_set"] * round(scale)


def threads_arguments(scale):
    """Fewer steps first, then fewer threads."""
    steps = max(20, round(600 * scale))
    threads = max(8, min(400, round(400 * 600 * scale / steps)))
    return [str(threads), str(steps)]


KINDS = ["suite", "long", "native", "threads", "web", "pandas"]


def has(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def make(capture, path):
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    target = [str(part) if argument == "OUTPUT" else argument for argument in capture.command]
    if target[0] != "-m":
        target[0] = str(HERE / "workloads" / target[0])
    memray = ["-m", "memray", "run", "--quiet", "--output", str(part), *capture.options]
    command = [sys.executable, *([] if capture.tracks_itself else memray), *target]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    start = time.monotonic()
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, errors="replace"
    )
    if done.returncode != 0 or not part.exists():
        part.unlink(missing_ok=True)
        raise SystemExit("%s\n%s failed with %d" % (done.stdout, " ".join(command), done.returncode))
    part.replace(path)
    return time.monotonic() - start


def describe(path, seconds):
    import memray

    records = memray.FileReader(str(path)).metadata.total_allocations
    size = path.stat().st_size / 1e6
    return "%-32s %9.1f MB %12s allocations and deallocations %6.1f s" % (
        path.name,
        size,
        format(records, ","),
        seconds,
    )


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder",
        nargs="?",
        type=pathlib.Path,
        default=HERE / "captures",
        help="where they go (default: bench/captures)",
    )
    parser.add_argument("--only", nargs="+", choices=KINDS, metavar="KIND", help="only %s" % ", ".join(KINDS))
    parser.add_argument(
        "--scale",
        type=float,
        default=1.0,
        metavar="X",
        help="so many times the work (default: 1); the name of the file says it",
    )
    parser.add_argument("--force", action="store_true", help="make again what is there")
    arguments = parser.parse_args()
    if not 0 < arguments.scale < 1000:
        parser.error("--scale is a number above 0 and below 1000")
    return arguments


def main():
    arguments = parse_arguments()
    if not has("memray"):
        raise SystemExit("no memray here; install it: %s -m pip install memray==1.20.0" % sys.executable)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    ending = ".bin" if arguments.scale == 1 else "-scale%g.bin" % arguments.scale
    for capture in captures(arguments.scale):
        if arguments.only and capture.kind not in arguments.only:
            continue
        path = arguments.folder / (capture.name + ending)
        missing = [module for module in capture.needs if not has(module)]
        if missing:
            print("%-32s left out: this Python has no %s" % (path.name, ", ".join(missing)))
        elif path.exists() and not arguments.force:
            print("%-32s is there already" % path.name)
        else:
            print(describe(path, make(capture, path)), flush=True)


if __name__ == "__main__":
    main()
