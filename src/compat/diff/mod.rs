//! What changed between two builds of the same device code?
//!
//! Each file is first reduced to what counts ([`snapshot`]), so that files of any size are looked at one by one; then two
//! snapshots are compared kernel by kernel, target by target and property set by property set ([`compare`]), and what
//! changed is held against budgets ([`budget`]).
//!
//! Files are paired by their paths below what was named ([`stem`]), without what changes with every release: the versions of
//! shared libraries (`libfoo.so.6.1` is `libfoo.so`), Python's tags (`x.cpython-311-x86_64-linux-gnu.so`, `x.cp311-win_amd64.pyd`) and the
//! hashes that wheels put into the names of libraries (`libfoo-1a2b3c4d.so`).

pub mod budget;
pub mod compare;
pub mod snapshot;
#[cfg(test)]
mod tests;

/// Returns the part of a path that stays from build to build.
pub fn stem(path: &str) -> String {
    let path = path.replace('\\', "/");
    let (folder, name) = path.rsplit_once('/').map_or(("", path.as_str()), |(folder, name)| (folder, name));
    let mut parts: Vec<&str> = name.split('.').collect();
    // After `so` comes a version.
    if let Some(so) = parts.iter().position(|part| *part == "so")
        && parts.iter().skip(so).skip(1).all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    {
        parts.truncate(so.saturating_add(1));
    }
    let tag =
        |part: &&str| part.starts_with("cpython-") || part.starts_with("cp3") && part.contains('-') || *part == "abi3";
    let first = parts.first().map(|first| without_hash(first).to_owned()).unwrap_or_default();
    let rest = parts.iter().skip(1).filter(|part| !tag(part)).copied();
    let name = std::iter::once(first.as_str()).chain(rest).collect::<Vec<_>>().join(".");
    if folder.is_empty() { name } else { format!("{folder}/{name}") }
}

/// A name without a hash of eight digits or more at its end.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((name, hash)) if hash.len() >= 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
        _ => name,
    }
}

/// The path of a file below the argument that named it or what holds it: of `a.whl!x/y.so` and `dir/x/y.so` that is
/// `x/y.so`; nothing of a file that was named itself.
pub fn below<'p>(argument: &str, path: &'p str) -> &'p str {
    path.strip_prefix(argument).map_or(path, |rest| rest.trim_start_matches(['/', '!', '\\']))
}

#[cfg(test)]
mod pair_tests {
    use super::*;

    #[test]
    fn versions_and_tags_are_no_part_of_the_name() {
        for (path, expected) in [
            ("a/libfoo.so.6.1", "a/libfoo.so"),
            ("x.cpython-311-x86_64-linux-gnu.so", "x.so"),
            ("dpnp\\x.cp311-win_amd64.pyd", "dpnp/x.pyd"),
            ("libs/libbar-1a2b3c4d.so.2", "libs/libbar.so"),
            ("libs/libbar-release.so", "libs/libbar-release.so"),
            ("app", "app"),
            ("lib.so.d/x.spv", "lib.so.d/x.spv"),
        ] {
            assert_eq!(stem(path), expected);
        }
        assert_eq!(below("/x/a.whl", "/x/a.whl!b/c.so"), "b/c.so");
        assert_eq!(below("dir/", "dir/b/c.so"), "b/c.so");
        assert_eq!(below("a.so", "a.so"), "");
    }
}
