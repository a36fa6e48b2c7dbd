//! The page's content security policy: its own scripts and style by their hashes, and nothing else.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// The policy for exactly these bytes between the tags, wherever a script comes from: one that another
/// puts into the page runs if its hash is here. It forbids every request.
pub(crate) fn policy(scripts: &[&str], style: &str) -> String {
    let hash = |text: &str| {
        let digest = STANDARD.encode(Sha256::digest(text.as_bytes()));
        format!("'sha256-{digest}'")
    };
    let scripts = scripts
        .iter()
        .map(|script| hash(script))
        .collect::<Vec<_>>()
        .join(" ");
    format!(
        "default-src 'none'; script-src {scripts}; style-src {}; img-src blob: data:; \
         base-uri 'none'; form-action 'none'",
        hash(style)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_bytes() {
        let policy = policy(&["", "abc"], "body{}");
        // The SHA-256 of nothing and of "abc" are well known.
        assert!(policy.contains(
            "script-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' \
             'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=';"
        ));
        assert!(policy.starts_with("default-src 'none';"));
    }
}
