//! The statements by which a session that was given up is ended.

/// One row if this connection is the caller's own: same number, same account, same port of the same machine.
pub fn is_ours(id: u32, port: Option<u16>) -> String {
    let from = match port {
        Some(port) => format!("LIKE '%:{port}'"),
        None => "= 'localhost'".to_owned(),
    };
    format!(
        "SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = {id} AND HOST {from} \
         AND USER = SUBSTRING_INDEX(USER(), '@', 1)"
    )
}

/// Where this connection comes from, as the server sees it: `host:port`, or `localhost` through the socket.
pub fn came_from(id: u32) -> String {
    format!("SELECT HOST FROM information_schema.PROCESSLIST WHERE ID = {id}")
}

/// The connection, not its statement alone: where the network swallows everything the server would keep the session, and
/// its locks, for hours.
pub fn kill_statement(id: u32) -> String {
    format!("KILL CONNECTION {id}")
}
