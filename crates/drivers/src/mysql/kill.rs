//! The statements by which a session that was given up is ended.

/// Where a session comes from, as the server sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Port(u16),
    Socket,
}

/// One row if this connection is the caller's own: same number, same account, same port of the same machine. `asking`: the
/// number of the connection that asks; a proxy hands out numbers of its own, which are other sessions' on the server.
pub fn is_ours(id: u32, origin: Origin, asking: u32) -> String {
    let from = match origin {
        Origin::Port(port) => format!("LIKE '%:{port}'"),
        Origin::Socket => "= 'localhost'".to_owned(),
    };
    format!(
        "SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = {id} AND HOST {from} \
         AND USER = SUBSTRING_INDEX(USER(), '@', 1) AND CONNECTION_ID() = {asking}"
    )
}

/// The connection, not its statement alone: where the network swallows everything the server would keep the session, and
/// its locks, for hours.
pub fn kill_statement(id: u32) -> String {
    format!("KILL CONNECTION {id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_proxy_end_nothing() {
        assert!(is_ours(7, Origin::Socket, 9).ends_with(" AND CONNECTION_ID() = 9"));
    }
}
