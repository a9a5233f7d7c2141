use bakeoff_histories::export::{write_elle, write_porcupine};
use bakeoff_histories::record::{Outcome, Record};

use crate::builders::{append, history, list, ok, read, write};

fn written(write: impl Fn(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn export_writes_invocations_and_completions_for_elle() {
    let unknown = ok(0, (0, 10), vec![append(1, 11)]);
    let records = [
        Record {
            outcome: Outcome::Unknown,
            ..unknown
        },
        ok(1, (5, 20), vec![list(1, &[11]), append(2, 21)]),
        ok(0, (20, 30), vec![list(2, &[21])]),
    ];
    let text = written(|out| write_elle(&history(&records), out).unwrap());
    let expected = "\
{:index 0 :type :invoke :process 0 :time 0 :f :txn :value [[:append 1 11]]}
{:index 1 :type :invoke :process 1 :time 5 :f :txn :value [[:r 1 nil] [:append 2 21]]}
{:index 2 :type :info :process 0 :time 10 :f :txn :value [[:append 1 11]]}
{:index 3 :type :ok :process 1 :time 20 :f :txn :value [[:r 1 [11]] [:append 2 21]]}
{:index 4 :type :invoke :process 2 :time 20 :f :txn :value [[:r 2 nil]]}
{:index 5 :type :ok :process 2 :time 30 :f :txn :value [[:r 2 [21]]]}
";
    assert_eq!(text, expected);
}

#[test]
fn export_writes_the_fields_of_porcupine() {
    let unknown = ok(0, (0, 10), vec![write(1, 5)]);
    let records = [
        Record {
            outcome: Outcome::Unknown,
            ..unknown
        },
        ok(1, (5, 20), vec![read(1, 5)]),
    ];
    let text = written(|out| write_porcupine(&history(&records), out).unwrap());
    let expected = r#"{"ClientId":0,"Input":{"op":"write","key":1,"value":5},"Call":0,"Output":{},"Return":9223372036854775807}
{"ClientId":1,"Input":{"op":"read","key":1},"Call":5,"Output":{"value":5},"Return":20}
"#;
    assert_eq!(text, expected);
}
