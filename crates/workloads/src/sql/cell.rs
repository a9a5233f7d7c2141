//! What one column of a loaded row is drawn by: an expression of the scripts' language, or a function around some that makes
//! what the language has no value for: text, decimals, dates, choices.
use super::lists::{Weighted, push_text};
use crate::rng::Random;
use crate::script::{Expression, Fault, Names, Node, Number, SyntaxError, Tree};
use bakeoff_model::options::nearest;
use bakeoff_model::row::RowBuf;
use bakeoff_model::value::{Civil, Decimal, Timestamp, Value};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

/// Of one value.
pub const TEXT_BYTES_MAX: i64 = 16 << 20;
const DAY_S: i64 = 86_400;
/// Digits after the point that a decimal of 64 bits has room for.
const SCALE_MAX: i64 = 18;

/// What an expression of a column may name.
pub struct Known<'a> {
    pub names: &'a Names,
    /// Rows of each table, for `rows('NAME')`.
    pub rows: &'a BTreeMap<String, u64>,
    pub lists: &'a BTreeMap<String, Arc<Weighted>>,
}

#[derive(Clone, Debug)]
pub enum Cell {
    Number(Expression),
    Constant(String),
    Text {
        least: Expression,
        most: Expression,
        /// Share of it that is one letter again and again.
        redundancy: f64,
    },
    /// A value between each two pieces.
    Format {
        pieces: Vec<String>,
        values: Vec<Expression>,
    },
    Weighted(Arc<Weighted>),
    Decimal {
        units: Expression,
        scale: u8,
    },
    Date {
        from: Timestamp,
        days: Expression,
    },
    Moment {
        from: Timestamp,
        seconds: Expression,
    },
    NullOr {
        probability: f64,
        value: Box<Cell>,
    },
}

/// Functions besides those of the language: name, fewest and most arguments, and how they are written.
const FUNCTIONS: [(&str, usize, usize, &str); 7] = [
    (
        "text",
        1,
        3,
        "text(length), text(least, most) or text(least, most, redundancy)",
    ),
    ("format", 1, 20, "format('customer {}', value, ...)"),
    ("weighted", 1, 1, "weighted('LIST')"),
    ("decimal", 2, 2, "decimal(units, scale)"),
    ("date", 2, 2, "date('2020-01-01', days)"),
    ("timestamp", 2, 2, "timestamp('2020-01-01 00:00:00', seconds)"),
    ("null_or", 2, 2, "null_or(0.1, value)"),
];

impl Cell {
    pub fn compile(tree: &Tree, known: &Known<'_>) -> Result<Self, SyntaxError> {
        let (name, arguments) = match &tree.node {
            Node::Text(text) => return Ok(Cell::Constant(text.clone())),
            Node::Call(name, arguments) => (name.as_str(), arguments.as_slice()),
            _ => ("", &[][..]),
        };
        let Some((_, least, most, form)) = FUNCTIONS.iter().find(|(known, ..)| *known == name) else {
            return known.expression(tree).map(Cell::Number);
        };
        if !(*least..=*most).contains(&arguments.len()) {
            let what = format!("`{name}` cannot have {} arguments", arguments.len());
            return Err(SyntaxError::new(tree.at, what, format!("it is written {form}")));
        }
        let text = |place: usize| match &arguments[place].node {
            Node::Text(text) => Ok(text.as_str()),
            _ => {
                let what = format!("`{name}` wants a text in single quotes here");
                Err(SyntaxError::new(
                    arguments[place].at,
                    what,
                    format!("it is written {form}"),
                ))
            }
        };
        let expression = |place: usize| known.expression(&arguments[place]);
        let share = |place: usize| known.constant(&arguments[place], 0.0, 1.0);
        Ok(match name {
            "text" => Cell::Text {
                least: expression(0)?,
                most: expression(usize::from(arguments.len() > 1))?,
                redundancy: if arguments.len() == 3 { share(2)? } else { 0.0 },
            },
            "format" => {
                let pieces: Vec<String> = text(0)?.split("{}").map(str::to_owned).collect();
                if pieces.len() != arguments.len() {
                    let what = format!(
                        "`format` has {} places {{}} and {} values",
                        pieces.len() - 1,
                        arguments.len() - 1
                    );
                    return Err(SyntaxError::new(tree.at, what, "each {} takes one value"));
                }
                let values: Result<_, _> = (1..arguments.len()).map(expression).collect();
                Cell::Format {
                    pieces,
                    values: values?,
                }
            }
            "weighted" => match known.lists.get(text(0)?) {
                Some(list) => Cell::Weighted(list.clone()),
                None => {
                    let names: Vec<&str> = known.lists.keys().map(String::as_str).collect();
                    let what = format!("there is no list `{}`", text(0)?);
                    let hint = match names.is_empty() {
                        true => "[workload.lists] names lists".to_owned(),
                        false => nearest(text(0)?, &names),
                    };
                    return Err(SyntaxError::new(arguments[0].at, what, hint));
                }
            },
            "decimal" => Cell::Decimal {
                units: expression(0)?,
                scale: known.constant(&arguments[1], 0.0, SCALE_MAX as f64)? as u8,
            },
            "date" => Cell::Date {
                from: moment(arguments[0].at, text(0)?)?,
                days: expression(1)?,
            },
            "timestamp" => Cell::Moment {
                from: moment(arguments[0].at, text(0)?)?,
                seconds: expression(1)?,
            },
            _ => Cell::NullOr {
                probability: share(0)?,
                value: Box::new(Cell::compile(&arguments[1], known)?),
            },
        })
    }

