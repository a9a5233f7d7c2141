//! The three tables, under the original's names. Payload is bytes in every system, so that none converts it.
use super::Linkbench;
use crate::numbers::number;
use crate::prelude::*;
use crate::{tables, trouble};
use bakeoff_model::run::linkbench::LinkbenchSpec;
use bakeoff_model::run::sysbench::IndexTime;
use bakeoff_model::sql::Partitioning;

pub const LINKS: &str = "linktable";
pub const COUNTS: &str = "counttable";
pub const NODES: &str = "nodetable";
pub const LINK_INDEX: &str = "id1_type";
/// The only one that there is.
pub const NODE_TYPE: i64 = 2048;

pub fn table_names() -> Vec<String> {
    [LINKS, COUNTS, NODES].map(str::to_owned).to_vec()
}

/// Each with the table it makes.
fn create(spec: &LinkbenchSpec, dialect: &Dialect) -> Vec<(&'static str, String)> {
    let options = match &*spec.create_table_options {
        "" => String::new(),
        options => format!(" {options}"),
    };
    let suffix = format!("{}{options}", dialect.table_suffix);
    let by = match (spec.partitions, dialect.partitioning) {
        (1, _) | (_, Partitioning::None) => String::new(),
        (parts, Partitioning::Inside) => format!(" PARTITION BY KEY (id1) PARTITIONS {parts}"),
        (_, Partitioning::Tables) => " PARTITION BY HASH (id1)".into(),
    };
    // A table that only has partitions takes no storage options; its partitions do.
    let of_parts = spec.partitions > 1 && dialect.partitioning == Partitioning::Tables;
    let links = format!(
        "CREATE TABLE {LINKS} (id1 BIGINT NOT NULL, id2 BIGINT NOT NULL, link_type BIGINT NOT NULL, \
         visibility {byte} NOT NULL, data {payload} NOT NULL, time BIGINT NOT NULL, version INTEGER NOT NULL, \
         PRIMARY KEY (link_type, id1, id2)){suffix}{by}",
        byte = dialect.byte_type,
        payload = dialect.varbytes_type.replace("{}", "255"),
        suffix = if of_parts { "" } else { &suffix },
    );
    let part = |number| {
        let sql = format!(
            "CREATE TABLE {LINKS}_p{number} PARTITION OF {LINKS} FOR VALUES WITH (MODULUS {}, REMAINDER {number}){suffix}",
            spec.partitions
        );
        (LINKS, sql)
    };
    let counts = format!(
        "CREATE TABLE {COUNTS} (id BIGINT NOT NULL, link_type BIGINT NOT NULL, count INTEGER NOT NULL, \
         time BIGINT NOT NULL, version BIGINT NOT NULL, PRIMARY KEY (id, link_type)){suffix}"
    );
    let nodes = format!(
        "CREATE TABLE {NODES} (id {}, type INTEGER NOT NULL, version BIGINT NOT NULL, time INTEGER NOT NULL, \
         data {} NOT NULL, PRIMARY KEY (id)){suffix}",
        dialect.auto_key_big, dialect.bytes_type
    );
    let mut all = vec![(LINKS, links)];
    all.extend((0..if of_parts { spec.partitions } else { 0 }).map(part));
    all.extend([(COUNTS, counts), (NODES, nodes)]);
    all
}

impl Linkbench {
    pub(super) async fn create_tables(
        &self,
        session: &mut AnySql,
        drop_existing: bool,
    ) -> Result<(), Trouble> {
        tables::make_way(session, &table_names(), drop_existing).await?;
        for (table, sql) in create(&self.spec, session.dialect()) {
            let created = session.execute_text(&sql).await;
            created.map_err(|e| trouble::setup("create the table", table, &e))?;
        }
        if self.spec.generate_nodes {
            tables::number_after(session, NODES, "id", self.spec.maxid1 - 1).await?;
        }
        if self.spec.index_time == IndexTime::BeforeRows {
            let indexed = self.create_index(session).await;
            indexed.map_err(|e| trouble::setup("create the index id1_type", LINKS, &e))?;
        }
        Ok(())
    }

    /// It has every column that a list of links shows.
    pub(super) async fn create_index(&self, session: &mut AnySql) -> Result<(), OpError> {
        let columns = "id1, link_type, visibility, time, id2, version, data";
        let sql = format!("CREATE INDEX {LINK_INDEX} ON {LINKS} ({columns})");
        session.execute_text(&sql).await.map(drop)
    }

    /// Every row of each table, and the index of the links.
    pub(super) async fn read_tables(&self, session: &mut AnySql) -> Result<u64, OpError> {
        let by_index = session.dialect().force_index.replace("{}", LINK_INDEX);
        let mut rows = 0;
        for (table, column) in [
            (NODES, "OCTET_LENGTH(data)"),
            (COUNTS, "count"),
            (LINKS, "OCTET_LENGTH(data)"),
        ] {
            let sql = format!("SELECT COUNT(*), SUM({column}) FROM {table}");
            rows += number(session, &sql).await?.unwrap_or(0) as u64;
        }
        number(session, &format!("SELECT SUM(time) FROM {LINKS}{by_index}")).await?;
        Ok(rows)
    }
}
