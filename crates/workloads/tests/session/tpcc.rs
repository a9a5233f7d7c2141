//! The SQL session of TPC-C: every statement finds its rows, unless the test says otherwise.
use bakeoff_workloads::prelude::*;

const ITEMS: i64 = 100_000;
pub const NEXT_ORDER: i64 = 3001;

#[derive(Default)]
pub struct Warehouse {
    /// Statements by their beginnings.
    prepared: Vec<&'static str>,
    /// With their values, begin, commit and rollback among them; `None`: nobody wants to know.
    pub asked: Option<Vec<String>>,
    /// A statement that begins so fails, once.
    pub failing: Option<(&'static str, OpError)>,
    /// A statement that begins so finds nothing.
    pub absent: Option<&'static str>,
    /// Customers of a name, less three: their ids are 10, 20, 30, ...
    pub namesakes_beyond_three: i64,
    row: RowBuf,
}

/// Beginnings that tell statements apart.
const BEGINNINGS: [&str; 25] = [
    "SELECT w_tax",
    "UPDATE district SET d_next_o_id",
    "INSERT INTO orders",
    "INSERT INTO new_orders",
    "SELECT i_id",
    "SELECT s_i_id",
    "UPDATE stock",
    "INSERT INTO order_line",
    "UPDATE warehouse",
    "UPDATE district SET d_ytd",
    "SELECT c_id",
    "SELECT w_name",
    "SELECT c_data",
    "UPDATE customer",
    "INSERT INTO history",
    "SELECT o_id",
    "SELECT ol_i_id",
    "SELECT * FROM (SELECT no_d_id",
    "DELETE FROM new_orders",
    "SELECT o_d_id",
    "UPDATE orders",
    "SELECT ol_d_id",
    "UPDATE order_line",
    "SELECT d_next_o_id",
    "SELECT COUNT(DISTINCT s_i_id)",
];

impl Warehouse {
    pub fn telling() -> Self {
        Self {
            asked: Some(Vec::new()),
            ..Self::default()
        }
    }

    fn ask(&mut self, beginning: &'static str, params: &[Value<'_>]) -> Result<(), OpError> {
        if let Some(asked) = &mut self.asked {
            let values: Vec<String> = params.iter().map(Value::to_string).collect();
            asked.push(format!("{beginning}: {}", values.join(" ")));
        }
        match self.failing.take_if(|(failing, _)| *failing == beginning) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    fn answer(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let beginning = self.prepared[statement.0 as usize];
        self.ask(beginning, params)?;
        if self.absent == Some(beginning) {
            return Ok(0);
        }
        let money = |units| Value::Decimal(Decimal { units, scale: 2 });
        let rate = |units| Value::Decimal(Decimal { units, scale: 4 });
        let text = Value::Text(b"abcdefghijklmnopqrstuvwx");
        let mut rows = 0;
        let mut tell = |cells: &[Value<'_>]| {
            self.row.clear();
            cells.iter().for_each(|cell| self.row.push(*cell));
            rows += 1;
            each(&self.row);
        };
        let more = self.namesakes_beyond_three;
        let districts = (1..=10).map(Value::Int);
        match beginning {
            "SELECT w_tax" => tell(&[rate(1_000), rate(500), rate(1_000), text, Value::Text(b"GC")]),
            "UPDATE district SET d_next_o_id" => tell(&[Value::Int(NEXT_ORDER)]),
            "SELECT i_id" => distinct(params, |id| tell(&[Value::Int(id), money(1_000), text, text])),
            "SELECT s_i_id" => distinct(&params[2..], |id| {
                tell(&[Value::Int(id), Value::Int(50), text, text])
            }),
            "SELECT c_id" => (1..=3 + more).for_each(|id| tell(&[Value::Int(10 * id)])),
            "SELECT w_name" => tell(&[text, text, Value::Text(b"BC"), money(-1_000)]),
            "SELECT c_data" => tell(&[Value::Text(&[b'x'; 500])]),
            "SELECT o_id" => tell(&[Value::Int(3_000), Value::Int(10)]),
            "SELECT ol_i_id" => (0..10).for_each(|_| tell(&[Value::Int(1)])),
            "SELECT * FROM (SELECT no_d_id" => districts.for_each(|d| tell(&[d, Value::Int(2_101)])),
            "SELECT o_d_id" => districts.for_each(|d| tell(&[d, Value::Int(7)])),
            "SELECT ol_d_id" => districts.for_each(|d| tell(&[d, money(12_345), Value::Int(10)])),
            "SELECT d_next_o_id" => tell(&[Value::Int(NEXT_ORDER)]),
            "SELECT COUNT(DISTINCT s_i_id)" => tell(&[Value::Int(3)]),
            other => panic!("{other} has no rows"),
        }
        Ok(rows)
    }
}

/// Each id that there is, once; equal ones follow each other or stand at the end.
fn distinct(params: &[Value<'_>], mut each: impl FnMut(i64)) {
    for (place, param) in params.iter().enumerate() {
        let Value::Int(id) = *param else {
            panic!("{param:?}")
        };
        if id <= ITEMS && !params[..place].contains(param) {
            each(id);
        }
    }
}

impl SqlSession for Warehouse {
    fn dialect(&self) -> &'static Dialect {
        &super::sql::DIALECT
    }
    async fn prepare(&mut self, ask: &Ask<'_>) -> Result<Statement, OpError> {
        let mut known = BEGINNINGS.iter();
        self.prepared
            .extend(known.find(|beginning| ask.sql.starts_with(**beginning)));
        Ok(Statement(self.prepared.len() as u32 - 1))
    }
    async fn execute(&mut self, statement: Statement, params: &[Value<'_>]) -> Result<Done, OpError> {
        let beginning = self.prepared[statement.0 as usize];
        self.ask(beginning, params)?;
        let rows = match beginning {
            _ if self.absent == Some(beginning) => 0,
            "INSERT INTO order_line" => params.len() as u64 / 9,
            "DELETE FROM new_orders" | "UPDATE orders" => 10,
            "UPDATE order_line" => 100,
            _ => 1,
        };
        Ok(Done {
            affected: Some(rows),
            insert_id: None,
        })
    }
    async fn query(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        self.answer(statement, params, each)
    }
    async fn query_one(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
    ) -> Result<Option<&RowBuf>, OpError> {
        let rows = self.answer(statement, params, &mut |_| {})?;
        Ok((rows == 1).then_some(&self.row))
    }
    async fn execute_text(&mut self, sql: &str) -> Result<Done, OpError> {
        panic!("{sql} is not prepared");
    }
    async fn query_text(&mut self, sql: &str, _: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError> {
        panic!("{sql} is not prepared");
    }
    async fn bulk_insert(
        &mut self,
        table: &str,
        _: &[&str],
        _: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        panic!("{table} is full");
    }
}

impl Transactional for Warehouse {
    async fn begin(&mut self, access: Access) -> Result<(), OpError> {
        self.ask(
            if access.read_only {
                "BEGIN READ ONLY"
            } else {
                "BEGIN"
            },
            &[],
        )
    }
    async fn commit(&mut self) -> Result<(), OpError> {
        self.ask("COMMIT", &[])
    }
    async fn rollback(&mut self) -> Result<(), OpError> {
        self.ask("ROLLBACK", &[])
    }
}
