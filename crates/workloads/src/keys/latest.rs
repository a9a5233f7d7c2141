//! The newest records most often.
use super::Zipfian;
use crate::rng::Random;

/// `zipfian` must have `readable - 1` items (at least 1): the newest record number minus a zipfian rank. As in the
/// original, the very oldest record is never drawn (unless it is the only one).
#[inline]
pub fn latest(zipfian: &Zipfian, readable: u64, rng: &mut Random) -> u64 {
    (readable - 1).saturating_sub(zipfian.draw(rng))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::THETA;

    #[test]
    fn the_newest_is_the_hottest_and_all_stay_in_range() {
        let readable = 1000;
        let zipfian = Zipfian::new(readable - 1, THETA);
        let mut rng = Random::new(3);
        let mut hits = vec![0u32; readable as usize];
        for _ in 0..200_000 {
            hits[latest(&zipfian, readable, &mut rng) as usize] += 1;
        }
        assert_eq!(hits[0], 0);
        let share = f64::from(hits[999]) / 200_000.0;
        assert!(
            (share - 1.0 / crate::keys::zeta(999, THETA)).abs() < 0.005,
            "{share}"
        );
        assert!(hits[999] > hits[998] && hits[998] > hits[990]);
    }

    #[test]
    fn a_single_record_is_drawn() {
        assert_eq!(latest(&Zipfian::new(1, THETA), 1, &mut Random::new(0)), 0);
    }
}
