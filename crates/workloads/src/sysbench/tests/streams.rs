//! Streams: the same again for the same seed, whatever the answers.
use super::super::fake::deadlock;
use super::*;

fn hash(user: &User) -> u64 {
    Workload::stream_hash(user.sysbench, &user.thread)
}

#[test]
fn the_same_seed_and_stream_ask_the_same_and_others_something_else() {
    for script in ALL
        .into_iter()
        .filter(|script| *script != SysbenchScript::BulkInsert)
    {
        let mut hashes = std::collections::HashSet::new();
        for (seed, stream) in [(1, 0), (1, 1), (2, 0)] {
            let mut users = [(); 2].map(|()| User::seeded(&spec(script), seed, stream));
            for _ in 0..20 {
                let [a, b] = &mut users;
                assert_eq!(a.event().0, b.event().0);
            }
            assert_eq!(hash(&users[0]), hash(&users[1]));
            assert!(hashes.insert(hash(&users[0])), "{script:?}");
        }
    }
}

#[test]
fn failures_and_retries_change_neither_later_events_nor_the_hash() {
    let spec = spec(SysbenchScript::OltpReadWrite);
    let (mut calm, mut troubled) = (User::new(&spec), User::new(&spec));
    for i in 0..30 {
        if i % 3 == 0 {
            troubled.session.failing = vec![("SELECT SUM", deadlock())];
        }
        calm.event().1.unwrap();
        troubled.next();
        if troubled.attempt().is_err() {
            troubled.attempt().unwrap();
        }
    }
    assert_eq!(calm.event().0, {
        troubled.session.asked.clear();
        troubled.event().0
    });
    assert_eq!(hash(&calm), hash(&troubled));
}

#[test]
fn the_hash_covers_the_first_ten_thousand_events() {
    let mut user = User::new(&spec(SysbenchScript::OltpPointSelect));
    (0..9_999).for_each(|_| user.next());
    let before = hash(&user);
    user.next();
    let full = hash(&user);
    assert_ne!(before, full);
    user.next();
    assert_eq!(hash(&user), full);
}

#[test]
fn users_of_the_select_random_scripts_ask_their_own_part() {
    for (stream, part) in [(0, 0..=2500), (3, 7500..=10_000)] {
        let mut user = User::seeded(&spec(SysbenchScript::SelectRandomPoints), 1, stream);
        for _ in 0..100 {
            let (asked, _) = user.event();
            let values = asked[0].split_once("IN (").unwrap().1.trim_end_matches(')');
            for k in values.split(", ") {
                assert!(part.contains(&k.parse::<i32>().unwrap()), "{k} of {part:?}");
            }
        }
    }
}
