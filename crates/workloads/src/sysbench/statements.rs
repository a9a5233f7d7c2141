//! The statements' texts, and asking them: prepared, or with the values written into the text.
//!
//! Every session prepares the same statements in the same order when it is attached, so their numbers are arithmetic
//! and the same in all of them: table by table, and of each table the kinds in the script's order.
use super::random::{C_BYTES, PAD_BYTES};
use super::steps::{Kind, Script};
use crate::prelude::*;
use bakeoff_model::run::sysbench::{PreparedMode, SysbenchScript, SysbenchSpec};

/// Digits and sign.
const LONGEST_NUMBER: usize = 20;

/// The SQL of one kind, cut where the table's number and then each value belongs.
#[derive(Clone, Debug, Default)]
struct Form(Vec<&'static str>);

#[derive(Clone, Debug)]
pub struct Statements {
    /// By kind.
    forms: [Form; Kind::COUNT],
    /// Kinds that are prepared, for each table; empty where values are written into the text.
    prepared: Vec<Kind>,
    /// By kind: its place in `prepared`.
    places: [u32; Kind::COUNT],
    tables: u32,
}

impl Statements {
    pub fn new(spec: &SysbenchSpec, script: &Script) -> Self {
        let prepared: Vec<Kind> = match spec.db_ps_mode {
            PreparedMode::Disable => vec![],
            // The original writes this one's values into its text in either mode.
            PreparedMode::Auto if spec.script == SysbenchScript::OltpInsert => vec![],
            PreparedMode::Auto => script
                .groups
                .iter()
                .map(|group| group.kind)
                .chain(script.puts_back.then_some(Kind::Insert))
                .collect(),
        };
        let mut places = [0; Kind::COUNT];
        for (place, kind) in prepared.iter().enumerate() {
            places[*kind as usize] = place as u32;
        }
        Self {
            forms: forms(spec),
            prepared,
            places,
            tables: spec.tables,
        }
    }

    /// Prepares what the script needs; a session of its own numbers.
    pub async fn prepare(&self, session: &mut AnySql) -> Result<(), OpError> {
        for table in 1..=self.tables {
            for kind in &self.prepared {
                let sql = self.forms[*kind as usize].prepared(table, session.dialect());
                let ask = match kind.writes() {
                    true => Ask::write(&sql),
                    false => Ask::read(&sql),
                };
                let statement = session.prepare(&ask).await?;
                if statement != self.number(*kind, table) {
                    let message =
                        "statements were prepared in this session before the workload attached to it";
                    return Err(OpError::fail(FailClass::Other, "ATTACH", message).with_statement(sql));
                }
            }
        }
        Ok(())
    }

    #[inline]
    pub fn number(&self, kind: Kind, table: u32) -> Statement {
        Statement((table - 1) * self.prepared.len() as u32 + self.places[kind as usize])
    }

    /// Bytes of the longest statement with its values; 0 where they are prepared.
    pub fn longest_text(&self) -> usize {
        let own = |form: &Form| {
            form.0
                .iter()
                .map(|piece| piece.len() + LONGEST_NUMBER)
                .sum::<usize>()
        };
        match self.prepared.is_empty() {
            true => self.forms.iter().map(own).max().unwrap_or(0) + C_BYTES + PAD_BYTES + 4,
            false => 0,
        }
    }

    /// Rows that came; `text` is where a statement is written.
    #[inline]
    pub async fn query(
        &self,
        session: &mut AnySql,
        text: &mut String,
        (kind, table): (Kind, u32),
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        if self.prepared.is_empty() {
            session
                .query_text(self.written(text, kind, table, params), each)
                .await
        } else {
            session.query(self.number(kind, table), params, each).await
        }
    }

    #[inline]
    pub async fn execute(
        &self,
        session: &mut AnySql,
        text: &mut String,
        (kind, table): (Kind, u32),
        params: &[Value<'_>],
    ) -> Result<Done, OpError> {
        if self.prepared.is_empty() {
            session
                .execute_text(self.written(text, kind, table, params))
                .await
        } else {
            session.execute(self.number(kind, table), params).await
        }
    }

    /// About 20 ns and a few for each value; allocates only while `text` grows to its longest.
    #[inline]
    pub fn written<'a>(&self, text: &'a mut String, kind: Kind, table: u32, params: &[Value<'_>]) -> &'a str {
        let mut digits = itoa::Buffer::new();
        text.clear();
        let mut pieces = self.forms[kind as usize].0.iter();
        text.push_str(pieces.next().copied().unwrap_or_default());
        text.push_str(digits.format(table));
        for (i, piece) in pieces.enumerate() {
            text.push_str(piece);
            match params.get(i) {
                Some(Value::Int(value)) => text.push_str(digits.format(*value)),
                Some(Value::Text(value) | Value::Bytes(value)) => {
                    text.push('\'');
                    // Digits and dashes: nothing to escape.
                    text.push_str(std::str::from_utf8(value).unwrap_or_default());
                    text.push('\'');
                }
                Some(Value::Null) => text.push_str("NULL"),
                _ => {}
            }
        }
        text
    }
}

impl Form {
    fn prepared(&self, table: u32, dialect: &Dialect) -> String {
        let mut sql = self.0[0].to_owned();
        sql.push_str(&table.to_string());
        for (i, piece) in self.0[1..].iter().enumerate() {
            if i > 0 {
                sql.push_str(&dialect.placeholder(i));
            }
            sql.push_str(piece);
        }
        sql
    }
}

fn forms(spec: &SysbenchSpec) -> [Form; Kind::COUNT] {
    let mut forms: [Form; Kind::COUNT] = Default::default();
    let range =
        |select: &'static str, order: &'static str| vec![select, " WHERE id BETWEEN ", " AND ", order];
    let mut set = |kind: Kind, pieces: Vec<&'static str>| forms[kind as usize] = Form(pieces);
    set(Kind::PointSelect, vec!["SELECT c FROM sbtest", " WHERE id=", ""]);
    set(Kind::SimpleRange, range("SELECT c FROM sbtest", ""));
    set(Kind::SumRange, range("SELECT SUM(k) FROM sbtest", ""));
    set(Kind::OrderRange, range("SELECT c FROM sbtest", " ORDER BY c"));
    set(
        Kind::DistinctRange,
        range("SELECT DISTINCT c FROM sbtest", " ORDER BY c"),
    );
    set(
        Kind::IndexUpdate,
        vec!["UPDATE sbtest", " SET k=k+1 WHERE id=", ""],
    );
    set(
        Kind::NonIndexUpdate,
        vec!["UPDATE sbtest", " SET c=", " WHERE id=", ""],
    );
    set(Kind::Delete, vec!["DELETE FROM sbtest", " WHERE id=", ""]);
    set(
        Kind::Insert,
        vec![
            "INSERT INTO sbtest",
            " (id, k, c, pad) VALUES (",
            ", ",
            ", ",
            ", ",
            ")",
        ],
    );
    set(
        Kind::InsertWithoutId,
        vec!["INSERT INTO sbtest", " (k, c, pad) VALUES (", ", ", ", ", ")"],
    );
    let mut points = vec!["SELECT id, k, c, pad FROM sbtest", " WHERE k IN ("];
    points.extend(std::iter::repeat_n(", ", spec.random_points as usize - 1));
    points.push(")");
    set(Kind::RandomPoints, points);
    let mut ranges = vec!["SELECT count(k) FROM sbtest"];
    for number in 0..spec.number_of_ranges {
        ranges.push(if number == 0 {
            " WHERE k BETWEEN "
        } else {
            " OR k BETWEEN "
        });
        ranges.push(" AND ");
    }
    ranges.push("");
    set(Kind::RandomRanges, ranges);
    forms
}
