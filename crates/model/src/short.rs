//! Keys are short, and a call to the library's memory functions takes longer than what it does for them. Pieces of ever
//! smaller size, none overlapping another: what was copied a moment ago is read in the very pieces in which it was written,
//! which a processor hands on without waiting for its cache.

/// From here on the library is faster.
const LONG: usize = 32;

/// `a == b`.
#[inline(always)]
pub fn equal(mut a: &[u8], mut b: &[u8]) -> bool {
    if a.len() != b.len() || a.len() >= LONG {
        return a == b;
    }
    same_piece::<16>(&mut a, &mut b)
        && same_piece::<8>(&mut a, &mut b)
        && same_piece::<4>(&mut a, &mut b)
        && same_piece::<2>(&mut a, &mut b)
        && same_piece::<1>(&mut a, &mut b)
}

/// Compares a piece of `N` bytes and goes on behind it; true where fewer are left.
#[inline(always)]
fn same_piece<const N: usize>(a: &mut &[u8], b: &mut &[u8]) -> bool {
    let (Some((a_piece, a_rest)), Some((b_piece, b_rest))) =
        (a.split_first_chunk::<N>(), b.split_first_chunk())
    else {
        return true;
    };
    (*a, *b) = (a_rest, b_rest);
    a_piece == b_piece
}

/// `to.copy_from_slice(from)`; false, and nothing copied, if their lengths differ.
#[inline(always)]
pub fn copy(mut from: &[u8], mut to: &mut [u8]) -> bool {
    if from.len() != to.len() {
        return false;
    }
    if from.len() >= LONG {
        to.copy_from_slice(from);
        return true;
    }
    copy_piece::<16>(&mut from, &mut to);
    copy_piece::<8>(&mut from, &mut to);
    copy_piece::<4>(&mut from, &mut to);
    copy_piece::<2>(&mut from, &mut to);
    copy_piece::<1>(&mut from, &mut to);
    true
}

/// Copies a piece of `N` bytes and goes on behind it, unless fewer are left.
#[inline(always)]
fn copy_piece<const N: usize>(from: &mut &[u8], to: &mut &mut [u8]) {
    if let Some((piece, rest)) = from.split_first_chunk::<N>()
        && let Some((place, places)) = std::mem::take(to).split_first_chunk_mut()
    {
        *place = *piece;
        (*from, *to) = (rest, places);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts_at_every_length() {
        for length in 0..70 {
            let a: Vec<u8> = (0..length).collect();
            let mut b = vec![0xFF; a.len()];
            assert!(copy(&a, &mut b) && a == b && equal(&a, &b), "length {length}");
            for place in 0..a.len() {
                b[place] ^= 0x80;
                assert!(!equal(&a, &b), "byte {place} of {length}");
                b[place] ^= 0x80;
            }
        }
    }

    #[test]
    fn other_lengths_are_neither_equal_nor_copied() {
        let mut to = [7; 20];
        assert!(!copy(&[1; 21], &mut to) && to == [7; 20]);
        assert!(!equal(&[7; 21], &to) && !equal(&[7; 19], &to));
    }
}
