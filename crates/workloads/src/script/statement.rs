//! A statement of a script: its text cut where variables stand, and what can be known of it beforehand.
//!
//! A variable is a parameter of the prepared statement, each time it occurs one of its own. Where no parameter may
//! stand, all variables of the statement are written into its text, and must then be numbers: glued to a name
//! (`accounts_:part`), and in statements that take no parameters at all (`CREATE`, `SET`, ...).
use super::columns::Words;
use super::error::{ScriptError, SyntaxError};
use super::expression::unknown_variable;
use super::number::{Fault, Number};
use super::scan::{Kind, Token};
use super::token::names;
use super::variables::{Names, Variables};
use crate::functions;
use bakeoff_model::sql::{Ask, Dialect};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Read,
    Write,
    Other,
}

#[derive(Clone, Debug)]
pub struct Statement {
    /// Among the script's statements, from 1; those that begin and end transactions count.
    pub number: u32,
    /// Where it begins, from 1.
    pub line: usize,
    pub counted: Counted,
    /// It changes nothing, as far as its words tell.
    pub reads: bool,
    /// It answers with rows.
    pub rows: bool,
    /// It is prepared; otherwise its text is sent, with its variables written into it.
    pub prepared: bool,
    /// Before, between and after variables: one more than of those.
    pieces: Vec<String>,
    /// Places of the variables in it, in their order.
    pub variables: Vec<u32>,
    /// `\gset`, `\aset`: the variable of each column.
    pub sets: Option<Sets>,
    /// Variables, by their place in this statement, that end the name of a table of the plan, and the numbers that these have.
    numbers: Vec<(usize, Arc<[i64]>)>,
    /// Variables, by their place in this statement, that no negative number may be written for.
    unsigned: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sets {
    pub variables: Vec<u32>,
    /// `\gset`: not exactly one row is an error. `\aset` takes the last row, if there is one.
    pub one_row: bool,
}

/// Statements whose variables may be parameters.
const PREPARED: [&str; 9] = [
    "select", "insert", "update", "delete", "values", "with", "replace", "merge", "call",
];
const WRITES: [&str; 5] = ["insert", "update", "delete", "replace", "merge"];
/// What a WITH may be for.
const VERBS: [&str; 6] = ["select", "values", "insert", "update", "delete", "merge"];
const READS: [&str; 6] = ["select", "values", "with", "table", "show", "explain"];
/// Words by which a statement that begins as a read does more: it writes or locks.
const CHANGES: [&str; 6] = ["insert", "update", "delete", "merge", "into", "share"];
/// Variables of a statement that are checked one by one: each time the whole text is read.
const CHECKED_ALONE_MAX: usize = 64;
/// Words other than functions that may stand before a parenthesis in what changes nothing.
const BEFORE_PARENTHESES: &str = "all and any as between by case decimal distinct else except exists filter from having in \
    intersect lateral limit materialized not numeric offset on or over partition select some then union using values varchar \
    when where with within";

impl Statement {
    /// `file`, `text`: of the script. Its variables must be known.
    pub fn new(
        number: u32,
        line: usize,
        tokens: &[Token],
        file: &str,
        text: &str,
        names: &Names,
    ) -> Result<Self, ScriptError> {
        let words = Words::of(tokens, text);
        let first = first(&words);
        let begins = |with: &[&str]| with.contains(&&*first);
        // What a WITH is for stands after it.
        let verb = words
            .words
            .iter()
            .find(|word| first != "with" || (word.depth == 0 && VERBS.iter().any(|verb| word.is(verb))));
        let writes = verb.is_some_and(|verb| WRITES.iter().any(|write| verb.is(write)));
        let (pieces, variables, glued) = cut(tokens, file, text, names)?;
        Ok(Self {
            number,
            line,
            counted: match writes {
                true => Counted::Write,
                false if begins(&READS) => Counted::Read,
                false => Counted::Other,
            },
            reads: only_asks(&words) && !writes && !calls_unknown(&words),
            rows: match writes {
                true => words.outside("returning").is_some(),
                false => begins(&READS) || first == "fetch",
            },
            prepared: begins(&PREPARED) && !glued,
            pieces,
            variables,
            sets: None,
            numbers: vec![],
            unsigned: vec![],
        })
    }

