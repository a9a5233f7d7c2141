//! The load phase. Units are rows: all items, then the rows of one warehouse after the other, table by table.
use super::Tpcc;
use super::schema::Table;
use super::thread::Thread;
use crate::prelude::*;

/// Rows of one chunk, and of one transaction: at most 7 MB.
pub const CHUNK_ROWS: u64 = 10_000;

/// Successive rows of one table and warehouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    table: Table,
    /// From 1; of items 0.
    warehouse: u64,
    first: u64,
    rows: u64,
}

impl Tpcc {
    fn warehouse_rows(&self) -> u64 {
        let rows = |table: Table| table.rows(&self.sizes);
        Table::ALL.into_iter().map(rows).sum::<u64>() - self.sizes.items
    }

    pub(super) fn loaded_rows(&self) -> u64 {
        self.sizes.items + self.sizes.warehouses * self.warehouse_rows()
    }

    /// First unit of this client's share, and how many it has.
    pub(super) fn load_share(&self) -> (u64, u64) {
        let total = u128::from(self.loaded_rows());
        let share = |index: u32| (total * u128::from(index) / u128::from(self.client.count)) as u64;
        let first = share(self.client.index);
        (first, share(self.client.index + 1) - first)
    }

    /// Where unit `unit` lies, and at most `most` rows from there that lie together.
    fn stretch(&self, unit: u64, most: u64) -> Stretch {
        let (warehouse, mut first) = match unit.checked_sub(self.sizes.items) {
            None => (0, unit),
            Some(unit) => (
                1 + unit / self.warehouse_rows(),
                self.sizes.items + unit % self.warehouse_rows(),
            ),
        };
        let mut tables = Table::ALL.into_iter();
        loop {
            // Units are below their number, so there is a table: items come first.
            let table = tables.next().unwrap_or(Table::Item);
            let rows = table.rows(&self.sizes);
            if first < rows {
                return Stretch {
                    table,
                    warehouse,
                    first,
                    rows: most.min(rows - first),
                };
            }
            first -= rows;
        }
    }

    /// The stretches of some of this client's units.
    fn stretches(&self, first: u64, count: u64) -> impl Iterator<Item = Stretch> {
        let mut unit = self.load_share().0 + first;
        let end = unit + count;
        std::iter::from_fn(move || {
            let stretch = (unit < end).then(|| self.stretch(unit, end - unit))?;
            unit += stretch.rows;
            Some(stretch)
        })
    }

    pub(super) async fn load(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
        first: u64,
        count: u64,
    ) -> Result<u64, OpError> {
        session.begin(Access::default()).await?;
        let stored = self.load_stretches(session, first, count).await;
        let stored = session.end(stored).await?;
        let bytes = |stretch: Stretch| stretch.rows * stretch.table.row_bytes();
        let bytes = self.stretches(first, count).map(bytes).sum();
        thread.account.bytes_written.add(bytes);
        Ok(stored)
    }

    async fn load_stretches(&self, session: &mut AnySql, first: u64, count: u64) -> Result<u64, OpError> {
        let mut stored = 0;
        for stretch in self.stretches(first, count) {
            let columns = stretch.table.columns();
            let columns: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
            let mut places = stretch.first..stretch.first + stretch.rows;
            let mut next = |row: &mut RowBuf| match places.next() {
                Some(place) => {
                    self.population.fill(stretch.table, stretch.warehouse, place, row);
                    true
                }
                None => false,
            };
            stored += session
                .bulk_insert(self.names.of(stretch.table), &columns, &mut next)
                .await?;
        }
        Ok(stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::run::tpcc::TpccSpec;

    #[test]
    fn chunks_of_all_clients_are_every_row_once() {
        let spec = TpccSpec {
            mini: true,
            warehouses: 2,
            ..TpccSpec::default()
        };
        let client = |index| Tpcc::new(&spec, 1, ClientSpec { index, count: 3 }, None).unwrap();
        let clients = [0, 1, 2].map(client);
        let mut found = Vec::new();
        for tpcc in &clients {
            let (_, units) = tpcc.load_share();
            for first in (0..units).step_by(CHUNK_ROWS as usize) {
                found.extend(tpcc.stretches(first, CHUNK_ROWS.min(units - first)));
            }
        }
        // A stretch goes on where the last one of its table and warehouse ended.
        for table in Table::ALL {
            for warehouse in if table == Table::Item { 0..1 } else { 1..3 } {
                let of_it = found
                    .iter()
                    .filter(|stretch| (stretch.table, stretch.warehouse) == (table, warehouse));
                let end = of_it.fold(0, |end, stretch| {
                    assert_eq!(stretch.first, end, "{table:?}");
                    end + stretch.rows
                });
                assert_eq!(end, table.rows(&clients[0].sizes), "{table:?} of {warehouse}");
            }
        }
        let rows: u64 = found.iter().map(|stretch| stretch.rows).sum();
        assert_eq!(rows, clients[0].loaded_rows());
    }
}
