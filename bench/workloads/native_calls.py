"""Allocations deep in C code: the standard library's extension modules, and pandas where it is there.

usage: native_calls.py ROUNDS
"""

import csv
import decimal
import io
import json
import pickle
import re
import sqlite3
import sys
import xml.etree.ElementTree
import zlib

try:
    import data_frames
except ImportError:
    data_frames = None


def orders(count, seed):
    return [
        {
            "id": number,
            "customer": "customer %d" % (number * seed % 97),
            "amount": number * seed % 1009 / 7,
            "lines": [{"sku": "s%d" % line, "count": line % 5} for line in range(number % 6)],
        }
        for number in range(count)
    ]


def as_json(rows):
    return json.loads(json.dumps(rows, indent=1))


def as_pickle(rows):
    return pickle.loads(zlib.decompress(zlib.compress(pickle.dumps(rows), 1)))


def as_csv(rows):
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerows((row["id"], row["customer"], row["amount"]) for row in rows)
    text.seek(0)
    return list(csv.reader(text))


def in_database(rows):
    with sqlite3.connect(":memory:") as database:
        database.execute("create table orders (id integer primary key, customer text, amount real)")
        database.executemany(
            "insert into orders values (?, ?, ?)",
            ((row["id"], row["customer"], row["amount"]) for row in rows),
        )
        database.execute("create index by_customer on orders (customer)")
        sums = database.execute("select customer, sum(amount), count(*) from orders group by 1 order by 2")
        result = sums.fetchall()
    database.close()
    return result


def as_xml(rows):
    root = xml.etree.ElementTree.Element("orders")
    for row in rows:
        order = xml.etree.ElementTree.SubElement(root, "order", id=str(row["id"]))
        order.text = row["customer"]
    return xml.etree.ElementTree.fromstring(xml.etree.ElementTree.tostring(root))


def words(rows):
    pattern = re.compile(r"(\w+) (\d+)")
    return [pattern.match(row["customer"]).groups() for row in rows]


def total(rows):
    return sum(decimal.Decimal("%.4f" % row["amount"]).sqrt() for row in rows)


def main(rounds):
    kept = []
    for number in range(rounds):
        rows = as_json(orders(400, 3 + number % 11))
        results = [step(rows) for step in (as_pickle, as_csv, in_database, as_xml, words, total)]
        if data_frames:
            results.append(data_frames.report(data_frames.make(2000, number)))
        kept.append(results)
        if len(kept) > 12:
            del kept[: number % 7]


if __name__ == "__main__":
    main(int(sys.argv[1]))
