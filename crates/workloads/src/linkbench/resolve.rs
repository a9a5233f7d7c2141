//! LinkBench before a run: sizes, and what follows from the options.
use super::graph::Graph;
use super::load::loaded;
use super::request::Kind as Request;
use super::schema::table_names;
use super::{GENERATOR_VERSION, Linkbench, needs};
use crate::prelude::*;
use crate::resolve::{Beside, Kind, Read, after_conflicts, describe, read, shape, usual, words};
use crate::table_options;
use crate::trouble::{check_client, refuse};
use bakeoff_model::run::linkbench::{LinkCounts, LinkbenchCompat, LinkbenchSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

pub const KIND: Kind = Kind {
    kind: "linkbench",
    generator_version: GENERATOR_VERSION,
    form: FORM,
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
    let resolved = Resolved {
        label: label(request, &read),
        loaded_rows,
        size_estimate_bytes,
        tables: table_names(),
        operations: operations(spec),
        writes: Request::ALL
            .iter()
            .any(|kind| kind.writes() && kind.share(spec) > 0.0),
        // The original tries again without end, within the time of the request.
        retry: after_conflicts(u32::MAX, 0.0),
        // The system numbers nodes, and an existing link is rewritten.
        continues_by: Some(BTreeMap::new()),
        advice: advice(spec),
        ..usual(
            &KIND,
            request,
            shape_of(spec),
            &needs,
            WorkloadSpec::Linkbench(spec.clone()),
        )
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

/// Nodes, and every other option that the plan sets.
fn label(request: &WorkloadRequest, read: &Read<Options>) -> String {
    let mut options = vec![format!("{} nodes", read.spec.maxid1 - read.spec.startid1)];
    options.extend(request.file.as_ref().map(|file| file.name.clone()));
    options.extend(words(&read.said, &["size", "maxid1", "startid1", "nlinks_func"]));
    format!("LinkBench ({})", options.join(", "))
}

/// Where one node has more of all links than this, the result is hardly a graph.
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
const FORM: &str = "partitions index_time create_table_options";

/// The options that shape the tables and their rows. How they are loaded, and what is asked of them afterwards, are left out.
fn shape_of(spec: &LinkbenchSpec) -> Value {
    let names = "startid1 maxid1 generate_nodes link_type_count nlinks_func link_datasize link_add_datagen node_datasize node_add_datagen partitions index_time create_table_options compat";
    shape(spec, names)
}

fn preview(spec: &WorkloadSpec, seed: u64, count: usize) -> Result<Vec<Previewed>, Trouble> {
    let WorkloadSpec::Linkbench(spec) = spec else {
        return Ok(vec![]);
    };
    let linkbench = Linkbench::new(spec, seed, ClientSpec::default(), Some(1))?;
    let mut user = linkbench.user(ThreadId::FIRST);
    let mut preview = || {
        linkbench.draw(&mut user);
        Previewed {
            operation: user.request.kind.name().into(),
            lines: user.request_in_words().into_iter().collect(),
        }
    };
    Ok((0..count).map(|_| preview()).collect())
}

// What cannot be run, refused before anything starts.

pub fn validate(spec: &LinkbenchSpec, client: ClientSpec) -> Result<(), Trouble> {
    check_bounds(spec, "workload")?;
    check_client(client)?;
    if spec.maxid1 <= spec.startid1 {
        let what = format!(
            "`maxid1` {} is not above `startid1` {}",
            spec.maxid1, spec.startid1
        );
        return Err(refuse("maxid1", what, "it is one more than the last node's id"));
    }
    if spec.link_multiget_dist_min >= spec.link_multiget_dist_max {
        let what = "`link_multiget_dist_min` is not below `link_multiget_dist_max`";
        let hint = "the latter is one more than the most links of a getlink";
        return Err(refuse("link_multiget_dist_min", what, hint));
    }
    for (option, datagen) in [
        ("link_add_datagen", &spec.link_add_datagen),
        ("link_up_datagen", &spec.link_up_datagen),
        ("node_add_datagen", &spec.node_add_datagen),
        ("node_up_datagen", &spec.node_up_datagen),
    ] {
        if datagen.startbyte >= datagen.endbyte {
            let what = format!("`startbyte` of `{option}` is not below its `endbyte`");
            return Err(refuse(
                option,
                what,
                "payload is of the bytes from one to the other",
            ));
        }
    }
    if Request::ALL.iter().all(|kind| kind.share(spec) == 0.0) {
        let hint = "give one of them a share, getlinklist = 1 for instance";
        return Err(refuse("getlinklist", "no request has a share", hint));
    }
    table_options::validate(&spec.create_table_options)?;
    validate_links(&spec.nlinks_func)
}

/// Ten times as many as the largest node of the original has.
const LINKS_OF_NODE_MOST: u64 = 10_000_000;

fn validate_links(links: &LinkCounts) -> Result<(), Trouble> {
    let most = match links {
        LinkCounts::Constant { links } => *links,
        LinkCounts::Real { points } => points.iter().map(|(links, _)| *links).max().unwrap_or(0),
    };
    if most > LINKS_OF_NODE_MOST {
        let what =
            format!("`nlinks_func` gives a node {most} links, and at most {LINKS_OF_NODE_MOST} can be dealt");
        return Err(refuse(
            "nlinks_func",
            what,
            "the original's largest node has 961963",
        ));
    }
    let LinkCounts::Real { points } = links else {
        return Ok(());
    };
    let rises = points.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1);
    let ends = points.last().is_none_or(|(_, percent)| *percent == 100.0);
    if rises && ends && points.first().is_none_or(|(_, percent)| *percent >= 0.0) {
        return Ok(());
    }
    let hint = "points are [links, per cent of nodes that have no more], both rising, the last with 100";
    let what = "the points of `nlinks_func` are no distribution";
    Err(refuse("nlinks_func", what, hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::asked;
    use bakeoff_model::resolve::OptionFile;
    use serde_json::json;

    fn request(options: Value, file: Value) -> WorkloadRequest {
        WorkloadRequest {
            file: file.as_object().map(|file| OptionFile {
                name: "MyConfig.properties".into(),
                options: file.clone(),
            }),
            ..asked("linkbench", &options)
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

    #[track_caller]
    fn refused(option: &str, change: impl FnOnce(&mut LinkbenchSpec)) {
        let mut spec = LinkbenchSpec::default();
        change(&mut spec);
        let trouble = validate(&spec, ClientSpec::default()).unwrap_err();
        assert_eq!(trouble.place, format!("workload.{option}"));
    }

    #[test]
    fn the_defaults_can_be_run() {
        validate(&LinkbenchSpec::default(), ClientSpec::default()).unwrap();
    }

    #[test]
    fn what_cannot_be_run_is_refused_by_its_option() {
        refused("maxid1", |s| (s.startid1, s.maxid1) = (7, 7));
        refused("startid1", |s| s.startid1 = 0);
        refused("link_multiget_dist_min", |s| {
            (s.link_multiget_dist_min, s.link_multiget_dist_max) = (5, 5)
        });
        refused("node_up_datagen", |s| s.node_up_datagen.endbyte = 50);
        refused("link_multiget_dist_prob", |s| s.link_multiget_dist_prob = 1.0);
        refused("read_function", |s| {
            s.read_function = bakeoff_model::run::linkbench::Access::Zipf { shape: 1.0 }
        });
        for points in [
            vec![(0, 50.0), (0, 100.0)],
            vec![(0, 60.0), (1, 50.0), (2, 100.0)],
            vec![(0, 50.0), (1, 99.0)],
        ] {
            refused("nlinks_func", |s| s.nlinks_func = LinkCounts::Real { points });
        }
        let many = 10_000_001;
        refused("nlinks_func", |s| {
            s.nlinks_func = LinkCounts::Constant { links: many }
        });
        refused("nlinks_func", |s| {
            s.nlinks_func = LinkCounts::Real {
                points: vec![(0, 50.0), (many, 100.0)],
            }
        });
        refused("getlinklist", |s| {
            *s = LinkbenchSpec {
                addlink: 0.0,
                deletelink: 0.0,
                updatelink: 0.0,
                countlink: 0.0,
                getlink: 0.0,
                getlinklist: 0.0,
                getnode: 0.0,
                addnode: 0.0,
                updatenode: 0.0,
                deletenode: 0.0,
                ..LinkbenchSpec::default()
            }
        });
    }

    #[test]
    fn a_client_that_does_not_exist_is_refused() {
        let client = ClientSpec { index: 2, count: 2 };
        let trouble = validate(&LinkbenchSpec::default(), client).unwrap_err();
        assert_eq!(trouble.place, "client");
    }
}
