//! Statistics of all allocations, as text and as memray's JSON.

use std::fmt::Write as _;
use std::io::Write;

use memreport_aggregate::ingest::{FrameId, Tally};
use memreport_aggregate::{Bin, OrderBy, Profile, Question, Selection, Stats};
use serde_json::{Map, Value, json};
use time::OffsetDateTime;

use crate::ascii_json::write_pretty;
use crate::doubts::doubts;
use crate::form::{short_name, short_remarks, within};
use crate::json::damage;
use crate::markdown::{code, escaped};
use crate::stacks::NO_STACK;
use crate::text::printable;
use crate::units::{Units, format_bytes, format_count, format_duration};
use crate::{Error, Output};

/// Widest bar of the histogram, in columns.
const BAR_WIDTH: u64 = 25;

/// Statistics as JSON: what `memray stats --json` has, under its names, and then what it lacks.
///
/// * Units: bytes; times in milliseconds
/// * Errors: there are none of an aggregated capture
/// * Source: `semantics.md`, section 8; `SCHEMA.md` documents the keys
#[derive(Debug, Clone, Copy)]
pub struct StatsJson {
    /// Locations and modules in a list at most.
    pub top: usize,
}

/// The same as text.
#[derive(Debug, Clone, Copy)]
pub struct StatsText {
    /// Locations and modules in a list at most.
    pub top: usize,
    /// Multiples that bytes are shown in.
    pub units: Units,
}

/// The same as Markdown, for a chat or an agent.
#[derive(Debug, Clone, Copy)]
pub struct StatsMarkdown {
    /// Locations and modules in a list at most. What is omitted is counted.
    pub top: usize,
    /// Multiples that bytes are shown in, besides bytes.
    pub units: Units,
    /// Bytes that are written at most.
    pub budget: Option<usize>,
}

impl Output for StatsJson {
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<(), Error> {
        let stats = Stats::new(profile)?;
        let locations = |by: OrderBy, key: &str| -> Vec<Value> {
            let top = stats.top_locations(by, self.top).into_iter();
            top.map(
                |(frame, tally)| json!({ "location": location(profile, frame), key: by.of(tally) }),
            )
            .collect()
        };
        let modules = |by: OrderBy| -> Vec<Value> {
            let top = stats.top_modules(by, self.top).into_iter();
            top.map(|(name, tally)| {
                json!({
                    "module": profile.strings.text(name),
                    "num_allocations": tally.allocations,
                    "total_bytes": tally.bytes,
                })
            })
            .collect()
        };
        let by_allocator = stats.by_allocator.iter();
        let by_allocator: Map<String, Value> = by_allocator
            .map(|&(allocator, count)| (allocator.name().to_owned(), count.into()))
            .collect();
        let leaked = leaked(profile)?;
        let document = json!({
            "total_num_allocations": stats.total.allocations,
            "total_bytes_allocated": stats.total.bytes,
            "allocation_size_histogram": stats.histogram.iter().map(bin).collect::<Vec<_>>(),
            "allocator_type_distribution": by_allocator,
            "top_allocations_by_size": locations(OrderBy::Bytes, "size"),
            "top_allocations_by_count": locations(OrderBy::Allocations, "count"),
            "top_modules_by_allocation_size": modules(OrderBy::Bytes),
            "top_modules_by_allocation_count": modules(OrderBy::Allocations),
            "metadata": metadata(profile),
            "top_modules_are_guessed": stats.modules_are_guessed,
            "leaked_bytes": leaked.bytes,
            "leaked_allocations": leaked.allocations,
            "rss_peak": profile.rss_peak.map(|peak| peak.rss),
            "rss_peak_time_ms": profile.rss_peak.map(|peak| peak.time_ms),
            "heap_at_rss_peak": profile.rss_peak.map(|peak| peak.heap),
            "duration_ms": u64::try_from(profile.metadata.duration().as_millis()).unwrap_or(u64::MAX),
            "format_version": profile.metadata.format,
            "damage": damage(profile),
        });
        write_pretty(&document, out)
    }
}

fn bin(bin: &Bin) -> Value {
    json!({ "min_bytes": bin.min_bytes, "max_bytes": bin.max_bytes, "count": bin.allocations })
}

