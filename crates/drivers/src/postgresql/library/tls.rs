//! TLS under tokio-postgres, by rustls.
use crate::server::account::TlsSpec;
use crate::server::authority;
use bakeoff_model::outcome::{Trouble, TroubleKind};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as Encrypted;

/// Errors: an authority's file that cannot be read or holds none; no authority on this machine.
pub fn config(spec: &TlsSpec, driver: &str) -> Result<Arc<ClientConfig>, Trouble> {
    let provider = Arc::new(ring::default_provider());
    let unusable = |error: rustls::Error| {
        let what = format!("TLS cannot be used: {error}");
        Trouble::new(TroubleKind::Environment, what, driver, "leave `tls` out")
    };
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let config = match spec.verify {
        true => builder.with_root_certificates(roots(spec, driver)?),
        false => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody(provider))),
    };
    Ok(Arc::new(config.with_no_client_auth()))
}

fn roots(spec: &TlsSpec, driver: &str) -> Result<RootCertStore, Trouble> {
    let mut roots = RootCertStore::empty();
    let Some(path) = &spec.ca_file else {
        roots.add_parsable_certificates(authority::of_the_system(driver)?);
        return Ok(roots);
    };
    let text = authority::read(path)?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&text).flatten().collect();
    if roots.add_parsable_certificates(certificates).0 == 0 {
        let what = "the certificate authority's file holds no certificate";
        return Err(Trouble::new(
            TroubleKind::Usage,
            what,
            path,
            "name a PEM file with one",
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
        verify_tls12_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// What tokio-postgres makes its connections with.
pub struct Connect(pub Arc<ClientConfig>);

pub struct ToServer {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Connect {
    type Stream = Stream<S>;
    type TlsConnect = ToServer;
    type Error = InvalidDnsNameError;
    fn make_tls_connect(&mut self, domain: &str) -> Result<ToServer, InvalidDnsNameError> {
        Ok(ToServer {
            connector: self.0.clone().into(),
            name: ServerName::try_from(domain)?.to_owned(),
        })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for ToServer {
    type Stream = Stream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream<S>>> + Send>>;
    fn connect(self, stream: S) -> Self::Future {
        let connecting = self.connector.connect(self.name, stream);
        Box::pin(async move { connecting.await.map(Stream) })
    }
}

/// An encrypted connection, under a trait of tokio-postgres.
pub struct Stream<S>(Encrypted<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Stream<S> {
    /// Not bound: the certificate is verified, or its author has asked that it be not.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
