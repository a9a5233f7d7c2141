//! LinkBench before a run: sizes, and what follows from the options.
use super::graph::Graph;
use super::load::loaded;
use super::request::Kind as Request;
use super::schema::table_names;
use super::validate::validate;
use super::{GENERATOR_VERSION, Linkbench, needs};
use crate::prelude::*;
use crate::resolve::{Beside, Identity, Kind, Read, describe, identity, read, shape, words};
use bakeoff_model::run::linkbench::{LinkbenchCompat, LinkbenchSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

pub const KIND: Kind = Kind {
    kind: "linkbench",
    summary: "LinkBench: nodes, links and counts of a social graph (Armstrong et al., SIGMOD 2013)",
    preset: "size",
    describe: describe::<Options>,
    resolve,
    preview: Some(preview),
};

#[derive(Deserialize, JsonSchema)]
struct Options {
    /// How many nodes, see above; `maxid1` goes before it.
    #[serde(default)]
    size: Option<Size>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq)]
enum Size {
    /// 10,000 nodes, about 10 MB
    #[serde(rename = "0.001x")]
    Thousandth,
    /// 100,000 nodes, about 100 MB
    #[serde(rename = "0.01x")]
    Hundredth,
    /// 1 million nodes, about 1 GB
    #[serde(rename = "0.1x")]
    Tenth,
    /// 10 million nodes, about 10 GB: the original's
    #[serde(rename = "1x")]
    One,
    /// 100 million nodes, about 100 GB
    #[serde(rename = "10x")]
    Ten,
}

impl Size {
    fn nodes(self) -> u64 {
        match self {
            Self::Thousandth => 10_000,
            Self::Hundredth => 100_000,
            Self::Tenth => 1_000_000,
            Self::One => 10_000_000,
            Self::Ten => 100_000_000,
        }
    }
}

impl Beside for Options {
    type Spec = LinkbenchSpec;

    fn base(&self) -> LinkbenchSpec {
        LinkbenchSpec::default()
    }
}

fn resolve(request: &WorkloadRequest) -> Result<(Resolved, Needs), Trouble> {
    let mut read = read::<Options>(request)?;
    // A file has its own, before which the plan goes.
    if let (Some(size), false) = (read.beside.size, read.said.contains_key("maxid1")) {
        read.spec.maxid1 = read.spec.startid1.saturating_add(size.nodes());
    }
    let spec = &read.spec;
    validate(spec, ClientSpec::default())?;
    let (loaded_rows, size_estimate_bytes) = loaded(spec);
    let needs = needs();
    let Identity { dataset, content } =
        identity(KIND.kind, GENERATOR_VERSION, request.seed, shape_of(spec), &FORM);
    let resolved = Resolved {
        label: label(request, &read),
        loaded_rows,
        size_estimate_bytes,
        tables: table_names(),
        dataset,
        content,
        operations: operations(spec),
        writes: Request::ALL
            .iter()
            .any(|kind| kind.writes() && kind.share(spec) > 0.0),
        keeps_session: needs.own_session,
        replaces_sessions: false,
        users_max: None,
        prepared_statements: None,
        prepares_s: 0.0,
        // The original tries again without end, within the time of the request.
        retry: Some(Retry {
            retries: u32::MAX,
            on: vec![FailClass::Conflict],
            on_codes: vec![],
            backoff_s: 0.0,
        }),
        // The system numbers nodes, and a link that is there already is written anew.
        continues_by: Some(BTreeMap::new()),
        rates: vec![],
        limits: vec![],
        advice: advice(spec),
        spec: WorkloadSpec::Linkbench(read.spec),
    };
    Ok((resolved, needs))
}

/// Those that have a share, and histories where there may be one.
fn operations(spec: &LinkbenchSpec) -> Vec<String> {
    let has = |kind: &Request| match kind {
        Request::GetLinkListHistory => spec.getlinklist > 0.0 && spec.getlinklist_history > 0.0,
        kind => kind.share(spec) > 0.0,
    };
    let all = Request::ALL.into_iter().filter(has);
    all.map(|kind| kind.name().into()).collect()
}

/// Nodes, and every option that the plan sets beside them.
fn label(request: &WorkloadRequest, read: &Read<Options>) -> String {
    let mut options = vec![format!("{} nodes", read.spec.maxid1 - read.spec.startid1)];
    options.extend(request.file.as_ref().map(|file| file.name.clone()));
    options.extend(words(&read.said, &["size", "maxid1", "startid1", "nlinks_func"]));
    format!("LinkBench ({})", options.join(", "))
}

/// Where one node has more of all links than this, there is no graph to speak of.
const SHARE_OF_ONE_MAX: f64 = 0.5;

fn advice(spec: &LinkbenchSpec) -> Vec<String> {
    let totals = Graph::new(spec).totals();
    let share = totals.links_most as f64 / totals.links.max(1) as f64;
    if share <= SHARE_OF_ONE_MAX || spec.compat == LinkbenchCompat::None {
        return vec![];
    }
    vec![format!(
        "one of the {} nodes has {:.0} % of all links: take more nodes, or leave out compat = \"original\"",
        spec.maxid1 - spec.startid1,
        100.0 * share
    )]
}

