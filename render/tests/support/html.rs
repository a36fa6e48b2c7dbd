//! As much of an HTML reader as it takes to tell elements from text.

/// An element's start tag, and its text if that is not markup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) name: String,
    attributes: Vec<(String, String)>,
    /// Bytes up to the end tag, of elements whose contents are text.
    pub(crate) text: String,
}

/// Elements whose contents are text up to their own end tag, whatever else is in there.
const TEXT_ELEMENTS: [&str; 3] = ["script", "style", "title"];

impl Element {
    /// The value of an attribute, unescaped.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        let mut attributes = self.attributes.iter();
        let (_, value) = attributes.find(|(key, _)| key == name)?;
        Some(unescape(value))
    }
}

/// The elements of a page, in order.
pub(crate) fn elements(page: &str) -> Vec<Element> {
    let mut elements = Vec::new();
    let mut rest = page;
    while let Some((_, at)) = rest.split_once('<') {
        rest = if let Some(comment) = at.strip_prefix("!--") {
            after(comment, "-->")
        } else if at.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let (element, rest) = element(at);
            elements.push(element);
            rest
        } else {
            after(at, ">")
        };
    }
    elements
}

/// Character references as the template writes them.
pub(crate) fn unescape(text: &str) -> String {
    [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#x60;", "`"),
        ("&#x3D;", "="),
        ("&amp;", "&"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn after<'a>(text: &'a str, end: &str) -> &'a str {
    text.split_once(end)
        .map(|(_, rest)| rest)
        .unwrap_or_else(|| panic!("no {end} in the rest of the page"))
}

/// Reads an element from after its `<`, and returns what follows.
fn element(at: &str) -> (Element, &str) {
    let end = at
        .find(|c: char| !c.is_ascii_alphanumeric())
        .expect("a tag ends");
    let name = at[..end].to_ascii_lowercase();
    let mut rest = at[end..].trim_start();
    let mut attributes = Vec::new();
    while !rest.starts_with('>') {
        let end = rest.find(['=', ' ', '>']).expect("a tag ends");
        let key = rest[..end].to_ascii_lowercase();
        let mut value = "";
        rest = &rest[end..];
        if let Some(quoted) = rest.strip_prefix("=\"") {
            (value, rest) = quoted.split_once('"').expect("a quote ends");
        } else {
            assert!(!rest.starts_with('='), "an attribute without quotes: {key}");
        }
        attributes.push((key, value.to_owned()));
        rest = rest.trim_start();
    }
    rest = &rest[1..];
    let mut text = "";
    if TEXT_ELEMENTS.contains(&name.as_str()) {
        let end = format!("</{name}");
        let len = rest
            .to_ascii_lowercase()
            .find(&end)
            .unwrap_or_else(|| panic!("no end of {name}"));
        (text, rest) = rest.split_at(len);
    }
    let text = text.to_owned();
    let element = Element {
        name,
        attributes,
        text,
    };
    (element, rest)
}