/// What `memray stats` has of the header, in its order.
fn metadata(profile: &Profile) -> Value {
    let metadata = &profile.metadata;
    json!({
        "start_time": time_text(metadata.start_time_ms),
        "end_time": time_text(metadata.end_time_ms),
        "total_allocations": profile.counts.events,
        "total_frames": profile.frames.as_slice().len() - 1,
        "peak_memory": profile.slices.peak(),
        "command_line": metadata.command_line,
        "pid": metadata.pid,
        "main_thread_id": metadata.main_thread_id,
        "python_allocator": metadata.python_allocator,
        "has_native_traces": metadata.has_native_traces,
        "trace_python_allocators": metadata.trace_python_allocators,
        "file_format": 0,
    })
}

/// A time as Python's `datetime` prints it, in UTC; `None` for one that no calendar has.
fn time_text(ms: i64) -> Option<String> {
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000).ok()?;
    let fraction = match time.millisecond() {
        0 => String::new(),
        ms => format!(".{ms:03}000"),
    };
    let (date, (hour, minute, second)) = (time.date(), time.to_hms());
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    Some(format!(
        "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{fraction}+00:00"
    ))
}

/// `function:file:line`.
fn location(profile: &Profile, frame: FrameId) -> String {
    if frame == FrameId(0) {
        return NO_STACK.to_owned();
    }
    let frame = profile.frames.get(frame);
    let text = |id| profile.strings.text(id);
    format!(
        "{}:{}:{}",
        text(frame.function),
        text(frame.file),
        frame.line
    )
}

/// What is left over at the end of the run.
fn leaked(profile: &Profile) -> Result<Tally, Error> {
    let leaks = Selection::default().asking(Question::Leaks).of(profile)?;
    Ok(leaks.total())
}

impl Output for StatsText {
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<(), Error> {
        let stats = Stats::new(profile)?;
        let mut text = String::new();
        self.facts(profile, &stats, leaked(profile)?, &mut text);
        self.histogram(&stats.histogram, &mut text);
        let allocators = stats.by_allocator.iter();
        let rows = allocators.map(|&(of, count)| (format_count(count), of.name().to_owned()));
        list(
            "Allocators, by number of allocations",
            rows.collect(),
            &mut text,
        );
        for (by, name) in [(OrderBy::Bytes, "bytes"), (OrderBy::Allocations, "number")] {
            let top = stats.top_locations(by, self.top).into_iter();
            let rows = top.map(|(frame, tally)| {
                (self.number(by, tally), printable(&location(profile, frame)))
            });
            list(
                &format!("Locations that allocate most, by {name}"),
                rows.collect(),
                &mut text,
            );
        }
        let note = if stats.modules_are_guessed {
            " (guessed from their paths)"
        } else {
            ""
        };
        for (by, name) in [(OrderBy::Bytes, "bytes"), (OrderBy::Allocations, "number")] {
            let top = stats.top_modules(by, self.top).into_iter();
            let rows = top.map(|(module, tally)| {
                (
                    self.number(by, tally),
                    printable(&profile.strings.text(module)),
                )
            });
            let title = format!("Modules that allocate most, by {name}{note}");
            list(&title, rows.collect(), &mut text);
        }
        out.write_all(text.as_bytes())?;
        Ok(())
    }
}

impl Output for StatsMarkdown {
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<(), Error> {
        let stats = Stats::new(profile)?;
        let leaked = leaked(profile)?;
        let most = self.top.min(stats.locations.len().max(stats.modules.len()));
        let text = within(self.budget, DETAILS + most, |step| {
            Ok(self.text(profile, &stats, leaked, step).into_bytes())
        })?;
        out.write_all(&text)?;
        Ok(())
    }
}

/// Steps of Markdown before the lists of locations and modules: facts about the run, sizes and allocators.
const DETAILS: usize = 2;

