//! The values that a statement is asked with.
use super::script::Kind;
use super::steps::Step;
use super::text::{C_BYTES, PAD_BYTES, Texts};
use crate::rng::Random;
use bakeoff_model::value::Value;
use std::ops::Deref;

/// User bytes of an integer column.
const INT_BYTES: u64 = 4;
pub const ROW_BYTES: u64 = 2 * INT_BYTES + (C_BYTES + PAD_BYTES) as u64;

/// Of every statement of a transaction: four at most.
pub struct Values<'a> {
    all: [Value<'a>; 4],
    count: usize,
}

impl<'a> Values<'a> {
    /// `texts`: where its texts are drawn.
    #[inline]
    pub fn of(step: &Step, texts: &'a mut Texts) -> Self {
        let (id, other) = (Value::Int(step.id as i64), Value::Int(step.other as i64));
        let (all, count) = match step.kind {
            Kind::SimpleRange | Kind::SumRange | Kind::OrderRange | Kind::DistinctRange => {
                ([id, other, Value::Null, Value::Null], 2)
            }
            Kind::NonIndexUpdate => {
                let c = Value::Text(texts.draw_c(&mut Random::new(step.seed)));
                ([c, id, Value::Null, Value::Null], 2)
            }
            Kind::Insert => {
                let (c, pad) = texts.draw(&mut Random::new(step.seed));
                ([id, other, Value::Text(c), Value::Text(pad)], 4)
            }
            _ => ([id, Value::Null, Value::Null, Value::Null], 1),
        };
        Self { all, count }
    }
}

impl<'a> Deref for Values<'a> {
    type Target = [Value<'a>];
    #[inline]
    fn deref(&self) -> &[Value<'a>] {
        &self.all[..self.count]
    }
}

/// User bytes that a statement writes into each row that it finds.
#[inline]
pub fn bytes_written(kind: Kind) -> u64 {
    match kind {
        Kind::NonIndexUpdate => C_BYTES as u64,
        Kind::Insert => ROW_BYTES,
        _ => INT_BYTES,
    }
}
