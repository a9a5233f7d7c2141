//! Whether an answer is what it must be.
use bakeoff_model::workload::Answer;

/// The first thing wrong with an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found(Option<&'static str>);

impl Found {
    pub const RIGHT: Found = Found(None);

    pub fn wrong(why: &'static str) -> Self {
        Self(Some(why))
    }

    #[inline]
    pub fn check(&mut self, right: bool, why: &'static str) {
        if !right && self.0.is_none() {
            self.0 = Some(why);
        }
    }
}

impl From<Found> for Answer<'static> {
    fn from(found: Found) -> Self {
        found.0.map_or(Answer::Right, Answer::Wrong)
    }
}
