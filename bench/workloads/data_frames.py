"""Tables: made, grouped, joined, pivoted, resampled and written.

usage: data_frames.py ROWS
"""

import io
import sys

import numpy
import pandas

CITIES = ["Bergen", "Cusco", "Dakar", "Osaka", "Quito"]


def make(rows, seed):
    random = numpy.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "time": pandas.date_range("2024-01-01", periods=rows, freq="min"),
            "city": random.choice(CITIES, rows),
            "sensor": random.integers(0, 40, rows),
            "value": random.normal(20, 4, rows),
        }
    )


def by_city(frame):
    return frame.groupby(["city", "sensor"])["value"].agg(["mean", "std", "max"])


def with_places(frame):
    places = pandas.DataFrame({"city": CITIES, "height": [12, 3399, 22, 5, 2850]})
    return frame.merge(places, on="city").sort_values(["height", "value"])


def crossed(frame):
    return frame.pivot_table(index="sensor", columns="city", values="value", aggfunc="mean")


def hourly(frame):
    return frame.set_index("time")["value"].resample("1h").mean().rolling(3).mean()


def labels(frame):
    return (frame["city"].str.upper() + frame["sensor"].astype(str)).value_counts()


def through_text(frame):
    text = io.StringIO()
    frame.head(1000).to_csv(text)
    text.seek(0)
    return pandas.read_csv(text)


def report(frame):
    return [step(frame) for step in (by_city, with_places, crossed, hourly, labels, through_text)]


if __name__ == "__main__":
    report(make(int(sys.argv[1]), 1))
