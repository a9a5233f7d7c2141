//! Whether each transaction that a script begins also ends.
use super::program::Step;

/// Refuses what goes wrong on every way through the script; what depends on its conditions fails when it comes to that.
pub fn transactions(steps: &[Step]) -> Result<(), &'static str> {
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
        let next = match step {
            Step::Begin(_) if only_open => return Err("a transaction begins inside another"),
            Step::Begin(_) => Ways {
                closed: false,
                open: true,
            },
            Step::Commit | Step::Rollback if here.closed && !here.open => {
                return Err("a transaction ends that never began");
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
        } => Err("the script ends inside a transaction"),
        _ => Ok(()),
    }
}