    /// As it is prepared in a dialect.
    pub fn sql(&self, dialect: &Dialect) -> String {
        let mut sql = self.pieces[0].clone();
        for (i, piece) in self.pieces[1..].iter().enumerate() {
            sql.push_str(&dialect.placeholder(i + 1));
            sql.push_str(piece);
        }
        sql
    }

    pub fn ask<'s>(&self, sql: &'s str) -> Ask<'s> {
        match self.reads {
            true => Ask::read(sql),
            false => Ask::write(sql),
        }
    }

    /// Room for its text with variables that are whole numbers.
    pub fn text_bytes(&self) -> usize {
        const LONGEST_NUMBER: usize = 24;
        self.pieces.iter().map(|piece| piece.len() + LONGEST_NUMBER).sum()
    }

    /// The whole statement with its variables' values, which must be numbers, in place of them.
    pub fn write(&self, text: &mut String, variables: &Variables) -> Result<(), Fault> {
        text.clear();
        text.push_str(&self.pieces[0]);
        for (i, (piece, place)) in self.pieces[1..].iter().zip(&self.variables).enumerate() {
            let value = variables.number(*place)?.written();
            if let Some((_, known)) = self.numbers.iter().find(|(at, _)| *at == i)
                && !matches!(value, Number::Int(value) if known.contains(&value))
            {
                return Err(Fault::OtherTable);
            }
            if is_negative(value) && self.unsigned.contains(&i) {
                return Err(Fault::Negative);
            }
            push_number(text, value)?;
            text.push_str(piece);
        }
        Ok(())
    }

    /// Has its text checked, with numbers for its variables as they may be written into it. Where a variable ends a name with
    /// which a table of the plan begins, only the numbers of such tables are written into it from then on; where the text is refused
    /// with a negative number (`VARCHAR(:n)`), no negative ones are.
    pub fn keep_to<E: From<&'static str>>(
        &mut self,
        tables: &Numbered,
        check: impl Fn(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let (before, after) = (&self.pieces[..self.pieces.len() - 1], &self.pieces[1..]);
        let follows = before.iter().any(|piece| last_name(piece).contains('$'));
        if follows || after.iter().any(|piece| piece.starts_with('$')) {
            return Err("a variable stands next to a $, which may begin a text".into());
        }
        let known = |(i, piece): (usize, &String)| Some((i, tables.of(last_name(piece))?.clone()));
        self.numbers = before.iter().enumerate().filter_map(known).collect();
        check(&self.with_numbers(|_| 1, 1))?;
        if self.prepared || self.variables.is_empty() {
            return Ok(());
        }
        let negative = check(&self.with_numbers(|_| -1, i64::MAX));
        if negative.is_ok() || self.variables.len() > CHECKED_ALONE_MAX {
            return negative;
        }
        let refused = |i: &usize| {
            let one = |place| if place == *i { -1 } else { 1 };
            check(&self.with_numbers(one, i64::MAX)).is_err()
        };
        self.unsigned = (0..self.variables.len()).filter(refused).collect();
        let allowed = |i| match self.unsigned.contains(&i) {
            true => i64::MAX,
            false => -1,
        };
        check(&self.with_numbers(allowed, i64::MAX))
    }

    /// The text with what `alone` says for each variable, but `in_name` for one that ends a name other than a known table's.
    fn with_numbers(&self, alone: impl Fn(usize) -> i64, in_name: i64) -> String {
        let mut text = self.pieces[0].clone();
        for (i, after) in self.pieces[1..].iter().enumerate() {
            let known = self.numbers.iter().find(|(at, _)| *at == i);
            let number = match known {
                Some((_, known)) => known[0],
                None if text.ends_with(names) => in_name,
                None => alone(i),
            };
            // Of these no negative one ends a name.
            let _ = push_number(&mut text, Number::Int(number));
            text.push_str(after);
        }
        text
    }

    /// With these texts in place of its variables.
    pub fn filled(&self, text: impl Fn(u32) -> String) -> String {
        let mut filled = self.pieces[0].clone();
        for (piece, place) in self.pieces[1..].iter().zip(&self.variables) {
            filled.push_str(&text(*place));
            filled.push_str(piece);
        }
        filled
    }
}