    /// Adds the cell to `row`. `text` is where text is written. An error says why there is no value.
    pub fn draw(
        &self,
        variables: &[Number],
        random: &mut Random,
        text: &mut Vec<u8>,
        row: &mut RowBuf,
    ) -> Result<(), &'static str> {
        let evaluate = |expression: &Expression, random: &mut Random| {
            expression.evaluate(variables, random).map_err(Fault::words)
        };
        let whole = |number: Number| number.int().map_err(Fault::words);
        text.clear();
        match self {
            Cell::Number(expression) => row.push(match evaluate(expression, random)? {
                Number::Null => Value::Null,
                Number::Bool(value) => Value::Bool(value),
                Number::Int(value) => Value::Int(value),
                Number::Double(value) => Value::Float(value),
            }),
            Cell::Constant(value) => row.push(Value::Text(value.as_bytes())),
            Cell::Text {
                least,
                most,
                redundancy,
            } => {
                let least = whole(evaluate(least, random)?)?;
                let most = whole(evaluate(most, random)?)?;
                if least < 0 || most < least {
                    return Err("a text would be shorter than nothing, or shorter than its least length");
                }
                if most > TEXT_BYTES_MAX {
                    return Err("a text is longer than 16 MiB");
                }
                let length = least + random.below((most - least) as u64 + 1) as i64;
                push_text(length as usize, *redundancy, random, text);
                row.push(Value::Text(text));
            }
            Cell::Format { pieces, values } => {
                for (place, piece) in pieces.iter().enumerate() {
                    if let Some(value) = place.checked_sub(1).and_then(|before| values.get(before)) {
                        // Memory does not fail to be written to.
                        let _ = write!(text, "{}", evaluate(value, random)?);
                    }
                    text.extend_from_slice(piece.as_bytes());
                }
                row.push(Value::Text(text));
            }
            Cell::Weighted(list) => row.push(Value::Text(list.draw(random).as_bytes())),
            Cell::Decimal { units, scale } => {
                let units = whole(evaluate(units, random)?)?;
                row.push(Value::Decimal(Decimal { units, scale: *scale }));
            }
            Cell::Date { from, days } => {
                let Civil { year, month, day, .. } = later(*from, whole(evaluate(days, random)?)?, DAY_S)?;
                let _ = write!(text, "{year:04}-{month:02}-{day:02}");
                row.push(Value::Text(text));
            }
            Cell::Moment { from, seconds } => {
                let civil = later(*from, whole(evaluate(seconds, random)?)?, 1)?;
                let Civil { year, month, day, .. } = civil;
                let Civil {
                    hour, minute, second, ..
                } = civil;
                let _ = write!(
                    text,
                    "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
                );
                row.push(Value::Text(text));
            }
            Cell::NullOr { probability, value } => {
                if random.unit() < *probability {
                    row.push(Value::Null);
                } else {
                    return value.draw(variables, random, text, row);
                }
            }
        }
        Ok(())
    }
}

