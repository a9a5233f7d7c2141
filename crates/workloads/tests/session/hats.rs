//! The SQL session of a shop: keeps its orders, in memory taken beforehand.
use bakeoff_workloads::prelude::*;

const ROOM: usize = 1000;
const WORDS: [&[u8]; 4] = [b"ORDERED", b"DISPATCHED", b"OUT_FOR_DELIVERY", b"DELIVERED"];

/// What is kept of an order.
#[derive(Clone, Copy)]
struct Kept {
    id: [u8; 36],
    status: usize,
    sub_total: Value<'static>,
    lines: u64,
    sum_cents: i64,
}

pub struct Hats {
    prepared: Vec<String>,
    orders: Vec<Kept>,
    row: RowBuf,
}

impl Hats {
    pub fn new() -> Self {
        Self {
            prepared: vec![],
            orders: Vec::with_capacity(ROOM),
            row: RowBuf::default(),
        }
    }

    fn place(&self, id: Value<'_>) -> Option<usize> {
        let id = id.bytes();
        self.orders.iter().position(|order| Some(&order.id[..]) == id)
    }

    fn insert(&mut self, order: &[Value<'_>]) {
        self.orders.push(Kept {
            id: order[0]
                .bytes()
                .and_then(|id| id.try_into().ok())
                .unwrap_or([0; 36]),
            status: 0,
            sub_total: money(order[4]),
            lines: 0,
            sum_cents: 0,
        });
    }

    fn insert_line(&mut self, line: &[Value<'_>]) {
        if let (Some(place), Value::Decimal(price)) = (self.place(line[0]), line[6]) {
            self.orders[place].lines += 1;
            self.orders[place].sum_cents += price.units;
        }
    }
}

fn money(value: Value<'_>) -> Value<'static> {
    match value {
        Value::Decimal(value) => Value::Decimal(value),
        _ => Value::Null,
    }
}

impl SqlSession for Hats {
    fn dialect(&self) -> &'static Dialect {
        &super::sql::DIALECT
    }
    async fn prepare(&mut self, ask: &Ask<'_>) -> Result<Statement, OpError> {
        self.prepared.push(ask.sql.into());
        Ok(Statement(self.prepared.len() as u32 - 1))
    }
    async fn execute(&mut self, statement: Statement, params: &[Value<'_>]) -> Result<Done, OpError> {
        let sql = std::mem::take(&mut self.prepared[statement.0 as usize]);
        let key = params[params.len() - 1];
        let affected = match &*sql {
            insert if insert.starts_with("INSERT INTO orders") => {
                self.insert(params);
                1
            }
            insert if insert.starts_with("INSERT INTO line_items") => {
                params.chunks(7).for_each(|line| self.insert_line(line));
                params.len() as u64 / 7
            }
            lines if lines.starts_with("DELETE FROM line_items") => self
                .place(key)
                .map_or(0, |place| std::mem::take(&mut self.orders[place].lines)),
            order if order.starts_with("DELETE FROM orders") => self
                .place(key)
                .map(|place| self.orders.swap_remove(place))
                .is_some()
                .into(),
            order if order.starts_with("UPDATE orders") => match self.place(key) {
                Some(place) => {
                    let status = WORDS.iter().position(|word| params[1].bytes() == Some(word));
                    self.orders[place].status = status.unwrap_or(0);
                    1
                }
                None => 0,
            },
            // The statement may name only a line's own id.
            _ => 1,
        };
        self.prepared[statement.0 as usize] = sql;
        Ok(Done {
            affected: Some(affected),
            insert_id: None,
        })
    }
    async fn query(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let Some(order) = self.place(params[0]).map(|place| self.orders[place]) else {
            return Ok(0);
        };
        let is_order = self.prepared[statement.0 as usize].contains("FROM orders");
        let rows = if is_order { 1 } else { order.lines };
        for number in 0..rows {
            self.row.clear();
            (0..3).for_each(|_| self.row.push(Value::Null));
            self.row.push(Value::Text(WORDS[order.status]));
            self.row.push(order.sub_total);
            self.row.push(Value::Null);
            // The whole sum in the first line.
            let units = if number == 0 { order.sum_cents } else { 0 };
            self.row.push(Value::Decimal(Decimal { units, scale: 2 }));
            each(&self.row);
        }
        Ok(rows)
    }
    async fn query_one(&mut self, _: Statement, _: &[Value<'_>]) -> Result<Option<&RowBuf>, OpError> {
        Ok(None)
    }
    async fn execute_text(&mut self, _: &str) -> Result<Done, OpError> {
        Ok(Done::default())
    }
    async fn query_text(&mut self, _: &str, _: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError> {
        Ok(0)
    }
    async fn bulk_insert(
        &mut self,
        table: &str,
        _: &[&str],
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        let (mut row, mut rows) = (RowBuf::default(), 0);
        while next(&mut row) {
            let cells: Vec<Value<'_>> = row.cells().collect();
            match table {
                "orders" => self.insert(&cells),
                _ => self.insert_line(&cells),
            }
            row.clear();
            rows += 1;
        }
        Ok(rows)
    }
}

impl Transactional for Hats {
    async fn begin(&mut self, _: Access) -> Result<(), OpError> {
        Ok(())
    }
    async fn commit(&mut self) -> Result<(), OpError> {
        Ok(())
    }
    async fn rollback(&mut self) -> Result<(), OpError> {
        Ok(())
    }
}
