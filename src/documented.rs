//! Every command line that the documentation shows is one.

use std::iter::Peekable;
use std::str::Chars;

use clap::Parser;

use crate::cli::Cli;

const FILES: [(&str, &str, usize); 3] = [
    ("README.md", include_str!("../README.md"), 15),
    ("docs/ci.md", include_str!("../docs/ci.md"), 15),
    ("action.yml", include_str!("../action.yml"), 4),
];

/// What stands before a command in scripts and in lists of them.
const BEFORE: [&str; 3] = ["- ", "run: ", "damaged_is_fine "];

/// The command lines of a file: lines that start with the command, with those that they go on in.
fn commands(text: &str) -> Vec<String> {
    let text = text.replace("\\\n", " ");
    let lines = text.lines().map(|line| {
        let mut line = line.trim();
        while let Some(rest) = BEFORE.iter().find_map(|before| line.strip_prefix(before)) {
            line = rest.trim();
        }
        line
    });
    let commands = lines.filter(|line| line.starts_with("memreport "));
    commands.map(str::to_owned).collect()
}

/// The words of a command as a shell has them, up to what pipes, redirects, chains or comments. Variables stay as they
/// are; an array of words is none.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.chars().peekable();
    while let Some(word) = word(&mut rest) {
        if !word.contains("[@]") {
            words.push(word);
        }
    }
    words
}

fn word(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    while rest.next_if(|c| c.is_whitespace()).is_some() {}
    if rest.peek().is_none_or(|c| "#|>;&".contains(*c)) {
        return None;
    }
    let mut word = String::new();
    let (mut quote, mut depth) = (None, 0);
    for c in rest {
        match (quote, c) {
            (None, '\'' | '"') if depth == 0 => quote = Some(c),
            (Some(open), close) if open == close && depth == 0 => quote = None,
            (None, c) if c.is_whitespace() => break,
            (_, c) => {
                depth += i32::from(c == '(') - i32::from(c == ')');
                word.push(c);
            }
        }
    }
    assert_eq!(quote, None, "a quote that does not end");
    Some(word)
}

#[test]
fn every_command_line_of_the_documentation_is_one() {
    for (name, text, least) in FILES {
        let commands = commands(text);
        assert!(commands.len() >= least, "{name}: {commands:#?}");
        for command in commands {
            let parsed = Cli::try_parse_from(words(&command));
            assert!(parsed.is_ok(), "{name}: {command}\n{}", parsed.unwrap_err());
        }
    }
}

#[test]
fn words_are_those_of_a_shell() {
    let line = r#"memreport check "$A b" --limit 'peak<1' "${o[@]}" --name "${N:-$(f "$C")}" || code=$? # x"#;
    let name = r#"${N:-$(f "$C")}"#;
    assert_eq!(
        words(line),
        [
            "memreport",
            "check",
            "$A b",
            "--limit",
            "peak<1",
            "--name",
            name
        ]
    );
    assert_eq!(words("memreport x   # comment"), ["memreport", "x"]);
    assert!(Cli::try_parse_from(words("memreport check out.bin --limit 'peek<1'")).is_err());
}
