//! Conditions and pipelines: what begins, what ends, and that neither cuts the other across.
use super::Compiler;
use crate::script::error::ScriptError;
use crate::script::lexer::Meta;
use crate::script::program::Step;

/// An `\if` that is not closed yet.
pub struct Open {
    pub at: usize,
    /// The condition that jumps to the next branch, if it does not hold.
    unless: Option<usize>,
    /// Ends of branches, which jump to the end.
    jumps: Vec<usize>,
}

/// A pipeline that is open.
#[derive(Clone, Copy)]
pub struct Began {
    pub at: usize,
    /// How many `\if` enclose it.
    depth: usize,
}

impl Compiler<'_> {
    pub fn begin_if(&mut self, meta: &Meta) -> Result<(), ScriptError> {
        self.open.push(Open {
            at: meta.at,
            unless: None,
            jumps: vec![],
        });
        self.condition(meta)
    }

    pub fn elif(&mut self, meta: &Meta) -> Result<(), ScriptError> {
        self.branch(meta)?;
        self.condition(meta)
    }

    fn condition(&mut self, meta: &Meta) -> Result<(), ScriptError> {
        let expression = self.expression(meta, 0)?;
        let here = self.made.steps.len();
        if let Some(open) = self.open.last_mut() {
            open.unless = Some(here);
        }
        self.made.steps.push(Step::Unless { expression, to: 0 });
        Ok(())
    }

    pub fn endif(&mut self, meta: &Meta) -> Result<(), ScriptError> {
        self.alone(meta)?;
        self.keeps_pipeline(meta)?;
        let Some(open) = self.open.pop() else {
            return Err(self.refuse(
                meta.at,
                "there is no \\if for this \\endif",
                "write \\if before it",
            ));
        };
        let all = open.jumps.into_iter().chain(open.unless);
        all.for_each(|step| self.land(step));
        Ok(())
    }

    /// The branch before ends, and the next begins.
    pub fn branch(&mut self, meta: &Meta) -> Result<(), ScriptError> {
        self.keeps_pipeline(meta)?;
        let here = self.made.steps.len();
        let condition = self.open.last_mut().and_then(|open| {
            open.jumps.push(here);
            open.unless.take()
        });
        let Some(condition) = condition else {
            let what = format!("\\{} stands after no \\if or \\elif", meta.name);
            return Err(self.refuse(
                meta.at,
                what,
                "an \\if has any number of \\elif, then at most one \\else",
            ));
        };
        self.made.steps.push(Step::Jump { to: 0 });
        self.land(condition);
        Ok(())
    }

    /// No branch ends with a pipeline that began in it.
    fn keeps_pipeline(&self, meta: &Meta) -> Result<(), ScriptError> {
        match self.pipeline {
            Some(began) if began.depth >= self.open.len() => Err(self.across(meta)),
            _ => Ok(()),
        }
    }

    fn across(&self, meta: &Meta) -> ScriptError {
        let what = format!("\\{} cuts a pipeline and an \\if across", meta.name);
        self.refuse(meta.at, what, "put all of the one into the other")
    }

    /// A jump goes to what comes next.
    fn land(&mut self, step: usize) {
        let here = self.made.steps.len() as u32;
        if let Some(Step::Unless { to, .. } | Step::Jump { to }) = self.made.steps.get_mut(step) {
            *to = here;
        }
    }

    pub fn pipeline(&mut self, meta: &Meta) -> Result<(), ScriptError> {
        self.alone(meta)?;
        let step = match (meta.name.as_str(), self.pipeline) {
            ("startpipeline", None) => Step::StartPipeline,
            ("startpipeline", Some(_)) => {
                return Err(self.refuse(
                    meta.at,
                    "a pipeline is open already",
                    "end it with \\endpipeline first",
                ));
            }
            (name, None) => {
                let what = format!("there is no pipeline for this \\{name}");
                return Err(self.refuse(meta.at, what, "write \\startpipeline before it"));
            }
            ("syncpipeline", _) => Step::SyncPipeline,
            (_, Some(began)) if began.depth < self.open.len() => return Err(self.across(meta)),
            _ => Step::EndPipeline,
        };
        self.pipeline = match step {
            Step::StartPipeline => Some(Began {
                at: meta.at,
                depth: self.open.len(),
            }),
            Step::EndPipeline => None,
            _ => self.pipeline,
        };
        self.made.pipelines = true;
        self.made.steps.push(step);
        Ok(())
    }
}
