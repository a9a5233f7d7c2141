//! Where rows are found by their own key and by nothing else, nothing joins lines to their order: where lines lie by their own
//! id (`line_items`), an order keeps the ids of its lines in a list.
use super::shop::{Id, Line};
use bakeoff_model::run::hatshop::{HatshopLayout, HatshopSpec};
use bakeoff_model::sql::{Dialect, Lists};

/// A column of orders.
pub const LINE_IDS: &str = "line_item_ids";

/// Orders keep the ids of their lines, in such lists.
pub fn keeps_line_ids(spec: &HatshopSpec, dialect: &Dialect) -> Option<&'static Lists> {
    let keeps = dialect.token_ranges.is_some() && spec.layout == HatshopLayout::LineItems;
    dialect.lists.filter(|_| keeps)
}

/// Nothing where there are no lists.
pub fn write_ids(lists: Option<&Lists>, lines: &[Line], list: &mut Vec<u8>) {
    list.clear();
    if let Some(lists) = lists {
        (lists.write)(&mut lines.iter().map(|line| &line.id.0[..]), list);
    }
}

/// Those of our length, end to end: others are no ids of lines.
pub fn read_ids(lists: &Lists, list: &[u8], ids: &mut Vec<u8>) {
    (lists.each)(list, &mut |id| {
        if id.len() == size_of::<Id>() {
            ids.extend_from_slice(id);
        }
    });
}