/// Tables whose names end in a number, by what stands before it.
#[derive(Debug, Default)]
pub struct Numbered(HashMap<String, Arc<[i64]>>);

impl Numbered {
    pub fn new(tables: &[String]) -> Self {
        let mut found: HashMap<String, Vec<i64>> = HashMap::new();
        for table in tables {
            let digits = table.len() - table.trim_end_matches(|c: char| c.is_ascii_digit()).len();
            for (name, rest) in (1..=digits).filter_map(|digits| table.split_at_checked(table.len() - digits))
            {
                // As it is written: without zeros before it.
                if let Ok(number) = rest.parse::<i64>()
                    && number.to_string() == rest
                    && !name.is_empty()
                {
                    found.entry(name.to_ascii_lowercase()).or_default().push(number);
                }
            }
        }
        Self(
            found
                .into_iter()
                .map(|(name, numbers)| (name, numbers.into()))
                .collect(),
        )
    }

    /// Numbers in the order of the tables; at least one.
    fn of(&self, name: &str) -> Option<&Arc<[i64]>> {
        self.0.get(&name.to_ascii_lowercase())
    }
}

/// The keyword that it begins with, in lower case.
fn first(words: &Words<'_>) -> String {
    let keyword = words.words.iter().find(|word| word.token.kind != Kind::Open);
    keyword.map_or(String::new(), |word| word.text.to_lowercase())
}

/// Whether it changes nothing by itself; a function that it calls may.
pub fn only_asks(words: &Words<'_>) -> bool {
    READS.contains(&&*first(words)) && !CHANGES.iter().any(|word| words.has(word))
}

fn calls_unknown(words: &Words<'_>) -> bool {
    words.words.windows(2).any(|pair| {
        let is_name = matches!(pair[0].token.kind, Kind::Word | Kind::QuotedName);
        let mut others = BEFORE_PARENTHESES.split_whitespace();
        is_name
            && pair[1].token.kind == Kind::Open
            && !functions::is_independent(pair[0].text)
            && !others.any(|known| pair[0].is(known))
    })
}

/// The name, or the beginning of one, that ends a piece.
fn last_name(piece: &str) -> &str {
    let is_name = |c: char| names(c) || c == '$';
    &piece[piece.trim_end_matches(is_name).len()..]
}

fn is_negative(value: Number) -> bool {
    match value {
        Number::Int(value) => value < 0,
        Number::Double(value) => value.is_sign_negative(),
        Number::Null | Number::Bool(_) => false,
    }
}

/// A negative number stands apart: glued to a `-`, it would begin a comment.
fn push_number(text: &mut String, value: Number) -> Result<(), Fault> {
    if is_negative(value) {
        if text.ends_with(names) {
            return Err(Fault::NegativeName);
        }
        text.push(' ');
    }
    match value {
        Number::Int(value) => text.push_str(itoa::Buffer::new().format(value)),
        // A string takes whatever is written.
        other => drop(write!(text, "{other}")),
    }
    Ok(())
}

type Cut = (Vec<String>, Vec<u32>, bool);

/// The statement's text around its variables, these, and whether one is glued to a name.
fn cut(tokens: &[Token], file: &str, text: &str, names: &Names) -> Result<Cut, ScriptError> {
    let (mut pieces, mut variables, mut glued) = (vec![String::new()], vec![], false);
    for (i, token) in tokens.iter().enumerate() {
        let own = &text[token.from..token.to];
        if token.kind == Kind::Variable {
            let Some(place) = names.place(&own[1..]) else {
                let SyntaxError { what, hint, .. } = unknown_variable(0, &own[1..], names);
                return Err(ScriptError::at(file, text, token.from, what, hint));
            };
            let before = i.checked_sub(1).map(|before| tokens[before]);
            glued |= before.is_some_and(|before| {
                let name = &text[before.from..before.to];
                before.to == token.from
                    && before.kind == Kind::Word
                    && !name.starts_with(|c: char| c.is_ascii_digit())
            });
            variables.push(place);
            pieces.push(String::new());
        } else if let Some(piece) = pieces.last_mut() {
            piece.push_str(own);
        }
    }
    Ok((pieces, variables, glued))
}
