//! One user of scripts: its variables, where it is in its script, and the room that statements take.
use crate::prelude::*;
use crate::rng::Random;
use crate::script::{Number, Program, Statement, Variables};

#[derive(Debug)]
pub struct User {
    pub variables: Variables,
    pub random: Random,
    /// The next step.
    pub at: usize,
    /// In a transaction that the script began.
    pub open: bool,
    /// In a pipeline.
    pub gathering: bool,
    /// The first answer that is not what was expected: the statement's place.
    pub wrong: Option<(usize, super::expected::Fault)>,
    /// Where another attempt begins.
    again: Again,
    pub rooms: Rooms,
}

/// What is as it was when the last transaction ended: what was committed is not done twice.
#[derive(Clone, Debug)]
struct Again {
    random: Random,
    at: usize,
    gathering: bool,
    wrong: Option<(usize, super::expected::Fault)>,
}

#[derive(Debug, Default)]
pub struct Rooms {
    /// A statement with its values.
    pub text: String,
    parameters: Vec<Value<'static>>,
    /// The row that `\gset` makes variables of.
    pub row: RowBuf,
    /// What is sent together, and the statement's place of each in it; none: begin and commit.
    pub pipeline: Pipeline,
    pub gathered: Vec<Option<usize>>,
}

impl User {
    /// `values`: of the first variables, which have one before a script begins.
    pub fn new(values: &[Number], variables: usize, programs: &[&Program]) -> Self {
        let mut own = Variables::new(variables);
        for (place, value) in (0..).zip(values) {
            own.set(place, *value);
        }
        let statements = || programs.iter().flat_map(|program| &program.statements);
        let sent = statements().filter(|statement| !statement.prepared);
        let random = Random::new(0);
        Self {
            variables: own,
            random: random.clone(),
            at: 0,
            open: false,
            gathering: false,
            wrong: None,
            again: Again {
                random,
                at: 0,
                gathering: false,
                wrong: None,
            },
            rooms: Rooms {
                text: String::with_capacity(sent.map(Statement::text_bytes).max().unwrap_or(0)),
                parameters: Vec::with_capacity(
                    statements()
                        .map(|statement| statement.variables.len())
                        .max()
                        .unwrap_or(0),
                ),
                ..Rooms::default()
            },
        }
    }

    /// The first attempt at an operation, which draws from `seed`.
    #[inline]
    pub fn begin(&mut self, program: &Program, seed: u64) {
        self.random = Random::new(seed);
        (self.at, self.open, self.gathering, self.wrong) = (0, false, false, None);
        self.keep(program);
    }

    /// Another attempt goes on from here.
    #[inline]
    pub fn keep(&mut self, program: &Program) {
        self.again.random.clone_from(&self.random);
        (self.again.at, self.again.gathering, self.again.wrong) = (self.at, self.gathering, self.wrong);
        self.variables.keep(&program.sets);
    }

    /// Another attempt draws what the first drew.
    #[cold]
    pub fn retry(&mut self, program: &Program) {
        self.random.clone_from(&self.again.random);
        (self.at, self.gathering, self.wrong) = (self.again.at, self.again.gathering, self.again.wrong);
        self.open = false;
        self.rooms.pipeline.clear();
        self.rooms.gathered.clear();
        self.variables.restore(&program.sets);
    }
}

impl Rooms {
    /// An empty list with the room of the last one, for values that are borrowed for a while.
    #[inline]
    pub fn parameters<'v>(&mut self) -> Vec<Value<'v>> {
        std::mem::take(&mut self.parameters)
    }

    /// The list comes back, with its room and nothing in it.
    #[inline]
    pub fn give_back(&mut self, mut parameters: Vec<Value<'_>>) {
        parameters.clear();
        // Collected in place: the same room, for values of any lifetime.
        self.parameters = parameters.into_iter().map(|_| Value::Null).collect();
    }
}
