//! What functions and operators make of values: the rules of pgbench.
use super::draw;
use super::function::Function;
use super::hash::{hash_fnv1a, hash_murmur2, permute};
use super::number::{Fault, Number};
use crate::rng::Random;

/// Of values that are not NULL, but for Is and Debug.
pub fn compute(function: Function, [a, b, c]: [Number; 3], random: &mut Random) -> Result<Number, Fault> {
    use Number::{Bool, Double, Int};
    Ok(match function {
        Function::Add => match (a, b) {
            (Double(_), _) | (_, Double(_)) => Double(a.double()? + b.double()?),
            _ => Int(a.int()?.checked_add(b.int()?).ok_or(Fault::AddOverflow)?),
        },
        Function::Sub => match (a, b) {
            (Double(_), _) | (_, Double(_)) => Double(a.double()? - b.double()?),
            _ => Int(a.int()?.checked_sub(b.int()?).ok_or(Fault::SubOverflow)?),
        },
        Function::Mul => match (a, b) {
            (Double(_), _) | (_, Double(_)) => Double(a.double()? * b.double()?),
            _ => Int(a.int()?.checked_mul(b.int()?).ok_or(Fault::MulOverflow)?),
        },
        Function::Div => match (a, b) {
            (Double(_), _) | (_, Double(_)) => Double(a.double()? / b.double()?),
            _ => {
                let (a, b) = (a.int()?, b.int()?);
                let by_zero = if b == 0 {
                    Fault::DivisionByZero
                } else {
                    Fault::DivOverflow
                };
                Int(a.checked_div(b).ok_or(by_zero)?)
            }
        },
        Function::Mod => match (a.int()?, b.int()?) {
            (_, 0) => return Err(Fault::DivisionByZero),
            (a, b) => Int(a.wrapping_rem(b)),
        },
        Function::Equal => Bool(match (a, b) {
            (Double(_), _) | (_, Double(_)) => a.double()? == b.double()?,
            _ => a.int()? == b.int()?,
        }),
        Function::NotEqual => Bool(match (a, b) {
            (Double(_), _) | (_, Double(_)) => a.double()? != b.double()?,
            _ => a.int()? != b.int()?,
        }),
        Function::Less => Bool(match (a, b) {
            (Double(_), _) | (_, Double(_)) => a.double()? < b.double()?,
            _ => a.int()? < b.int()?,
        }),
        Function::LessEqual => Bool(match (a, b) {
            (Double(_), _) | (_, Double(_)) => a.double()? <= b.double()?,
            _ => a.int()? <= b.int()?,
        }),
        Function::BitAnd => Int(a.int()? & b.int()?),
        Function::BitOr => Int(a.int()? | b.int()?),
        Function::BitXor => Int(a.int()? ^ b.int()?),
        // By the six lowest bits of the distance, as processors do and pgbench relies on.
        Function::ShiftLeft => Int(a.int()?.wrapping_shl(b.int()? as u32)),
        Function::ShiftRight => Int(a.int()?.wrapping_shr(b.int()? as u32)),
        Function::Not => Bool(!a.boolean()?),
        Function::Is => Bool(a == b),
        Function::Debug => a,
        Function::Abs => match a {
            Double(value) => Double(value.abs()),
            _ => Int(a.int()?.checked_abs().ok_or(Fault::AbsOverflow)?),
        },
        Function::Double => Double(a.double()?),
        Function::Int => Int(a.int()?),
        Function::Exp => Double(a.double()?.exp()),
        Function::Ln => Double(a.double()?.ln()),
        Function::Sqrt => Double(a.double()?.sqrt()),
        Function::Pow => Double(a.double()?.powf(b.double()?)),
        Function::Pi => Double(std::f64::consts::PI),
        Function::HashFnv1a => Int(hash_fnv1a(a.int()?, b.int()?)),
        Function::HashMurmur2 => Int(hash_murmur2(a.int()?, b.int()?)),
        Function::Permute => match b.int()? {
            size if size > 0 => Int(permute(a.int()?, size, c.int()?)),
            _ => return Err(Fault::PermuteSize),
        },
        Function::Random => Int(draw::uniform(a.int()?, b.int()?, random)?),
        Function::RandomExponential => Int(draw::exponential(a.int()?, b.int()?, c.double()?, random)?),
        Function::RandomGaussian => Int(draw::gaussian(a.int()?, b.int()?, c.double()?, random)?),
        Function::RandomZipfian => {
            let zipfian = draw::zipfian_of(c.double()?, 1)?;
            Int(draw::zipfian(a.int()?, b.int()?, &zipfian, random)?)
        }
        Function::Greatest | Function::Least => extreme(function, a, b)?,
    })
}

/// One double makes doubles of all; one NULL is the answer.
pub fn extreme(function: Function, a: Number, b: Number) -> Result<Number, Fault> {
    use Number::{Double, Int, Null};
    let greatest = function == Function::Greatest;
    Ok(match (a, b) {
        (Null, _) | (_, Null) => Null,
        (Double(_), _) | (_, Double(_)) => {
            let (a, b) = (a.double()?, b.double()?);
            Double(if (b > a) == greatest { b } else { a })
        }
        _ => {
            let (a, b) = (a.int()?, b.int()?);
            Int(if greatest { a.max(b) } else { a.min(b) })
        }
    })
}
