//! What the nine tables are called in a data set that another tool made. Every statement is written with our names, and
//! gets the others when it is sent.
use super::schema::Table;
use crate::prelude::*;
use crate::trouble::refuse;
use bakeoff_model::options::nearest;
use std::collections::BTreeMap;

/// Of identifiers, in every system that we know.
const NAME_BYTES_MOST: usize = 63;

#[derive(Clone, Debug, Default)]
pub struct TableNames(BTreeMap<&'static str, String>);

impl TableNames {
    /// `said`: the name in the data set, by ours.
    pub fn new(said: &BTreeMap<String, String>) -> Result<Self, Trouble> {
        let mut names = BTreeMap::new();
        for (ours, other) in said {
            let Some(table) = Table::ALL.into_iter().find(|table| table.name() == ours) else {
                let what = format!("`tables` names `{ours}`, which is none of the nine tables");
                return Err(refuse(
                    "tables",
                    what,
                    nearest(ours, &Table::ALL.map(Table::name)),
                ));
            };
            if !is_plain(other) {
                let what = format!("a table cannot have the name {other:?}");
                let hint = "a name has letters, digits and _, does not begin with a digit, and has 63 characters at most";
                return Err(refuse("tables", what, hint));
            }
            names.insert(table.name(), other.clone());
        }
        let names = Self(names);
        for (at, table) in Table::ALL.into_iter().enumerate() {
            let twice = |other: &&Table| names.of(**other).eq_ignore_ascii_case(names.of(table));
            if let Some(other) = Table::ALL[..at].iter().find(twice) {
                let what = format!(
                    "`{}` and `{}` have the same table in `tables`",
                    other.name(),
                    table.name()
                );
                return Err(refuse("tables", what, "name nine different tables"));
            }
        }
        Ok(names)
    }

    pub fn of(&self, table: Table) -> &str {
        self.0.get(table.name()).map_or(table.name(), String::as_str)
    }

    /// A statement with the data set's names, quoted, in place of ours. None of ours is also the name of a column.
    pub fn sql(&self, ours: &str, dialect: &Dialect) -> String {
        self.renamed(ours, |name| dialect.quoted(name))
    }

    fn renamed(&self, ours: &str, quoted: impl Fn(&str) -> String) -> String {
        if self.0.is_empty() {
            return ours.to_owned();
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (mut sql, mut rest) = (String::with_capacity(ours.len() + 16), ours);
        while let Some(first) = rest.chars().next() {
            let length = rest.find(|c| is_name(c) != is_name(first)).unwrap_or(rest.len());
            let (part, after) = rest.split_at(length);
            match self.0.get(part) {
                Some(other) => sql.push_str(&quoted(other)),
                None => sql.push_str(part),
            }
            rest = after;
        }
        sql
    }
}

fn is_plain(name: &str) -> bool {
    (1..=NAME_BYTES_MOST).contains(&name.len())
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(said: &[(&str, &str)]) -> Result<TableNames, Trouble> {
        let said = said
            .iter()
            .map(|(ours, other)| ((*ours).to_owned(), (*other).to_owned()));
        TableNames::new(&said.collect())
    }

    #[test]
    fn only_whole_names_of_tables_are_replaced() {
        let quoted = |name: &str| format!("\"{name}\"");
        let names = names(&[
            ("orders", "order"),
            ("new_orders", "new_order"),
            ("stock", "stock1"),
        ])
        .unwrap();
        let ours = "SELECT no_o_id, o_id FROM new_orders, orders, district WHERE fkey_stock_2 = stock.s_i_id";
        assert_eq!(
            names.renamed(ours, quoted),
            "SELECT no_o_id, o_id FROM \"new_order\", \"order\", district WHERE fkey_stock_2 = \"stock1\".s_i_id"
        );
        assert_eq!(TableNames::default().renamed(ours, quoted), ours);
    }

    #[test]
    fn names_that_cannot_be_are_refused() {
        for (said, what) in [
            (
                &[("orderz", "a")][..],
                "`tables` names `orderz`, which is none of the nine tables",
            ),
            (
                &[("orders", "a; DROP TABLE b")],
                "a table cannot have the name \"a; DROP TABLE b\"",
            ),
            (
                &[("orders", "other.orders")],
                "a table cannot have the name \"other.orders\"",
            ),
            (&[("orders", "")], "a table cannot have the name \"\""),
            (
                &[("orders", "stock")],
                "`orders` and `stock` have the same table in `tables`",
            ),
        ] {
            let refused = names(said).unwrap_err();
            assert_eq!(
                (refused.place.as_str(), refused.what.as_str()),
                ("workload.tables", what)
            );
        }
        // Two may change places.
        names(&[("orders", "stock"), ("stock", "orders")]).unwrap();
    }
}
