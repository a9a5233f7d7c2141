//! The library in real processes: written, killed, undone, compared with what was synced.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod blind;
mod clock;
mod concurrent;
mod names;
mod random_writes;
mod setup;
mod slowed;
mod sqlite;

#[test]
fn the_self_test_passes() {
    let mut program = std::process::Command::new(setup::PROGRAM);
    program.args(["self-test", "--library"]).arg(setup::library());
    let output = program.output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap().trim(),
        r#"{"passed": 8, "failed": []}"#
    );
}
