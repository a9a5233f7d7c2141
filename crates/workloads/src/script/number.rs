//! What an expression is computed with, and how one kind becomes another: the rules of pgbench.
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
}

/// Why an expression has no value. It fails the operation that asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    AddOverflow,
    SubOverflow,
    MulOverflow,
    DivOverflow,
    AbsOverflow,
    DivisionByZero,
    DoubleTooLarge,
    BooleanWanted,
    NumberWanted,
    EmptyRange,
    RangeTooLarge,
    Exponential,
    Gaussian,
    Zipfian,
    PermuteSize,
    Malformed,
    OtherTable,
    NegativeName,
    Negative,
    Unset,
}

impl Fault {
    pub fn words(self) -> &'static str {
        match self {
            Fault::AddOverflow => "a sum has more than 64 bits",
            Fault::SubOverflow => "a difference has more than 64 bits",
            Fault::MulOverflow => "a product has more than 64 bits",
            Fault::DivOverflow => "a quotient has more than 64 bits",
            Fault::AbsOverflow => "an absolute value has more than 64 bits",
            Fault::DivisionByZero => "division by zero",
            Fault::DoubleTooLarge => "a double does not fit into an integer of 64 bits",
            Fault::BooleanWanted => "a number stands where a boolean must",
            Fault::NumberWanted => "a boolean stands where a number must",
            Fault::EmptyRange => "the range of a random number is empty",
            Fault::RangeTooLarge => "the range of a random number has more than 63 bits",
            Fault::Exponential => "the parameter of random_exponential must be above 0",
            Fault::Gaussian => "the parameter of random_gaussian must be at least 2",
            Fault::Zipfian => "the parameter of random_zipfian must be from 1.001 to 1000",
            Fault::OtherTable => "the plan has no table of that number",
            Fault::NegativeName => "a negative number cannot end a name",
            Fault::Negative => "a negative number cannot stand there",
            Fault::PermuteSize => "the size of permute must be above 0",
            Fault::Malformed => "the value of a variable is no number",
            Fault::Unset => "a variable has no value yet",
        }
    }
}

/// 2^63, which no integer reaches.
const INTEGERS_END: f64 = 9_223_372_036_854_775_808.0;

impl Number {
    /// A double is rounded to the nearest integer, from the middle to the even one.
    #[inline]
    pub fn int(self) -> Result<i64, Fault> {
        match self {
            Number::Int(value) => Ok(value),
            Number::Double(value) => {
                let whole = value.round_ties_even();
                let fits = (-INTEGERS_END..INTEGERS_END).contains(&whole);
                fits.then_some(whole as i64).ok_or(Fault::DoubleTooLarge)
            }
            Number::Null | Number::Bool(_) => Err(Fault::NumberWanted),
        }
    }

    #[inline]
    pub fn double(self) -> Result<f64, Fault> {
        match self {
            Number::Int(value) => Ok(value as f64),
            Number::Double(value) => Ok(value),
            Number::Null | Number::Bool(_) => Err(Fault::NumberWanted),
        }
    }

    #[inline]
    pub fn boolean(self) -> Result<bool, Fault> {
        match self {
            Number::Bool(value) => Ok(value),
            _ => Err(Fault::BooleanWanted),
        }
    }

    /// As a condition: a number other than 0 holds, NULL does not.
    #[inline]
    pub fn holds(self) -> bool {
        match self {
            Number::Null => false,
            Number::Bool(value) => value,
            Number::Int(value) => value != 0,
            Number::Double(value) => value != 0.0,
        }
    }

    /// As a statement is given it: pgbench writes a double of at most 15 digits without a point where it is whole, so that
    /// it fits an integer, too.
    #[inline]
    pub fn written(self) -> Self {
        match self {
            Number::Double(value) if value.fract() == 0.0 && value.abs() < 1e15 => Number::Int(value as i64),
            other => other,
        }
    }

    /// Of a variable that arrived as text.
    pub fn parse(text: &[u8]) -> Result<Self, Fault> {
        let text = std::str::from_utf8(text).map_err(|_| Fault::Malformed)?;
        let is = |word: &str| text.eq_ignore_ascii_case(word);
        if let Ok(value) = text.parse() {
            Ok(Number::Int(value))
        } else if is("null") {
            Ok(Number::Null)
        } else if ["t", "true", "y", "yes", "on"].into_iter().any(is) {
            Ok(Number::Bool(true))
        } else if ["f", "false", "n", "no", "off"].into_iter().any(is) {
            Ok(Number::Bool(false))
        } else {
            text.parse().map(Number::Double).map_err(|_| Fault::Malformed)
        }
    }
}

/// As SQL reads it.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Null => f.write_str("NULL"),
            Number::Bool(value) => write!(f, "{value}"),
            Number::Int(value) => write!(f, "{value}"),
            Number::Double(value) => write!(f, "{value:?}"),
        }
    }
}
