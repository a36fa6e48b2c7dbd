"""A long run: a memory snapshot every millisecond, and a call stack of its own for every few blocks.

usage: long_run.py OUTPUT SECONDS STACKS
"""

import collections
import random
import sys
import time

import memray

LEVELS = 4
LIVE_BLOCKS = 50_000
BLOCKS_PER_STACK = 3


def functions(level, count):
    """Functions that each call the next of a path of functions."""
    names = ["stage_%d_task_%d" % (level, number) for number in range(count)]
    source = "\n".join("def %s(path, size):\n    return path[0](path[1:], size)" % name for name in names)
    space = {}
    exec(compile(source, "pipeline/stage_%d.py" % level, "exec"), space)
    return [space[name] for name in names]


def allocate(path, size):
    return bytearray(size)


def paths(stacks):
    """Paths through the functions of all levels, no two of them equal."""
    count = 2
    while count**LEVELS < stacks:
        count += 1
    levels = [functions(level, count) for level in range(LEVELS)]
    for number in range(stacks):
        path = []
        for level in levels:
            number, digit = divmod(number, count)
            path.append(level[digit])
        yield path + [allocate]


def main(output, seconds, stacks):
    sizes = random.Random(7)
    live = collections.deque()
    with memray.Tracker(output, memory_interval_ms=1):
        start = time.monotonic()
        for number, path in enumerate(paths(stacks)):
            while time.monotonic() - start < seconds * number / stacks:
                time.sleep(0.001)
            for _ in range(BLOCKS_PER_STACK):
                live.append(path[0](path[1:], sizes.randrange(600, 6000)))
            if len(live) > LIVE_BLOCKS:
                # Half of the oldest go, the other half lives on.
                for _ in range(LIVE_BLOCKS // 10):
                    block = live.popleft()
                    if len(block) % 2:
                        live.append(block)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
