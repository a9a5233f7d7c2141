//! How a connection to a server is encrypted, and which certificate its server has to show. By rustls.
use super::account::TlsSpec;
use super::address::Address;
use super::target::{Target, usage};
use bakeoff_model::outcome::{Trouble, TroubleKind};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::sync::Arc;

/// Towards one server.
#[derive(Clone, Debug)]
pub struct Encryption {
    config: Arc<ClientConfig>,
    /// That its certificate has to be for.
    name: ServerName<'static>,
}

impl Encryption {
    /// Towards each of the targets; `None` without `tls`. Errors: an authority's file that cannot be read or holds none; no
    /// authority on this machine; a host of which there can be no certificate.
    pub fn towards(
        spec: Option<&TlsSpec>,
        targets: &[Target],
        driver: &str,
    ) -> Result<Vec<Option<Arc<Self>>>, Trouble> {
        let Some(spec) = spec else {
            return Ok(vec![None; targets.len()]);
        };
        let config = config(verifier(spec, driver)?, driver)?;
        let towards = |target: &Target| {
            let (config, name) = (config.clone(), name_of(target)?);
            Ok(Some(Arc::new(Self { config, name })))
        };
        targets.iter().map(towards).collect()
    }

    pub fn connection(&self) -> Result<ClientConnection, rustls::Error> {
        ClientConnection::new(self.config.clone(), self.name.clone())
    }
}

/// That a target's certificate has to be for. Errors: a host of which there can be none.
pub fn name_of(target: &Target) -> Result<ServerName<'static>, Trouble> {
    let host = match &target.address {
        Address::Tcp { host, .. } => host.as_str(),
        Address::Socket(_) => "",
    };
    ServerName::try_from(host.to_owned()).map_err(|_| {
        let what = format!("no certificate can be for {host:?}");
        usage(&what, &target.place, "name the host as its certificate does")
    })
}

/// Which certificates are taken. Errors: an authority's file that cannot be read or holds none; no authority on this machine.
pub fn verifier(spec: &TlsSpec, driver: &str) -> Result<Arc<dyn ServerCertVerifier>, Trouble> {
    let provider = Arc::new(ring::default_provider());
    if !spec.verify {
        return Ok(Arc::new(Anybody(provider)));
    }
    let roots = match &spec.ca_file {
        Some(path) => roots_in(path)?,
        None => roots_of_the_system(driver)?,
    };
    let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    Ok(built.map_err(|error| unusable(&error, driver))?)
}

pub fn config(verifier: Arc<dyn ServerCertVerifier>, driver: &str) -> Result<Arc<ClientConfig>, Trouble> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error, driver))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn unusable(error: &impl std::fmt::Display, driver: &str) -> Trouble {
    let what = format!("TLS cannot be used: {error}");
    Trouble::new(TroubleKind::Environment, what, driver, "leave `tls` out")
}

/// The authorities in a PEM file.
fn roots_in(path: &str) -> Result<RootCertStore, Trouble> {
    let text = std::fs::read(path).map_err(|error| {
        let what = format!("the certificate authority's file cannot be read: {error}");
        usage(&what, path, "name a PEM file that this user may read")
    })?;
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_slice_iter(&text).flatten();
    if roots.add_parsable_certificates(certificates).0 == 0 {
        let what = "the certificate authority's file holds no certificate";
        return Err(usage(what, path, "name a PEM file with one"));
    }
    Ok(roots)
}

/// Those that this machine trusts.
fn roots_of_the_system(driver: &str) -> Result<RootCertStore, Trouble> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs().certs;
    if roots.add_parsable_certificates(found).0 == 0 {
        return Err(Trouble::new(
            TroubleKind::Environment,
            "this machine trusts no certificate authority",
            driver,
            "install the ca-certificates package, or name the server's authority in `tls.ca_file`",
        ));
    }
    Ok(roots)
}

/// Takes any certificate, which is what `verify = false` asks for; its holder has to have the key to it.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_authority_that_is_missing_or_none_is_named() {
        let with = |path: &str| {
            let spec = TlsSpec {
                ca_file: Some(path.into()),
                verify: true,
            };
            verifier(&spec, "d").unwrap_err()
        };
        assert_eq!(with("/no/ca.pem").place, "/no/ca.pem");
        assert!(with("/dev/null").what.contains("holds no certificate"));
    }
}
