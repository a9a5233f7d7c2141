//! The collection: which paths of the template operations name, by their places.
use super::template::{Node, PATCHED, Uses, VERSION};
use crate::prelude::*;
use crate::trouble::refuse;
use bakeoff_model::document::{CollectionSpec, PathKind, PathSpec};
use bakeoff_model::run::documents::DocumentsSpec;

/// Places in the collection's list of paths.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// Version and patch, then those of the option.
    pub part: Vec<u32>,
    pub patched: Vec<u32>,
    pub find: u32,
    pub find_unindexed: u32,
    pub contains: u32,
    pub count: u32,
}

/// What the template's values are found and patched by, whatever the mix: the same options give the same documents.
pub fn uses(spec: &DocumentsSpec) -> Uses<'_> {
    let found = [
        &spec.find_path,
        &spec.find_unindexed_path,
        &spec.contains_path,
        &spec.count_path,
    ];
    let indexed = spec.index.iter();
    Uses {
        found: found.into_iter().chain(indexed).map(String::as_str).collect(),
        patched: spec.patched.iter().map(String::as_str).collect(),
    }
}

/// What an option must name.
#[derive(Clone, Copy, PartialEq)]
enum Must {
    /// One value.
    Value,
    /// An array of texts, never empty.
    Texts,
    Either,
}

pub fn collection(
    spec: &DocumentsSpec,
    template: &Node,
    key_length: u32,
) -> Result<(CollectionSpec, Paths), Trouble> {
    let own = |name: &str| PathSpec {
        steps: vec![name.into()],
        kind: PathKind::Integer,
        indexed: false,
    };
    let mut all = vec![own(VERSION), own(PATCHED)];
    let mut place = |option: &str, path: &str, must: Must| {
        let kind = kind(option, path, template, must)?;
        let steps: Vec<String> = path.split('.').map(String::from).collect();
        if let Some(place) = all.iter().position(|known| known.steps == steps) {
            return Ok(place as u32);
        }
        all.push(PathSpec {
            steps,
            kind,
            indexed: spec.index.iter().any(|indexed| indexed == path),
        });
        Ok(all.len() as u32 - 1)
    };
    let mut paths = Paths {
        part: vec![0, 1],
        ..Paths::default()
    };
    if spec.get_part > 0.0 {
        for path in &spec.part {
            paths.part.push(place("part", path, Must::Value)?);
        }
    }
    if spec.patch > 0.0 {
        for path in &spec.patched {
            not_found_by("patched", path, spec)?;
            paths.patched.push(place("patched", path, Must::Value)?);
        }
    }
    if spec.find > 0.0 {
        paths.find = place("find_path", &spec.find_path, Must::Value)?;
    }
    if spec.find_unindexed > 0.0 {
        paths.find_unindexed = place("find_unindexed_path", &spec.find_unindexed_path, Must::Value)?;
        if spec.index.contains(&spec.find_unindexed_path) {
            let hint = "take it out of `index`, or give `find` the weight";
            return Err(refuse("find_unindexed_path", "the path has an index", hint));
        }
    }
    if spec.contains > 0.0 {
        paths.contains = place("contains_path", &spec.contains_path, Must::Texts)?;
    }
    if spec.count > 0.0 {
        paths.count = place("count_path", &spec.count_path, Must::Value)?;
    }
    for path in &spec.index {
        place("index", path, Must::Either)?;
    }
    let collection = CollectionSpec {
        name: spec.collection.clone(),
        key_length,
        paths: all,
    };
    Ok((collection, paths))
}

fn kind(option: &str, path: &str, template: &Node, must: Must) -> Result<PathKind, Trouble> {
    let node = template.at(path);
    let kind = node.and_then(Node::kind);
    let never_empty = |node: &Node| match node {
        Node::Repeated { count, .. } => *count.start() > 0,
        _ => false,
    };
    let (fits, hint) = match (kind, must) {
        (Some(PathKind::Texts(_)), Must::Value) => (false, "name one value, not an array"),
        (Some(PathKind::Texts(_)), Must::Texts) => (
            node.is_some_and(never_empty),
            "it is an array of texts with at least one element",
        ),
        (Some(_), Must::Texts) => (false, "it is an array of texts with at least one element"),
        (kind, _) => (
            kind.is_some(),
            "name a value of the template, such as `address.city`",
        ),
    };
    match kind {
        Some(kind) if fits => Ok(kind),
        _ => Err(refuse(
            option,
            format!("`{path}` is no such path of the template"),
            hint,
        )),
    }
}

/// A value that is found by stays what it is.
fn not_found_by(option: &str, path: &str, spec: &DocumentsSpec) -> Result<(), Trouble> {
    if !uses(spec).found.contains(&path) {
        return Ok(());
    }
    let what = format!("documents are found by `{path}`, so no operation changes it");
    Err(refuse(option, what, "patch another path"))
}
