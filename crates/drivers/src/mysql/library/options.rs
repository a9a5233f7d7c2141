//! The client library's own options.
use crate::mysql::options::{DRIVER, PACKET_BYTES_MAX};
use crate::server::account::TlsSpec;
use crate::server::address::Address;
use crate::server::authority;
use crate::server::target::Target;
use bakeoff_model::needs::Affected;
use bakeoff_model::outcome::Trouble;
use mysql_async::{Opts, OptsBuilder, SslOpts};

/// Long enough to be no limit; given so that it is not asked from the server on each connection.
const WAIT_TIMEOUT_S: usize = 31_536_000;

/// What mysql_async wants to know.
pub fn opts(target: &Target, tls: Option<SslOpts>, affected: Affected) -> Opts {
    let builder = OptsBuilder::default()
        .user(Some(&target.user))
        .pass(target.password.as_deref())
        .db_name(Some(&target.database))
        .client_found_rows(affected == Affected::Found)
        .tcp_nodelay(true)
        // Otherwise the library changes over to the unix socket behind our back.
        .prefer_socket(false)
        .stmt_cache_size(0)
        .max_allowed_packet(Some(PACKET_BYTES_MAX))
        .wait_timeout(Some(WAIT_TIMEOUT_S))
        .ssl_opts(tls);
    let builder = match &target.address {
        Address::Tcp { host, port } => builder.ip_or_hostname(host).tcp_port(*port),
        Address::Socket(path) => builder.socket(Some(path)),
    };
    builder.into()
}

/// Errors: the authority's file cannot be read, or this machine trusts none.
pub fn tls_options(spec: &TlsSpec) -> Result<SslOpts, Trouble> {
    if !spec.verify {
        return Ok(SslOpts::default()
            .with_danger_accept_invalid_certs(true)
            .with_danger_skip_domain_validation(true));
    }
    let roots = match &spec.ca_file {
        Some(path) => vec![authority::read(path)?],
        None => authority::of_the_system(DRIVER)?
            .iter()
            .map(|cert| cert.to_vec())
            .collect(),
    };
    Ok(SslOpts::default()
        .with_disable_built_in_roots(true)
        .with_root_certs(roots.into_iter().map(Into::into).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_authority_is_named() {
        let tls = TlsSpec {
            ca_file: Some("/no/ca.pem".into()),
            verify: true,
        };
        assert_eq!(tls_options(&tls).err().unwrap().place, "/no/ca.pem");
    }
}
