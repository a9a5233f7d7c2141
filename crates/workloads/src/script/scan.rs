//! SQL cut into words, quotes and signs, as PostgreSQL reads it, and with MySQL's quotes of names.
use super::token::names;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Blank,
    LineComment,
    Comment,
    /// An identifier, a keyword or a number.
    Word,
    /// A text: '...', E'...' (without its E), $tag$...$tag$.
    Text,
    /// "..." or `...`
    QuotedName,
    /// `:name`
    Variable,
    Open,
    Close,
    Semicolon,
    Backslash,
    Sign,
}

/// Bytes `from..to` of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    pub from: usize,
    pub to: usize,
}

/// What was opened at these bytes is never closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unclosed(pub usize, pub &'static str);

/// The token at `from`, which must be inside the text. `before`: the one before it.
pub fn token(text: &str, from: usize, before: Option<Token>) -> Result<Token, Unclosed> {
    let rest = &text[from..];
    let first = rest.chars().next().unwrap_or_default();
    let of = |kind, length: usize| Token {
        kind,
        from,
        to: from + length,
    };
    let while_true = |test: fn(char) -> bool| rest.find(|c| !test(c)).unwrap_or(rest.len());
    let word_before = before.filter(|token| token.kind == Kind::Word && token.to == from);
    Ok(match first {
        c if c.is_whitespace() => of(Kind::Blank, while_true(char::is_whitespace)),
        '-' if rest.starts_with("--") => of(Kind::LineComment, rest.find('\n').unwrap_or(rest.len())),
        '/' if rest.starts_with("/*") => {
            let length = comment(rest).ok_or(Unclosed(from, "a comment (/*) does not end"))?;
            of(Kind::Comment, length)
        }
        '\'' => {
            let escapes = word_before.is_some_and(|word| text[word.from..word.to].eq_ignore_ascii_case("e"));
            let length = quoted(rest, '\'', escapes).ok_or(Unclosed(from, "a text (') does not end"))?;
            of(Kind::Text, length)
        }
        '"' | '`' => {
            let length = quoted(rest, first, false).ok_or(Unclosed(from, "a quoted name does not end"))?;
            of(Kind::QuotedName, length)
        }
        '$' if word_before.is_none() => match dollar_tag(rest) {
            Some(tag) => {
                let end = rest[tag.len()..].find(tag);
                let end = end.ok_or(Unclosed(from, "a text between dollars does not end"))?;
                of(Kind::Text, end + 2 * tag.len())
            }
            None => of(Kind::Sign, 1),
        },
        '$' => of(Kind::Sign, 1),
        ':' => {
            let name = &rest[1..];
            let second = name.chars().next().unwrap_or_default();
            if names(second) && !second.is_ascii_digit() {
                of(Kind::Variable, 1 + name.find(|c| !names(c)).unwrap_or(name.len()))
            } else {
                // A cast, or an assignment of MySQL's.
                of(Kind::Sign, 1 + usize::from(matches!(second, ':' | '=')))
            }
        }
        c if names(c) => of(Kind::Word, while_true(names)),
        '(' => of(Kind::Open, 1),
        ')' => of(Kind::Close, 1),
        ';' => of(Kind::Semicolon, 1),
        '\\' => of(Kind::Backslash, 1),
        c => of(Kind::Sign, c.len_utf8()),
    })
}

/// All of a text; where it cannot be cut, the place and why.
pub fn tokens(text: &str) -> Result<Vec<Token>, (usize, &'static str)> {
    let mut found: Vec<Token> = vec![];
    let mut at = 0;
    while at < text.len() {
        let next = token(text, at, found.last().copied()).map_err(|Unclosed(at, what)| (at, what))?;
        at = next.to;
        found.push(next);
    }
    Ok(found)
}

/// Where a quoted text that begins at `from` ends, whether a backslash keeps a quote from ending it (`escapes`) or not.
pub fn quote_end(text: &str, from: usize, quote: char, escapes: bool) -> Option<usize> {
    quoted(&text[from..], quote, escapes).map(|length| from + length)
}

/// Length of a comment, which may have others in it.
fn comment(rest: &str) -> Option<usize> {
    let (mut depth, mut at) = (0usize, 0);
    loop {
        let next = rest[at..].find(['/', '*'])? + at;
        if rest[next..].starts_with("/*") {
            depth += 1;
            at = next + 2;
        } else if rest[next..].starts_with("*/") {
            depth -= 1;
            at = next + 2;
        } else {
            at = next + 1;
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// Length of what `rest` begins with, to its closing quote; one that is doubled closes nothing.
fn quoted(rest: &str, quote: char, escapes: bool) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if escapes && c == '\\' {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return Some(at + 1);
        }
    }
    None
}

/// `$$` or `$tag$` with which `rest` begins.
fn dollar_tag(rest: &str) -> Option<&str> {
    let end = rest[1..].find(|c| !names(c))? + 1;
    let begins_with_digit = rest[1..].starts_with(|c: char| c.is_ascii_digit());
    (rest[end..].starts_with('$') && !begins_with_digit).then(|| &rest[..=end])
}
