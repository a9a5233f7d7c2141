//! An object of several values: an answer of several parts (RFC 2046, 5.1), each with its own fields.
//!
//! The one that counts is the one with the latest `Last-Modified`, which tells seconds; of several the one with the greatest
//! `Etag`, so that every client takes the same. One that says `X-Riak-Deleted` is a deletion, and counts for nothing.
//!
//! Source: Riak KV documentation, "HTTP Fetch Object", "Conflict Resolution: Siblings".
use std::ops::Range;

const LINE: &[u8] = b"\r\n";

/// Where the value that counts is in the answer's body; `Some(None)`: all are deletions. `None`: it is no such answer.
pub fn latest(body: &[u8], content_type: &[u8]) -> Option<Option<Range<usize>>> {
    let boundary = content_type.strip_prefix(b"multipart/mixed; boundary=")?;
    let boundary = boundary
        .strip_prefix(b"\"")
        .map_or(boundary, |quoted| quoted.strip_suffix(b"\"").unwrap_or(quoted));
    let mut best: Option<(Rank<'_>, Range<usize>)> = None;
    let mut at = end_of_delimiter(body, 0, boundary)?.1;
    while !body[at..].starts_with(b"--") {
        let (end, next) = end_of_delimiter(body, at, boundary)?;
        let part = &body[at..end];
        let fields = part.windows(4).position(|four| four == b"\r\n\r\n")?;
        let (head, value) = (&part[..fields], at + fields + 4..end);
        at = next;
        if field(head, b"x-riak-deleted").is_some() {
            continue;
        }
        let rank = (
            moment(field(head, b"last-modified")?)?,
            field(head, b"etag").unwrap_or_default(),
        );
        if best.as_ref().is_none_or(|(least, _)| rank > *least) {
            best = Some((rank, value));
        }
    }
    Some(best.map(|(_, value)| value))
}

/// Where the next delimiter begins and ends, its line's end apart where it is the last one's.
fn end_of_delimiter(body: &[u8], from: usize, boundary: &[u8]) -> Option<(usize, usize)> {
    let mut start = from;
    loop {
        start += body.get(start..)?.windows(4).position(|four| four == b"\r\n--")?;
        if let Some(rest) = body[start + 4..].strip_prefix(boundary) {
            let end = start + 4 + boundary.len();
            return Some((start, if rest.starts_with(LINE) { end + 2 } else { end }));
        }
        start += 4;
    }
}

fn field<'a>(head: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    head.split(|byte| *byte == b'\n').find_map(|line| {
        let (known, value) = line.split_at(line.iter().position(|byte| *byte == b':')?);
        let known = known.trim_ascii();
        known.eq_ignore_ascii_case(name).then(|| value[1..].trim_ascii())
    })
}

/// Year, month, day and time of a day, as they compare.
type Moment<'a> = (&'a [u8], usize, &'a [u8], &'a [u8]);

/// `Last-Modified`, and of two of a second the `Etag`.
type Rank<'a> = (Moment<'a>, &'a [u8]);

/// `Sun, 06 Nov 1994 08:49:37 GMT`
fn moment(date: &[u8]) -> Option<Moment<'_>> {
    const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let mut parts = date.split(|byte| *byte == b' ').skip(1);
    let (day, month, year, time) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let month = MONTHS.chunks(3).position(|known| known == month)?;
    Some((year, month, day, time))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TYPE: &[u8] = b"multipart/mixed; boundary=YinLMzyUR9feB17okMytgKsylvh";

    fn part(etag: &str, date: &str, more: &str, value: &str) -> String {
        format!(
            "\r\n--YinLMzyUR9feB17okMytgKsylvh\r\nContent-Type: application/json\r\nLink: </buckets/test>; rel=\"up\"\r\n\
             Etag: {etag}\r\nLast-Modified: {date}\r\n{more}\r\n{value}"
        )
    }

    fn chosen(parts: &[String]) -> Option<Option<String>> {
        let body = parts.concat() + "\r\n--YinLMzyUR9feB17okMytgKsylvh--\r\n";
        let value = latest(body.as_bytes(), TYPE)?;
        Some(value.map(|range| body[range].to_owned()))
    }

    #[test]
    fn the_latest_value_counts_and_of_two_of_a_second_always_the_same() {
        let dates = [
            "Thu, 31 Dec 2009 23:59:59 GMT",
            "Wed, 10 Mar 2010 18:00:51 GMT",
            "Wed, 10 Mar 2010 18:01:06 GMT",
            "Thu, 01 Apr 2010 00:00:00 GMT",
        ];
        for (place, date) in dates.iter().enumerate().skip(1) {
            let parts = [
                part("z", date, "", "\r\n--{\"n\":1}\r\n"),
                part("a", dates[place - 1], "", "{}"),
            ];
            assert_eq!(chosen(&parts), Some(Some("\r\n--{\"n\":1}\r\n".into())));
            let [one, other] = parts;
            assert_eq!(chosen(&[other, one]).unwrap().unwrap().len(), 13);
        }
        let one = part("16vic4eU9ny46o4KPiDz1f", dates[1], "", "1");
        let other = part("4v5xOg4bVwUYZdMkqf0d6I", dates[1], "", "2");
        for parts in [[one.clone(), other.clone()], [other, one]] {
            assert_eq!(chosen(&parts), Some(Some("2".into())));
        }
    }

    #[test]
    fn deletions_count_for_nothing_and_what_is_no_such_answer_is_none() {
        let gone = part(
            "9",
            "Thu, 01 Apr 2010 00:00:00 GMT",
            "X-Riak-Deleted: true\r\n",
            "",
        );
        let left = part("1", "Wed, 10 Mar 2010 18:01:06 GMT", "", "{}");
        assert_eq!(chosen(&[gone.clone(), left]), Some(Some("{}".into())));
        assert_eq!(chosen(&[gone]), Some(None));
        assert_eq!(
            latest(b"Siblings:\n16vic4eU9ny46o4KPiDz1f\n", b"text/plain"),
            None
        );
        let whole = part("1", "Wed, 10 Mar 2010 18:01:06 GMT", "", "{}");
        for cut in 0..whole.len() {
            assert_eq!(latest(&whole.as_bytes()[..cut], TYPE), None, "{cut}");
        }
        assert_eq!(chosen(&[part("1", "yesterday", "", "{}")]), None);
    }
}
