//! A script cut into its commands: statements of SQL, and commands that begin with a backslash.
use super::columns::Words;
use super::error::{Lines, ScriptError};
use super::scan::{Kind, Token, Unclosed, token};
use super::token::names as in_names;

#[derive(Clone, Debug)]
pub enum Command {
    /// Tokens from the first word to the last, without comments to the end of a line.
    Sql(Vec<Token>),
    Meta(Meta),
}

/// `\name arguments`
#[derive(Clone, Debug)]
pub struct Meta {
    /// Of the backslash, in bytes.
    pub at: usize,
    /// In lower case.
    pub name: String,
    /// To the end of the line, and of those that it continues on. Blanks stand where a line was continued, so that places
    /// in it are those of the script.
    pub arguments: String,
    /// Where those begin.
    pub arguments_at: usize,
}

pub fn commands(file: &str, text: &str) -> Result<Vec<Command>, ScriptError> {
    if let Some(nul) = text.find('\0') {
        let what = "the text contains a NUL character, which some systems take for the end of a statement";
        return Err(ScriptError::at(file, text, nul, what, "take it out"));
    }
    let mut lexer = Lexer::default();
    let mut at = 0;
    let mut before = None;
    while at < text.len() {
        let token = token(text, at, before)
            .map_err(|Unclosed(at, what)| ScriptError::at(file, text, at, what, "close it"))?;
        at = token.to;
        before = Some(token);
        match token.kind {
            Kind::Backslash if text[at..].starts_with(';') => {
                let hint =
                    "write each statement with its own semicolon; \\startpipeline sends several together";
                let what = "statements joined by \\; cannot be prepared";
                return Err(ScriptError::at(file, text, token.from, what, hint));
            }
            Kind::Backslash => {
                lexer.end_statement();
                let meta = meta(text, token.from);
                at = meta.arguments_at + meta.arguments.len();
                before = None;
                lexer.found.push(Command::Meta(meta));
            }
            Kind::Semicolon if lexer.ends_here() => lexer.end_statement(),
            _ => lexer.take(token, text),
        }
    }
    lexer.end_statement();
    Ok(lexer.found)
}

fn meta(text: &str, at: usize) -> Meta {
    let rest = &text[at + 1..];
    let name_end = rest
        .find(|c: char| c.is_whitespace() || c == '\\')
        .unwrap_or(rest.len());
    let arguments_at = at + 1 + name_end;
    let mut arguments = String::new();
    for line in text[arguments_at..].split_inclusive('\n') {
        let words = line.trim_end_matches(['\n', '\r']);
        let Some(continued) = words.strip_suffix('\\') else {
            arguments.push_str(words);
            break;
        };
        arguments.push_str(continued);
        arguments.extend(std::iter::repeat_n(' ', line.len() - continued.len()));
    }
    Meta {
        at,
        name: rest[..name_end].to_ascii_lowercase(),
        arguments,
        arguments_at,
    }
}

#[derive(Default)]
struct Lexer {
    found: Vec<Command>,
    statement: Vec<Token>,
    parentheses: usize,
    /// The first words of a statement that makes something with a body.
    first_words: Vec<String>,
    /// BEGIN and CASE without their END, in such a body.
    blocks: usize,
}

/// What may have a body of statements.
const BODIES: [&str; 3] = ["function", "procedure", "trigger"];
const FIRST_WORDS: usize = 6;

impl Lexer {
    fn take(&mut self, token: Token, text: &str) {
        match token.kind {
            // A blank line keeps what stands around it apart, as the comment did.
            Kind::LineComment => return,
            Kind::Blank if self.statement.is_empty() => return,
            Kind::Open => self.parentheses += 1,
            Kind::Close => self.parentheses = self.parentheses.saturating_sub(1),
            Kind::Word => self.word(&text[token.from..token.to].to_ascii_lowercase()),
            _ => {}
        }
        self.statement.push(token);
    }

    fn word(&mut self, word: &str) {
        if self.first_words.len() < FIRST_WORDS {
            self.first_words.push(word.into());
        }
        match word {
            "begin" if self.has_body() => self.blocks += 1,
            "case" if self.blocks > 0 => self.blocks += 1,
            "end" => self.blocks = self.blocks.saturating_sub(1),
            _ => {}
        }
    }

    fn has_body(&self) -> bool {
        let makes = self.first_words.first().is_some_and(|word| word == "create");
        makes && self.first_words.iter().any(|word| BODIES.contains(&&**word))
    }

    fn ends_here(&self) -> bool {
        self.parentheses == 0 && self.blocks == 0
    }

    fn end_statement(&mut self) {
        let mut tokens = std::mem::take(&mut self.statement);
        *self = Self {
            found: std::mem::take(&mut self.found),
            ..Self::default()
        };
        while tokens.last().is_some_and(|token| token.kind == Kind::Blank) {
            tokens.pop();
        }
        if tokens
            .iter()
            .any(|token| !matches!(token.kind, Kind::Blank | Kind::Comment))
        {
            self.found.push(Command::Sql(tokens));
        }
    }
}

/// A statement of a file that has no commands, and the line where it begins, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    pub line: usize,
    pub sql: String,
}

/// The statements of a file of SQL, without variables: `:name` stays as it is.
pub fn statements(file: &str, text: &str) -> Result<Vec<Plain>, ScriptError> {
    let lines = Lines::of(text);
    let each = |command: Command| match command {
        Command::Sql(tokens) => Ok(Plain {
            line: lines.number(tokens[0].from),
            sql: tokens.iter().map(|token| &text[token.from..token.to]).collect(),
        }),
        Command::Meta(meta) => {
            let what = format!("\\{} is in a file of plain statements", meta.name);
            let hint = "commands that begin with a backslash are for scripts";
            Err(ScriptError::at(file, text, meta.at, what, hint))
        }
    };
    commands(file, text)?.into_iter().map(each).collect()
}

// What commands that begin with a backslash say.

/// The name that `\set` begins with, and how many bytes of the arguments it takes.
pub fn target(file: &str, text: &str, meta: &Meta) -> Result<(String, usize), ScriptError> {
    let blank = meta.arguments.len() - meta.arguments.trim_start().len();
    let rest = &meta.arguments[blank..];
    let name = &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())];
    if !name.chars().all(in_names) || name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        let what = match name {
            "" => "\\set takes a name and an expression".into(),
            name => format!("`{name}` is no name of a variable"),
        };
        let hint = "it is written \\set name expression; a name has letters, digits and _";
        return Err(ScriptError::at(file, text, meta.arguments_at + blank, what, hint));
    }
    Ok((name.into(), blank + name.len()))
}

/// Names of the variables that the statement before a `\gset` gives, with its prefix.
pub fn columns(file: &str, text: &str, before: &[Command], meta: &Meta) -> Result<Vec<String>, ScriptError> {
    let prefix = meta.arguments.trim();
    if !prefix.chars().all(in_names) {
        let what = format!("`{prefix}` cannot begin the name of a variable");
        return Err(ScriptError::at(
            file,
            text,
            meta.arguments_at,
            what,
            "a name has letters, digits and _",
        ));
    }
    let Some(Command::Sql(tokens)) = before.last() else {
        return Ok(vec![]);
    };
    let names = Words::of(tokens, text).columns().unwrap_or(Ok(vec![]));
    let names = names.map_err(|token| {
        let what = format!(
            "a column has no name that \\{} could give its variable",
            meta.name
        );
        ScriptError::at(file, text, token.from, what, "name it: expression AS name")
    })?;
    Ok(names.into_iter().map(|name| format!("{prefix}{name}")).collect())
}
