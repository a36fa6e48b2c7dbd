//! What outputs of selected rows have in common.

use memreport_aggregate::ingest::{NodeId, Tally};
use memreport_aggregate::{Profile, Question, Row, Selected, Selection};

use crate::units::{Units, format_bytes, format_count};

/// Stands where a stack would, for what a filter left out.
pub(crate) const LEFT_OUT: &str = "<left out>";

/// The questions that a profile has an answer to, over the selection's range; the selection's own is always
/// among them.
pub(crate) fn answerable(selection: &Selection, profile: &Profile) -> Vec<Question> {
    let threshold = profile.temporaries.threshold().min(1);
    let temporary = match selection.question {
        asked @ Question::Temporary { .. } => Some(asked),
        _ if profile.is_aggregated || !selection.is_whole_run() => None,
        _ => Some(Question::Temporary { threshold }),
    };
    let questions = [Some(Question::Peak), Some(Question::Leaks), temporary];
    questions.into_iter().flatten().collect()
}

/// The word for a question.
pub(crate) fn question_name(question: Question) -> &'static str {
    match question {
        Question::Peak => "peak",
        Question::Leaks => "leaks",
        Question::Temporary { .. } => "temporary",
    }
}

/// What is selected, in words, and its total to the byte.
pub(crate) fn title(selected: &Selected<'_>, units: Units) -> String {
    let question = match selected.question() {
        Question::Peak => "Peak".to_owned(),
        Question::Leaks => "Left over".to_owned(),
        Question::Temporary { threshold } => format!("Temporary (threshold {threshold})"),
    };
    let range = if selected.is_whole_run() {
        ""
    } else {
        " in the range"
    };
    let Tally { bytes, allocations } = selected.total();
    format!(
        "{question}{range}: {} ({} bytes) in {} allocations",
        format_bytes(bytes, units),
        format_count(bytes),
        format_count(allocations)
    )
}

/// What the filter left out, in words; `None` if nothing.
pub(crate) fn left_out(selected: &Selected<'_>, units: Units) -> Option<String> {
    said("left out", selected.left_out(), units)
}

/// Allocations without stack among rows, in words; `None` if there are none.
pub(crate) fn without_stack(rows: &[Row], units: Units) -> Option<String> {
    let rows = rows.iter().filter(|row| row.node == NodeId(0));
    let mut sum = Tally::default();
    rows.for_each(|row| sum.add_all(row.tally));
    said("without a stack", sum, units)
}

fn said(what: &str, tally: Tally, units: Units) -> Option<String> {
    let Tally { bytes, allocations } = tally;
    (tally != Tally::default()).then(|| {
        let (bytes, count) = (format_bytes(bytes, units), format_count(allocations));
        format!("{what}: {bytes} in {count} allocations")
    })
}
