//! The program's own files, found again where another machine has them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Which of the base's own files each of another capture's is: the same path or, where that is not there, the
/// path below the folder that the base has in place of this capture's.
///
/// * Folders are found by the files that are in both: of all pairs of folders below which files have the same
///   path, the one with most files counts, then the next of the files that are left
/// * A folder that keeps a file at its place is not moved. Of two folders that are a pair, files that only one
///   has are in no other pair, but for the folder of all absolute paths, and that of all relative ones
/// * Different files stay different, and of A and B this finds the pairs that it finds of B and A
/// * What is looked at is bounded, for captures can hold any paths: [`MAX_MOVES`] and [`MAX_NAMESAKES`]
pub(super) struct OwnFiles {
    /// By file of the other capture; those that have the same path are not here.
    in_base: BTreeMap<String, String>,
}

/// Folders that are found elsewhere, at most.
const MAX_MOVES: usize = 64;

/// Files of one name that still say something about folders.
const MAX_NAMESAKES: usize = 32;

/// What ends with `/`, and stands before the rest of a path; nothing, before a relative path.
type Folder<'a> = &'a str;

/// A folder of the other capture, and what it is in the base.
struct Move<'a> {
    from: Folder<'a>,
    to: Folder<'a>,
}

impl OwnFiles {
    pub(super) fn new(base: &BTreeSet<String>, new: &BTreeSet<String>) -> Self {
        let (mut in_base, moves) = pairs(base, new);
        let mut taken: BTreeSet<String> = in_base.values().cloned().collect();
        for file in new.difference(base) {
            if in_base.contains_key(file) {
                continue;
            }
            let of = moves.iter().find(|of| below(file, of.from).is_some());
            let Some(of) = of else { continue };
            let place = of.to.to_owned() + below(file, of.from).unwrap_or_default();
            // It is new below a folder that is not: named as its neighbours are, unless that is a name of another.
            if !base.contains(&place) && !new.contains(&place) && taken.insert(place.clone()) {
                in_base.insert(file.clone(), place);
            }
        }
        Self { in_base }
    }

    /// The path that a file of the other capture has in the base.
    pub(super) fn in_base(&self, file: &str) -> String {
        let moved = self.in_base.get(file).map(String::as_str);
        moved.unwrap_or(file).to_owned()
    }
}

/// The files that are in both at different places, and the folders that say so, those with most files first.
fn pairs<'a>(
    base: &'a BTreeSet<String>,
    new: &'a BTreeSet<String>,
) -> (BTreeMap<String, String>, Vec<Move<'a>>) {
    let at_place: BTreeSet<&str> = base.intersection(new).map(String::as_str).collect();
    let mut base_left: Vec<&str> = base.difference(new).map(String::as_str).collect();
    let mut new_left: Vec<&str> = new.difference(base).map(String::as_str).collect();
    let kept = |folder: Folder<'_>| {
        let mut files = at_place.range(folder..);
        if folder.is_empty() {
            return files.any(|file| below(file, folder).is_some());
        }
        files
            .next()
            .is_some_and(|file| below(file, folder).is_some())
    };
    let (mut pairs, mut moves) = (BTreeMap::new(), Vec::new());
    while moves.len() < MAX_MOVES
        && let Some((to, from)) = most_files(&base_left, &new_left, &kept)
    {
        let rests = |files: &[&'a str], folder| -> BTreeSet<&'a str> {
            let rests = files.iter().filter_map(|file| below(file, folder));
            rests.collect()
        };
        let (in_base, in_new) = (rests(&base_left, to), rests(&new_left, from));
        let both: BTreeSet<&str> = in_base.intersection(&in_new).copied().collect();
        pairs.extend((both.iter()).map(|rest| (from.to_owned() + rest, to.to_owned() + rest)));
        let is_left = |file: &str, folder: Folder<'_>| {
            let holds_anything = matches!(folder, "" | "/");
            below(file, folder).is_none_or(|rest| holds_anything && !both.contains(rest))
        };
        base_left.retain(|file| is_left(file, to));
        new_left.retain(|file| is_left(file, from));
        moves.push(Move { from, to });
    }
    (pairs, moves)
}

