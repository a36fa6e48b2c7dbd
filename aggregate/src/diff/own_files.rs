//! The program's own files, found again where another machine has them.

use std::collections::{BTreeMap, BTreeSet};

/// Which of the base's own files each of another capture's is: the same path or, where that is not there, the
/// path below the folder that the base has in place of this capture's.
///
/// Folders are found by the files that are in both: of all pairs of folders below which files have the same
/// path, the one with most files counts, then the next of the files that are left. A folder that keeps a
/// file at its place is not moved. Of A and B this finds the pairs that it finds of B and A.
/// What is looked at is bounded, for captures can hold any paths: [`MAX_MOVES`] and [`MAX_NAMESAKES`].
pub(super) struct OwnFiles {
    moves: Vec<Move>,
    at_place: BTreeSet<String>,
}

/// Folders that are found elsewhere, at most.
const MAX_MOVES: usize = 64;

/// Files of one name that still say something about folders.
const MAX_NAMESAKES: usize = 256;

/// A folder, and what it is in the base.
struct Move {
    from: String,
    to: String,
}

impl OwnFiles {
    pub(super) fn new(base: &BTreeSet<String>, new: &BTreeSet<String>) -> Self {
        let at_place: BTreeSet<String> = base.intersection(new).cloned().collect();
        let mut base: Vec<&str> = base.difference(new).map(String::as_str).collect();
        let mut new: Vec<&str> = new.difference(&at_place).map(String::as_str).collect();
        let kept = |folder: &str| {
            let mut files = at_place.range(format!("{folder}/")..);
            match folder {
                "" => at_place.iter().any(|file| below(file, "").is_some()),
                _ => files
                    .next()
                    .is_some_and(|file| below(file, folder).is_some()),
            }
        };
        let mut moves = Vec::new();
        while moves.len() < MAX_MOVES
            && let Some((to, from)) = most_files(&base, &new, &kept)
        {
            let is_there: BTreeSet<String> = base
                .iter()
                .filter_map(|file| Some(below(file, &to)?.to_owned()))
                .collect();
            base.retain(|file| below(file, &to).is_none());
            new.retain(|file| !below(file, &from).is_some_and(|rest| is_there.contains(rest)));
            moves.push(Move { from, to });
        }
        Self { moves, at_place }
    }

    /// The path that a file of the other capture has in the base.
    pub(super) fn in_base(&self, file: &str) -> String {
        let moved = || {
            self.moves.iter().find_map(|of| {
                let rest = below(file, &of.from)?;
                Some(join(&of.to, rest))
            })
        };
        let at_place = self.at_place.contains(file);
        let moved = if at_place { None } else { moved() };
        moved.unwrap_or_else(|| file.to_owned())
    }
}

/// The pair of folders, of the base and of the other capture, that most files tell.
fn most_files(
    base: &[&str],
    new: &[&str],
    kept: &impl Fn(&str) -> bool,
) -> Option<(String, String)> {
    let mut by_name = BTreeMap::<&str, [Vec<&str>; 2]>::new();
    for (side, files) in [base, new].into_iter().enumerate() {
        for file in files {
            by_name.entry(name(file)).or_default()[side].push(file);
        }
    }
    // Files, then folders in common, that speak for a pair.
    let mut votes = BTreeMap::<(&str, &str), (usize, usize)>::new();
    for [base, new] in by_name.values() {
        if base.len().max(new.len()) > MAX_NAMESAKES {
            continue;
        }
        for (in_base, file) in base.iter().flat_map(|a| new.iter().map(move |b| (a, b))) {
            let (to, from, depth) = apart(in_base, file);
            let vote = votes.entry((to, from)).or_default();
            *vote = (vote.0 + 1, vote.1 + depth);
        }
    }
    let rank = |(&(to, from), &vote): (&(&str, &str), &(usize, usize))| {
        // The same whichever of the two captures is the base.
        let folders = if to < from { (to, from) } else { (from, to) };
        (
            vote,
            std::cmp::Reverse((folders.0.to_owned(), folders.1.to_owned())),
        )
    };
    votes
        .iter()
        .filter(|((to, from), _)| !kept(to) && !kept(from))
        .max_by_key(|&entry| rank(entry))
        .map(|(&(to, from), _)| (to.to_owned(), from.to_owned()))
}

