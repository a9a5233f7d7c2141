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
                return Err(format!("it has more than {LONGEST_PART} words without a comma"));
            }
            match (token.kind, dialect) {
                (Kind::Comment, _) if own.starts_with("/*!") || own.starts_with("/*M!") => {
                    return Err("some systems carry out a comment that begins with /*!".into());
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

/// The text as the parser knows it: locks of rows by the names of those that lock as much or more, and without the partitions
/// that an INSERT keeps to. Nothing else may be written so. `all`: its tokens, and perhaps some of what follows it.
pub fn known_to_the_parser(text: &str, all: &[Token], dialect: &str) -> String {
    const LOCKS: [(&str, &[&str], &[&str]); 3] = [
        (
            "postgresql",
            &["for", "no", "key", "update"],
            &["FOR", "", "", "UPDATE"],
        ),
        ("postgresql", &["for", "key", "share"], &["FOR", "", "SHARE"]),
        (
            "mysql",
            &["lock", "in", "share", "mode"],
            &["FOR", "", "SHARE", ""],
        ),
    ];
    let is_said = |token: &&Token| {
        token.to <= text.len() && !matches!(token.kind, Kind::Blank | Kind::Comment | Kind::LineComment)
    };
    let words: Vec<&Token> = all.iter().filter(is_said).collect();
    let is = |token: &Token, word: &str| {
        token.kind == Kind::Word && text[token.from..token.to].eq_ignore_ascii_case(word)
    };
    let mut known = text.to_owned();
    let mut put = |token: &Token, word: &str| {
        let padded = format!("{word:<width$}", width = token.to - token.from);
        known.replace_range(token.from..token.to, &padded);
    };
    for (_, written, instead) in LOCKS.iter().filter(|(of, ..)| *of == dialect) {
        for words in words.windows(written.len()) {
            if words.iter().zip(*written).all(|(token, word)| is(token, word)) {
                words
                    .iter()
                    .zip(*instead)
                    .for_each(|(token, word)| put(token, word));
            }
        }
    }
    for (at, into) in words.iter().enumerate().filter(|_| dialect == "mysql") {
        if let [_, _, partition, open, names @ ..] = &words[at..]
            && (is(into, "into") && is(partition, "partition") && open.kind == Kind::Open)
            && let Some(close) = names.iter().position(|token| token.kind == Kind::Close)
            && names[..close].iter().all(|token| is_listed(token, text))
        {
            words[at + 2..=at + 4 + close]
                .iter()
                .for_each(|token| put(token, ""));
        }
    }
    known
}

/// A name, or what stands between two.
fn is_listed(token: &Token, text: &str) -> bool {
    matches!(token.kind, Kind::Word | Kind::QuotedName) || &text[token.from..token.to] == ","
}
