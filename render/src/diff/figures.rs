//! Figures of whole runs, side by side.

use memreport_aggregate::Profile;
use serde_json::{Value, json};

use crate::diff::signed::{json_number, signed_bytes, signed_count, signed_percent};
use crate::terminal::Line;
use crate::units::{Units, format_bytes, format_count, format_duration};

/// What a figure counts.
#[derive(Debug, Clone, Copy)]
enum Unit {
    Bytes,
    Allocations,
    Milliseconds,
}

/// A figure of both runs; `None` where a capture does not have it.
#[derive(Debug)]
pub(super) struct Figure {
    name: &'static str,
    key: &'static str,
    unit: Unit,
    values: [Option<u64>; 2],
}

/// The figures that every report on a run starts with.
pub(super) fn figures(profiles: [&Profile; 2]) -> Vec<Figure> {
    type Of = fn(&Profile) -> Option<u64>;
    let figures: [(&str, &str, Unit, Of); 6] = [
        ("peak heap", "peak_bytes", Unit::Bytes, |profile| {
            Some(profile.slices.peak())
        }),
        ("left over", "leaked_bytes", Unit::Bytes, |profile| {
            profile.slices.heap.last().copied()
        }),
        (
            "allocated in all",
            "allocated_bytes",
            Unit::Bytes,
            |profile| (!profile.is_aggregated).then_some(profile.counts.allocated_bytes),
        ),
        ("allocations", "allocations", Unit::Allocations, |profile| {
            (!profile.is_aggregated).then_some(profile.counts.allocations)
        }),
        ("peak RSS", "rss_peak_bytes", Unit::Bytes, |profile| {
            profile.rss_peak.map(|peak| peak.rss)
        }),
        ("duration", "duration_ms", Unit::Milliseconds, |profile| {
            u64::try_from(profile.metadata.duration().as_millis()).ok()
        }),
    ];
    figures
        .into_iter()
        .map(|(name, key, unit, of)| Figure {
            name,
            key,
            unit,
            values: profiles.map(of),
        })
        .collect()
}

impl Figure {
    /// Base, new, change, and the change as a share.
    fn cells(&self, units: Units) -> [String; 4] {
        let value = |value: Option<u64>| {
            value.map_or_else(
                || "–".to_owned(),
                |value| match self.unit {
                    Unit::Bytes => format_bytes(value, units),
                    Unit::Allocations => format_count(value),
                    Unit::Milliseconds => format_duration(value),
                },
            )
        };
        let change = self.change();
        let shown = change.map(|change| match self.unit {
            Unit::Bytes => signed_bytes(change, units),
            Unit::Allocations => signed_count(change),
            Unit::Milliseconds => signed_count(change) + " ms",
        });
        let percent = change.zip(self.values[0]);
        [
            value(self.values[0]),
            value(self.values[1]),
            shown.unwrap_or_default(),
            percent.map_or_else(String::new, |(change, base)| signed_percent(change, base)),
        ]
    }

    fn change(&self) -> Option<i128> {
        let [base, new] = self.values;
        Some(i128::from(new?) - i128::from(base?))
    }

    pub(super) fn line(&self, units: Units) -> Line<'_, 4> {
        Line {
            numbers: self.cells(units),
            name: Box::new(|_| self.name.to_owned()),
        }
    }

    pub(super) fn markdown(&self, units: Units) -> String {
        format!("| {} | {} |\n", self.name, self.cells(units).join(" | "))
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "name": self.key,
            "base": self.values[0],
            "new": self.values[1],
            "change": self.change().map(json_number),
        })
    }
}