impl Known<'_> {
    /// With `rows('NAME')` as the number that it is.
    pub fn expression(&self, tree: &Tree) -> Result<Expression, SyntaxError> {
        Expression::of(&self.counted(tree)?, self.names)
    }

    fn counted(&self, tree: &Tree) -> Result<Tree, SyntaxError> {
        let all = |trees: &[Tree]| -> Result<Vec<Tree>, SyntaxError> {
            trees.iter().map(|tree| self.counted(tree)).collect()
        };
        let node = match &tree.node {
            Node::Call(name, arguments) if name == "rows" => {
                let [
                    Tree {
                        node: Node::Text(table),
                        ..
                    },
                ] = arguments.as_slice()
                else {
                    return Err(SyntaxError::new(
                        tree.at,
                        "`rows` wants the name of a table",
                        "it is written rows('customers')",
                    ));
                };
                let Some(rows) = self.rows.get(table) else {
                    let tables: Vec<&str> = self.rows.keys().map(String::as_str).collect();
                    let what = format!("no rows are loaded into `{table}`");
                    return Err(SyntaxError::new(tree.at, what, nearest(table, &tables)));
                };
                Node::Constant(Number::Int(*rows as i64))
            }
            Node::Call(name, arguments) => Node::Call(name.clone(), all(arguments)?),
            Node::Operator(function, arguments) => Node::Operator(*function, all(arguments)?),
            Node::And(both) => Node::And(Box::new([self.counted(&both[0])?, self.counted(&both[1])?])),
            Node::Or(both) => Node::Or(Box::new([self.counted(&both[0])?, self.counted(&both[1])?])),
            Node::Case(parts) => Node::Case(all(parts)?),
            other => other.clone(),
        };
        Ok(Tree { at: tree.at, node })
    }

    fn constant(&self, tree: &Tree, least: f64, most: f64) -> Result<f64, SyntaxError> {
        let value = self.expression(tree)?.constant().map(Number::double);
        match value {
            Some(Ok(value)) if (least..=most).contains(&value) => Ok(value),
            _ => {
                let hint = format!("it is the same in every row: a number from {least} to {most}");
                Err(SyntaxError::new(tree.at, "this number cannot vary by row", hint))
            }
        }
    }
}

/// A date, or a date and a time of day.
fn moment(at: usize, text: &str) -> Result<Timestamp, SyntaxError> {
    let (date, time) = text.split_once(' ').unwrap_or((text, "00:00:00"));
    let numbers = |text: &str, sign: char| -> Option<[u32; 3]> {
        let parts: Option<Vec<u32>> = text.split(sign).map(|part| part.parse().ok()).collect();
        parts?.try_into().ok()
    };
    let found = numbers(date, '-').zip(numbers(time, ':'));
    let found = found.and_then(|([year, month, day], [hour, minute, second])| {
        Timestamp::from_civil(Civil {
            year: i32::try_from(year).ok()?,
            month: u8::try_from(month).ok()?,
            day: u8::try_from(day).ok()?,
            hour: u8::try_from(hour).ok()?,
            minute: u8::try_from(minute).ok()?,
            second: u8::try_from(second).ok()?,
            us: 0,
        })
    });
    found.ok_or_else(|| {
        let what = format!("there is no moment '{text}'");
        SyntaxError::new(at, what, "it is written '2020-01-31' or '2020-01-31 23:59:59'")
    })
}

/// Years that every system has.
const YEARS: std::ops::RangeInclusive<i32> = 1000..=9999;

