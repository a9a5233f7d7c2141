//! What a user knows of an order of its own, from how its events ended.
use super::event::Kind;
use super::shop::Status;
use bakeoff_model::outcome::Outcome;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    pub there: There,
    /// `None`: an update perhaps came through.
    pub status: Option<Status>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum There {
    Yes,
    /// It was not made.
    No,
    /// Nobody answered when it was to be made.
    Perhaps,
}

impl There {
    /// How many of it there are; `None`: nobody knows.
    pub fn orders(self) -> Option<u64> {
        match self {
            There::Yes => Some(1),
            There::No => Some(0),
            There::Perhaps => None,
        }
    }
}

impl Known {
    pub const LOADED: Known = Known {
        there: There::Yes,
        status: Some(Status::Ordered),
    };
    pub const UNKNOWN: Known = Known {
        there: There::Perhaps,
        status: None,
    };

    /// After an event of this kind that ended so; `status`: what it was to write. `again`: it took several attempts, of which
    /// an earlier one may have come through.
    pub fn after(self, kind: Kind, status: Status, outcome: Outcome, again: bool) -> Self {
        match (kind, outcome) {
            (Kind::Create, Outcome::Ok | Outcome::Wrong) => Self::LOADED,
            (Kind::Create, Outcome::Fail(_)) if !again => Known {
                there: There::No,
                status: None,
            },
            (Kind::Create, _) => Self::UNKNOWN,
            (Kind::Update, Outcome::Ok) => Known {
                status: Some(status),
                ..self
            },
            (Kind::Update, Outcome::Fail(_)) if !again => self,
            (Kind::Update, _) => Known { status: None, ..self },
            (Kind::Read | Kind::UpdateAttribute | Kind::Delete, _) => self,
        }
    }

    /// Whether an event may have found this many rows, where an order that exists has `all`.
    pub fn allows(self, rows: u64, all: u64) -> bool {
        match self.there {
            There::Yes => rows == all,
            There::No => rows == 0,
            There::Perhaps => rows == 0 || rows == all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::outcome::FailClass;

    const FAIL: Outcome = Outcome::Fail(FailClass::Conflict);

    #[test]
    fn an_order_is_there_when_its_making_was_acknowledged() {
        for (outcome, again, there) in [
            (Outcome::Ok, false, There::Yes),
            (FAIL, false, There::No),
            (FAIL, true, There::Perhaps),
            (Outcome::Unknown, false, There::Perhaps),
        ] {
            let known = Known::UNKNOWN.after(Kind::Create, Status::Ordered, outcome, again);
            assert_eq!(known.there, there, "{outcome:?}");
        }
    }

    #[test]
    fn a_status_is_known_until_nobody_answers() {
        let told = |outcome| {
            Known::LOADED
                .after(Kind::Update, Status::Delivered, outcome, false)
                .status
        };
        assert_eq!(told(Outcome::Ok), Some(Status::Delivered));
        assert_eq!(told(FAIL), Some(Status::Ordered));
        assert_eq!(told(Outcome::Unknown), None);
    }

    #[test]
    fn rows_are_those_of_the_order_or_none_of_one_that_is_not_there() {
        let no = Known {
            there: There::No,
            status: None,
        };
        for (known, none, three, two) in [
            (Known::LOADED, false, true, false),
            (no, true, false, false),
            (Known::UNKNOWN, true, true, false),
        ] {
            assert_eq!([0, 3, 2].map(|rows| known.allows(rows, 3)), [none, three, two]);
        }
    }
}
