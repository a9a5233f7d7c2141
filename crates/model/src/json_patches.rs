//! A document of JSON text with some of its values set: what a driver writes whose system sets no part of a document itself.
use crate::document::Patch;
use crate::json::{Members, at, write_text, write_value};

/// Values to be set, with the steps of all paths.
#[derive(Clone, Copy)]
pub struct Patches<'a> {
    pub values: &'a [Patch<'a>],
    pub steps: &'a [Vec<Vec<u8>>],
    /// Which members of the outermost object stay.
    pub stays: fn(&[u8]) -> bool,
}

impl<'a> Patches<'a> {
    fn path(self, patch: usize) -> &'a [Vec<u8>] {
        &self.steps[self.values[patch].path as usize]
    }

    /// Those that go into the same object at this depth as `leader` does.
    fn alongside(self, leader: usize, depth: usize) -> impl DoubleEndedIterator<Item = usize> + 'a {
        let before = self
            .values
            .get(leader)
            .map_or(&[][..], |_| &self.path(leader)[..depth]);
        (0..self.values.len()).filter(move |patch| {
            let path = self.path(*patch);
            path.len() > depth && path[..depth] == *before
        })
    }
}

/// A document with these values in their places.
pub fn push_patched(document: &[u8], patches: Patches<'_>, out: &mut Vec<u8>) {
    push_object(document, 0, 0, patches, out);
}

/// `leader`: one of the patches that go into this object.
fn push_object(object: &[u8], leader: usize, depth: usize, patches: Patches<'_>, out: &mut Vec<u8>) {
    out.push(b'{');
    let begin = out.len();
    let stays = |name: &[u8]| depth > 0 || (patches.stays)(name);
    for (name, value) in Members::of(object).filter(|(name, _)| stays(name)) {
        if out.len() > begin {
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(name);
        out.extend_from_slice(b"\":");
        let at_name = |patch: &usize| patches.path(*patch)[depth] == name;
        match patches.alongside(leader, depth).rev().find(at_name) {
            Some(patch) => push_value(value, patch, depth, patches, out),
            None => out.extend_from_slice(value),
        }
    }
    for patch in patches.alongside(leader, depth) {
        let name = &patches.path(patch)[depth];
        let same = |other: &usize| patches.path(*other)[depth] == *name;
        let is_last = patches.alongside(leader, depth).rev().find(same) == Some(patch);
        if !is_last || at(object, [name]).is_some() {
            continue;
        }
        if out.len() > begin {
            out.push(b',');
        }
        write_text(name, out);
        out.push(b':');
        push_value(b"", patch, depth, patches, out);
    }
    out.push(b'}');
}

fn push_value(before: &[u8], patch: usize, depth: usize, patches: Patches<'_>, out: &mut Vec<u8>) {
    match patches.path(patch).len() == depth + 1 {
        true => write_value(patches.values[patch].value, out),
        false => push_object(before, patch, depth + 1, patches, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    #[test]
    fn values_are_set_where_they_belong_and_the_rest_stays() {
        let steps = ["n", "a.b", "a.c.d", "a.c.e"];
        let steps: Vec<Vec<Vec<u8>>> = steps
            .iter()
            .map(|path| path.split('.').map(|step| step.as_bytes().to_vec()).collect())
            .collect();
        let patched = |document: &str, values: &[(u32, i64)]| {
            let values: Vec<Patch<'_>> = values
                .iter()
                .map(|(path, value)| Patch {
                    path: *path,
                    value: Value::Int(*value),
                })
                .collect();
            let patches = Patches {
                values: &values,
                steps: &steps,
                stays: |name| !name.starts_with(b"_"),
            };
            let mut out = Vec::new();
            push_patched(document.as_bytes(), patches, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        };
        let document = r#"{"_rev":"1","a":{"x":[1],"b":2},"n":null}"#;
        assert_eq!(patched(document, &[(0, 7)]), r#"{"a":{"x":[1],"b":2},"n":7}"#);
        assert_eq!(
            patched(document, &[(1, 5), (2, 6), (3, 8)]),
            r#"{"a":{"x":[1],"b":5,"c":{"d":6,"e":8}},"n":null}"#
        );
        assert_eq!(patched(r#"{"a":3}"#, &[(1, 5)]), r#"{"a":{"b":5}}"#);
        assert_eq!(
            patched("{}", &[(0, 1), (0, 2), (3, 4)]),
            r#"{"n":2,"a":{"c":{"e":4}}}"#
        );
        assert_eq!(patched(document, &[]), r#"{"a":{"x":[1],"b":2},"n":null}"#);
    }
}