impl StatsMarkdown {
    fn text(&self, profile: &Profile, stats: &Stats, leaked: Tally, step: usize) -> String {
        let mut text = self.totals(profile, stats, leaked);
        if step > 0 {
            self.facts(profile, &mut text);
        }
        if step >= DETAILS {
            self.sizes_and_allocators(stats, &mut text);
        }
        let n = step.saturating_sub(DETAILS);
        for (by, name) in [(OrderBy::Bytes, "bytes"), (OrderBy::Allocations, "number")] {
            let top = stats.top_locations(by, n).into_iter();
            let rows = top.map(|(frame, tally)| (location(profile, frame), tally));
            let title = format!("Locations that allocate most, by {name}");
            markdown_list(
                &title,
                &rows.collect::<Vec<_>>(),
                &stats.locations,
                &mut text,
            );
        }
        let guessed = if stats.modules_are_guessed {
            ", guessed from their paths"
        } else {
            ""
        };
        for (by, name) in [(OrderBy::Bytes, "bytes"), (OrderBy::Allocations, "number")] {
            let top = stats.top_modules(by, n).into_iter();
            let rows =
                top.map(|(module, tally)| (profile.strings.text(module).into_owned(), tally));
            let title = format!("Modules that allocate most, by {name}{guessed}");
            markdown_list(&title, &rows.collect::<Vec<_>>(), &stats.modules, &mut text);
        }
        text
    }

    fn totals(&self, profile: &Profile, stats: &Stats, leaked: Tally) -> String {
        let exact = |bytes| {
            format!(
                "{} ({} bytes)",
                format_bytes(bytes, self.units),
                format_count(bytes)
            )
        };
        let tally = |of: Tally| {
            format!(
                "{} in {} allocations",
                exact(of.bytes),
                format_count(of.allocations)
            )
        };
        format!(
            "- allocated: {}\n- peak: {}\n- left over: {}\n",
            tally(stats.total),
            exact(profile.slices.peak()),
            tally(leaked)
        )
    }

    fn facts(&self, profile: &Profile, text: &mut String) {
        let metadata = &profile.metadata;
        if let Some(peak) = profile.rss_peak {
            let _ = writeln!(
                text,
                "- RSS peak: {} bytes at {}; heap then {} bytes",
                format_count(peak.rss),
                format_duration(ms(metadata.since_start(peak.time_ms))),
                format_count(peak.heap)
            );
        }
        let command = code(&short_name(&metadata.command_line));
        let duration = format_duration(ms(metadata.duration()));
        let _ = writeln!(text, "- run: {command}, {duration}");
        for remark in short_remarks(&doubts(profile)) {
            let _ = writeln!(text, "- doubtful: {}", escaped(&remark));
        }
    }

    fn sizes_and_allocators(&self, stats: &Stats, text: &mut String) {
        let bins = stats.histogram.iter().filter(|bin| bin.allocations > 0);
        let bins = bins.map(|bin| {
            let [min, max] = [bin.min_bytes, bin.max_bytes].map(format_count);
            format!("{min} to {max}: {}", format_count(bin.allocations))
        });
        let allocators = stats.by_allocator.iter();
        let allocators =
            allocators.map(|&(of, count)| format!("{}: {}", of.name(), format_count(count)));
        for (title, rows) in [
            ("Allocations by size in bytes", bins.collect::<Vec<_>>()),
            ("Allocations by allocator", allocators.collect()),
        ] {
            let _ = writeln!(text, "\n**{title}**\n");
            for row in rows {
                let _ = writeln!(text, "- {}", escaped(&row));
            }
        }
    }
}

/// A title, the rows that are shown, and what of all of them is omitted.
fn markdown_list<K>(title: &str, rows: &[(String, Tally)], all: &[(K, Tally)], text: &mut String) {
    let sum = |tallies: &mut dyn Iterator<Item = Tally>| {
        tallies.fold(Tally::default(), |mut sum, tally| {
            sum.add_all(tally);
            sum
        })
    };
    let (whole, shown) = (
        sum(&mut all.iter().map(|(_, tally)| *tally)),
        sum(&mut rows.iter().map(|(_, tally)| *tally)),
    );
    let in_words = |bytes: u64, allocations: u64| {
        format!(
            "{} bytes in {} allocations",
            format_count(bytes),
            format_count(allocations)
        )
    };
    let _ = writeln!(text, "\n**{title}**\n");
    for (name, tally) in rows {
        let size = in_words(tally.bytes, tally.allocations);
        let _ = writeln!(text, "- {size}: {}", code(&short_name(name)));
    }
    let n_omitted = all.len().saturating_sub(rows.len());
    if n_omitted > 0 {
        let size = in_words(
            whole.bytes.wrapping_sub(shown.bytes),
            whole.allocations.wrapping_sub(shown.allocations),
        );
        let _ = writeln!(
            text,
            "- omitted: {}, {size}",
            format_count(n_omitted as u64)
        );
    }
}

