"""A program whose runs differ: threads that race, hash seeds, random sizes, garbage in cycles."""

import hashlib
import json
import queue
import random
import threading
import time


class Cycle:
    def __init__(self, size):
        self.itself = self
        self.data = bytearray(size)


def make_garbage(n, rng):
    for _ in range(n):
        Cycle(rng.randrange(600, 3000))


def index(words):
    groups = {}
    for word in words:
        groups.setdefault(hashlib.md5(word.encode()).hexdigest()[:5], set()).add(word)
    return groups


def work(sizes, results, rng):
    while True:
        try:
            n = sizes.get_nowait()
        except queue.Empty:
            return
        make_garbage(20, rng)
        rows = [{"id": i, "name": "n%d" % rng.randrange(10**6), "v": [rng.random() for _ in range(6)]} for i in range(n)]
        results.append({row["name"]: row for row in json.loads(json.dumps(rows))[: n // 4]})
        time.sleep(rng.random() * 0.002)


def main():
    words = {"w%d" % random.randrange(10**9) for _ in range(3000)}
    kept = [index(words), [bytearray(200_000) for _ in range(15)]]
    sizes, results = queue.Queue(), []
    for i in range(40):
        sizes.put(150 + 8 * i)
    threads = [threading.Thread(target=work, args=(sizes, results, random.Random())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept.append(results[::4])
    return kept


KEPT = main()
