//! Words and signs of an expression.
use super::error::SyntaxError;

#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    Int(i64),
    /// 2^63, which only a minus makes an integer.
    BeyondInt,
    Double(f64),
    /// Between single quotes.
    Text(String),
    /// `:name`
    Variable(String),
    /// A name or a word of the language, in lower case.
    Word(String),
    Sign(&'static str),
}

/// Longer ones before those that they begin with.
const SIGNS: [&str; 19] = [
    "<=", ">=", "<>", "!=", "<<", ">>", "<", ">", "=", "+", "-", "*", "/", "%", "|", "&", "#", "~", ",",
];
const PARENTHESES: [&str; 2] = ["(", ")"];

/// An expression is carried out by recursion, so there is an end to it.
const TOKENS_MAX: usize = 1000;

/// What a name is made of.
pub fn names(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}

/// With where each begins, in bytes.
pub fn tokens(text: &str) -> Result<Vec<(usize, Token)>, SyntaxError> {
    let mut found = vec![];
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let (token, length) = token(&text[at..]).map_err(|(what, hint)| SyntaxError::new(at, what, hint))?;
        found.push((at, token));
        at += length;
        if found.len() > TOKENS_MAX {
            let what = format!("an expression has more than {TOKENS_MAX} words and signs");
            return Err(SyntaxError::new(
                at,
                what,
                "compute its parts into variables first",
            ));
        }
    }
    Ok(found)
}

type Refused = (String, String);

/// The token that `rest` begins with, and its length; `rest` begins with no blank and is not empty.
fn token(rest: &str) -> Result<(Token, usize), Refused> {
    let first = rest.chars().next().unwrap_or_default();
    let second = rest[first.len_utf8()..].chars().next();
    if first.is_ascii_digit() || (first == '.' && second.is_some_and(|c| c.is_ascii_digit())) {
        return number(rest);
    }
    if names(first) {
        let word = name(rest);
        return Ok((Token::Word(word.to_ascii_lowercase()), word.len()));
    }
    if first == ':' {
        let word = name(&rest[1..]);
        return match word.is_empty() {
            true => Err((
                "`:` stands before no name".into(),
                "a variable is written :name".into(),
            )),
            false => Ok((Token::Variable(word.into()), 1 + word.len())),
        };
    }
    if first == '\'' {
        return match rest[1..].find('\'') {
            Some(end) => Ok((Token::Text(rest[1..=end].into()), end + 2)),
            None => Err((
                "a text does not end".into(),
                "close it with a single quote".into(),
            )),
        };
    }
    let known = SIGNS.iter().chain(&PARENTHESES);
    match known.into_iter().find(|sign| rest.starts_with(**sign)) {
        Some(sign) => Ok((Token::Sign(sign), sign.len())),
        None => Err((
            format!("`{first}` means nothing in an expression"),
            "it is made of numbers, :variables, functions, operators and parentheses".into(),
        )),
    }
}

fn name(rest: &str) -> &str {
    let end = rest.find(|c| !names(c)).unwrap_or(rest.len());
    &rest[..end]
}

fn number(rest: &str) -> Result<(Token, usize), Refused> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(rest);
    let whole = end;
    if rest[end..].starts_with('.') {
        end += 1;
        end += digits(&rest[end..]);
    }
    if rest[end..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
        let exponent = digits(&rest[end + 1 + sign..]);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    let text = &rest[..end];
    let token = if end > whole {
        text.parse()
            .ok()
            .filter(|value: &f64| value.is_finite())
            .map(Token::Double)
    } else if text == "9223372036854775808" {
        Some(Token::BeyondInt)
    } else {
        text.parse().ok().map(Token::Int)
    };
    match token {
        Some(token) => Ok((token, end)),
        None => Err((
            format!("{text} is too large"),
            "an integer has 64 bits, a double reaches 1.8e308".into(),
        )),
    }
}
