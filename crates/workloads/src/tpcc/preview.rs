//! What a terminal will enter first, in words.
use super::Tpcc;
use super::input::{Customer, District, Input};
use super::transaction::Transaction;
use crate::prelude::*;

const FIRST: ThreadId = ThreadId {
    thread: 0,
    stream: 0,
    witness: false,
};

pub fn preview(spec: &WorkloadSpec, seed: u64, count: usize) -> Result<Vec<Previewed>, Trouble> {
    let WorkloadSpec::Tpcc(spec) = spec else {
        return Ok(Vec::new());
    };
    let tpcc = Tpcc::new(spec, seed, ClientSpec::default(), Some(1))?;
    let mut user = tpcc.user(FIRST);
    let mut drawn = || {
        let (transaction, input) = (tpcc.draw(&mut user), user.drawn?.input);
        Some(told(transaction, &input))
    };
    Ok((0..count).filter_map(|_| drawn()).collect())
}

fn told(transaction: Transaction, input: &Input) -> Previewed {
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
    use bakeoff_model::run::tpcc::TpccSpec;

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
