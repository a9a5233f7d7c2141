//! The names of the columns that a statement answers with, read off its text: `\gset` makes variables of them, and their places
//! have to be known before anything is asked. Named as PostgreSQL does it.
use super::scan::{Kind, Token};

/// Tokens that mean something, with the depth of their parentheses.
pub struct Words<'t> {
    pub words: Vec<Word<'t>>,
}

#[derive(Clone, Copy, Debug)]
pub struct Word<'t> {
    pub token: Token,
    pub text: &'t str,
    /// Of parentheses around it; those themselves lie outside.
    pub depth: usize,
}

impl<'t> Word<'t> {
    pub fn is(&self, keyword: &str) -> bool {
        self.token.kind == Kind::Word && self.text.eq_ignore_ascii_case(keyword)
    }

    /// As a name: what is not quoted is lower-case.
    fn name(&self) -> Option<String> {
        match self.token.kind {
            Kind::Word if !self.text.starts_with(|c: char| c.is_ascii_digit()) => {
                Some(self.text.to_lowercase())
            }
            Kind::QuotedName => {
                let quote = &self.text[..1];
                Some(self.text[1..self.text.len() - 1].replace(&quote.repeat(2), quote))
            }
            _ => None,
        }
    }
}

impl<'t> Words<'t> {
    pub fn of(tokens: &[Token], text: &'t str) -> Self {
        let mut depth = 0usize;
        let words = tokens
            .iter()
            .filter(|token| !matches!(token.kind, Kind::Blank | Kind::Comment));
        let word = |token: &Token| {
            if token.kind == Kind::Close {
                depth = depth.saturating_sub(1);
            }
            let word = Word {
                token: *token,
                text: &text[token.from..token.to],
                depth,
            };
            if token.kind == Kind::Open {
                depth += 1;
            }
            word
        };
        Self {
            words: words.map(word).collect(),
        }
    }

    /// Whether the word at a place is this keyword.
    pub fn is(&self, place: usize, keyword: &str) -> bool {
        self.words.get(place).is_some_and(|word| word.is(keyword))
    }

    /// The last place of a keyword outside all parentheses.
    pub fn outside(&self, keyword: &str) -> Option<usize> {
        self.words
            .iter()
            .rposition(|word| word.depth == 0 && word.is(keyword))
    }

    pub fn has(&self, keyword: &str) -> bool {
        self.words.iter().any(|word| word.is(keyword))
    }

    /// Names of the columns; the first that has none: its item's first token. `None`: it answers with no rows.
    pub fn columns(&self) -> Option<Result<Vec<String>, Token>> {
        let list = match self.outside("returning") {
            Some(place) => &self.words[place + 1..],
            // Of a union the first select names the columns, and so does the one after WITH.
            None => self.select_list(
                self.words
                    .iter()
                    .position(|word| word.depth == 0 && word.is("select"))?,
            ),
        };
        let items = list.split(|word| word.depth == 0 && word.text == ",");
        Some(
            items
                .map(|item| {
                    column(item).ok_or_else(|| item.first().map_or(self.words[0].token, |word| word.token))
                })
                .collect(),
        )
    }

    fn select_list(&self, select: usize) -> &[Word<'t>] {
        let mut first = select + 1;
        if self.is(first, "all") || self.is(first, "distinct") {
            first += 1;
            if self.is(first, "on") {
                // DISTINCT ON (...)
                let close = self.words[first..]
                    .iter()
                    .position(|word| word.depth == 0 && word.text == ")");
                first += close.map_or(0, |close| close + 1);
            }
        }
        const AFTER: [&str; 15] = [
            "from",
            "into",
            "where",
            "group",
            "having",
            "window",
            "union",
            "intersect",
            "except",
            "order",
            "limit",
            "offset",
            "fetch",
            "for",
            "lock",
        ];
        let rest = self.words.get(first..).unwrap_or_default();
        let ends = |word: &Word<'_>| word.depth == 0 && AFTER.iter().any(|keyword| word.is(keyword));
        &rest[..rest.iter().position(ends).unwrap_or(rest.len())]
    }
}

fn column(item: &[Word<'_>]) -> Option<String> {
    let outside: Vec<&Word<'_>> = item.iter().filter(|word| word.depth == 0).collect();
    let last = *outside.last()?;
    if let [.., before, _] = &*outside
        && (before.is("as") || before.text == "." || ends_value(before))
        && let Some(name) = last.name()
        && !last.is("end")
    {
        return Some(name);
    }
    match &*outside {
        [only] => only.name(),
        // A cast is named as what is cast.
        [inner @ .., cast, _] if cast.text == "::" => {
            let end = item.iter().position(|word| word.token == cast.token)?;
            (!inner.is_empty()).then(|| column(&item[..end]))?
        }
        [case, .., end] if case.is("case") && end.is("end") => Some("case".into()),
        [name, open, _] if open.text == "(" => name.name(),
        [_, point, name, open, _] if point.text == "." && open.text == "(" => name.name(),
        _ => None,
    }
}

/// Whether a value may end here, so that a name after it is the column's.
fn ends_value(word: &Word<'_>) -> bool {
    const NO_VALUES: [&str; 10] = [
        "case", "and", "or", "not", "is", "in", "like", "between", "then", "else",
    ];
    match word.token.kind {
        Kind::Word => !NO_VALUES.iter().any(|keyword| word.is(keyword)),
        Kind::Text | Kind::QuotedName | Kind::Variable | Kind::Close => true,
        _ => false,
    }
}
