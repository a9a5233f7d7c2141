//! An expression made ready: nodes in one row, found by their places, with nothing left to look up. To evaluate one
//! neither allocates nor fails but by a [`Fault`]. About 3 ns a node, and what a function costs itself.
use super::compute;
use super::compute::{compute, extreme};
use super::error::SyntaxError;
use super::function::{FUNCTIONS, Function, Named};
use super::number::{Fault, Number};
use super::syntax::{self, Tree};
use super::variables::{DEFAULT_SEED, Names, Values};
use crate::keys::ZipfianInversion;
use crate::rng::Random;
use bakeoff_model::options::nearest;

/// Children of a node follow each other from `first` on.
#[derive(Clone, Copy, Debug)]
enum Node {
    Constant(Number),
    Variable(u32),
    Call {
        function: Function,
        first: u32,
        count: u32,
    },
    /// random_zipfian with a parameter that stays: an index into `zipfians`.
    Zipfian {
        first: u32,
        zipfian: u32,
    },
    And {
        first: u32,
    },
    Or {
        first: u32,
    },
    Case {
        first: u32,
        count: u32,
    },
}

#[derive(Clone, Debug)]
pub struct Expression {
    nodes: Vec<Node>,
    zipfians: Vec<ZipfianInversion>,
}

impl Expression {
    pub fn compile(text: &str, names: &Names) -> Result<Self, SyntaxError> {
        Self::of(&syntax::parse(text)?, names)
    }

    pub fn of(tree: &Tree, names: &Names) -> Result<Self, SyntaxError> {
        let mut made = Self {
            nodes: vec![Node::Constant(Number::Null)],
            zipfians: vec![],
        };
        made.put(0, tree, names)?;
        Ok(made)
    }

    /// The value, where it is the same each time.
    pub fn constant(&self) -> Option<Number> {
        match self.nodes.first() {
            Some(Node::Constant(value)) => Some(*value),
            _ => None,
        }
    }

    #[inline]
    pub fn evaluate<V: Values + ?Sized>(&self, variables: &V, random: &mut Random) -> Result<Number, Fault> {
        self.value(0, variables, random)
    }

    fn put(&mut self, place: usize, tree: &Tree, names: &Names) -> Result<(), SyntaxError> {
        let variable = |name: &str| match names.place(name) {
            Some(place) => Ok(names.fixed(place).map_or(Node::Variable(place), Node::Constant)),
            None => Err(unknown_variable(tree.at, name, names)),
        };
        self.nodes[place] = match &tree.node {
            syntax::Node::Constant(value) => Node::Constant(*value),
            syntax::Node::Variable(name) => variable(name)?,
            syntax::Node::Name(name) if names.bare => variable(name)?,
            syntax::Node::Name(name) => {
                let what = format!("`{name}` is neither a number nor a function with its arguments");
                return Err(SyntaxError::new(
                    tree.at,
                    what,
                    format!("a variable is written :{name}"),
                ));
            }
            syntax::Node::Text(_) => {
                let hint = "values are numbers, booleans and NULL; a text belongs into the SQL itself";
                return Err(SyntaxError::new(
                    tree.at,
                    "an expression cannot compute with text",
                    hint,
                ));
            }
            syntax::Node::Call(name, arguments) => self.call(tree.at, name, arguments, names)?,
            syntax::Node::Operator(function, arguments) => self.function(*function, arguments, names)?,
            syntax::Node::And(both) => Node::And {
                first: self.children(&**both, names)?,
            },
            syntax::Node::Or(both) => Node::Or {
                first: self.children(&**both, names)?,
            },
            syntax::Node::Case(parts) => Node::Case {
                first: self.children(parts, names)?,
                count: parts.len() as u32,
            },
        };
        Ok(())
    }

