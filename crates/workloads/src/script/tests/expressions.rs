//! Values that pgbench 15 gave for the same text (`\set r debug(...)`, with `-D default_seed=42 -D x=7 -D d=2.5 -D n=null`).
use crate::rng::Random;
use crate::script::{Expression, Fault, Names, Number};
use proptest::prelude::*;

fn names() -> Names {
    let mut names = Names::default();
    for name in ["x", "d", "n"] {
        names.add(name);
    }
    names
}

fn compile(text: &str) -> Expression {
    Expression::compile(text, &names()).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

fn evaluate(text: &str) -> Result<Number, Fault> {
    use Number::{Double, Int, Null};
    let variables = [Int(0), Int(42), Int(1), Int(1), Int(7), Double(2.5), Null];
    compile(text).evaluate(&variables[..], &mut Random::new(1))
}

#[test]
fn values_are_those_of_pgbench() {
    for (text, value) in [
        ("1 + 2 * 3", "7"),
        ("7 / 2", "3"),
        ("-7 / 2", "-3"),
        ("-7 % 3", "-1"),
        ("7.0 / 2", "3.5"),
        ("7.5 % 2", "0"),
        ("1.0 / 0", "inf"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("-9223372036854775808 % -1", "0"),
        ("1 << 3 | 1", "9"),
        ("1 | 2 & 3", "3"),
        ("1 + 2 << 1", "6"),
        ("12.5 | 1", "13"),
        ("12 << 65", "24"),
        ("12 << -1", "0"),
        ("~5", "-6"),
        ("not true or true", "true"),
        ("not null", "NULL"),
        ("null and false", "NULL"),
        ("false and null", "false"),
        ("null or true", "NULL"),
        ("true or null", "true"),
        ("1 = 1.0", "true"),
        ("1 <> 2", "true"),
        ("1 != 2", "true"),
        ("3 > 2", "true"),
        ("2 >= 3", "false"),
        ("null = null", "NULL"),
        ("null is null", "true"),
        ("1 is null", "false"),
        ("1 is not null", "true"),
        ("true is true", "true"),
        ("1 is true", "false"),
        ("false is not true", "true"),
        ("(1 = 2) is false", "true"),
        ("null isnull", "true"),
        ("1 notnull", "true"),
        ("not 1 = 2", "true"),
        ("case when 1 > 2 then 3 when 0.0 then 4 else 5 end", "5"),
        ("case when null then 1 end", "NULL"),
        ("case when 1 then 2 else 1/0 end", "2"),
        ("abs(-5)", "5"),
        ("abs(-5.5)", "5.5"),
        ("double(5)", "5.0"),
        ("int(5.5)", "6"),
        ("int(6.5)", "6"),
        ("greatest(1,2.5,3)", "3.0"),
        ("least(3,null,1)", "NULL"),
        ("least(1)", "1"),
        ("hash(5)", "3392551525449559074"),
        ("hash(5, 7)", "7395858956932106968"),
        ("hash_fnv1a(5)", "7229678446045915210"),
        ("hash_fnv1a(-123456789, 99)", "8734762773270657031"),
        ("hash_murmur2(-123456789, 99)", "-3178464252896959869"),
        ("permute(3, 10)", "4"),
        ("permute(3, 10, 5)", "9"),
        ("permute(123456, 1000000, -77)", "590291"),
        ("permute(-3, 1000, 1)", "396"),
        ("permute(7, 9223372036854775807, 1)", "6754680015795113559"),
        ("permute(7, 1)", "0"),
        ("mod(7.6,3)", "2"),
        ("pow(2, 10)", "1024.0"),
        ("power(2,-1)", "0.5"),
        ("sqrt(-1)", "NaN"),
        ("ln(0)", "-inf"),
        ("random_gaussian(1,10,null)", "NULL"),
        (":x + 1", "8"),
        (":n + 1", "NULL"),
        ("2 * :d", "5.0"),
        (".5", "0.5"),
        ("5.", "5.0"),
        ("1.5e3", "1500.0"),
        ("- - 5", "5"),
        ("-2 * -3", "6"),
        ("2 - -3", "5"),
        ("1 < null", "NULL"),
        ("TRUE AND FALSE", "false"),
    ] {
        assert_eq!(
            evaluate(text).map(|value| value.to_string()),
            Ok(value.into()),
            "{text}"
        );
    }
}

#[test]
fn what_pgbench_ends_a_client_with_is_a_fault() {
    for (text, fault) in [
        ("1 / 0", Fault::DivisionByZero),
        ("1.0 % 0", Fault::DivisionByZero),
        ("9223372036854775807 + 1", Fault::AddOverflow),
        ("-2 - 9223372036854775807", Fault::SubOverflow),
        ("9223372036854775807 * :x", Fault::MulOverflow),
        ("-9223372036854775808 / -1", Fault::DivOverflow),
        ("abs(-9223372036854775808)", Fault::AbsOverflow),
        ("1 and 2", Fault::BooleanWanted),
        ("not 1", Fault::BooleanWanted),
        ("2 + true", Fault::NumberWanted),
        ("1 = true", Fault::NumberWanted),
        ("true = true", Fault::NumberWanted),
        ("greatest(true)", Fault::NumberWanted),
        ("int(1e30)", Fault::DoubleTooLarge),
        ("permute(7, 0)", Fault::PermuteSize),
        ("random(5, 1)", Fault::EmptyRange),
        (
            "random(-9223372036854775808, 9223372036854775807)",
            Fault::RangeTooLarge,
        ),
        ("random_gaussian(1, 10, 1)", Fault::Gaussian),
        ("random_zipfian(1, 10, 1.0)", Fault::Zipfian),
        ("random_exponential(1, 10, 0)", Fault::Exponential),
    ] {
        assert_eq!(evaluate(text), Err(fault), "{text}");
    }
}

#[test]
fn what_is_no_expression_is_refused_where_it_goes_wrong() {
    for (text, at, what, hint) in [
        ("1 +", 3, "a value was expected after the end", "a value is"),
        ("1 2", 2, "`2` cannot follow here", "an operator"),
        ("(1 + 2", 6, ") was expected, and the end is there", "write )"),
        ("'a'", 0, "cannot compute with text", "SQL itself"),
        ("rwo", 0, "`rwo` is neither", ":rwo"),
        (
            "randon(1, 2)",
            0,
            "no function `randon`",
            "did you mean `random`?",
        ),
        (
            "1 + abs(1, 2)",
            4,
            "abs is given 2 arguments",
            "it takes 1 argument",
        ),
        (
            "hash()",
            0,
            "hash is given no argument",
            "it takes 1 or 2 arguments",
        ),
        (
            ":scal",
            0,
            "nothing sets the variable `scal`",
            "did you mean `scale`?",
        ),
        ("1 < 2 = 3", 6, "cannot be chained", "parentheses"),
        (
            "9223372036854775808",
            0,
            "`9223372036854775808` stands where",
            "a value is",
        ),
        ("1e400", 0, "1e400 is too large", "64 bits"),
        ("null::int", 4, "`:` stands before no name", ":name"),
        ("1 ? 2", 2, "`?` means nothing", "operators"),
        ("case 1 end", 5, "WHEN was expected, and `1` is there", "WHEN"),
        ("1 is 2", 5, "IS compares with", "="),
    ] {
        let error = Expression::compile(text, &names()).unwrap_err();
        assert_eq!(error.at, at, "{text}: {error:?}");
        assert!(error.what.contains(what), "{text}: {error:?}");
        assert!(error.hint.contains(hint), "{text}: {error:?}");
    }
}

#[test]
fn a_name_needs_no_colon_where_that_is_said() {
    let mut bare = names();
    bare.bare = true;
    let variables = [Number::Int(0); 7];
    let row = Expression::compile("x + 1", &bare).unwrap();
    assert_eq!(
        row.evaluate(&variables[..], &mut Random::new(1)),
        Ok(Number::Int(1))
    );
}

#[test]
fn what_depends_on_nothing_is_computed_once() {
    assert_eq!(compile("100000 * 10 - 1").constant(), Some(Number::Int(999_999)));
    assert_eq!(compile("random(1, 1)").constant(), None);
    assert_eq!(compile("1 / 0").constant(), None);
}

const DRAWS: u32 = 200_000;

/// How often `text` has a value up to each of `ends`, of all draws.
fn shares<const N: usize>(text: &str, ends: [i64; N]) -> [f64; N] {
    let (expression, mut random) = (compile(text), Random::new(7));
    let mut hits = [0u32; N];
    for _ in 0..DRAWS {
        let Ok(Number::Int(value)) = expression.evaluate(&[Number::Int(100)][..], &mut random) else {
            panic!("{text}");
        };
        for (hits, end) in hits.iter_mut().zip(ends) {
            *hits += u32::from(value <= end);
        }
    }
    hits.map(|hits| f64::from(hits) / f64::from(DRAWS))
}

/// By the formulas of pgbench's documentation.
#[test]
fn random_numbers_are_distributed_as_in_pgbench() {
    let exponential = |end: f64| (1.0 - (-4.0 * end).exp()) / (1.0 - (-4.0f64).exp());
    // Phi at -1, 0 and 1 of a deviation that is a quarter of the half range, which is cut at 4.
    let zeta = |n: i64| -> f64 { (1..=n).map(|i| (i as f64).powf(-1.5)).sum() };
    for (text, ends, expected) in [
        ("random(1, 100)", [10, 50, 100], [0.1, 0.5, 1.0]),
        (
            "random_exponential(1, 100, 4.0)",
            [10, 50, 100],
            [exponential(0.1), exponential(0.5), 1.0],
        ),
        (
            "random_gaussian(1, 800, 4.0)",
            [300, 400, 500],
            [0.158_655, 0.5, 0.841_345],
        ),
        (
            "random_zipfian(1, 100, 1.5)",
            [1, 2, 10],
            [1, 2, 10].map(|n| zeta(n) / zeta(100)),
        ),
        // A parameter that is not known beforehand; :client_id is 100.
        (
            "random_zipfian(1, :client_id, 1.0 + :client_id / 200.0)",
            [1, 2, 10],
            [1, 2, 10].map(|n| zeta(n) / zeta(100)),
        ),
    ] {
        let found = shares(text, ends);
        for (found, expected) in found.into_iter().zip(expected) {
            // Five standard deviations of a share counted over DRAWS, at most.
            assert!((found - expected).abs() < 0.0056, "{text}: {found} of {expected}");
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_compiled_or_refused(text in "[ -~\u{e4}\n]{0,60}", words in prop::collection::vec(0usize..24, 0..40)) {
        let _ = Expression::compile(&text, &names()).map(|made| made.evaluate(&[Number::Null; 7][..], &mut Random::new(1)));
        const WORDS: [&str; 24] = [
            "1", "2.5", ":x", "(", ")", "-", "~", "+", "*", "/", "case", "when", "then", "else", "end", "is", "not", "null",
            "random_zipfian(", ",", "permute(", "1e308", "9223372036854775807", "<<",
        ];
        let text = words.into_iter().map(|word| WORDS[word]).collect::<Vec<_>>().join(" ");
        let error = match Expression::compile(&text, &names()) {
            Ok(made) => {
                let _ = made.evaluate(&[Number::Int(i64::MIN); 7][..], &mut Random::new(1));
                return Ok(());
            }
            Err(error) => error,
        };
        prop_assert!(error.at <= text.len() && !error.what.is_empty() && !error.hint.is_empty());
    }
}

#[test]
fn nesting_and_length_have_an_end() {
    for text in [
        "(".repeat(5000),
        "-".repeat(5000),
        "1+".repeat(5000),
        "case when ".repeat(300),
    ] {
        assert!(Expression::compile(&text, &names()).is_err());
    }
    let long = vec!["1"; 499].join("+");
    assert_eq!(evaluate(&long), Ok(Number::Int(499)));
}
