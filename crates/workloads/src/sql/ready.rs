//! What is known of a script's statements before any is asked: their numbers in every session, and their answers.
use super::expected::Expected;
use crate::script::{Program, Statement};
use bakeoff_model::run::sql::Expect;
use bakeoff_model::sql::Statement as Handle;

/// Of each statement of a script, what is needed to ask it and to look at its answer.
#[derive(Clone, Debug)]
pub struct Ready {
    pub handles: Vec<Handle>,
    pub expected: Vec<Option<Expected>>,
}

impl Ready {
    /// `prepared`: how many statements of a session come before; counts on.
    pub fn new(program: &Program, expect: &[Expect], prepared: &mut u32) -> Self {
        let handle = |statement: &Statement| {
            let handle = Handle(*prepared);
            *prepared += u32::from(statement.prepared);
            handle
        };
        let expected = |statement: &Statement| Expected::new(&program.name, statement.number, expect);
        Self {
            handles: program.statements.iter().map(handle).collect(),
            expected: program.statements.iter().map(expected).collect(),
        }
    }
}
