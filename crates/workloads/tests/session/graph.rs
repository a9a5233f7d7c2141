//! The SQL session of a graph: every requested node and link exists, unless the test says otherwise.
use bakeoff_model::sql::Upsert;
use bakeoff_workloads::prelude::*;

const COUNTING_CHANGES: Dialect = Dialect {
    name: "graph",
    quote: ('`', '`'),
    for_update: " FOR UPDATE",
    upsert: Upsert::OnDuplicateKey,
    upsert_tells: true,
    max_params: 1000,
    ..Dialect::STANDARD
};
static ON_DUPLICATE_KEY: Dialect = COUNTING_CHANGES;
static ON_CONFLICT: Dialect = Dialect {
    upsert: Upsert::OnConflict,
    upsert_tells: false,
    ..COUNTING_CHANGES
};

pub struct YesGraph {
    dialect: &'static Dialect,
    prepared: Vec<String>,
    /// Texts of statements, begin and commit among them, if they are to be kept.
    pub asked: Option<Vec<String>>,
    /// What storing a link changes.
    pub stored: u64,
    /// Of the link that is locked; `None`: it is not there.
    pub visibility: Option<i64>,
    /// Rows of a list, each a millisecond older than the one before.
    pub listed: i64,
    row: RowBuf,
}

impl YesGraph {
    pub fn new(upsert: Upsert) -> Self {
        Self {
            dialect: match upsert {
                Upsert::OnDuplicateKey | Upsert::OnDuplicateKeyOrIgnore => &ON_DUPLICATE_KEY,
                Upsert::OnConflict | Upsert::Insert => &ON_CONFLICT,
            },
            prepared: vec![],
            asked: None,
            stored: 1,
            visibility: Some(1),
            listed: 4,
            row: RowBuf::default(),
        }
    }

    fn note(&mut self, text: &str) {
        if let Some(asked) = &mut self.asked {
            asked.push(text.to_owned());
        }
    }

    fn text(&mut self, statement: Statement) -> &str {
        let place = statement.0 as usize;
        if let Some(asked) = &mut self.asked {
            asked.push(self.prepared[place].clone());
        }
        &self.prepared[place]
    }

    fn link(&mut self, id1: Value<'_>, id2: Value<'_>, link_type: Value<'_>, time_ms: i64) {
        self.row.clear();
        for value in [id1, id2, link_type, Value::Int(1), Value::Bytes(b"payload")] {
            self.row.push(value);
        }
        self.row.push(Value::Int(time_ms));
        self.row.push(Value::Int(0));
    }
}

impl SqlSession for YesGraph {
    fn dialect(&self) -> &'static Dialect {
        self.dialect
    }
    async fn prepare(&mut self, ask: &Ask<'_>) -> Result<Statement, OpError> {
        self.prepared.push(ask.sql.into());
        Ok(Statement(self.prepared.len() as u32 - 1))
    }
    async fn execute(&mut self, statement: Statement, _: &[Value<'_>]) -> Result<Done, OpError> {
        let stored = self.stored;
        let affected = match self.text(statement).starts_with("INSERT INTO linktable") {
            true => stored,
            false => 1,
        };
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
        let is_list = self.text(statement).contains("ORDER BY time DESC");
        let [id1, link_type, third, ..] = params else {
            panic!("{params:?}");
        };
        if !is_list {
            self.link(*id1, *third, *link_type, 7);
            each(&self.row);
            return Ok(1);
        }
        let latest = params.get(3).and_then(|latest| latest.whole_number());
        for older in 0..self.listed {
            self.link(*id1, Value::Int(older), *link_type, latest.unwrap_or(0) - older);
            each(&self.row);
        }
        Ok(self.listed as u64)
    }
    async fn query_one(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
    ) -> Result<Option<&RowBuf>, OpError> {
        let visibility = self.visibility;
        let text = self.text(statement);
        let (is_node, is_link) = (text.contains("nodetable"), text.contains("visibility"));
        self.row.clear();
        if is_node {
            self.row.push(params[0]);
            [2048, 1, 1]
                .into_iter()
                .for_each(|number| self.row.push(Value::Int(number)));
            self.row.push(Value::Bytes(b"payload"));
        } else if is_link {
            self.row.push(Value::Int(visibility.unwrap_or(0)));
        } else {
            self.row.push(Value::Int(3));
        }
        Ok((!is_link || visibility.is_some()).then_some(&self.row))
    }
    async fn execute_text(&mut self, _: &str) -> Result<Done, OpError> {
        Ok(Done::default())
    }
    async fn query_text(&mut self, _: &str, _: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError> {
        Ok(0)
    }
    async fn bulk_insert(
        &mut self,
        _: &str,
        _: &[&str],
        _: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        Ok(0)
    }
}

impl Transactional for YesGraph {
    async fn begin(&mut self, _: Access) -> Result<(), OpError> {
        self.note("BEGIN");
        Ok(())
    }
    async fn commit(&mut self) -> Result<(), OpError> {
        self.note("COMMIT");
        Ok(())
    }
    async fn rollback(&mut self) -> Result<(), OpError> {
        self.note("ROLLBACK");
        Ok(())
    }
}
