//! Transfers between accounts, and transactions that read all of them in two statements: money moves, and its total stays.
use super::{Bank, Kind, Level, Sufficiency};
use crate::shared::found;
use bakeoff_histories::History;
use bakeoff_histories::bank::judge;
use bakeoff_histories::record::{Answer, MicroOp};
use bakeoff_model::any::AnySql;
use bakeoff_model::outcome::OpError;
use bakeoff_model::random::SplitMix64;
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::{Ask, SqlSession, Statement};
use bakeoff_model::value::Value;

const TABLE: &str = "bakeoff_bank";
const BANK: Bank = Bank {
    accounts: 8,
    balance: 100,
};

/// relative: the system adds and subtracts; else the session writes what it has computed.
pub struct Transfers {
    pub relative: bool,
}

pub struct Prepared {
    read: Statement,
    read_half: Statement,
    add: Statement,
    write: Statement,
}

impl Kind for Transfers {
    type Prepared = Prepared;

    fn name(&self) -> &'static str {
        match self.relative {
            true => "bank_relative",
            false => "bank_read_modify_write",
        }
    }

    fn rows(&self) -> (&'static str, Vec<String>, u64) {
        let rows: Vec<String> = (0..BANK.accounts)
            .map(|id| format!("({id}, {})", BANK.balance))
            .collect();
        let insert = format!("INSERT INTO {TABLE} (id, value) VALUES {}", rows.join(", "));
        ("value BIGINT NOT NULL", vec![insert], BANK.accounts as u64)
    }

    fn table(&self) -> &'static str {
        TABLE
    }

    async fn prepare(&self, session: &mut AnySql) -> Result<Prepared, OpError> {
        let dialect = session.dialect();
        let (first, second) = (dialect.placeholder(1), dialect.placeholder(2));
        let read = format!("SELECT id, value FROM {TABLE} WHERE id = {first}");
        let half = format!("SELECT id, value FROM {TABLE} WHERE id >= {first} AND id < {second}");
        let add = format!("UPDATE {TABLE} SET value = value + {first} WHERE id = {second}");
        let write = format!("UPDATE {TABLE} SET value = {first} WHERE id = {second}");
        Ok(Prepared {
            read: session.prepare(&Ask::read(&read)).await?,
            read_half: session.prepare(&Ask::read(&half)).await?,
            add: session.prepare(&Ask::write(&add)).await?,
            write: session.prepare(&Ask::write(&write)).await?,
        })
    }

    /// Two transfers to one reading.
    fn draw(&self, random: &mut SplitMix64) -> Option<Vec<MicroOp>> {
        let accounts = BANK.accounts as u64;
        if random.one_in(3) {
            return Some((0..accounts).map(MicroOp::Unanswered).collect());
        }
        let from = random.below(accounts);
        let to = (from + 1 + random.below(accounts - 1)) % accounts;
        let amount = 1 + random.below(5) as i64;
        Some(match self.relative {
            true => vec![MicroOp::Add(from, -amount), MicroOp::Add(to, amount)],
            // The amounts stand for what will have been read plus them.
            false => vec![
                MicroOp::Unanswered(from),
                MicroOp::Unanswered(to),
                MicroOp::Write(from, -amount),
                MicroOp::Write(to, amount),
            ],
        })
    }

    async fn execute(
        &self,
        session: &mut AnySql,
        prepared: &Prepared,
        ops: &mut Vec<MicroOp>,
    ) -> Result<(), OpError> {
        if ops.len() == BANK.accounts {
            ops.clear();
            let middle = BANK.accounts as i64 / 2;
            for (from, to) in [(0, middle), (middle, 2 * middle)] {
                let params = [Value::Int(from), Value::Int(to)];
                read(session, prepared.read_half, &params, ops).await?;
            }
            return Ok(());
        }
        let mut balances = vec![];
        for op in ops.iter_mut() {
            match *op {
                MicroOp::Add(account, amount) => {
                    let params = [Value::Int(amount), Value::Int(account as i64)];
                    found(session.execute(prepared.add, &params).await?.affected)?;
                }
                MicroOp::Unanswered(account) => {
                    read(
                        session,
                        prepared.read,
                        &[Value::Int(account as i64)],
                        &mut balances,
                    )
                    .await?;
                    *op = balances
                        .last()
                        .cloned()
                        .unwrap_or(MicroOp::Read(account, Answer::Nothing));
                }
                MicroOp::Write(account, amount) => {
                    let balance = amount + balance_of(&balances, account);
                    *op = MicroOp::Write(account, balance);
                    let params = [Value::Int(balance), Value::Int(account as i64)];
                    found(session.execute(prepared.write, &params).await?.affected)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    async fn read_all(&self, session: &mut AnySql) -> Result<Vec<MicroOp>, OpError> {
        let all = format!("SELECT id, value FROM {TABLE} ORDER BY id");
        let statement = session.prepare(&Ask::read(&all)).await?;
        let mut ops = vec![];
        read(session, statement, &[], &mut ops).await?;
        Ok(ops)
    }

    fn judge(&self, history: &History, claim: Option<Level>) -> Result<serde_json::Value, String> {
        serde_json::to_value(judge(history, BANK, claim)).map_err(|error| error.to_string())
    }

    fn sufficiency(&self, history: &History) -> Option<Sufficiency> {
        Some(judge(history, BANK, None).sufficiency())
    }
}

fn balance_of(read: &[MicroOp], account: u64) -> i64 {
    let balance = |op: &MicroOp| match op {
        MicroOp::Read(of, Answer::Value(balance)) if *of == account => Some(*balance),
        _ => None,
    };
    read.iter().find_map(balance).unwrap_or(0)
}

async fn read(
    session: &mut AnySql,
    statement: Statement,
    params: &[Value<'_>],
    ops: &mut Vec<MicroOp>,
) -> Result<(), OpError> {
    let mut each = |row: &RowBuf| {
        let cell = |index| row.cell(index).and_then(Value::whole_number);
        let answer = cell(1).map_or(Answer::Nothing, Answer::Value);
        ops.push(MicroOp::Read(cell(0).unwrap_or(-1) as u64, answer));
    };
    session.query(statement, params, &mut each).await.map(drop)
}
