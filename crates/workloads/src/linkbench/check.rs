//! Invariants of the data: counts against visible links, rows against what was loaded and done, and a sample.
use super::Linkbench;
use super::graph::Graph;
use super::load::Link;
use super::reads;
use super::schema::{COUNTS, LINKS, NODE_TYPE, NODES};
use super::thread::{Evidence, links_after, nodes_after};
use crate::account::in_words;
use crate::faults::{Faults, check_no_rows};
use crate::numbers::number;
use crate::prelude::*;
use std::ops::RangeInclusive;

impl Linkbench {
    pub(super) async fn checks(
        &self,
        session: &mut AnySql,
        done: &[Option<Evidence>],
        spec: &CheckSpec,
    ) -> Result<Vec<Check>, OpError> {
        let links = links_after(self.draws.graph.totals().links, done);
        let nodes = nodes_after(self.loaded_nodes(), done);
        let mut checks = vec![
            check_counts(session).await?,
            check_visibility(session).await?,
            check_rows(session, "links", LINKS, &links).await?,
            check_rows(session, "nodes", NODES, &nodes).await?,
        ];
        if spec.sample > 0 {
            checks.push(self.check_sample(session, spec).await?);
        }
        Ok(checks)
    }

    fn loaded_nodes(&self) -> u64 {
        match self.spec.generate_nodes {
            true => self.draws.graph.nodes(),
            false => 0,
        }
    }

    /// Nodes, drawn evenly, and before a run their links, too.
    async fn check_sample(&self, session: &mut AnySql, spec: &CheckSpec) -> Result<Check, OpError> {
        let ids = self.draws.graph.ids();
        let nodes = self.draws.graph.nodes();
        let sample = spec.sample.min(nodes);
        let (mut faults, mut gone) = (Faults::default(), 0);
        let looks = Looks::prepare(session).await?;
        for i in 0..sample {
            let id = ids.start + (u128::from(i) * u128::from(nodes) / u128::from(sample)) as u64;
            let node = match self.spec.generate_nodes {
                true => self.look_at_node(session, looks.node, id, spec.after_run).await?,
                false => Looked::Right,
            };
            let links = match spec.after_run {
                true => None,
                false => self.fault_of_links(session, looks.links, id).await?,
            };
            match (node, links) {
                (Looked::Wrong(why), _) | (_, Some(why)) => faults.add(|| format!("node {id}: {why}")),
                (Looked::Gone, None) => gone += 1,
                (Looked::Right, None) => {}
            }
        }
        let rule = match spec.after_run {
            false => "with their links, all as they were loaded",
            true if self.may_lack_nodes() => {
                "gone, or of the shape that they must have (payload of links is not compared)"
            }
            true => "of the shape that they must have (payload of links is not compared)",
        };
        Ok(Check {
            name: "sample of nodes".into(),
            ok: faults.count == 0,
            expected: format!("{sample} nodes {rule}"),
            actual: format!(
                "{} nodes right, {gone} gone, {} wrong",
                sample - gone - faults.count,
                faults.count
            ),
            evidence: faults.kept,
        })
    }

    async fn look_at_node(
        &self,
        session: &mut AnySql,
        look: Statement,
        id: u64,
        after_run: bool,
    ) -> Result<Looked, OpError> {
        let mut looked = match after_run && self.may_lack_nodes() {
            true => Looked::Gone,
            false => Looked::Wrong("row missing"),
        };
        let mut payload = Vec::new();
        self.loaded_node(id, &mut payload);
        let mut each = |row: &RowBuf| {
            let stored = row.cell(4).and_then(Value::bytes).unwrap_or_default();
            let made = [&self.generators.node_add, &self.generators.node_update];
            looked = match reads::node(row, id, NODE_TYPE).into() {
                Answer::Wrong(why) => Looked::Wrong(why),
                Answer::Right if !after_run && stored != payload => Looked::Wrong("payload differs"),
                Answer::Right if !made.iter().any(|generator| generator.may_make(stored)) => {
                    Looked::Wrong("payload has another shape")
                }
                Answer::Right => Looked::Right,
            };
        };
        session.query(look, &[Value::Int(id as i64)], &mut each).await?;
        Ok(looked)
    }

