//! Statements that begin and end transactions: a session is told them as such, so that every driver knows what is open.
use super::columns::Words;
use bakeoff_model::run::Isolation;
use bakeoff_model::transaction::Access;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    Begin(Access),
    Commit,
    Rollback,
}

/// `None`: it is another statement. `Err`: what it says beside cannot be asked of every system.
pub fn control(words: &Words<'_>) -> Option<Result<Control, ()>> {
    let said: Vec<String> = words.words.iter().map(|word| word.text.to_lowercase()).collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let (control, rest) = match &*said {
        ["begin", rest @ ..] | ["start", "transaction", rest @ ..] => {
            let rest = rest
                .strip_prefix(&["work"])
                .or(rest.strip_prefix(&["transaction"]))
                .unwrap_or(rest);
            return Some(access(rest).map(Control::Begin).ok_or(()));
        }
        // COMMIT PREPARED and ROLLBACK TO are others.
        ["commit", "prepared", ..] | ["rollback", "prepared" | "to", ..] | ["rollback", _, "to", ..] => {
            return None;
        }
        ["commit" | "end", rest @ ..] => (Control::Commit, rest),
        ["rollback" | "abort", rest @ ..] => (Control::Rollback, rest),
        _ => return None,
    };
    Some(match rest {
        [] | ["work" | "transaction"] => Ok(control),
        _ => Err(()),
    })
}

fn access(mut rest: &[&str]) -> Option<Access> {
    let mut access = Access::default();
    loop {
        rest = match rest {
            [] => return Some(access),
            [",", rest @ ..] | ["read", "write", rest @ ..] => rest,
            ["read", "only", rest @ ..] => {
                access.read_only = true;
                rest
            }
            ["isolation", "level", rest @ ..] => {
                let (isolation, rest) = match rest {
                    ["read", "uncommitted", rest @ ..] => (Isolation::ReadUncommitted, rest),
                    ["read", "committed", rest @ ..] => (Isolation::ReadCommitted, rest),
                    ["repeatable", "read", rest @ ..] => (Isolation::RepeatableRead, rest),
                    ["serializable", rest @ ..] => (Isolation::Serializable, rest),
                    _ => return None,
                };
                access.isolation = Some(isolation);
                rest
            }
            // SQLite's: it takes its locks by what is read and written.
            ["deferred" | "immediate" | "exclusive"] => return Some(access),
            _ => return None,
        };
    }
}
