//! Numbers as protocols of text write them, without a formatter.

/// A number in decimal digits.
#[inline]
pub fn digits<T>(mut number: usize, take: impl FnOnce(&[u8]) -> T) -> T {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return take(&digits[start..]);
        }
    }
}