/// The pair of folders, of the base and of the other capture, that most files tell.
fn most_files<'a>(
    base: &[&'a str],
    new: &[&'a str],
    kept: &impl Fn(Folder<'_>) -> bool,
) -> Option<(Folder<'a>, Folder<'a>)> {
    let mut by_name = BTreeMap::<&str, [Vec<&'a str>; 2]>::new();
    for (side, files) in [base, new].into_iter().enumerate() {
        for file in files {
            by_name.entry(name(file)).or_default()[side].push(file);
        }
    }
    // Files, then parts of their paths in common, that speak for a pair; and the first of these paths.
    let mut votes = BTreeMap::<(Folder<'a>, Folder<'a>), (usize, usize, Reverse<&'a str>)>::new();
    for [base, new] in by_name.values() {
        if base.len().max(new.len()) > MAX_NAMESAKES {
            continue;
        }
        for (in_base, file) in base.iter().flat_map(|a| new.iter().map(move |b| (a, b))) {
            let (to, from, depth) = apart(in_base, file);
            let rest = Reverse(file.get(from.len()..).unwrap_or_default());
            if depth > 0 {
                let vote = votes.entry((to, from)).or_insert((0, 0, rest));
                *vote = (vote.0 + 1, vote.1 + depth, vote.2.max(rest));
            }
        }
    }
    votes
        .into_iter()
        .filter(|((to, from), _)| !kept(to) && !kept(from))
        // Of equals, the same whichever of the two captures is the base.
        .max_by_key(|&((to, from), vote)| (vote, Reverse((to.min(from), to.max(from)))))
        .map(|(folders, _)| folders)
}

/// Two paths without the end that they share, and how many parts that has.
fn apart<'a>(a: &'a str, b: &'a str) -> (Folder<'a>, Folder<'a>, usize) {
    let parts = a.rsplit('/').zip(b.rsplit('/'));
    let common = parts.take_while(|(a, b)| a == b && !a.is_empty());
    let (n, len) = common.fold((0, 0), |(n, len), (part, _)| (n + 1, len + part.len() + 1));
    // There is no `/` before the first part of a relative path.
    let folder = |path: &'a str| {
        let end = (path.len() + 1).saturating_sub(len);
        path.get(..end).unwrap_or_default()
    };
    (folder(a), folder(b), n)
}

fn name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// The rest of a path in a folder.
fn below<'a>(file: &'a str, folder: Folder<'_>) -> Option<&'a str> {
    let is_in_none = folder.is_empty() && file.starts_with('/');
    file.strip_prefix(folder).filter(|_| !is_in_none)
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;
    use proptest::sample::select;

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
    fn files_that_would_meet_stay_apart() {
        let new = ["/b/k.py", "/c/k.py", "/c/m.py"];
        let expected = ["/b/k.py", "/c/k.py", "/b/m.py"];
        assert_eq!(found(&["/b/m.py"], &new), expected);
        let base = ["/b/y/m.py", "/b/y/n.py", "/b/q.py"];
        let new = ["/c/m.py", "/c/n.py", "/d/q.py", "/d/y/m.py"];
        let expected = ["/c/m.py", "/c/n.py", "/b/q.py", "/b/y/m.py"];
        assert_eq!(found(&base, &new), expected);
    }

    /// Paths of few folders and names, so that they meet in many ways.
    fn paths() -> impl Strategy<Value = BTreeSet<String>> {
        let path = (any::<bool>(), vec(select(vec!["a", "b", "c"]), 0..4));
        let path = (path, select(vec!["m.py", "n.py", "o.py"])).prop_map(
            |((is_absolute, parts), name)| {
                let root = if is_absolute { "/" } else { "" };
                let parts: Vec<&str> = parts.into_iter().chain([name]).collect();
                root.to_owned() + &parts.join("/")
            },
        );
        btree_set(path, 0..10)
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 4000,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn different_files_stay_different(base in paths(), new in paths()) {
            let files = OwnFiles::new(&base, &new);
            let places: BTreeSet<String> = new.iter().map(|file| files.in_base(file)).collect();
            prop_assert_eq!(places.len(), new.len());
        }

        #[test]
        fn both_directions_find_the_same_pairs(a in paths(), b in paths()) {
            let pairs = |base: &BTreeSet<String>, new: &BTreeSet<String>| {
                let files = OwnFiles::new(base, new);
                let pairs = new.iter().map(|file| (files.in_base(file), file.clone()));
                let both = pairs.filter(|(in_base, _)| base.contains(in_base));
                both.collect::<BTreeSet<_>>()
            };
            let back = pairs(&b, &a).into_iter().map(|(b, a)| (a, b));
            prop_assert_eq!(pairs(&a, &b), back.collect::<BTreeSet<_>>());
        }
    }
}
