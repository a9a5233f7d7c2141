//! What cannot be run, refused before anything starts.
use super::request::Kind;
use crate::prelude::*;
use crate::table_options;
use crate::trouble::{no_such_client, refuse};
use bakeoff_model::run::linkbench::{LinkCounts, LinkbenchSpec};

pub fn validate(spec: &LinkbenchSpec, client: ClientSpec) -> Result<(), Trouble> {
    check_bounds(spec, "workload")?;
    if client.index >= client.count {
        return Err(no_such_client(client.index, client.count));
    }
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
    if Kind::ALL.iter().all(|kind| kind.share(spec) == 0.0) {
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