/// Of the options that shape the tables: how rows are stored, and not what they are.
const FORM: [&str; 3] = ["partitions", "index_time", "create_table_options"];

/// The options that shape the tables and their rows. How they are loaded, and what is asked of them afterwards, are left out.
fn shape_of(spec: &LinkbenchSpec) -> Value {
    let names = [
        "startid1",
        "maxid1",
        "generate_nodes",
        "link_type_count",
        "nlinks_func",
        "link_datasize",
        "link_add_datagen",
        "node_datasize",
        "node_add_datagen",
        "partitions",
        "index_time",
        "create_table_options",
        "compat",
    ];
    shape(spec, &names)
}

fn preview(spec: &WorkloadSpec, seed: u64, count: usize) -> Result<Vec<Previewed>, Trouble> {
    let WorkloadSpec::Linkbench(spec) = spec else {
        return Ok(vec![]);
    };
    let linkbench = Linkbench::new(spec, seed, ClientSpec::default(), Some(1))?;
    let mut user = linkbench.user(ThreadId {
        thread: 0,
        stream: 0,
        witness: false,
    });
    let mut preview = || {
        linkbench.draw(&mut user);
        Previewed {
            operation: user.request.kind.name().into(),
            lines: user.request_in_words().into_iter().collect(),
        }
    };
    Ok((0..count).map(|_| preview()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::resolve::OptionFile;
    use serde_json::json;

    fn request(options: Value, file: Value) -> WorkloadRequest {
        WorkloadRequest {
            kind: "linkbench".into(),
            options: options.as_object().unwrap().clone(),
            file: file.as_object().map(|file| OptionFile {
                name: "MyConfig.properties".into(),
                options: file.clone(),
            }),
            driver: None,
            seed: 1,
        }
    }

    fn linkbench(options: Value) -> Resolved {
        resolve(&request(options, Value::Null)).unwrap().0
    }

    fn nodes(resolved: &Resolved) -> u64 {
        let WorkloadSpec::Linkbench(spec) = &resolved.spec else {
            panic!("{resolved:?}");
        };
        spec.maxid1 - spec.startid1
    }

    #[test]
    fn a_plan_s_size_goes_before_a_file_s_and_maxid1_before_both() {
        let of_file = json!({"maxid1": 501});
        for (options, expected) in [
            (json!({}), 500),
            (json!({"size": "0.01x"}), 100_000),
            (json!({"size": "0.01x", "maxid1": 7}), 6),
        ] {
            let resolved = resolve(&request(options, of_file.clone())).unwrap().0;
            assert_eq!(nodes(&resolved), expected);
        }
        assert_eq!(nodes(&linkbench(json!({}))), 10_000);
    }

    #[test]
    fn rows_and_bytes_are_those_of_the_load() {
        let found = linkbench(json!({"maxid1": 101, "nlinks_func": {"kind": "constant", "links": 3}}));
        assert_eq!(found.loaded_rows, 100 + 300 + 200);
        assert_eq!(found.tables, ["linktable", "counttable", "nodetable"]);
        let one = linkbench(json!({"size": "1x"}));
        assert!(
            (0.9..1.1).contains(&(one.size_estimate_bytes as f64 / 4.95e9)),
            "{}",
            one.size_estimate_bytes
        );
    }

    #[test]
    fn only_what_shapes_the_data_is_of_their_identity() {
        let own = linkbench(json!({})).dataset;
        for same in [
            json!({"addlink": 5}),
            json!({"loader_chunk_size": 10}),
            json!({"size": "0.001x"}),
        ] {
            assert_eq!(linkbench(same).dataset, own);
        }
        for other in [
            json!({"compat": "original"}),
            json!({"partitions": 1}),
            json!({"node_datasize": 100}),
            json!({"nlinks_func": {"kind": "real", "points": [[0, 50], [3, 100]]}}),
        ] {
            assert_ne!(linkbench(other).dataset, own);
        }
    }

    #[test]
    fn a_mix_without_writes_writes_nothing() {
        assert!(linkbench(json!({})).writes);
        let reads = json!({
            "addlink": 0, "deletelink": 0, "updatelink": 0, "addnode": 0, "updatenode": 0, "deletenode": 0,
        });
        let found = linkbench(reads);
        assert!(!found.writes);
        let expected = [
            "countlink",
            "getlink",
            "getlinklist",
            "getlinklist_history",
            "getnode",
        ];
        assert_eq!(found.operations, expected);
    }

    #[test]
    fn a_graph_that_is_mostly_one_node_is_advised_against() {
        assert!(linkbench(json!({})).advice.is_empty());
        let original = linkbench(json!({"compat": "original"}));
        assert!(
            original.advice[0].contains("97 % of all links"),
            "{:?}",
            original.advice
        );
    }

    #[test]
    fn a_preview_tells_what_a_user_would_ask() {
        let spec = linkbench(json!({})).spec;
        let preview = preview(&spec, 1, 50).unwrap();
        assert_eq!(preview.len(), 50);
        let lists = preview.iter().filter(|one| one.operation == "getlinklist");
        assert!(lists.clone().count() > 10);
        assert!(
            lists.into_iter().all(|list| list.lines[0].starts_with("id1 ")),
            "{preview:?}"
        );
    }
}
