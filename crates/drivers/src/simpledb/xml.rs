//! What answers need of XML: elements by name, and their texts. A text has no `<`, and no element is within another of its name.

/// One element, and what follows it.
pub struct Element<'a> {
    /// Of its start tag, what is behind the name.
    attributes: &'a [u8],
    pub inside: &'a [u8],
    pub rest: &'a [u8],
}

/// The next element of this name, wherever it is.
pub fn element<'a>(xml: &'a [u8], name: &str) -> Option<Element<'a>> {
    let mut rest = xml;
    loop {
        let tag = &rest[rest.iter().position(|byte| *byte == b'<')? + 1..];
        rest = tag;
        let Some(behind) = tag.strip_prefix(name.as_bytes()) else {
            continue;
        };
        if !matches!(behind.first(), Some(b'>' | b'/' | b' ')) {
            continue;
        }
        let (attributes, behind) = behind.split_at(behind.iter().position(|byte| *byte == b'>')?);
        let behind = &behind[1..];
        if attributes.ends_with(b"/") {
            return Some(Element {
                attributes,
                inside: b"",
                rest: behind,
            });
        }
        let (inside, rest) = before_end(behind, name)?;
        return Some(Element {
            attributes,
            inside,
            rest,
        });
    }
}

fn before_end<'a>(xml: &'a [u8], name: &str) -> Option<(&'a [u8], &'a [u8])> {
    let mut at = 0;
    loop {
        at += xml[at..].iter().position(|byte| *byte == b'<')?;
        let end = xml[at + 1..].strip_prefix(b"/");
        let end = end.and_then(|end| end.strip_prefix(name.as_bytes())?.strip_prefix(b">"));
        if let Some(rest) = end {
            return Some((&xml[..at], rest));
        }
        at += 1;
    }
}

impl Element<'_> {
    /// Appends its text. A text that XML cannot hold is there in base 64, which is said. False: it cannot be read.
    pub fn text(&self, out: &mut Vec<u8>) -> bool {
        let said = b"encoding=\"base64\"";
        match self.attributes.windows(said.len()).any(|part| part == said) {
            true => decode(self.inside, out),
            false => unescape(self.inside, out),
        }
    }
}

fn unescape(mut text: &[u8], out: &mut Vec<u8>) -> bool {
    while let Some(plain) = text.iter().position(|byte| *byte == b'&') {
        out.extend_from_slice(&text[..plain]);
        let behind = &text[plain + 1..];
        let Some(end) = behind.iter().take(10).position(|byte| *byte == b';') else {
            return false;
        };
        let sign = match &behind[..end] {
            b"amp" => Some('&'),
            b"lt" => Some('<'),
            b"gt" => Some('>'),
            b"quot" => Some('"'),
            b"apos" => Some('\''),
            [b'#', b'x', digits @ ..] => number(digits, 16),
            [b'#', digits @ ..] => number(digits, 10),
            _ => None,
        };
        let Some(sign) = sign else {
            return false;
        };
        out.extend_from_slice(sign.encode_utf8(&mut [0; 4]).as_bytes());
        text = &behind[end + 1..];
    }
    out.extend_from_slice(text);
    true
}

fn number(digits: &[u8], radix: u32) -> Option<char> {
    let digits = std::str::from_utf8(digits).ok()?;
    char::from_u32(u32::from_str_radix(digits, radix).ok()?)
}

/// RFC 4648, section 4.
fn decode(text: &[u8], out: &mut Vec<u8>) -> bool {
    let (mut bits, mut count) = (0u32, 0);
    for byte in text.iter().filter(|byte| **byte != b'=') {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return false,
        };
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn text(xml: &str, name: &str) -> Option<String> {
        let mut out = vec![];
        let read = element(xml.as_bytes(), name)?.text(&mut out);
        read.then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn elements_are_found_by_their_whole_names() {
        let xml = "<?xml version=\"1.0\"?><R xmlns=\"x\"><NameList><a/></NameList><Name>n</Name><Value /><Name>m</Name></R>";
        assert_eq!(text(xml, "Name").as_deref(), Some("n"));
        assert_eq!(text(xml, "Value").as_deref(), Some(""));
        let rest = element(xml.as_bytes(), "Value").unwrap().rest;
        assert_eq!(element(rest, "Name").unwrap().inside, b"m");
        assert_eq!(element(xml.as_bytes(), "R").unwrap().rest, b"");
        for none in [
            "",
            "<",
            "<Name",
            "<Name>",
            "<Name>x</Name",
            "<Names>x</Names>",
            "Name",
        ] {
            assert!(element(none.as_bytes(), "Name").is_none(), "{none}");
        }
    }

    #[test]
    fn texts_are_what_they_were_before_they_were_escaped() {
        let of = |text: &str| format!("<V>{text}</V>");
        assert_eq!(
            text(&of("a&amp;&lt;&gt;&quot;&apos;&#13;&#x263A;z"), "V").as_deref(),
            Some("a&<>\"'\r☺z")
        );
        for broken in ["&", "&amp", "&no;", "&#x110000;", "&#;"] {
            assert_eq!(text(&of(broken), "V"), None, "{broken}");
        }
        assert_eq!(
            text("<V encoding=\"base64\">YQBiCg==</V>", "V").as_deref(),
            Some("a\0b\n")
        );
        assert_eq!(text("<V encoding=\"base64\">a!</V>", "V"), None);
    }
}
