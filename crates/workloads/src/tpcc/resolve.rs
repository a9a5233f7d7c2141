//! TPC-C before a run: where a variant's options begin, and what follows from them.
use super::input::{Customer, District, Input};
use super::schema::Table;
use super::transaction::Transaction;
use super::{GENERATOR_VERSION, Sizes, Tpcc, needs};
use crate::prelude::*;
use crate::resolve::{Beside, Kind, Read, after_conflicts, describe, read, shape, usual, words};
use bakeoff_model::resolve::{Per, Rate, ResponseLimit};
use bakeoff_model::run::tpcc::{TpccChoice, TpccSpec, TpccVariant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub const KIND: Kind = Kind {
    kind: "tpcc",
    generator_version: GENERATOR_VERSION,
    form: FORM,
    summary: "TPC-C-like order entry: five transactions on nine tables, twelve consistency conditions (specification 5.11)",
    preset: "variant",
    describe: describe::<Options>,
    resolve,
    preview: Some(preview),
};

#[derive(Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
struct Options {
    /// Whose rules hold, see above.
    variant: TpccVariant,
}

impl Beside for Options {
    type Spec = TpccSpec;

    fn base(&self) -> TpccSpec {
        let base = TpccSpec {
            variant: self.variant,
            ..TpccSpec::default()
        };
        match self.variant {
            TpccVariant::Tpcc | TpccVariant::TpccMysql => base,
            TpccVariant::TprocC => TpccSpec {
                choice: TpccChoice::Weights,
                new_order_weight: 10,
                payment_weight: 10,
                order_status_weight: 1,
                delivery_weight: 1,
                stock_level_weight: 1,
                foreign_keys: false,
                ..base
            },
        }
    }
}

fn resolve(request: &WorkloadRequest) -> Result<(Resolved, Needs), Trouble> {
    let read = read::<Options>(request)?;
    let spec = &read.spec;
    let tpcc = Tpcc::new(spec, request.seed, ClientSpec::default(), None)?;
    let needs = needs();
    let resolved = Resolved {
        label: label(&read),
        loaded_rows: tpcc.loaded_rows(),
        size_estimate_bytes: size_bytes(&tpcc.sizes),
        tables: Table::ALL.map(|table| tpcc.names.of(table).to_owned()).to_vec(),
        operations: Transaction::operations()
            .into_iter()
            .map(|operation| operation.name)
            .collect(),
        // A run takes order numbers where the last one ended, and deliveries go on.
        continues_by: Some(BTreeMap::new()),
        rates: rates(),
        limits: limits(),
        advice: advice(spec),
        retry: after_conflicts(RETRIES, BACKOFF_S),
        ..usual(
            &KIND,
            request,
            shape_of(spec),
            &needs,
            WorkloadSpec::Tpcc(spec.clone()),
        )
    };
    Ok((resolved, needs))
}

/// Deadlocks and serialization failures are what many terminals of few warehouses cause each other.
const RETRIES: u32 = 20;
const BACKOFF_S: f64 = 0.001;

/// The options that shape the tables and their rows.
const SHAPE: &str = "variant warehouses mini foreign_keys";

/// Of the options that shape the tables: how rows are stored, and not what they are.
const FORM: &str = "foreign_keys tables";

/// Where nothing is said of names, the identity is that of bundles from before they could be said.
fn shape_of(spec: &TpccSpec) -> Value {
    let mut shape = shape(spec, SHAPE);
    if !spec.tables.is_empty() {
        shape["tables"] = json!(spec.tables);
    }
    shape
}

fn rates() -> Vec<Rate> {
    let all = Transaction::ALL.map(|transaction| transaction.name().to_owned());
    vec![
        Rate {
            name: "new_orders_per_minute".into(),
            label: "new orders per minute".into(),
            about: "Committed new orders; those that roll back by intent are not among them. No tpmC: nobody audited it.".into(),
            per: Per::Minute,
            operations: vec![Transaction::NewOrder.name().into()],
        },
        Rate {
            name: "transactions_per_minute".into(),
            label: "transactions per minute".into(),
            about: "All transactions, with new orders that roll back by intent.".into(),
            per: Per::Minute,
            operations: all.to_vec(),
        },
    ]
}

/// Clause 5.2.5.7. A delivery is carried out while its terminal waits, so it has the time of the deferred one.
fn limits() -> Vec<ResponseLimit> {
    let limit = |transaction: Transaction| ResponseLimit {
        operation: transaction.name().into(),
        percentile: 0.9,
        most_s: match transaction {
            Transaction::Delivery => 80.0,
            Transaction::StockLevel => 20.0,
            _ => 5.0,
        },
    };
    Transaction::ALL.map(limit).to_vec()
}

fn size_bytes(sizes: &Sizes) -> u64 {
    let of = |table: Table| {
        let warehouses = match table {
            Table::Item => 1,
            _ => sizes.warehouses,
        };
        warehouses * table.rows(sizes) * table.row_bytes()
    };
    Table::ALL.into_iter().map(of).sum()
}

/// Variant, size, and every other option that the plan sets.
fn label(read: &Read<Options>) -> String {
    let spec = &read.spec;
    let name = match spec.variant {
        TpccVariant::Tpcc => "TPC-C-like",
        TpccVariant::TpccMysql => "tpcc-mysql",
        TpccVariant::TprocC => "TPROC-C",
    };
    let plural = if spec.warehouses == 1 { "" } else { "s" };
    let mut options = vec![format!("{} warehouse{plural}", spec.warehouses)];
    options.extend(spec.mini.then(|| "mini".to_owned()));
    options.extend(words(&read.said, &["variant", "warehouses", "mini", "tables"]));
    format!("{name} ({})", options.join(", "))
}

fn advice(spec: &TpccSpec) -> Vec<String> {
    if spec.mini {
        let words = "a mini population is a tenth of the specification's: its figures are comparable with nothing else";
        return vec![words.into()];
    }
    vec![]
}

// What a terminal will enter first, in words.

pub fn preview(spec: &WorkloadSpec, seed: u64, count: usize) -> Result<Vec<Previewed>, Trouble> {
    let WorkloadSpec::Tpcc(spec) = spec else {
        return Ok(Vec::new());
    };
    let tpcc = Tpcc::new(spec, seed, ClientSpec::default(), Some(1))?;
    let mut user = tpcc.user(ThreadId::FIRST);
    let mut drawn = || {
        let (transaction, input) = (tpcc.draw(&mut user), user.drawn?.input);
        Some(previewed(transaction, &input))
    };
    Ok((0..count).filter_map(|_| drawn()).collect())
}

fn previewed(transaction: Transaction, input: &Input) -> Previewed {
    Previewed {
        operation: transaction.name().into(),
        lines: lines(input),
    }
}

fn lines(input: &Input) -> Vec<String> {
    match input {
        Input::NewOrder(order) => {
            let lines = order.lines().iter().map(|line| {
                format!(
                    "{} x item {} from warehouse {}",
                    line.quantity, line.item, line.supply
                )
            });
            let head = format!("{}, customer {}", place(order.place), order.customer);
            std::iter::once(head).chain(lines).collect()
        }
        Input::Payment(payment) => {
            let amount = Decimal {
                units: payment.amount_cents,
                scale: 2,
            };
            let who = who(&payment.customer);
            vec![format!(
                "{}: {amount} of {who} of {}",
                place(payment.place),
                place(payment.home)
            )]
        }
        Input::OrderStatus { home, customer } => vec![format!("{} of {}", who(customer), place(*home))],
        Input::Delivery { warehouse, carrier } => vec![format!("warehouse {warehouse}, carrier {carrier}")],
        Input::StockLevel { place: at, threshold } => vec![format!("{}, below {threshold}", place(*at))],
    }
}

fn place(of: District) -> String {
    format!("warehouse {}, district {}", of.warehouse, of.district)
}

fn who(customer: &Customer) -> String {
    match customer {
        Customer::Id(id) => format!("customer {id}"),
        Customer::Name(name) => format!("customer {}", String::from_utf8_lossy(name.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::asked;
    use bakeoff_model::run::tpcc::TpccSpec;

    fn tpcc(options: Value) -> Result<Resolved, Trouble> {
        resolve(&asked("tpcc", &options)).map(|(resolved, _)| resolved)
    }

    #[test]
    fn a_variant_says_where_options_begin() {
        let WorkloadSpec::Tpcc(spec) = tpcc(json!({"variant": "tproc-c", "foreign_keys": true}))
            .unwrap()
            .spec
        else {
            panic!("of another kind");
        };
        assert_eq!(spec.variant, TpccVariant::TprocC);
        assert_eq!(
            (spec.choice, spec.weights()),
            (TpccChoice::Weights, [10, 10, 1, 1, 1])
        );
        assert!(spec.foreign_keys);
    }

    #[test]
    fn a_label_tells_sizes_and_what_the_plan_sets() {
        for (options, label) in [
            (json!({}), "TPC-C-like (1 warehouse)"),
            (
                json!({"warehouses": 10, "mini": true, "foreign_keys": false}),
                "TPC-C-like (10 warehouses, mini, foreign_keys false)",
            ),
            (json!({"variant": "tpcc-mysql"}), "tpcc-mysql (1 warehouse)"),
        ] {
            assert_eq!(tpcc(options).unwrap().label, label);
        }
    }

    #[test]
    fn what_is_asked_of_the_data_does_not_make_them_others() {
        let dataset = |options| tpcc(options).unwrap().dataset;
        let loaded = dataset(json!({}));
        assert_eq!(
            dataset(json!({"choice": "weights", "keying_and_think": true})),
            loaded
        );
        for other in [
            json!({"warehouses": 2}),
            json!({"mini": true}),
            json!({"foreign_keys": false}),
            json!({"variant": "tpcc-mysql"}),
        ] {
            assert_ne!(dataset(other.clone()), loaded, "{other}");
        }
    }

    #[test]
    fn weights_of_nothing_are_refused() {
        let nothing = json!({
            "choice": "weights", "new_order_weight": 0, "payment_weight": 0, "order_status_weight": 0,
            "delivery_weight": 0, "stock_level_weight": 0,
        });
        assert_eq!(tpcc(nothing).unwrap_err().place, "workload.choice");
    }

    #[test]
    fn a_preview_says_what_a_terminal_enters_first() {
        let spec = WorkloadSpec::Tpcc(TpccSpec::default());
        let shown = preview(&spec, 1, 23).unwrap();
        assert_eq!(shown.len(), 23);
        assert_eq!(shown, preview(&spec, 1, 23).unwrap());
        let first = |name: &str| shown.iter().find(|one| one.operation == name).unwrap();
        let order = first("new_order");
        assert!(order.lines[0].starts_with("warehouse 1, district "), "{order:?}");
        assert!((6..=16).contains(&order.lines.len()));
        assert!(order.lines[1].contains(" x item ") && order.lines[1].ends_with(" from warehouse 1"));
        assert!(first("delivery").lines[0].starts_with("warehouse 1, carrier "));
        assert!(first("stock_level").lines[0].starts_with("warehouse 1, district 1, below "));
    }
}