    fn children<'t>(
        &mut self,
        trees: impl IntoIterator<Item = &'t Tree>,
        names: &Names,
    ) -> Result<u32, SyntaxError> {
        let trees: Vec<&Tree> = trees.into_iter().collect();
        let first = self.nodes.len();
        self.nodes
            .resize(first + trees.len(), Node::Constant(Number::Null));
        for (i, tree) in trees.into_iter().enumerate() {
            self.put(first + i, tree, names)?;
        }
        Ok(first as u32)
    }

    fn call(
        &mut self,
        at: usize,
        name: &str,
        arguments: &[Tree],
        names: &Names,
    ) -> Result<Node, SyntaxError> {
        let Some(named) = FUNCTIONS.iter().find(|named| named.name == name) else {
            let known: Vec<&str> = FUNCTIONS.iter().map(|named| named.name).collect();
            let what = format!("there is no function `{name}`");
            return Err(SyntaxError::new(at, what, nearest(name, &known)));
        };
        if !(named.least..=named.most).contains(&arguments.len()) {
            let what = format!("{name} is given {}", counted(arguments.len()));
            return Err(SyntaxError::new(at, what, format!("it takes {}", takes(named))));
        }
        if arguments.len() == named.most || named.most == usize::MAX {
            return self.function(named.function, arguments, names);
        }
        let seed = Tree {
            at,
            node: syntax::Node::Variable(names.name(DEFAULT_SEED).into()),
        };
        let seeded: Vec<Tree> = arguments.iter().cloned().chain([seed]).collect();
        self.function(named.function, &seeded, names)
    }

    /// What depends on nothing is computed now, unless it fails: that is for the operation that comes there.
    fn function(
        &mut self,
        function: Function,
        arguments: &[Tree],
        names: &Names,
    ) -> Result<Node, SyntaxError> {
        let first = self.children(arguments, names)?;
        let children = &self.nodes[first as usize..];
        let constant = |node: &Node| matches!(node, Node::Constant(_));
        if let (Function::RandomZipfian, [least, most, Node::Constant(parameter)]) = (function, children)
            && let Ok(zipfian) = parameter
                .double()
                .and_then(|parameter| compute::zipfian_of(parameter, usual(least, most)))
        {
            self.zipfians.push(zipfian);
            let zipfian = self.zipfians.len() as u32 - 1;
            return Ok(Node::Zipfian { first, zipfian });
        }
        let node = Node::Call {
            function,
            first,
            count: arguments.len() as u32,
        };
        if function.draws() || !children.iter().all(constant) {
            return Ok(node);
        }
        let none: &[Number] = &[];
        match self.apply(function, first, arguments.len() as u32, none, &mut Random::new(0)) {
            Ok(value) => {
                self.nodes.truncate(first as usize);
                Ok(Node::Constant(value))
            }
            Err(_) => Ok(node),
        }
    }

    fn value<V: Values + ?Sized>(
        &self,
        place: u32,
        variables: &V,
        random: &mut Random,
    ) -> Result<Number, Fault> {
        match self.nodes[place as usize] {
            Node::Constant(value) => Ok(value),
            Node::Variable(place) => variables.value(place),
            Node::Call {
                function,
                first,
                count,
            } => self.apply(function, first, count, variables, random),
            Node::Zipfian { first, zipfian } => {
                let least = self.value(first, variables, random)?;
                let most = self.value(first + 1, variables, random)?;
                if least == Number::Null || most == Number::Null {
                    return Ok(Number::Null);
                }
                let zipfian = &self.zipfians[zipfian as usize];
                compute::zipfian(least.int()?, most.int()?, zipfian, random).map(Number::Int)
            }
            Node::And { first } => self.either(first, false, variables, random),
            Node::Or { first } => self.either(first, true, variables, random),
            Node::Case { first, count } => {
                let mut part = first;
                while part + 1 < first + count {
                    if self.value(part, variables, random)?.holds() {
                        return self.value(part + 1, variables, random);
                    }
                    part += 2;
                }
                self.value(part, variables, random)
            }
        }
    }

    /// AND and OR: the second is evaluated only where the first does not `decide`; NULL where it is met.
    fn either<V: Values + ?Sized>(
        &self,
        first: u32,
        decides: bool,
        variables: &V,
        random: &mut Random,
    ) -> Result<Number, Fault> {
        for place in [first, first + 1] {
            match self.value(place, variables, random)? {
                Number::Null => return Ok(Number::Null),
                value if value.boolean()? == decides => return Ok(Number::Bool(decides)),
                _ => {}
            }
        }
        Ok(Number::Bool(!decides))
    }

    fn apply<V: Values + ?Sized>(
        &self,
        function: Function,
        first: u32,
        count: u32,
        variables: &V,
        random: &mut Random,
    ) -> Result<Number, Fault> {
        if matches!(function, Function::Greatest | Function::Least) {
            let mut best = self.value(first, variables, random)?;
            for place in first + 1..first + count {
                best = extreme(function, best, self.value(place, variables, random)?)?;
            }
            // Alone it is not compared, but must be a number, too.
            return extreme(function, best, best);
        }
        let mut values = [Number::Null; 3];
        let mut null = false;
        for (value, place) in values.iter_mut().zip(first..first + count) {
            *value = self.value(place, variables, random)?;
            null |= *value == Number::Null;
        }
        if null && !matches!(function, Function::Is | Function::Debug) {
            return Ok(Number::Null);
        }
        compute(function, values, random)
    }
}

/// How many values there are from `least` to `most`, where that is known; else any number.
fn usual(least: &Node, most: &Node) -> u64 {
    let int = |node: &Node| match node {
        Node::Constant(value) => value.int().ok(),
        _ => None,
    };
    let known = int(least)
        .zip(int(most))
        .and_then(|(least, most)| compute::size(least, most).ok());
    known.unwrap_or(1)
}

pub fn unknown_variable(at: usize, name: &str, names: &Names) -> SyntaxError {
    let what = format!("nothing sets the variable `{name}`");
    SyntaxError::new(at, what, nearest(name, &names.all()))
}

fn counted(arguments: usize) -> String {
    match arguments {
        0 => "no argument".into(),
        1 => "1 argument".into(),
        more => format!("{more} arguments"),
    }
}

fn takes(named: &Named) -> String {
    match (named.least, named.most) {
        (least, usize::MAX) => format!("at least {}", counted(least)),
        (least, most) if least == most => counted(least),
        (least, most) => format!("{least} or {}", counted(most)),
    }
}
