//! Bytes taken from the front of what a server said.
use super::errors::malformed;
use bakeoff_model::outcome::OpError;

const SHORT: &str = "it ends too early";

#[inline]
pub fn bytes<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], OpError> {
    let Some((taken, left)) = rest.split_at_checked(count) else {
        return Err(malformed(SHORT));
    };
    *rest = left;
    Ok(taken)
}

#[inline]
pub fn array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], OpError> {
    let Some((taken, left)) = rest.split_first_chunk::<N>() else {
        return Err(malformed(SHORT));
    };
    *rest = left;
    Ok(*taken)
}

/// Up to the zero that ends it.
pub fn text<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], OpError> {
    let end = rest.iter().position(|&byte| byte == 0);
    let text = bytes(rest, end.ok_or_else(|| malformed(SHORT))?)?;
    bytes(rest, 1)?;
    Ok(text)
}

#[inline]
pub fn ended(rest: &[u8]) -> Result<(), OpError> {
    match rest {
        [] => Ok(()),
        _ => Err(malformed("it goes on after its end")),
    }
}