/// Two paths without the end that they share, and how many parts that has.
fn apart<'a>(a: &'a str, b: &'a str) -> (&'a str, &'a str, usize) {
    let parts = a.rsplit('/').zip(b.rsplit('/'));
    let common = parts.take_while(|(a, b)| a == b);
    let (n, len) = common.fold((0, 0), |(n, len), (part, _)| (n + 1, len + part.len() + 1));
    let folder = |path: &'a str| path.get(..path.len().saturating_sub(len)).unwrap_or("");
    (folder(a), folder(b), n)
}

fn name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// A path below a folder; the folder without a name has those that are in none.
fn below<'a>(file: &'a str, folder: &str) -> Option<&'a str> {
    if folder.is_empty() {
        return (!file.starts_with('/')).then_some(file);
    }
    file.strip_prefix(folder)?.strip_prefix('/')
}

fn join(folder: &str, rest: &str) -> String {
    if folder.is_empty() {
        rest.to_owned()
    } else {
        format!("{folder}/{rest}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(paths: &[&str]) -> BTreeSet<String> {
        paths.iter().map(|&path| path.to_owned()).collect()
    }

    fn found(base: &[&str], new: &[&str]) -> Vec<String> {
        let files_in_base = OwnFiles::new(&files(base), &files(new));
        new.iter().map(|file| files_in_base.in_base(file)).collect()
    }

    #[test]
    fn a_folder_may_lie_elsewhere() {
        let base = ["/home/a/p/app.py", "/home/a/p/shop/cart.py"];
        let new = [
            "/builds/7/app.py",
            "/builds/7/shop/cart.py",
            "/builds/7/shop/new.py",
        ];
        let expected = [
            "/home/a/p/app.py",
            "/home/a/p/shop/cart.py",
            "/home/a/p/shop/new.py",
        ];
        assert_eq!(found(&base, &new), expected);
    }

    #[test]
    fn several_folders_move_each_by_itself() {
        let base = ["/a/x/m.py", "/a/x/n.py", "/lib1/u.py"];
        let new = ["/b/m.py", "/b/n.py", "/lib2/u.py"];
        assert_eq!(found(&base, &new), base);
    }

    #[test]
    fn relative_and_absolute_paths_meet() {
        assert_eq!(found(&["app.py"], &["/builds/7/app.py"]), ["app.py"]);
        assert_eq!(
            found(&["/builds/7/app.py"], &["app.py"]),
            ["/builds/7/app.py"]
        );
    }

    #[test]
    fn a_file_at_its_place_holds_its_folder_there() {
        let base = ["/p/x/main.py", "/p/x/utils.py"];
        let new = ["/p/x/main.py", "/p/y/utils.py"];
        assert_eq!(found(&base, &new), new);
    }

    #[test]
    fn unlike_files_stay_apart() {
        assert_eq!(found(&["/p/a.py"], &["/q/b.py"]), ["/q/b.py"]);
        assert_eq!(found(&[], &["/q/b.py"]), ["/q/b.py"]);
    }

    #[test]
    fn both_directions_find_the_same_pairs() {
        let a = ["/1/m.py", "/2/m.py", "/3/k/n.py"];
        let b = ["/4/m.py", "/5/m.py", "/6/k/n.py"];
        let there = found(&a, &b);
        let back = found(&b, &a);
        for (file, in_base) in b
            .iter()
            .zip(&there)
            .filter(|(file, found)| **file != **found)
        {
            let at = a.iter().position(|path| path == in_base);
            assert_eq!(
                at.and_then(|at| back.get(at)).map(String::as_str),
                Some(*file)
            );
        }
    }
}
