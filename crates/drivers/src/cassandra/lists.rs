//! A list as Cassandra has it in its answers, and takes it: the number of its elements, then each with its length before it
//! (CQL binary protocol v4, section 6.11).
use bakeoff_model::dialect::{Element, Elements, Lists};

pub static LISTS: Lists = Lists {
    column_type: "list<{}>",
    write,
    each,
};

fn write(elements: &mut Elements<'_>, list: &mut Vec<u8>) {
    list.extend_from_slice(&(elements.len() as u32).to_be_bytes());
    for element in elements {
        list.extend_from_slice(&(element.len() as u32).to_be_bytes());
        list.extend_from_slice(element);
    }
}

/// What does not add up ends the list.
fn each(list: &[u8], each: &mut Element<'_>) {
    let mut rest = list.get(4..).unwrap_or_default();
    while let Some((length, behind)) = rest.split_first_chunk() {
        let length = u32::from_be_bytes(*length) as usize;
        let Some((element, behind)) = behind.split_at_checked(length) else {
            return;
        };
        each(element);
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(list: &[u8]) -> Vec<Vec<u8>> {
        let mut elements = vec![];
        each(list, &mut |element| elements.push(element.to_vec()));
        elements
    }

    #[test]
    fn a_list_is_read_as_it_was_written_and_what_is_none_is_empty() {
        for elements in [&[][..], &[&b"a"[..]], &[b"", b"bc"]] {
            let mut list = vec![];
            write(&mut elements.iter().copied(), &mut list);
            let bytes: usize = elements.iter().map(|element| 4 + element.len()).sum();
            assert_eq!(list.len(), 4 + bytes);
            assert_eq!(read(&list), elements);
        }
        for none in [&[][..], &[0, 0, 0, 1, 0, 0, 0, 9, b'a'], &[0xff; 9]] {
            assert!(read(none).is_empty());
        }
    }
}
