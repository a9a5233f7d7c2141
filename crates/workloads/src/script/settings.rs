//! Statements that change how a system works, which a plan says and a report shows: a script that did it would run under
//! other settings than those that stand beside its figures.
use super::columns::{Word, Words};

pub fn changes_settings(words: &Words<'_>) -> bool {
    let calls = |pair: &[Word<'_>]| pair[0].is("set_config") && pair[1].text == "(";
    let begins = |keyword| words.is(0, keyword);
    match begins("set") {
        true => !words.is(1, "transaction") && !words.is(1, "constraints") && !only_user_variables(words),
        false => {
            ["pragma", "reset", "discard"].into_iter().any(begins)
                || (begins("alter") && words.is(1, "system"))
                || words.words.windows(2).any(calls)
        }
    }
}

/// `SET @a = 1, @b = 2`, and neither `@@a` nor `a` among them.
fn only_user_variables(words: &Words<'_>) -> bool {
    let assignments = words.words[1..].split(|word| word.depth == 0 && word.text == ",");
    let is_user_variable =
        |words: &[Word<'_>]| matches!(words, [at, name, ..] if at.text == "@" && name.text != "@");
    assignments.into_iter().all(is_user_variable)
}
