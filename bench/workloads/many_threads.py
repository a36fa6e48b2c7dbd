"""Many named threads at work at once, each with stacks of its own.

usage: many_threads.py THREADS STEPS
"""

import sys
import threading


def index(step):
    return {"key %d" % number: [step] * (number % 7) for number in range(16)}


def buffers(step):
    return [bytearray(520 + 8 * (step % 64)) for _ in range(3)]


def chained(step, depth):
    if depth == 0:
        return [str(step), (step, step)]
    return chained(step, depth - 1)


def work(number, steps, start):
    start.wait()
    kept = []
    for step in range(steps):
        index(step)
        chained(step, number % 12)
        kept.append(buffers(step)[0])
        if len(kept) > 16 + number % 16:
            kept.clear()


def main(threads, steps):
    start = threading.Barrier(threads)
    workers = [
        threading.Thread(target=work, args=(number, steps, start), name="worker %d" % number)
        for number in range(threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