    /// What is wrong with the links of a node that nobody has written to since they were loaded.
    async fn fault_of_links(
        &self,
        session: &mut AnySql,
        look: Statement,
        id: u64,
    ) -> Result<Option<&'static str>, OpError> {
        let graph = &self.draws.graph;
        let of_type = |index| (0..graph.links(id, index)).map(move |number| Link { id, index, number });
        let mut expected = (0..graph.types()).flat_map(of_type);
        let (mut payload, mut fault) = (Vec::new(), None);
        let mut each = |row: &RowBuf| {
            let Some(link) = expected.next() else {
                fault = Some("more links than were loaded");
                return;
            };
            let time_ms = self.loaded_link(link, &mut payload);
            let numbers = [
                Graph::link_type(link.index) as i64,
                (id + link.number) as i64,
                1,
                time_ms,
            ];
            let same =
                |(cell, number): (usize, &i64)| row.cell(cell).and_then(Value::whole_number) == Some(*number);
            let stored = row.cell(4).and_then(Value::bytes);
            if !numbers.iter().enumerate().all(same) || stored != Some(&payload) {
                fault = fault.or(Some("a link differs"));
            }
        };
        session.query(look, &[Value::Int(id as i64)], &mut each).await?;
        let fewer = expected.next().map(|_| "fewer links than were loaded");
        Ok(fault.or(fewer))
    }
}

/// What the sample asks. Prepared, because payload comes as bytes only then.
struct Looks {
    node: Statement,
    links: Statement,
}

impl Looks {
    async fn prepare(session: &mut AnySql) -> Result<Self, OpError> {
        let id = session.dialect().placeholder(1);
        // The original's column is a text of latin1.
        let data = session.dialect().stored_bytes.replace("{}", "data");
        let node = format!("SELECT id, type, version, time, {data} FROM {NODES} WHERE id = {id}");
        let links = format!(
            "SELECT link_type, id2, visibility, time, {data} FROM {LINKS} WHERE id1 = {id} ORDER BY link_type, id2"
        );
        Ok(Self {
            node: session.prepare(&Ask::read(&node)).await?,
            links: session.prepare(&Ask::read(&links)).await?,
        })
    }
}

/// How a node of the sample is.
enum Looked {
    Right,
    /// Deleted, as a run may do.
    Gone,
    Wrong(&'static str),
}

/// The count of every node and type is the number of its visible links; where there is none it counts as 0.
async fn check_counts(session: &mut AnySql) -> Result<Check, OpError> {
    let sql = format!(
        "SELECT id, link_type, SUM(visible), SUM(counted) FROM (\
         SELECT id1 AS id, link_type, COUNT(*) AS visible, 0 AS counted FROM {LINKS} WHERE visibility = 1 \
         GROUP BY id1, link_type \
         UNION ALL SELECT id, link_type, 0, count FROM {COUNTS}) AS told \
         GROUP BY id, link_type HAVING SUM(visible) <> SUM(counted) ORDER BY id, link_type"
    );
    let columns = ["id", "link_type", "visible links", "count"];
    check_no_rows(session, "counts of links", &sql, &columns).await
}

async fn check_visibility(session: &mut AnySql) -> Result<Check, OpError> {
    let sql = format!(
        "SELECT id1, link_type, id2, visibility FROM {LINKS} WHERE visibility <> 0 AND visibility <> 1 \
         ORDER BY id1, link_type, id2"
    );
    let columns = ["id1", "link_type", "id2", "visibility"];
    check_no_rows(session, "visibility of links", &sql, &columns).await
}

async fn check_rows(
    session: &mut AnySql,
    name: &str,
    table: &str,
    expected: &RangeInclusive<u64>,
) -> Result<Check, OpError> {
    let rows = number(session, &format!("SELECT COUNT(*) FROM {table}")).await?;
    let rows = rows.unwrap_or(0) as u64;
    Ok(Check {
        name: format!("number of {name}"),
        ok: expected.contains(&rows),
        expected: in_words(expected),
        actual: format!("{rows} rows"),
        evidence: vec![],
    })
}
