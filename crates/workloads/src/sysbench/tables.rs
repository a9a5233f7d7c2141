//! The tables, interchangeable with those of the original: same names, types and indexes.
use super::Sysbench;
use crate::numbers::number;
use crate::prelude::*;
use crate::{tables, trouble};
use bakeoff_model::run::sysbench::{IndexTime, SysbenchScript, SysbenchSpec};

pub fn table_name(table: u32) -> String {
    format!("sbtest{table}")
}

fn create_table(spec: &SysbenchSpec, table: u32, dialect: &Dialect) -> String {
    let k = "k INTEGER DEFAULT '0' NOT NULL";
    if spec.script == SysbenchScript::BulkInsert {
        let suffix = dialect.table_suffix;
        return format!("CREATE TABLE sbtest{table} (id INTEGER NOT NULL, {k}, PRIMARY KEY (id)){suffix}");
    }
    let id = if spec.auto_inc {
        dialect.auto_key
    } else {
        "INTEGER NOT NULL"
    };
    let key = if spec.secondary { "KEY xid" } else { "PRIMARY KEY" };
    // What other systems than MySQL's family take for a comment.
    let engine = match &*spec.mysql_storage_engine {
        "" => String::new(),
        engine => format!(" /*! ENGINE = {engine} */"),
    };
    let options = match &*spec.create_table_options {
        "" => String::new(),
        options => format!(" {options}"),
    };
    format!(
        "CREATE TABLE sbtest{table} (id {id}, {k}, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, \
         {key} (id)){engine}{}{options}",
        dialect.table_suffix
    )
}

impl Sysbench {
    fn has_index(&self) -> bool {
        self.spec.create_secondary && self.spec.script != SysbenchScript::BulkInsert
    }

    /// Tables whose index is made once they are full.
    pub(super) fn indexes_after_rows(&self) -> u64 {
        match self.has_index() && self.spec.index_time == IndexTime::AfterRows {
            true => u64::from(self.spec.tables),
            false => 0,
        }
    }

    pub(super) async fn create_index(&self, session: &mut AnySql, table: u32) -> Result<(), OpError> {
        let sql = format!("CREATE INDEX k_{table} ON sbtest{table}(k)");
        session.execute_text(&sql).await.map(drop)
    }

    pub(super) async fn create_tables(
        &self,
        session: &mut AnySql,
        drop_existing: bool,
    ) -> Result<(), Trouble> {
        tables::make_way(session, &self.table_names(), drop_existing).await?;
        for table in 1..=self.spec.tables {
            let name = table_name(table);
            let sql = create_table(&self.spec, table, session.dialect());
            let created = session.execute_text(&sql).await;
            created.map_err(|e| trouble::setup("create the table", &name, &e))?;
            if self.spec.auto_inc && self.loaded_rows() > 0 {
                tables::number_after(session, &name, "id", self.loaded_rows()).await?;
            }
            if self.has_index() && self.spec.index_time == IndexTime::BeforeRows {
                let indexed = self.create_index(session, table).await;
                indexed.map_err(|e| trouble::setup("create the index on k", &name, &e))?;
            }
        }
        Ok(())
    }

    fn table_names(&self) -> Vec<String> {
        (1..=self.spec.tables).map(table_name).collect()
    }

    pub(super) async fn drop_tables(&self, session: &mut AnySql) -> Result<(), Trouble> {
        tables::drop_all(session, &self.table_names()).await
    }

    /// Every row through the primary key, then the index on k, as the original's `prewarm` does. Returns rows.
    pub(super) async fn read_tables(&self, session: &mut AnySql) -> Result<u64, OpError> {
        let columns = match self.spec.script {
            SysbenchScript::BulkInsert => "k",
            _ => "LENGTH(c) + LENGTH(pad)",
        };
        let mut rows = 0;
        for table in 1..=self.spec.tables {
            let sql = format!("SELECT COUNT(*), SUM({columns}) FROM sbtest{table}");
            rows += number(session, &sql).await?.unwrap_or(0) as u64;
            if self.has_index() {
                number(session, &format!("SELECT SUM(k) FROM sbtest{table}")).await?;
            }
        }
        Ok(rows)
    }
}
