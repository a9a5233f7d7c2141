//! An expression as it is written: a tree, made by climbing precedences.
//!
//! | binds | operators |
//! |---|---|
//! | least | `OR` |
//! | | `AND` |
//! | | `NOT` |
//! | | `IS`, `ISNULL`, `NOTNULL` |
//! | | `<` `<=` `=` `<>` `!=` `>=` `>`, not chained |
//! | | `\|` `#` `&` `<<` `>>` |
//! | | `+` `-` |
//! | | `*` `/` `%` |
//! | most | `+` `-` `~` before one value |
use super::error::SyntaxError;
use super::function::Function;
use super::number::Number;
use super::token::{Token, tokens};
use std::vec::IntoIter;

/// A node and where it begins in the text, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    pub at: usize,
    pub node: Node,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Constant(Number),
    Text(String),
    /// `:name`
    Variable(String),
    /// A name without a colon and without arguments.
    Name(String),
    /// A function by its name, in lower case.
    Call(String, Vec<Tree>),
    Operator(Function, Vec<Tree>),
    And(Box<[Tree; 2]>),
    Or(Box<[Tree; 2]>),
    /// Conditions each with its value, then the value that is left.
    Case(Vec<Tree>),
}

const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const IS: u8 = 4;
const COMPARED: u8 = 5;
const BITS: u8 = 6;
const SUMS: u8 = 7;
const PRODUCTS: u8 = 8;
const UNARY: u8 = 9;

/// Parentheses, functions and signs within each other: each is a call of the parser.
const DEPTH_MAX: usize = 100;

pub fn parse(text: &str) -> Result<Tree, SyntaxError> {
    let mut parser = Parser {
        tokens: tokens(text)?.into_iter(),
        end: text.trim_end().len(),
        depth: 0,
    };
    let tree = parser.expression(OR)?;
    match parser.tokens.next() {
        None => Ok(tree),
        Some((at, token)) => Err(SyntaxError::new(
            at,
            format!("{} cannot follow here", describe(&token)),
            "an operator or the end was expected",
        )),
    }
}

struct Parser {
    tokens: IntoIter<(usize, Token)>,
    end: usize,
    depth: usize,
}

