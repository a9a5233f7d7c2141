use super::*;
use bakeoff_model::run::tpcc::TpccVariant;

const DRAWS: usize = 40_000;

fn inputs(spec: &TpccSpec) -> Inputs {
    let sizes = Sizes::new(spec);
    Inputs::new(
        spec,
        &sizes,
        &Draws::new(spec, &sizes, 1),
        Rules::of(spec.variant),
    )
}

fn drawn(spec: &TpccSpec, transaction: Transaction) -> Vec<Input> {
    let (inputs, mut rng) = (inputs(spec), Random::new(9));
    let terminal = Terminal::new(spec, 1, 2, 8);
    (0..DRAWS)
        .map(|_| inputs.draw(transaction, &terminal, &mut rng))
        .collect()
}

fn of(warehouses: u32, variant: TpccVariant) -> TpccSpec {
    TpccSpec {
        warehouses,
        variant,
        ..TpccSpec::default()
    }
}

fn orders(spec: &TpccSpec) -> Vec<NewOrder> {
    let order = |input| match input {
        Input::NewOrder(order) => order,
        other => panic!("{other:?}"),
    };
    drawn(spec, Transaction::NewOrder)
        .into_iter()
        .map(order)
        .collect()
}

fn payments(spec: &TpccSpec) -> Vec<Payment> {
    let payment = |input| match input {
        Input::Payment(payment) => payment,
        other => panic!("{other:?}"),
    };
    drawn(spec, Transaction::Payment)
        .into_iter()
        .map(payment)
        .collect()
}

/// A share of `DRAWS` draws, or more, lies within five standard deviations.
fn assert_share(count: usize, total: usize, expected: f64) {
    let (share, total) = (count as f64 / total as f64, total as f64);
    let most = 5.0 * (expected * (1.0 - expected) / total).sqrt();
    assert!((share - expected).abs() < most, "{share} instead of {expected}");
}

#[test]
fn orders_are_as_the_specification_has_them() {
    let orders = orders(&of(4, TpccVariant::Tpcc));
    let lines: Vec<Line> = orders.iter().flat_map(|order| order.lines().to_vec()).collect();
    assert!(
        orders
            .iter()
            .all(|order| order.place.warehouse == 3 && (5..=15).contains(&order.count))
    );
    assert_share(
        orders.iter().filter(|order| order.count == 15).count(),
        DRAWS,
        1.0 / 11.0,
    );
    assert_share(
        orders.iter().filter(|order| order.place.district == 10).count(),
        DRAWS,
        0.1,
    );
    assert_share(
        orders.iter().filter(|order| order.rolls_back).count(),
        DRAWS,
        0.01,
    );
    assert!(lines.iter().all(|line| (1..=10).contains(&line.quantity)));
    assert_share(
        lines.iter().filter(|line| line.quantity == 10).count(),
        lines.len(),
        0.1,
    );
    let remote = lines.iter().filter(|line| line.supply != 3);
    assert_share(remote.count(), lines.len(), 0.01);
    for other in [1, 2, 4] {
        let from = lines.iter().filter(|line| line.supply == other).count();
        assert_share(from, lines.len(), 0.01 / 3.0);
    }
    assert!(
        orders
            .iter()
            .all(|order| order.is_local() == order.lines().iter().all(|line| line.supply == 3))
    );
}

#[test]
fn the_last_item_of_an_order_that_rolls_back_is_none() {
    for order in orders(&of(2, TpccVariant::Tpcc)) {
        let (last, others) = order.lines().split_last().unwrap();
        assert_eq!(last.item == 100_001, order.rolls_back);
        assert!(others.iter().all(|line| (1..=100_000).contains(&line.item)));
    }
}

#[test]
fn everybody_locks_stock_in_the_same_order() {
    for variant in [TpccVariant::Tpcc, TpccVariant::TpccMysql] {
        for order in orders(&of(3, variant)) {
            let keys: Vec<_> = order
                .by_stock()
                .iter()
                .map(|place| order.lines()[usize::from(*place)])
                .collect();
            assert!(keys.is_sorted_by_key(|line| (line.supply, line.item)));
            let sorted = order.lines().is_sorted_by_key(|line| (line.supply, line.item));
            assert!(sorted || variant == TpccVariant::Tpcc);
        }
    }
}

#[test]
fn payments_are_as_the_specification_has_them() {
    let payments = payments(&of(4, TpccVariant::Tpcc));
    let remote = payments.iter().filter(|payment| payment.home.warehouse != 3);
    assert_share(remote.clone().count(), DRAWS, 0.15);
    let elsewhere = remote.filter(|payment| payment.home.district != payment.place.district);
    assert_share(elsewhere.count(), DRAWS, 0.15 * 0.9);
    let by_name = payments
        .iter()
        .filter(|payment| matches!(payment.customer, Customer::Name(_)));
    assert_share(by_name.count(), DRAWS, 0.6);
    assert!(
        payments
            .iter()
            .all(|payment| (100..=500_000).contains(&payment.amount_cents))
    );
    let large = payments.iter().filter(|payment| payment.amount_cents > 250_050);
    assert_share(large.count(), DRAWS, 0.5);
}

#[test]
fn one_warehouse_has_no_other() {
    let spec = of(1, TpccVariant::Tpcc);
    assert!(orders(&spec).iter().all(NewOrder::is_local));
    assert!(
        payments(&spec)
            .iter()
            .all(|payment| payment.home == payment.place)
    );
}

#[test]
fn customers_are_skewed_as_non_uniform_numbers_are() {
    let orders = orders(&of(1, TpccVariant::Tpcc));
    let mut hits = vec![0; 3001];
    orders.iter().for_each(|order| hits[order.customer as usize] += 1);
    // Of 3000 numbers the most frequent tenth comes up far more often than a tenth of the time.
    hits.sort_unstable_by(|a, b| b.cmp(a));
    let often: usize = hits[..300].iter().sum();
    assert!(often as f64 / DRAWS as f64 > 0.3, "{often}");
    let even = self::orders(&of(1, TpccVariant::TprocC));
    assert_share(
        even.iter().filter(|order| order.customer <= 300).count(),
        DRAWS,
        0.1,
    );
}

#[test]
fn variants_enter_what_their_tools_do() {
    let spec = of(4, TpccVariant::TpccMysql);
    let orders = orders(&spec);
    for warehouse in 1..=4 {
        let there = orders
            .iter()
            .filter(|order| order.place.warehouse == warehouse)
            .count();
        assert_share(there, DRAWS, 0.25);
    }
    assert!(
        payments(&spec)
            .iter()
            .all(|payment| payment.amount_cents % 100 == 0)
    );
}

#[test]
fn the_rest_is_drawn_evenly() {
    let spec = of(2, TpccVariant::Tpcc);
    let carriers = drawn(&spec, Transaction::Delivery);
    let tenth = carriers
        .iter()
        .filter(|input| matches!(input, Input::Delivery { carrier: 10, .. }));
    assert_share(tenth.count(), DRAWS, 0.1);
    let levels = drawn(&spec, Transaction::StockLevel);
    let highest = levels
        .iter()
        .filter(|input| matches!(input, Input::StockLevel { threshold: 20, .. }));
    assert_share(highest.count(), DRAWS, 1.0 / 11.0);
    // Terminal 2 of warehouses 1 and 2 is the second one at warehouse 1.
    let place = District {
        warehouse: 1,
        district: 2,
    };
    assert!(
        levels
            .iter()
            .all(|input| matches!(input, Input::StockLevel { place: at, .. } if *at == place))
    );
}
