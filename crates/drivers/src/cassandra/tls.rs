//! Encryption of the library's connections. The library asks for a certificate of the IP address that it connects to; a node's has
//! to be for the host that the plan names.
use crate::server::account::TlsSpec;
use crate::server::target::Target;
use crate::server::tls;
use bakeoff_model::outcome::Trouble;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// What the nodes have to show.
pub struct Certificates {
    verifier: Arc<dyn ServerCertVerifier>,
    /// In the order of the targets.
    names: Vec<ServerName<'static>>,
}

impl Certificates {
    /// Errors: as of `server::tls`.
    pub fn of(spec: &TlsSpec, targets: &[Target], driver: &str) -> Result<Self, Trouble> {
        Ok(Self {
            verifier: tls::verifier(spec, driver)?,
            names: targets.iter().map(tls::name_of).collect::<Result<_, _>>()?,
        })
    }

    /// `located`: where the targets are, in their order.
    pub fn config(&self, located: &[SocketAddr], driver: &str) -> Result<Arc<ClientConfig>, Trouble> {
        let addresses = located.iter().map(SocketAddr::ip);
        let verifier = ByAddress {
            verifier: self.verifier.clone(),
            names: addresses.zip(self.names.iter().cloned()).collect(),
        };
        tls::config(Arc::new(verifier), driver)
    }
}

#[derive(Debug)]
struct ByAddress {
    verifier: Arc<dyn ServerCertVerifier>,
    names: Vec<(IpAddr, ServerName<'static>)>,
}

impl ServerCertVerifier for ByAddress {
    /// Nodes at one address, at several ports, may have several names.
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        further: &[CertificateDer<'_>],
        asked: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let mut refused = rustls::Error::General(format!("the plan names no node at {asked:?}"));
        for (address, name) in &self.names {
            if *asked != ServerName::IpAddress((*address).into()) {
                continue;
            }
            match self
                .verifier
                .verify_server_cert(certificate, further, name, stapled, now)
            {
                Ok(verified) => return Ok(verified),
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls12_signature(message, certificate, signed)
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls13_signature(message, certificate, signed)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}