impl Parser {
    fn expression(&mut self, least: u8) -> Result<Tree, SyntaxError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let what = format!("an expression is nested more than {DEPTH_MAX} deep");
            return Err(SyntaxError::new(
                self.at(),
                what,
                "compute its parts into variables first",
            ));
        }
        let mut left = self.prefixed()?;
        let mut last = 0;
        while let Some((level, sign)) = self.operator() {
            if level < least {
                break;
            }
            let at = self.at();
            if level == last && matches!(level, IS | COMPARED) {
                let what = "comparisons cannot be chained";
                return Err(SyntaxError::new(at, what, "put one of them into parentheses"));
            }
            last = level;
            self.tokens.next();
            left = match level {
                IS => self.is(left, at, &sign)?,
                _ => binary(left, at, &sign, self.expression(level + 1)?),
            };
        }
        self.depth -= 1;
        Ok(left)
    }

    /// One value, or an operator before one.
    fn prefixed(&mut self) -> Result<Tree, SyntaxError> {
        let at = self.at();
        let node = match self.tokens.next().map(|(_, token)| token) {
            Some(Token::Sign("+")) => return self.expression(UNARY),
            Some(Token::Sign("-")) if self.peek() == Some(&Token::BeyondInt) => {
                self.tokens.next();
                Node::Constant(Number::Int(i64::MIN))
            }
            Some(Token::Sign("-")) => {
                let zero = Tree {
                    at,
                    node: Node::Constant(Number::Int(0)),
                };
                Node::Operator(Function::Sub, vec![zero, self.expression(UNARY)?])
            }
            Some(Token::Sign("~")) => {
                let ones = Tree {
                    at,
                    node: Node::Constant(Number::Int(-1)),
                };
                Node::Operator(Function::BitXor, vec![self.expression(UNARY)?, ones])
            }
            Some(Token::Sign("(")) => {
                let inner = self.expression(OR)?;
                self.expect(")")?;
                return Ok(inner);
            }
            Some(Token::Int(value)) => Node::Constant(Number::Int(value)),
            Some(Token::Double(value)) => Node::Constant(Number::Double(value)),
            Some(Token::Text(text)) => Node::Text(text),
            Some(Token::Variable(name)) => Node::Variable(name),
            Some(Token::Word(word)) => self.word(at, word)?,
            found => {
                let what = match found {
                    Some(token) => format!("{} stands where a value was expected", describe(&token)),
                    None => "a value was expected after the end".into(),
                };
                let hint = "a value is a number, :name, a function, or an expression in parentheses";
                return Err(SyntaxError::new(at, what, hint));
            }
        };
        Ok(Tree { at, node })
    }

    fn word(&mut self, at: usize, word: String) -> Result<Node, SyntaxError> {
        Ok(match &*word {
            "null" => Node::Constant(Number::Null),
            "true" => Node::Constant(Number::Bool(true)),
            "false" => Node::Constant(Number::Bool(false)),
            "not" => Node::Operator(Function::Not, vec![self.expression(NOT)?]),
            "case" => self.case()?,
            "and" | "or" | "is" | "isnull" | "notnull" | "when" | "then" | "else" | "end" => {
                let what = format!("{} stands where a value was expected", word.to_uppercase());
                return Err(SyntaxError::new(
                    at,
                    what,
                    "it is a word of the language, no name",
                ));
            }
            _ if self.peek() == Some(&Token::Sign("(")) => {
                self.tokens.next();
                Node::Call(word, self.arguments()?)
            }
            _ => Node::Name(word),
        })
    }

    fn arguments(&mut self) -> Result<Vec<Tree>, SyntaxError> {
        let mut found = vec![];
        if self.peek() != Some(&Token::Sign(")")) {
            found.push(self.expression(OR)?);
            while self.peek() == Some(&Token::Sign(",")) {
                self.tokens.next();
                found.push(self.expression(OR)?);
            }
        }
        self.expect(")")?;
        Ok(found)
    }

    fn case(&mut self) -> Result<Node, SyntaxError> {
        let mut parts = vec![];
        while self.takes("when") {
            parts.push(self.expression(OR)?);
            self.expect_word("then")?;
            parts.push(self.expression(OR)?);
        }
        if parts.is_empty() {
            self.expect_word("when")?;
        }
        let rest = Tree {
            at: self.at(),
            node: Node::Constant(Number::Null),
        };
        parts.push(if self.takes("else") {
            self.expression(OR)?
        } else {
            rest
        });
        self.expect_word("end")?;
        Ok(Node::Case(parts))
    }

    /// What follows IS, ISNULL or NOTNULL.
    fn is(&mut self, left: Tree, at: usize, word: &str) -> Result<Tree, SyntaxError> {
        let not = word == "notnull" || (word == "is" && self.takes("not"));
        let other = match word {
            "is" => {
                let (place, found) = (self.at(), self.tokens.next().map(|(_, token)| token));
                match found {
                    Some(Token::Word(word)) if word == "null" => Number::Null,
                    Some(Token::Word(word)) if word == "true" => Number::Bool(true),
                    Some(Token::Word(word)) if word == "false" => Number::Bool(false),
                    _ => {
                        let what = "IS compares with NULL, TRUE and FALSE only";
                        return Err(SyntaxError::new(place, what, "compare other values with ="));
                    }
                }
            }
            _ => Number::Null,
        };
        let other = Tree {
            at,
            node: Node::Constant(other),
        };
        let is = Tree {
            at,
            node: Node::Operator(Function::Is, vec![left, other]),
        };
        Ok(match not {
            true => Tree {
                at,
                node: Node::Operator(Function::Not, vec![is]),
            },
            false => is,
        })
    }

    /// The operator between two values that comes next, if one does: how it binds, and its sign or word.
    fn operator(&self) -> Option<(u8, String)> {
        match self.peek()? {
            Token::Sign(sign) => {
                let level = match *sign {
                    "<" | "<=" | "=" | "<>" | "!=" | ">=" | ">" => COMPARED,
                    "|" | "#" | "&" | "<<" | ">>" => BITS,
                    "+" | "-" => SUMS,
                    "*" | "/" | "%" => PRODUCTS,
                    _ => return None,
                };
                Some((level, (*sign).to_owned()))
            }
            Token::Word(word) => {
                let level = match &**word {
                    "or" => OR,
                    "and" => AND,
                    "is" | "isnull" | "notnull" => IS,
                    _ => return None,
                };
                Some((level, word.clone()))
            }
            _ => None,
        }
    }

    fn takes(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(next)) if next == word);
        if found {
            self.tokens.next();
        }
        found
    }

    fn expect_word(&mut self, word: &str) -> Result<(), SyntaxError> {
        match self.takes(word) {
            true => Ok(()),
            false => Err(self.missing(&word.to_uppercase())),
        }
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), SyntaxError> {
        if self.peek() != Some(&Token::Sign(sign)) {
            return Err(self.missing(sign));
        }
        self.tokens.next();
        Ok(())
    }

    fn missing(&self, expected: &str) -> SyntaxError {
        let found = self.peek().map_or("the end".into(), describe);
        let what = format!("{expected} was expected, and {found} is there");
        SyntaxError::new(self.at(), what, format!("write {expected} here"))
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.as_slice().first().map(|(_, token)| token)
    }

    fn at(&self) -> usize {
        self.tokens.as_slice().first().map_or(self.end, |(at, _)| *at)
    }
}

fn binary(left: Tree, at: usize, sign: &str, right: Tree) -> Tree {
    let function = match sign {
        "and" | "or" => {
            let both = Box::new([left, right]);
            let node = if sign == "and" {
                Node::And(both)
            } else {
                Node::Or(both)
            };
            return Tree { at, node };
        }
        ">" | "<" => Function::Less,
        ">=" | "<=" => Function::LessEqual,
        "=" => Function::Equal,
        "|" => Function::BitOr,
        "#" => Function::BitXor,
        "&" => Function::BitAnd,
        "<<" => Function::ShiftLeft,
        ">>" => Function::ShiftRight,
        "+" => Function::Add,
        "-" => Function::Sub,
        "*" => Function::Mul,
        "/" => Function::Div,
        "%" => Function::Mod,
        _ => Function::NotEqual,
    };
    let both = match sign {
        ">" | ">=" => vec![right, left],
        _ => vec![left, right],
    };
    Tree {
        at,
        node: Node::Operator(function, both),
    }
}

fn describe(token: &Token) -> String {
    match token {
        Token::Int(value) => format!("`{value}`"),
        Token::BeyondInt => "`9223372036854775808`".into(),
        Token::Double(value) => format!("`{value}`"),
        Token::Text(text) => format!("'{text}'"),
        Token::Variable(name) => format!("`:{name}`"),
        Token::Word(word) => format!("`{word}`"),
        Token::Sign(sign) => format!("`{sign}`"),
    }
}
