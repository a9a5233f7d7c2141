//! What can be said of a statement from its words alone: whether every system cuts it as we do, and the few forms that the
//! parser does not know.
use crate::script::{Kind, Token, quote_end};

/// Longest part without a comma or a parenthesis: the parser's tree grows as deep.
const LONGEST_PART: usize = 10_000;

const BACKSLASH: &str = "a backslash before a quote: double the quote instead";

/// A statement's tokens without blanks and comments.
pub struct Text<'t> {
    pub words: Vec<(Kind, &'t str)>,
    pub all: &'t [Token],
    pub text: &'t str,
}

impl<'t> Text<'t> {
    pub fn new(text: &'t str, all: &'t [Token]) -> Self {
        let words = all
            .iter()
            .filter(|token| !matches!(token.kind, Kind::Blank | Kind::Comment | Kind::LineComment))
            .map(|token| (token.kind, &text[token.from..token.to]))
            .collect();
        Self { words, all, text }
    }

    pub fn is(&self, place: usize, keyword: &str) -> bool {
        let word = self.words.get(place);
        word.is_some_and(|(kind, word)| *kind == Kind::Word && word.eq_ignore_ascii_case(keyword))
    }

    /// The first words in capitals, as a person names a form.
    pub fn form(&self) -> String {
        let is_word = |(kind, _): &&(Kind, &str)| *kind == Kind::Word;
        let two = [
            "alter", "create", "drop", "set", "copy", "explain", "analyze", "execute",
        ];
        let count = 1 + usize::from(two.iter().any(|first| self.is(0, first)));
        let words = self.words.iter().filter(is_word).take(count);
        words
            .map(|(_, word)| word.to_uppercase())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Refuses what one system reads as a comment or a text and another as a part of the statement.
    pub fn refuse_ambiguous(&self, dialect: &str) -> Result<(), String> {
        let mut part = 0;
        for token in self.all {
            let own = &self.text[token.from..token.to];
            let ends = |quote, escapes| quote_end(self.text, token.from, quote, escapes) == Some(token.to);
            part = match token.kind {
                Kind::Open => 0,
                Kind::Sign if own == "," => 0,
                Kind::Blank => part,
                _ => part + 1,
            };
            if part > LONGEST_PART {
                return Err(format!(
                    "more than {LONGEST_PART} words stand in it without a comma"
                ));
            }
            match (token.kind, dialect) {
                (Kind::Comment, _) if own.starts_with("/*!") || own.starts_with("/*M!") => {
                    return Err(
                        "some systems carry out what stands in a comment that begins with /*!".into(),
                    );
                }
                (Kind::Comment, _) if own[2..].contains("/*") => {
                    return Err("not every system knows a comment in a comment".into());
                }
                (Kind::Comment, _) if own.starts_with("/*+") && own.to_ascii_lowercase().contains("set") => {
                    return Err("a hint that sets something changes a setting".into());
                }
                (Kind::Sign, "mysql") if own == "#" => return Err("# begins a comment: write --".into()),
                (Kind::Text, "mysql" | "sqlite") if own.starts_with('$') => {
                    return Err("not every system knows a text between dollars".into());
                }
                (Kind::Text, "mysql") if !ends('\'', true) || !ends('\'', false) => {
                    return Err(BACKSLASH.into());
                }
                (Kind::Text, "sqlite") if !ends('\'', false) => return Err(BACKSLASH.into()),
                (Kind::QuotedName, "mysql") if own.starts_with('"') && !ends('"', true) => {
                    return Err(BACKSLASH.into());
                }
                (Kind::Semicolon | Kind::Backslash, _) if self.all.last() != Some(token) => {
                    return Err("a second statement follows".into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// `SET CONSTRAINTS ...`, `SET TRANSACTION ...`: for the transaction alone.
    pub fn sets_transaction(&self) -> bool {
        self.is(0, "set") && (self.is(1, "transaction") || self.is(1, "constraints"))
    }

    /// What follows SET, if it gives values to variables of a user's own (`SET @a = 1, @b = 2`) and to nothing else.
    pub fn sets_user_variables(&self) -> bool {
        let mut depth = 0usize;
        let mut first = true;
        let pairs = self
            .words
            .iter()
            .zip(self.words[1..].iter().chain([&(Kind::Blank, "")]))
            .skip(1);
        for ((kind, word), (_, next)) in pairs {
            if first && (*word != "@" || *next == "@") {
                return false;
            }
            first = depth == 0 && *word == ",";
            match kind {
                Kind::Open => depth += 1,
                Kind::Close => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        self.is(0, "set") && self.words.len() > 1
    }

    /// Names of the tables of `ANALYZE [TABLE] a, b (x)` and of `VACUUM`, as they are written; `None`: it is another statement.
    pub fn maintained(&self) -> Option<Result<Vec<(Kind, &'t str)>, ()>> {
        const BEFORE: [&str; 7] = [
            "table",
            "local",
            "no_write_to_binlog",
            "verbose",
            "full",
            "freeze",
            "analyze",
        ];
        if !self.is(0, "analyze") && !self.is(0, "vacuum") {
            return None;
        }
        let mut rest = &self.words[1..];
        while let [(Kind::Word, word), after @ ..] = rest
            && BEFORE.iter().any(|before| before.eq_ignore_ascii_case(word))
        {
            rest = after;
        }
        let mut names = vec![];
        loop {
            let [(kind @ (Kind::Word | Kind::QuotedName), name), after @ ..] = rest else {
                return Some(Err(()));
            };
            names.push((*kind, *name));
            let after = columns(after);
            match after {
                [] => return Some(Ok(names)),
                [(Kind::Semicolon, _)] => return Some(Ok(names)),
                [(_, ","), after @ ..] => rest = after,
                _ => return Some(Err(())),
            }
        }
    }

    /// Where the options of `CREATE TABLE name (...) options` begin, among all tokens.
    pub fn table_options(&self) -> Option<usize> {
        let mut place = 1;
        place += usize::from(self.is(place, "unlogged"));
        if !self.is(0, "create") || !self.is(place, "table") {
            return None;
        }
        place += 1;
        if self.is(place, "if") {
            place += 3;
        }
        if self.words.get(place + 1).map(|(kind, _)| *kind) != Some(Kind::Open) {
            return None;
        }
        let mut depth = 0usize;
        for (at, token) in self.all.iter().enumerate() {
            match token.kind {
                Kind::Open => depth += 1,
                Kind::Close if depth == 1 => return Some(at + 1),
                Kind::Close => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        None
    }
}

/// What follows a list of columns.
fn columns<'a, 't>(rest: &'a [(Kind, &'t str)]) -> &'a [(Kind, &'t str)] {
    match rest {
        [(Kind::Open, _), after @ ..] => {
            let end = after.iter().position(|(kind, _)| *kind == Kind::Close);
            end.map_or(&[], |end| &after[end + 1..])
        }
        rest => rest,
    }
}
