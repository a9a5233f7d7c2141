//! Whether each transaction that a script begins also ends.
use super::program::Step;

pub struct Unbalanced {
    /// The step that cannot be taken; after the last one: the end.
    pub step: usize,
    pub what: &'static str,
}

/// Refuses what goes wrong on every way through the script; what depends on its conditions fails when it comes to that.
pub fn transactions(steps: &[Step]) -> Result<(), Unbalanced> {
    /// How one may come to a step.
    #[derive(Clone, Copy, Default)]
    struct Ways {
        closed: bool,
        open: bool,
    }
    let mut ways = vec![Ways::default(); steps.len() + 1];
    ways[0].closed = true;
    let arrive = |ways: &mut Vec<Ways>, to: usize, from: Ways| {
        ways[to].closed |= from.closed;
        ways[to].open |= from.open;
    };
    for (i, step) in steps.iter().enumerate() {
        let here = ways[i];
        let only_open = here.open && !here.closed;
        let refuse = |what| Err(Unbalanced { step: i, what });
        let next = match step {
            Step::Begin(_) if only_open => return refuse("a transaction begins inside another"),
            Step::Begin(_) => Ways {
                closed: false,
                open: true,
            },
            Step::Commit | Step::Rollback if here.closed && !here.open => {
                return refuse("a transaction ends that never began");
            }
            Step::Commit | Step::Rollback => Ways {
                closed: true,
                open: false,
            },
            Step::Unless { to, .. } => {
                arrive(&mut ways, *to as usize, here);
                here
            }
            Step::Jump { to } => {
                arrive(&mut ways, *to as usize, here);
                continue;
            }
            _ => here,
        };
        arrive(&mut ways, i + 1, next);
    }
    match ways[steps.len()] {
        Ways {
            open: true,
            closed: false,
        } => Err(Unbalanced {
            step: steps.len(),
            what: "the script ends inside a transaction",
        }),
        _ => Ok(()),
    }
}
