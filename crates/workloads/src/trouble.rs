//! What workloads say to a person when they cannot begin.
use crate::prelude::*;

/// An option that cannot be.
pub fn refuse(option: &str, what: impl Into<String>, hint: impl Into<String>) -> Trouble {
    Trouble::new(TroubleKind::Usage, what, format!("workload.{option}"), hint)
}

/// A failed statement of the phases before and after a run.
pub fn setup(doing: &str, table: &str, error: &OpError) -> Trouble {
    let hint = "see the server's message; the user needs the right to create and drop tables in this schema";
    Trouble::new(
        TroubleKind::Server,
        format!("could not {doing}: {error}"),
        format!("table {table}"),
        hint,
    )
}

pub fn table_exists(table: &str, hint: &str) -> Trouble {
    let what = format!("table {table} exists already, and dropping it was not allowed");
    Trouble::new(TroubleKind::Usage, what, format!("table {table}"), hint)
}

/// Clients of a run are numbered from 0.
pub fn check_client(ClientSpec { index, count }: ClientSpec) -> Result<(), Trouble> {
    if index < count {
        return Ok(());
    }
    let what = format!("client {index} of {count} does not exist");
    Err(Trouble::new(
        TroubleKind::Usage,
        what,
        "client",
        "number clients from 0",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_does_not_exist_is_refused() {
        for (index, count) in [(2, 2), (0, 0)] {
            assert_eq!(
                check_client(ClientSpec { index, count }).unwrap_err().place,
                "client"
            );
        }
    }
}
