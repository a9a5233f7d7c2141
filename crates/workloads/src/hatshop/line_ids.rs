//! Nothing joins lines to their order in Cassandra: where lines lie by their own id (`line_items`), an order keeps the ids of
//! its lines in a list.
use super::shop::{Id, Line};
use bakeoff_model::run::hatshop::{HatshopLayout, HatshopSpec};
use bakeoff_model::sql::Dialect;

/// A column of orders.
pub const LINE_IDS: &str = "line_item_ids";

/// Orders keep the ids of their lines.
pub fn keeps_line_ids(spec: &HatshopSpec, dialect: &Dialect) -> bool {
    !dialect.transactions && spec.layout == HatshopLayout::LineItems
}

/// A list as Cassandra has it in its answers, and takes it: the number of its elements, then each with its length before
/// it (CQL binary protocol v4, section 6.11).
pub fn write_ids(lines: &[Line], list: &mut Vec<u8>) {
    list.clear();
    list.extend_from_slice(&(lines.len() as u32).to_be_bytes());
    for line in lines {
        list.extend_from_slice(&(line.id.0.len() as u32).to_be_bytes());
        list.extend_from_slice(&line.id.0);
    }
}

/// Those of our length: others are no ids of lines.
pub fn ids(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    const LENGTH: usize = size_of::<Id>();
    let elements = list.get(4..).unwrap_or_default().chunks_exact(4 + LENGTH);
    elements.map(|element| &element[4..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ids_of_lines_are_read_as_they_were_written() {
        let line = |digit: u8| Line {
            id: Id([digit; 36]),
            ..Line::default()
        };
        for lines in [vec![], vec![line(b'1')], vec![line(b'1'), line(b'2')]] {
            let mut list = vec![7];
            write_ids(&lines, &mut list);
            assert_eq!(list.len(), 4 + 40 * lines.len());
            let expected: Vec<&[u8]> = lines.iter().map(|line| &line.id.0[..]).collect();
            assert_eq!(ids(&list).collect::<Vec<_>>(), expected);
        }
        assert_eq!(ids(&[]).count(), 0, "of an order that is not there");
    }
}
