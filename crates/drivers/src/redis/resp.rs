//! RESP, version 2: requests are arrays of binary strings, and answers say their type by their first byte.
use super::errors::server_error;
pub use crate::server::digits::digits;
use crate::server::errors::malformed;
use bakeoff_model::outcome::OpError;

/// The server's own limit on one string (`proto-max-bulk-len`), and far above any array here.
const LENGTH_MAX: i64 = 512 << 20;

/// One element of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Element<'a> {
    Line(&'a [u8]),
    Error(&'a [u8]),
    Int(i64),
    Text(&'a [u8]),
    Null,
    /// The number of elements that follow.
    Array(usize),
}

/// What the server answered, and its size in bytes.
pub type Answer<T> = (Result<T, OpError>, usize);

/// Writes the head of a request with this number of parts.
#[inline]
pub fn parts(request: &mut Vec<u8>, count: usize) {
    head(request, b'*', count);
}

/// A part of a request, made of these one after the other.
#[inline]
pub fn part(request: &mut Vec<u8>, pieces: &[&[u8]]) {
    head(request, b'$', pieces.iter().map(|piece| piece.len()).sum());
    for piece in pieces {
        request.extend_from_slice(piece);
    }
    request.extend_from_slice(b"\r\n");
}

/// A whole request.
pub fn command(request: &mut Vec<u8>, said: &[&[u8]]) {
    parts(request, said.len());
    for one in said {
        part(request, &[one]);
    }
}

#[inline]
fn head(request: &mut Vec<u8>, sign: u8, number: usize) {
    request.push(sign);
    digits(number, |digits| request.extend_from_slice(digits));
    request.extend_from_slice(b"\r\n");
}

/// The first element of the input and its size in bytes; `None`: not all of it has arrived.
#[inline]
pub fn element(input: &[u8]) -> Result<Option<(Element<'_>, usize)>, OpError> {
    let Some(end) = line_end(input)? else {
        return Ok(None);
    };
    let (line, size) = (&input[1..end], end + 2);
    Ok(Some(match input[0] {
        b'$' => match length(line)? {
            None => (Element::Null, size),
            Some(bytes) => match input.get(size..size + bytes + 2) {
                None => return Ok(None),
                Some([text @ .., b'\r', b'\n']) => (Element::Text(text), size + bytes + 2),
                Some(_) => return Err(malformed("a string that does not end where it says")),
            },
        },
        b'*' => (length(line)?.map_or(Element::Null, Element::Array), size),
        b':' => (Element::Int(number(line)?), size),
        b'+' => (Element::Line(line), size),
        b'-' => (Element::Error(line), size),
        _ => return Err(malformed("an element of no known type")),
    }))
}

/// Where the first line ends.
#[inline]
fn line_end(input: &[u8]) -> Result<Option<usize>, OpError> {
    const LINE_BYTES_MAX: usize = 64 << 10;
    match input.iter().position(|&byte| byte == b'\r') {
        Some(end) if end > 0 && input.get(end + 1).is_none_or(|&next| next == b'\n') => {
            Ok((end + 1 < input.len()).then_some(end))
        }
        None if input.len() < LINE_BYTES_MAX => Ok(None),
        _ => Err(malformed("a line without an end")),
    }
}

/// `None`: the element is null.
#[inline]
fn length(line: &[u8]) -> Result<Option<usize>, OpError> {
    match number(line)? {
        -1 => Ok(None),
        length @ 0..=LENGTH_MAX => Ok(Some(length as usize)),
        _ => Err(malformed("a length below 0 or above 512 MiB")),
    }
}

#[inline]
fn number(line: &[u8]) -> Result<i64, OpError> {
    let (negative, digits) = match line {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return Err(malformed("a number that is none"));
    }
    let size = digits
        .iter()
        .fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
    Ok(if negative { -size } else { size })
}

/// A whole answer that is one element; `None`: not all of it has arrived.
pub fn one<T>(
    input: &[u8],
    read: impl FnOnce(Element<'_>) -> Option<T>,
) -> Result<Option<Answer<T>>, OpError> {
    let Some((element, size)) = element(input)? else {
        return Ok(None);
    };
    let answer = match element {
        Element::Error(said) => Err(server_error(said)),
        element => Ok(read(element).ok_or_else(|| malformed("an answer of another type"))?),
    };
    Ok(Some((answer, size)))
}

/// A whole answer that is an array of strings, each handed to `each` with its place (`None`: null). Where not all of it has
/// arrived, it is handed over from the beginning again.
#[inline]
pub fn texts(
    input: &[u8],
    mut each: impl FnMut(usize, Option<&[u8]>),
) -> Result<Option<Answer<usize>>, OpError> {
    let Some((first, mut size)) = element(input)? else {
        return Ok(None);
    };
    let count = match first {
        Element::Array(count) => count,
        Element::Error(said) => return Ok(Some((Err(server_error(said)), size))),
        _ => return Err(malformed("an answer of another type")),
    };
    for place in 0..count {
        let Some((element, bytes)) = element(&input[size..])? else {
            return Ok(None);
        };
        match element {
            Element::Text(text) => each(place, Some(text)),
            Element::Null => each(place, None),
            _ => return Err(malformed("an array of other elements")),
        }
        size += bytes;
    }
    Ok(Some((Ok(count), size)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_request_counts_its_parts_and_their_bytes() {
        let mut request = vec![];
        parts(&mut request, 2);
        part(&mut request, &[b"GET"]);
        part(&mut request, &[b"t:", b"user12345"]);
        assert_eq!(request, b"*2\r\n$3\r\nGET\r\n$11\r\nt:user12345\r\n");
        assert_eq!(digits(0, <[u8]>::to_vec), b"0");
        assert_eq!(
            digits(usize::MAX, <[u8]>::to_vec),
            usize::MAX.to_string().as_bytes()
        );
    }

    #[test]
    fn an_element_is_taken_when_it_is_whole() {
        for (input, wanted) in [
            (&b"+OK\r\n"[..], Element::Line(b"OK")),
            (b"-ERR no\r\n", Element::Error(b"ERR no")),
            (b":-12\r\n", Element::Int(-12)),
            (b"$4\r\n\r\n\r\n\r\n", Element::Text(b"\r\n\r\n")),
            (b"$0\r\n\r\n", Element::Text(b"")),
            (b"$-1\r\n", Element::Null),
            (b"*-1\r\n", Element::Null),
            (b"*3\r\n", Element::Array(3)),
        ] {
            for end in 0..input.len() {
                assert!(element(&input[..end]).unwrap().is_none(), "{input:?} {end}");
            }
            let more = [input, b"+more"].concat();
            assert_eq!(element(&more).unwrap(), Some((wanted, input.len())));
        }
    }

    #[test]
    fn what_is_not_in_the_protocol_is_refused() {
        for input in [
            &b"HTTP/1.1 400\r\n"[..],
            b"\r\n",
            b"$5\r\nabcdefg",
            b"$-2\r\n",
            b"$999999999999\r\n",
            b":\r\n",
            b":1x\r\n",
            b"+a\rb\n",
        ] {
            assert!(element(input).is_err(), "{input:?}");
        }
        assert!(element(&[b'+'; 70_000]).is_err());
    }

    #[test]
    fn an_array_is_handed_over_when_all_of_it_is_there() {
        let input = b"*3\r\n$1\r\na\r\n$-1\r\n$2\r\nbc\r\n";
        for end in 0..input.len() {
            assert!(texts(&input[..end], |_, _| {}).unwrap().is_none());
        }
        let mut seen = vec![];
        let each = |place, text: Option<&[u8]>| seen.push((place, text.map(<[u8]>::to_vec)));
        let (count, size) = texts(input, each).unwrap().unwrap();
        assert_eq!((count.unwrap(), size), (3, input.len()));
        assert_eq!(
            seen,
            [(0, Some(b"a".to_vec())), (1, None), (2, Some(b"bc".to_vec()))]
        );
        let (refused, size) = texts(b"-OOM full\r\n", |_, _| {}).unwrap().unwrap();
        assert_eq!((&*refused.unwrap_err().code, size), ("OOM", 11));
    }
}