fn later(from: Timestamp, count: i64, unit_s: i64) -> Result<Civil, &'static str> {
    let us = count
        .checked_mul(unit_s)
        .and_then(|seconds| seconds.checked_mul(1_000_000))
        .and_then(|us| us.checked_add(from.us));
    let civil = us.map(|us| Timestamp { us }.civil());
    civil
        .filter(|civil| YEARS.contains(&civil.year))
        .ok_or("a moment is beyond the years from 1000 to 9999")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::parse;

    fn compile(text: &str) -> Result<Cell, SyntaxError> {
        let mut names = Names::default();
        names.bare = true;
        names.add("row");
        let file = Some(bakeoff_model::run::sql::TextFile {
            name: "regions.txt".into(),
            text: "north,1\n".into(),
        });
        let list = bakeoff_model::run::sql::List {
            file,
            ..Default::default()
        };
        let known = Known {
            names: &names,
            rows: &BTreeMap::from([("customers".to_owned(), 7)]),
            lists: &BTreeMap::from([(
                "regions".into(),
                Arc::new(Weighted::new("regions", &list).unwrap()),
            )]),
        };
        parse(text).and_then(|tree| Cell::compile(&tree, &known))
    }

    /// In row 3.
    fn drawn(text: &str) -> Result<String, &'static str> {
        let variables = [0, 1, 1, 1, 3].map(Number::Int);
        let mut row = RowBuf::default();
        let cell = compile(text).unwrap();
        cell.draw(&variables, &mut Random::new(5), &mut vec![], &mut row)?;
        assert_eq!(row.len(), 1, "{text}");
        Ok(row.cell(0).unwrap().to_string())
    }

    #[test]
    fn a_column_is_an_expression_or_a_function_around_some() {
        for (text, value) in [
            ("row", "3"),
            (":row * 2 + rows('customers')", "13"),
            ("null", "NULL"),
            ("row > 2", "true"),
            ("row / 2.0", "1.5"),
            ("'fixed'", "fixed"),
            ("format('a {} b {}', row, random(5, 5))", "a 3 b 5"),
            ("weighted('regions')", "north"),
            ("decimal(1999 + row, 2)", "20.02"),
            ("date('2020-02-27', row)", "2020-03-01"),
            ("timestamp('2020-01-01', 86400 * row - 1)", "2020-01-03 23:59:59"),
            ("timestamp('2020-01-01 12:00:00', 0)", "2020-01-01 12:00:00"),
            ("null_or(1, 'never')", "NULL"),
            ("null_or(0, 'always')", "always"),
            ("text(0)", ""),
        ] {
            assert_eq!(drawn(text).as_deref(), Ok(value), "{text}");
        }
        assert_eq!(drawn("text(20)").unwrap().len(), 20);
        assert!((4..=8).contains(&drawn("text(4, 8, 0.5)").unwrap().len()));
    }

    #[test]
    fn what_cannot_be_a_column_is_refused_with_its_place() {
        for (text, at, what) in [
            ("text()", 0, "`text` cannot have 0 arguments"),
            (
                "weighted(row)",
                9,
                "`weighted` wants a text in single quotes here",
            ),
            ("weighted('region')", 9, "there is no list `region`"),
            ("1 + rows('custmers')", 4, "no rows are loaded into `custmers`"),
            ("null_or(2, 1)", 8, "this number cannot vary by row"),
            ("decimal(1, row)", 11, "this number cannot vary by row"),
            ("date('2020-02-30', 1)", 5, "there is no moment '2020-02-30'"),
            ("format('{} {}', 1)", 0, "`format` has 2 places {} and 1 values"),
            ("1 + text(3)", 4, "there is no function `text`"),
            ("rwo", 0, "nothing sets the variable `rwo`"),
        ] {
            let error = compile(text).unwrap_err();
            assert_eq!((error.at, error.what.as_str()), (at, what), "{text}");
            assert!(!error.hint.is_empty(), "{text}");
        }
    }

    #[test]
    fn a_value_that_cannot_be_is_no_panic() {
        for text in [
            "text(-1)",
            "text(4, 3)",
            "text(1000000000)",
            "date('9999-12-31', 1)",
            "timestamp('2020-01-01', 9223372036854775807)",
            "decimal(true, 2)",
            "1 / 0",
        ] {
            assert!(drawn(text).is_err(), "{text}");
        }
    }
}
