//! The functions and operators of expressions: one line each.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Not,
    /// The very same value, of the same kind.
    Is,
    Abs,
    /// Of its argument. pgbench prints it, which would cost the run its time.
    Debug,
    Double,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    Int,
    Least,
    Ln,
    Permute,
    Pi,
    Pow,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
}

/// A function by its name: least and most arguments. Where one may be left out it is the variable `default_seed`.
pub struct Named {
    pub name: &'static str,
    pub function: Function,
    pub least: usize,
    pub most: usize,
}

const fn named(name: &'static str, function: Function, least: usize, most: usize) -> Named {
    Named {
        name,
        function,
        least,
        most,
    }
}

pub const FUNCTIONS: &[Named] = &[
    named("abs", Function::Abs, 1, 1),
    named("debug", Function::Debug, 1, 1),
    named("double", Function::Double, 1, 1),
    named("exp", Function::Exp, 1, 1),
    named("greatest", Function::Greatest, 1, usize::MAX),
    named("hash", Function::HashMurmur2, 1, 2),
    named("hash_fnv1a", Function::HashFnv1a, 1, 2),
    named("hash_murmur2", Function::HashMurmur2, 1, 2),
    named("int", Function::Int, 1, 1),
    named("least", Function::Least, 1, usize::MAX),
    named("ln", Function::Ln, 1, 1),
    named("mod", Function::Mod, 2, 2),
    named("permute", Function::Permute, 2, 3),
    named("pi", Function::Pi, 0, 0),
    named("pow", Function::Pow, 2, 2),
    named("power", Function::Pow, 2, 2),
    named("random", Function::Random, 2, 2),
    named("random_exponential", Function::RandomExponential, 3, 3),
    named("random_gaussian", Function::RandomGaussian, 3, 3),
    named("random_zipfian", Function::RandomZipfian, 3, 3),
    named("sqrt", Function::Sqrt, 1, 1),
];

impl Function {
    /// Has another value each time.
    pub fn draws(self) -> bool {
        use Function::{Random, RandomExponential, RandomGaussian, RandomZipfian};
        matches!(self, Random | RandomExponential | RandomGaussian | RandomZipfian)
    }
}
