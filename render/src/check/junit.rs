//! A check as JUnit's XML.

use std::io::{self, Write};

use memreport_aggregate::{Checked, Level, Severity, Stack, Verdict};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::CheckReport;
use super::words::{heading, more, of_stack, place, sentence};
use crate::Error;
use crate::summary::NO_STACK;
use crate::text::printable;

impl CheckReport<'_> {
    /// A suite of a test case for each rule. What breaks a limit is a failure; what breaks an alert is in the output
    /// of a case that passes.
    pub(super) fn junit(&self, out: &mut dyn Write) -> Result<(), Error> {
        let mut writer = Writer::new_with_indent(out, b' ', 2);
        let declaration = BytesDecl::new("1.0", Some("UTF-8"), None);
        writer.write_event(Event::Decl(declaration))?;
        let name = legal(self.name);
        let counts = counts(self.checked);
        let counts = || counts.iter().map(|(name, n)| (*name, n.as_str()));
        writer
            .create_element("testsuites")
            .with_attribute(("name", "memreport check"))
            .with_attributes(counts())
            .write_inner_content(|writer| {
                writer
                    .create_element("testsuite")
                    .with_attribute(("name", name.as_str()))
                    .with_attributes(counts())
                    .with_attributes([("errors", "0"), ("skipped", "0")])
                    .write_inner_content(|writer| self.junit_suite(&name, writer))?;
                Ok(())
            })?;
        writeln!(writer.get_mut())?;
        Ok(())
    }

    fn junit_suite(&self, name: &str, writer: &mut Writer<&mut dyn Write>) -> io::Result<()> {
        for verdict in &self.checked.verdicts {
            let rule = legal(&verdict.rule.to_string());
            let rule = match verdict.rule.severity {
                Severity::Limit => rule,
                Severity::Alert => format!("alert {rule}"),
            };
            let case = writer
                .create_element("testcase")
                .with_attributes([("classname", name), ("name", rule.as_str())]);
            case.write_inner_content(|writer| self.junit_verdict(verdict, writer))?;
        }
        if !self.doubts.is_empty() {
            let doubts: Vec<String> = self.doubts.iter().map(|doubt| legal(doubt)).collect();
            let doubts = doubts.join("\n");
            let element = writer.create_element("system-err");
            element.write_text_content(BytesText::new(&doubts))?;
        }
        Ok(())
    }

    fn junit_verdict(
        &self,
        verdict: &Verdict,
        writer: &mut Writer<&mut dyn Write>,
    ) -> io::Result<()> {
        let message = legal(&sentence(verdict, self.units));
        let details = self.details(verdict);
        match verdict.level {
            Level::Failed => writer
                .create_element("failure")
                .with_attributes([("type", "limit"), ("message", message.as_str())])
                .write_text_content(BytesText::new(&details))?,
            Level::Alert | Level::Passed => writer
                .create_element("system-out")
                .write_text_content(BytesText::new(&details))?,
        };
        Ok(())
    }

    /// The sentence on a rule, and whole stacks: a line a frame.
    fn details(&self, verdict: &Verdict) -> String {
        let explanation = &verdict.explanation;
        let mut lines = vec![legal(&sentence(verdict, self.units))];
        if !explanation.stacks.is_empty() {
            lines.push(format!("{}:", heading(verdict)));
        }
        for stack in &explanation.stacks {
            lines.push(of_stack(verdict, stack.amount, self.units));
            lines.extend(frames(stack));
        }
        lines.extend(more(verdict, explanation.n_more, explanation.more));
        lines.join("\n")
    }
}

fn counts(checked: &Checked) -> [(&'static str, String); 2] {
    [
        ("tests", checked.verdicts.len().to_string()),
        ("failures", checked.n(Level::Failed).to_string()),
    ]
}

fn frames(stack: &Stack) -> Vec<String> {
    if stack.frames.is_empty() {
        return vec![format!("    {NO_STACK}")];
    }
    let frames = stack.frames.iter();
    frames
        .map(|frame| format!("    {}", legal(&place(frame))))
        .collect()
}

/// A text on one line, without characters that XML 1.0 has no place for. Controls are named; what is no character
/// at all becomes the sign for that.
fn legal(text: &str) -> String {
    printable(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_xml_forbids_is_left() {
        let all: String = ('\0'..=char::MAX).collect();
        let is_char =
            |c: char| matches!(c, '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        assert!(legal(&all).chars().all(is_char));
        assert_eq!(legal("a\u{1}b\u{ffff}"), r"a\u{1}b".to_owned() + "\u{fffd}");
    }
}
