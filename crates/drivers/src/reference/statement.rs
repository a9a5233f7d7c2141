//! The SQL that the reference store knows: that of `bakeoff verify`, on tables of two columns, `id` (the key) and `value`.
//!
//! ```text
//! CREATE TABLE t (id ..., value ...)             DROP TABLE [IF EXISTS] t
//! INSERT INTO t (id, value) VALUES (1, 10), ...  DELETE FROM t [WHERE c]
//! SELECT COUNT(*) | value | id, value FROM t [WHERE c] [ORDER BY id]
//! UPDATE t SET value = x | value + x | value || x [WHERE c]
//! ```
//!
//! `c` is `a AND b ...` of comparisons (`=`, `<`, `<=`, `>`, `>=`) of `id`, `value`, `id % n`, `value % n` or a number with
//! a number. `x` is a number, a text or `?`, which may stand for a number in a comparison, too.
use super::refused;
use super::store::{Cell, Change, Column, Condition, Test};
use bakeoff_model::outcome::OpError;
use bakeoff_model::value::Value;
use std::cmp::Ordering;

#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub table: String,
    pub verb: Verb,
    tests: Vec<(Left, Comparison, Operand)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Verb {
    Create,
    Drop { if_exists: bool },
    Insert(Vec<(Operand, Operand)>),
    Select(Columns),
    Update(Update, Operand),
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Columns {
    Count,
    Value,
    IdAndValue,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Update {
    Set,
    Add,
    Append,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    Cell(Cell),
    /// From 0.
    Parameter(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Left {
    Number(i64),
    Of(Column, Option<i64>),
}

/// Results of a comparison that fit.
type Comparison = &'static [Ordering];

impl Operand {
    pub fn cell(&self, params: &[Value<'_>]) -> Result<Cell, OpError> {
        match self {
            Self::Cell(cell) => Ok(cell.clone()),
            Self::Parameter(place) => match params.get(*place) {
                Some(Value::Int(number)) => Ok(Cell::Int(*number)),
                Some(Value::Text(text)) => Ok(Cell::Text(String::from_utf8_lossy(text).into_owned())),
                _ => Err(refused(
                    SYNTAX,
                    format!("parameter {} is no number and no text", place + 1),
                )),
            },
        }
    }
}

impl Statement {
    pub fn condition(&self, params: &[Value<'_>]) -> Result<Condition, OpError> {
        let tests = self.tests.iter().map(|(left, fits, right)| {
            let right = right.cell(params)?;
            Ok(match (*left, right) {
                (Left::Number(number), Cell::Int(right)) => {
                    Test::Constant(fits.contains(&number.cmp(&right)))
                }
                (Left::Of(column, modulo), Cell::Int(right)) => Test::Column(column, modulo, fits, right),
                (_, Cell::Text(_)) => return Err(refused(SYNTAX, "only numbers are compared")),
            })
        });
        tests.collect::<Result<_, _>>().map(Condition)
    }

    pub fn reads(&self) -> bool {
        matches!(self.verb, Verb::Select(_))
    }
}

impl Update {
    pub fn with(self, cell: Cell) -> Result<Change, OpError> {
        match (self, cell) {
            (Self::Set, cell) => Ok(Change::Set(cell)),
            (Self::Add, Cell::Int(amount)) => Ok(Change::Add(amount)),
            (Self::Append, Cell::Text(text)) => Ok(Change::Append(text)),
            _ => Err(refused(SYNTAX, "numbers are added, and texts appended")),
        }
    }
}

const SYNTAX: &str = "SYNTAX";

pub fn parse(sql: &str) -> Result<Statement, OpError> {
    let words = "the reference store knows only the statements of `bakeoff verify`";
    let mut parser = Parser {
        tokens: tokens(sql),
        at: 0,
        parameters: 0,
    };
    let parsed = parser.statement().filter(|_| parser.at == parser.tokens.len());
    parsed.ok_or_else(|| refused(SYNTAX, words).with_statement(sql))
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// In lower case.
    Word(String),
    Cell(Cell),
    /// `?`, `(`, `<=`, ...
    Sign(&'static str),
    Unknown,
}

const SIGNS: [&str; 14] = [
    "||", "<=", ">=", "<", ">", "=", "(", ")", ",", "+", "%", "*", "?", "-",
];

fn tokens(sql: &str) -> Vec<Token> {
    let mut rest = sql.trim_start();
    let mut found = vec![];
    while let Some(first) = rest.chars().next() {
        let length = |fits: fn(char) -> bool| rest.find(|c| !fits(c)).unwrap_or(rest.len());
        let (token, taken) = match first {
            '0'..='9' => {
                let taken = length(|c| c.is_ascii_digit());
                let number = rest[..taken].parse().map(Cell::Int);
                (number.map_or(Token::Unknown, Token::Cell), taken)
            }
            '\'' => match rest[1..].split_once('\'') {
                Some((text, _)) => (Token::Cell(Cell::Text(text.into())), text.len() + 2),
                None => (Token::Unknown, rest.len()),
            },
            'a'..='z' | 'A'..='Z' | '_' => {
                let taken = length(|c| c.is_ascii_alphanumeric() || c == '_');
                (Token::Word(rest[..taken].to_ascii_lowercase()), taken)
            }
            _ => match SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
                Some(sign) => (Token::Sign(sign), sign.len()),
                None => (Token::Unknown, rest.len()),
            },
        };
        found.push(token);
        rest = rest[taken..].trim_start();
    }
    found
}

/// `None` from any of its functions: that is no statement.
struct Parser {
    tokens: Vec<Token>,
    at: usize,
    parameters: usize,
}

impl Parser {
    fn next(&mut self) -> Option<Token> {
        self.at += 1;
        self.tokens.get(self.at - 1).cloned()
    }

    /// Takes these words and signs, if they come next.
    fn takes(&mut self, expected: &[&str]) -> bool {
        let is = |(token, text): (&Token, &&str)| match token {
            Token::Word(word) => word == text,
            Token::Sign(sign) => sign == text,
            _ => false,
        };
        let coming = self.tokens.get(self.at..self.at + expected.len());
        let come = coming.is_some_and(|coming| coming.iter().zip(expected).all(is));
        self.at += if come { expected.len() } else { 0 };
        come
    }

    fn must(&mut self, expected: &[&str]) -> Option<()> {
        self.takes(expected).then_some(())
    }

    fn word(&mut self) -> Option<String> {
        match self.next()? {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<i64> {
        match self.next()? {
            Token::Cell(Cell::Int(number)) => Some(number),
            _ => None,
        }
    }

    fn operand(&mut self) -> Option<Operand> {
        let negative = self.takes(&["-"]);
        match self.next()? {
            Token::Cell(Cell::Int(number)) if negative => Some(Operand::Cell(Cell::Int(-number))),
            Token::Cell(cell) if !negative => Some(Operand::Cell(cell)),
            Token::Sign("?") if !negative => {
                self.parameters += 1;
                Some(Operand::Parameter(self.parameters - 1))
            }
            _ => None,
        }
    }

    fn statement(&mut self) -> Option<Statement> {
        let (table, verb) = match &*self.word()? {
            "create" => {
                self.must(&["table"])?;
                let table = self.word()?;
                self.must(&["(", "id"])?;
                self.at = self.tokens.len();
                (table, Verb::Create)
            }
            "drop" => {
                self.must(&["table"])?;
                let if_exists = self.takes(&["if", "exists"]);
                (self.word()?, Verb::Drop { if_exists })
            }
            "insert" => {
                self.must(&["into"])?;
                let table = self.word()?;
                self.must(&["(", "id", ",", "value", ")", "values"])?;
                let mut rows = vec![self.row()?];
                while self.takes(&[","]) {
                    rows.push(self.row()?);
                }
                (table, Verb::Insert(rows))
            }
            "select" => {
                let columns = if self.takes(&["count", "(", "*", ")"]) {
                    Columns::Count
                } else if self.takes(&["id", ",", "value"]) {
                    Columns::IdAndValue
                } else {
                    self.must(&["value"])?;
                    Columns::Value
                };
                self.must(&["from"])?;
                (self.word()?, Verb::Select(columns))
            }
            "update" => {
                let table = self.word()?;
                self.must(&["set", "value", "="])?;
                let update = if self.takes(&["value", "+"]) {
                    Update::Add
                } else if self.takes(&["value", "||"]) {
                    Update::Append
                } else {
                    Update::Set
                };
                (table, Verb::Update(update, self.operand()?))
            }
            "delete" => {
                self.must(&["from"])?;
                (self.word()?, Verb::Delete)
            }
            _ => return None,
        };
        let tests = self.tests()?;
        if matches!(verb, Verb::Select(_)) {
            self.takes(&["order", "by", "id"]);
        }
        Some(Statement { table, verb, tests })
    }

    fn row(&mut self) -> Option<(Operand, Operand)> {
        self.must(&["("])?;
        let id = self.operand()?;
        self.must(&[","])?;
        let value = self.operand()?;
        self.must(&[")"])?;
        Some((id, value))
    }

    fn tests(&mut self) -> Option<Vec<(Left, Comparison, Operand)>> {
        let mut tests = vec![];
        let mut more = self.takes(&["where"]);
        while more {
            tests.push((self.left()?, self.comparison()?, self.operand()?));
            more = self.takes(&["and"]);
        }
        Some(tests)
    }

    fn left(&mut self) -> Option<Left> {
        let column = if self.takes(&["id"]) {
            Column::Id
        } else if self.takes(&["value"]) {
            Column::Value
        } else {
            return self.number().map(Left::Number);
        };
        let modulo = match self.takes(&["%"]) {
            true => Some(self.number().filter(|number| *number > 0)?),
            false => None,
        };
        Some(Left::Of(column, modulo))
    }

    fn comparison(&mut self) -> Option<Comparison> {
        use Ordering::{Equal, Greater, Less};
        match self.next()? {
            Token::Sign("=") => Some(&[Equal]),
            Token::Sign("<") => Some(&[Less]),
            Token::Sign("<=") => Some(&[Less, Equal]),
            Token::Sign(">") => Some(&[Greater]),
            Token::Sign(">=") => Some(&[Greater, Equal]),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_that_verify_does_not_send_is_refused_whole() {
        for sql in [
            "",
            "SELECT * FROM t",
            "SELECT value FROM t WHERE id = 1 OR id = 2",
            "SELECT value FROM t LIMIT 1",
            "UPDATE t SET value = id",
            "UPDATE t SET value = value - 1",
            "INSERT INTO t (id, value) VALUES (1)",
            "INSERT INTO t (id, value) VALUES (1, 'a)",
            "DELETE FROM t WHERE value % 0 = 1",
            "CREATE INDEX i ON t (value)",
        ] {
            let error = parse(sql).unwrap_err();
            assert_eq!((&*error.code, error.statement.as_deref()), ("SYNTAX", Some(sql)));
        }
    }

    #[test]
    fn conditions_hold_for_the_rows_that_they_name() {
        let rows: Vec<(i64, Cell)> = (0..12).map(|id| (id, Cell::Int(10 * id))).collect();
        for (words, ids) in [
            ("", (0..12).collect::<Vec<_>>()),
            ("WHERE 1 = 1", (0..12).collect()),
            ("WHERE 1 = 2", vec![]),
            ("WHERE id = ?", vec![3]),
            ("WHERE id >= ? AND id < 6", vec![3, 4, 5]),
            ("WHERE value = 30", vec![3]),
            ("WHERE value % 20 = 10 AND id <= 3", vec![1, 3]),
            ("WHERE id > 10", vec![11]),
        ] {
            let statement = parse(&format!("SELECT id, value FROM t {words} ORDER BY id")).unwrap();
            let condition = statement.condition(&[Value::Int(3)]).unwrap();
            let range = condition.ids();
            let found = rows
                .iter()
                .filter(|(id, value)| range.contains(id) && condition.holds(*id, value));
            assert_eq!(found.map(|(id, _)| *id).collect::<Vec<_>>(), ids, "{words}");
        }
    }
}
