//! What to do about an error.

use memreport_ingest::Error as IngestError;
use memreport_ingest::capture::Error as CaptureError;
use memreport_render::Error as RenderError;
use memreport_render::aggregate::{Error as AggregateError, SavedError};

use crate::progress::say;
use crate::saved::SavedRefusal;

/// Says what is wrong, and what to do about it if that is known.
pub(crate) fn say_error(error: &anyhow::Error) {
    say(&format!("error: {error:#}"));
    if let Some(hint) = hint(error) {
        say(&format!("hint: {hint}"));
    }
}

/// Advice for whoever meets this error, if there is any.
fn hint(error: &anyhow::Error) -> Option<&'static str> {
    error.chain().find_map(|cause| {
        if let Some(AggregateError::Saved(error)) = cause.downcast_ref() {
            return of_saved(error);
        }
        if let Some(error) = cause.downcast_ref() {
            return of_saved(error);
        }
        if let Some(refusal) = cause.downcast_ref() {
            return Some(of_refusal(refusal));
        }
        let answer = match cause.downcast_ref() {
            Some(RenderError::NoAnswer(error)) => Some(error),
            _ => cause.downcast_ref(),
        };
        if let Some(AggregateError::ThresholdTooLarge { .. }) = answer {
            return Some(
                "`memreport slim CAPTURE --temporary-allocation-threshold N` saves a profile that knows more",
            );
        }
        // What aggregation passes on stands for itself in the chain.
        if let Some(AggregateError::Ingest(error)) = cause.downcast_ref() {
            return of_ingest(error);
        }
        if let Some(error) = cause.downcast_ref() {
            return of_ingest(error);
        }
        cause.downcast_ref::<CaptureError>().and_then(of_capture)
    })
}

fn of_ingest(error: &IngestError) -> Option<&'static str> {
    match error {
        IngestError::Empty { .. } => Some(
            "an aggregated capture (memray run --aggregate) is only written when tracking ends; if the process was \
             killed, nothing is left. Without --aggregate, what happened up to then can be read",
        ),
        IngestError::TruncatedHeader { .. } | IngestError::TruncatedContainer { .. } => {
            Some("the file was cut off at its very start; nothing can be recovered from it")
        }
        IngestError::DamagedContainer { .. } => Some(
            "of a damaged block of compressed data nothing can be used, for where in it the damage starts cannot be \
             known; the file may have been changed on its way here",
        ),
        _ => None,
    }
}

fn of_saved(error: &SavedError) -> Option<&'static str> {
    match error {
        SavedError::Read(_) => None,
        SavedError::TooNew { .. } => Some("a newer memreport may know this format"),
        _ => Some("save the profile again, from its capture: `memreport slim CAPTURE -o FILE.mrp`"),
    }
}

fn of_refusal(refusal: &SavedRefusal) -> &'static str {
    match refusal {
        SavedRefusal::NoRecords => "`memreport info` shows what the profile was made from",
        SavedRefusal::Report => {
            "`memreport slim CAPTURE -o FILE.mrp` saves the profile whole; it is read in place of the capture"
        }
        SavedRefusal::Snapshots { .. }
        | SavedRefusal::Symbols(_)
        | SavedRefusal::MemrayFrames
        | SavedRefusal::Source => {
            "`memreport slim CAPTURE` takes this option too, and saves a profile that has it"
        }
    }
}

fn of_capture(error: &CaptureError) -> Option<&'static str> {
    match error {
        CaptureError::NotACapture { .. } => Some(
            "memreport reads the files that `memray run` writes, compressed with LZ4 or gzip or not, and those that \
             `memreport slim` writes",
        ),
        CaptureError::TooNew { .. } => Some("a newer memreport may know this format"),
        _ => None,
    }
}
