//! Names: kept as ext4 keeps them, or undone in strict mode.

use std::fs;

use crate::setup::Setup;

/// Runs the lines, each of which may use `sync(path)`, and is killed.
fn left_after(options: &[&str], script: &str) -> Setup {
    let setup = Setup::new();
    fs::write(setup.data("old"), "old").unwrap();
    fs::write(setup.data("other"), "other").unwrap();
    fs::create_dir(setup.data("folder")).unwrap();
    let head = r#"
import os, sys
def sync(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
def write(path, text):
    with open(path, "w") as file: file.write(text)
"#;
    let script = format!("{head}\n{script}\nprint('done', flush=True)\nsys.stdin.read()");
    let mut actor = setup.start(options, &script, &[]);
    assert_eq!(actor.line(), "done");
    actor.kill();
    setup.check(true);
    setup.apply();
    setup
}

fn content(setup: &Setup, name: &str) -> Option<String> {
    fs::read_to_string(setup.data(name)).ok()
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn a_file_that_was_made_keeps_its_name_and_loses_its_content() {
    let left = left_after(
        &[],
        "write('made', 'new')\nwrite('synced', 'new')\nsync('synced')",
    );
    assert_eq!(content(&left, "made"), some(""));
    assert_eq!(content(&left, "synced"), some("new"));
}

#[test]
fn a_file_that_replaces_another_has_its_data() {
    let left = left_after(&[], "write('made', 'new')\nos.rename('made', 'old')");
    assert_eq!(content(&left, "old"), some("new"));
    let left = left_after(&[], "write('made', 'new')\nos.rename('made', 'unused')");
    assert_eq!(content(&left, "unused"), some(""));
}

#[test]
fn a_number_used_by_two_files_is_not_confused() {
    // The second file often has the inode of the first, and sometimes is born in the same tick of the clock.
    let remove = "write('made', 'x' * 9000); sync('made'); os.unlink('made')";
    let replace =
        "write('made', 'x' * 9000); sync('made'); os.rename('old', 'made'); os.rename('made', 'old')";
    for script in [remove, replace] {
        for (sync, expected) in [("", ""), ("sync('made')", "new")] {
            let left = left_after(
                &[],
                &format!("for _ in range(5):\n    {script}\nwrite('made', 'new'); {sync}"),
            );
            assert_eq!(content(&left, "made"), some(expected));
            assert_eq!(content(&left, "old"), some("old"));
        }
    }
}

#[test]
fn renaming_a_file_to_its_own_name_syncs_nothing() {
    let left = left_after(&[], "write('old', 'new'); os.rename('old', 'old')");
    assert_eq!(content(&left, "old"), some("old"));
}

#[test]
fn names_that_were_not_synced_are_undone_in_strict_mode() {
    let script = "
write('made', 'new'); sync('made')
os.mkdir('made_folder'); write('made_folder/inside', 'new')
os.unlink('old')
os.rename('other', 'renamed')
os.rmdir('folder')
os.symlink('other', 'link')
";
    let left = left_after(&["--strict"], script);
    assert_eq!(content(&left, "made"), None);
    assert!(!left.data("made_folder").exists());
    assert_eq!(content(&left, "old"), some("old"));
    assert_eq!(content(&left, "other"), some("other"));
    assert_eq!(content(&left, "renamed"), None);
    assert!(left.data("folder").is_dir());
    assert!(left.data("link").symlink_metadata().is_err());
}

#[test]
fn a_sync_of_the_folder_keeps_names_in_strict_mode() {
    let script = "
write('made', 'new'); sync('made')
os.unlink('old')
os.rename('other', 'renamed')
sync('.')
os.unlink('made')
";
    let left = left_after(&["--strict"], script);
    assert_eq!(content(&left, "made"), some("new"));
    assert_eq!(content(&left, "old"), None);
    assert_eq!(content(&left, "other"), None);
    assert_eq!(content(&left, "renamed"), some("other"));
}

#[test]
fn replacing_a_file_is_undone_in_strict_mode() {
    let left = left_after(
        &["--strict"],
        "write('made', 'new'); sync('made'); sync('.')\nos.rename('made', 'old')",
    );
    assert_eq!(content(&left, "old"), some("old"));
    assert_eq!(content(&left, "made"), some("new"));
}
