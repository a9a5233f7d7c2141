//! The options of the Hat Shop. Of each: its type, default, bounds and meaning, here and nowhere else; the reference page is
//! made from these lines.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct HatshopSpec {
    /// How lines are keyed, see above.
    pub layout: HatshopLayout,
    /// `line_items`: an index on the order that a line belongs to, and a foreign key; false: neither.
    pub secondary_index: bool,
    /// Orders that are loaded, and near which the number of orders stays.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub orders: u64,
    /// Most lines of an order; there is at least 1.
    #[schemars(range(min = 1, max = 50))]
    pub lines_max: u32,
    /// Kinds of hats in the catalogue.
    #[schemars(range(min = 1, max = 100_000))]
    pub products: u32,
    /// Clients who order.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub clients: u32,
    /// Seed of the catalogue, the clients and the loaded orders; none: the plan's.
    pub orders_seed: Option<u64>,
    /// A list that was written to a file, in place of one that is drawn: its name, relative to the plan's folder.
    #[schemars(extend("title" = "a text"))]
    pub events_file: Option<EventsFile>,
    /// SHA-256 that the file must have; none: whatever it has.
    pub events_sha256: Option<String>,
    /// Events that the list's hash is of, and that a file of it gets. A run may go on beyond, but for one of a file.
    #[schemars(range(min = 1, max = 100_000_000))]
    pub events: u64,
    /// What an event asks is sent in one go, see above; false: each statement waits for the answer of the one before.
    pub pipeline: bool,
    /// Share of events that make an order with its lines.
    #[schemars(range(min = 0))]
    pub create: f64,
    /// Share that read an order with its lines.
    #[schemars(range(min = 0))]
    pub read: f64,
    /// Share that rewrite an order's row, with its next status.
    #[schemars(range(min = 0))]
    pub update: f64,
    /// Share that write one column of one line.
    #[schemars(range(min = 0))]
    pub update_attribute: f64,
    /// Share that delete an order with its lines.
    #[schemars(range(min = 0))]
    pub delete: f64,
}

impl Default for HatshopSpec {
    fn default() -> Self {
        Self {
            layout: HatshopLayout::LineItemsByOrder,
            secondary_index: true,
            orders: 500,
            lines_max: 10,
            products: 100,
            clients: 1000,
            orders_seed: None,
            events_file: None,
            events_sha256: None,
            events: 200_000,
            pipeline: false,
            create: 1.0,
            read: 1.0,
            update: 1.0,
            update_attribute: 1.0,
            delete: 1.0,
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum HatshopLayout {
    /// Lines by their own id: the article's first tables
    LineItems,
    /// Lines by their order and their id, so that those of an order lie together
    LineItemsByOrder,
    /// Each order is a document, with its lines nested in it
    Documents,
}

/// A file by its name in the plan, and where it lies.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct EventsFile {
    pub name: String,
    pub path: String,
}
