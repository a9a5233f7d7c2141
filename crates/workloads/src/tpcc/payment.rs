//! Payment (clause 2.5).
use super::Tpcc;
use super::input::{Customer, District, Payment};
use super::statements::Kind;
use super::thread::{Buffers, DATA_BYTES};
use super::transaction::{Attempt, End, now};
use crate::numbers::money;
use crate::prelude::*;

const BAD_CREDIT: &[u8] = b"BC";
/// Between the names of warehouse and district in H_DATA.
const GAP: &[u8] = b"    ";

impl Tpcc {
    pub(super) async fn payment(
        &self,
        payment: &Payment,
        buffers: &mut Buffers,
        attempt: &mut Attempt<'_>,
    ) -> Result<End, OpError> {
        let Buffers {
            namesakes,
            history,
            data,
            ..
        } = buffers;
        let Payment { place, home, .. } = *payment;
        let amount = money(payment.amount_cents);
        let [w, d] = [place.warehouse, place.district].map(Value::Int);
        let [home_w, home_d] = [home.warehouse, home.district].map(Value::Int);
        attempt
            .write(
                Kind::PayWarehouse.statement(),
                &[amount, w],
                1,
                "warehouse missing",
            )
            .await?;
        attempt
            .write(
                Kind::PayDistrict.statement(),
                &[amount, w, d],
                1,
                "district missing",
            )
            .await?;
        let Some(c) = customer_id(&payment.customer, home, namesakes, attempt).await? else {
            return Ok(End::Rollback);
        };
        let payer = attempt
            .read_row(Kind::Payer, &[w, w, d, home_w, home_d, c], "customer missing")
            .await?;
        let Some(payer) = payer else {
            return Ok(End::Rollback);
        };
        let bad_credit = text(payer, 2) == BAD_CREDIT;
        history.clear();
        for part in [text(payer, 0), GAP, text(payer, 1)] {
            history.extend_from_slice(part);
        }
        if bad_credit {
            let found = attempt
                .read_row(Kind::PayerData, &[home_w, home_d, c], "customer missing")
                .await?;
            let old = found.map_or(&[][..], |row| text(row, 0));
            write_entry(c.whole_number().unwrap_or_default(), payment, old, data);
        }
        let uncounted = usize::from(!self.rules.counts_payments);
        let good = [amount, amount, home_w, home_d, c];
        let bad = [amount, amount, Value::Text(data), home_w, home_d, c];
        let (kind, params) = match bad_credit {
            true => (Kind::PayBadCredit, &bad[uncounted..]),
            false => (Kind::PayCustomer, &good[uncounted..]),
        };
        attempt
            .write(kind.statement(), params, 1, "customer not updated")
            .await?;
        let row = [c, home_d, home_w, d, w, now(), amount, Value::Text(history)];
        attempt
            .write(Kind::InsertHistory.statement(), &row, 1, "history not stored")
            .await?;
        Ok(End::Commit)
    }
}

fn text(row: &RowBuf, cell: usize) -> &[u8] {
    row.cell(cell).and_then(Value::bytes).unwrap_or_default()
}

/// C_DATA of a customer of bad credit: the payment is put before the old text, and the end is cut off.
fn write_entry(customer: i64, payment: &Payment, old: &[u8], data: &mut Vec<u8>) {
    let District { warehouse, district } = payment.place;
    let mut digits = itoa::Buffer::new();
    data.clear();
    for number in [
        customer,
        payment.home.district,
        payment.home.warehouse,
        district,
        warehouse,
    ] {
        data.extend_from_slice(digits.format(number).as_bytes());
        data.push(b' ');
    }
    data.extend_from_slice(digits.format(payment.amount_cents / 100).as_bytes());
    let cents = (payment.amount_cents % 100) as u8;
    data.extend_from_slice(&[b'.', b'0' + cents / 10, b'0' + cents % 10, b' ']);
    data.extend_from_slice(old);
    data.truncate(DATA_BYTES);
}

// Which customer a terminal's user means (clauses 2.5.2.2 and 2.6.2.2).

/// Of those with a name, by first name, the one in the middle. `None`: nobody has it.
pub async fn customer_id(
    customer: &Customer,
    home: District,
    namesakes: &mut Vec<i64>,
    attempt: &mut Attempt<'_>,
) -> Result<Option<Value<'static>>, OpError> {
    let name = match customer {
        Customer::Id(id) => return Ok(Some(Value::Int(*id))),
        Customer::Name(name) => Value::Text(name.as_bytes()),
    };
    namesakes.clear();
    let mut each = |row: &RowBuf| namesakes.extend(row.cell(0).and_then(Value::whole_number));
    let params = [Value::Int(home.warehouse), Value::Int(home.district), name];
    attempt.read(Kind::CustomersByName, &params, &mut each).await?;
    let middle = namesakes.get(namesakes.len().saturating_sub(1) / 2);
    attempt.expect(middle.is_some(), "no customer of this name");
    Ok(middle.copied().map(Value::Int))
}

#[cfg(test)]
mod tests {
    use super::super::input::Customer;
    use super::*;

    #[test]
    fn an_entry_goes_before_what_exists_and_the_end_is_cut_off() {
        let place = |warehouse, district| District { warehouse, district };
        let payment = Payment {
            place: place(2, 10),
            home: place(7, 3),
            customer: Customer::Id(15),
            amount_cents: 123_405,
        };
        let mut data = Vec::new();
        write_entry(15, &payment, b"before", &mut data);
        assert_eq!(data, b"15 3 7 10 2 1234.05 before");
        write_entry(15, &payment, &[b'x'; DATA_BYTES], &mut data);
        assert_eq!(data.len(), DATA_BYTES);
        assert!(data.starts_with(b"15 3 7 10 2 1234.05 xxx"));
    }
}
