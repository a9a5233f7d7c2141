//! Whose signature under a server's certificate is trusted.
use bakeoff_model::outcome::{Trouble, TroubleKind};

/// A PEM file's text.
pub fn read(path: &str) -> Result<Vec<u8>, Trouble> {
    std::fs::read(path).map_err(|error| {
        Trouble::new(
            TroubleKind::Usage,
            format!("the certificate authority's file cannot be read: {error}"),
            path,
            "name a PEM file that this user may read",
        )
    })
}

/// The authorities that this machine trusts, without those that the TLS library cannot use. `driver`: for messages.
pub fn of_the_system(driver: &str) -> Result<Vec<rustls::pki_types::CertificateDer<'static>>, Trouble> {
    let usable = |cert: &rustls::pki_types::CertificateDer<'static>| {
        rustls::RootCertStore::empty().add(cert.clone()).is_ok()
    };
    let found = rustls_native_certs::load_native_certs().certs;
    let roots: Vec<_> = found.into_iter().filter(usable).collect();
    if roots.is_empty() {
        return Err(Trouble::new(
            TroubleKind::Environment,
            "this machine trusts no certificate authority",
            driver,
            "install the ca-certificates package, or name the server's authority in `tls.ca_file`",
        ));
    }
    Ok(roots)
}