impl StatsText {
    fn bytes(&self, bytes: u64) -> String {
        format_bytes(bytes, self.units)
    }

    fn exact(&self, bytes: u64) -> String {
        format!("{} ({} bytes)", self.bytes(bytes), format_count(bytes))
    }

    fn number(&self, by: OrderBy, tally: Tally) -> String {
        match by {
            OrderBy::Bytes => self.bytes(tally.bytes),
            OrderBy::Allocations => format_count(tally.allocations),
        }
    }

    fn facts(&self, profile: &Profile, stats: &Stats, leaked: Tally, text: &mut String) {
        let metadata = &profile.metadata;
        let tally = |tally: Tally| {
            let (bytes, count) = (self.bytes(tally.bytes), format_count(tally.allocations));
            format!("{bytes} in {count} allocations")
        };
        let rss_peak = match profile.rss_peak {
            None => "not known: there are no memory snapshots".to_owned(),
            Some(peak) => format!(
                "{}, at {}; heap then {}",
                self.bytes(peak.rss),
                format_duration(ms(metadata.since_start(peak.time_ms))),
                self.bytes(peak.heap)
            ),
        };
        let mut facts = vec![
            ("Command", printable(&metadata.command_line)),
            (
                "Format",
                format!("{} (memray {})", metadata.format, metadata.memray),
            ),
            ("Duration", format_duration(ms(metadata.duration()))),
            ("Allocated", tally(stats.total)),
            ("Peak", self.exact(profile.slices.peak())),
            ("Left over", tally(leaked)),
            ("RSS peak", rss_peak),
        ];
        facts.extend(
            doubts(profile)
                .into_iter()
                .map(|doubt| ("Doubtful", printable(&doubt))),
        );
        for (name, fact) in facts {
            let _ = writeln!(text, "{name:<10} {fact}");
        }
    }

    fn histogram(&self, bins: &[Bin], text: &mut String) {
        let most = bins.iter().map(|bin| bin.allocations).max().unwrap_or(0);
        let rows: Vec<[String; 3]> = bins
            .iter()
            .map(|bin| {
                let range = format!(
                    "{} … {}",
                    self.bytes(bin.min_bytes),
                    self.bytes(bin.max_bytes)
                );
                [
                    range,
                    format_count(bin.allocations),
                    bar(bin.allocations, most),
                ]
            })
            .collect();
        if rows.is_empty() {
            return;
        }
        let _ = writeln!(text, "\nSizes of allocations");
        let widest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
        let widths = [0, 1].map(|column| widest(column).unwrap_or(0));
        for [range, count, bar] in &rows {
            let line = format!("  {range:<0$}  {count:>1$}  {bar}", widths[0], widths[1]);
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
}

/// A bar of a length in proportion; of at least one column, if there is anything.
fn bar(n: u64, most: u64) -> String {
    let columns = (u128::from(n) * u128::from(BAR_WIDTH)).div_ceil(u128::from(most.max(1)));
    "▇".repeat(usize::try_from(columns).unwrap_or(0))
}

/// A title, and under it rows of a number and a name; nothing without rows.
fn list(title: &str, rows: Vec<(String, String)>, text: &mut String) {
    let Some(width) = rows.iter().map(|(number, _)| number.chars().count()).max() else {
        return;
    };
    let _ = writeln!(text, "\n{title}");
    for (number, name) in rows {
        let _ = writeln!(text, "  {number:>width$}  {name}");
    }
}

fn ms(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_pythons() {
        let text = |ms| time_text(ms).unwrap();
        assert_eq!(text(1_795_955_506_297), "2026-11-29 12:31:46.297000+00:00");
        assert_eq!(text(1_795_955_506_000), "2026-11-29 12:31:46+00:00");
        assert_eq!(text(-1), "1969-12-31 23:59:59.999000+00:00");
        assert_eq!(time_text(i64::MAX), None);
    }

    #[test]
    fn bars_are_never_empty_for_something() {
        assert_eq!([bar(0, 9), bar(1, u64::MAX)], ["", "▇"]);
        assert_eq!(bar(u64::MAX, u64::MAX).chars().count(), 25);
    }
}
