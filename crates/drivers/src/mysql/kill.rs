//! The statements by which a session that was given up is ended.

/// Where a session comes from, as the server sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Port(u16),
    Socket,
}

impl Origin {
    /// `host`: as the list of processes has it, `host:port`, or `localhost` through the socket.
    pub fn of(host: &str, through_socket: bool) -> Option<Self> {
        match host.rsplit_once(':') {
            Some((_, port)) => port.parse().ok().map(Self::Port),
            None => (through_socket && host == "localhost").then_some(Self::Socket),
        }
    }
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

/// Where this connection comes from; no row where a proxy gave it its number.
pub fn came_from(id: u32) -> String {
    format!("SELECT HOST FROM information_schema.PROCESSLIST WHERE ID = {id} AND ID = CONNECTION_ID()")
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
    fn a_session_comes_from_a_port_or_through_our_own_socket() {
        assert_eq!(Origin::of("127.0.0.1:4000", false), Some(Origin::Port(4000)));
        assert_eq!(Origin::of("localhost", true), Some(Origin::Socket));
        // Somebody else's, which a proxy's number happens to name.
        assert_eq!(Origin::of("localhost", false), None);
        assert_eq!(Origin::of("app.example.org", true), None);
        assert_eq!(Origin::of("", true), None);
    }

    #[test]
    fn numbers_of_a_proxy_end_nothing() {
        assert!(is_ours(7, Origin::Socket, 9).ends_with(" AND CONNECTION_ID() = 9"));
        assert!(came_from(7).ends_with(" WHERE ID = 7 AND ID = CONNECTION_ID()"));
    }
}
