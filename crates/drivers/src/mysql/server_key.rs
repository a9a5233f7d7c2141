//! The public key of a server, known beforehand: what a password may be encrypted to where nothing else tells the server
//! from somebody who answers in its place.
use bakeoff_model::outcome::{Trouble, TroubleKind};
use mysql_common::crypto::rsa::{GetRandom, Pkcs1OaepPadding, PublicKey};
use num_bigint::BigUint;
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;

/// A shorter key protects nothing.
const KEY_BITS_MIN: u64 = 1024;
/// What the padding (OAEP with SHA-1) takes of a key's length.
const PADDING_BYTES: usize = 42;

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const SEQUENCE: u8 = 0x30;

#[derive(Debug)]
pub struct ServerKey(PublicKey);

impl ServerKey {
    /// Errors: the file cannot be read, or holds no RSA key.
    pub fn read(path: &str) -> Result<Self, Trouble> {
        let refused = |what: String| {
            let hint = "name the server's RSA public key as a PEM file: its `public_key.pem`, or what \
                        SHOW STATUS LIKE 'Caching_sha2_password_rsa_public_key' says there";
            Trouble::new(TroubleKind::Usage, what, path, hint)
        };
        let text = std::fs::read(path).map_err(|error| {
            refused(format!(
                "the file of the server's public key cannot be read: {error}"
            ))
        })?;
        let parsed = SubjectPublicKeyInfoDer::from_pem_slice(&text)
            .ok()
            .and_then(|der| parse(&der));
        parsed.ok_or_else(|| refused("the file of the server's public key holds none".into()))
    }

    /// `None`: the text is too long for the key.
    pub fn encrypt(&self, text: &[u8]) -> Option<Vec<u8>> {
        let fits = text.len() + PADDING_BYTES <= self.0.num_octets();
        fits.then(|| self.0.encrypt_block(text, Pkcs1OaepPadding::new(GetRandom)))
    }
}

/// A SubjectPublicKeyInfo (RFC 5280) around an RSAPublicKey (RFC 8017, A.1.1). The library's own reader panics at others.
fn parse(mut der: &[u8]) -> Option<ServerKey> {
    let mut info = element(&mut der, SEQUENCE)?;
    element(&mut info, SEQUENCE)?; // the algorithm, which the next lines tell as well
    let mut bits = element(&mut info, BIT_STRING)?.strip_prefix(&[0])?;
    let mut key = element(&mut bits, SEQUENCE)?;
    let modulus = BigUint::from_bytes_be(element(&mut key, INTEGER)?);
    let exponent = BigUint::from_bytes_be(element(&mut key, INTEGER)?);
    let good = modulus.bits() >= KEY_BITS_MIN && modulus.bit(0) && exponent.bits() > 1;
    good.then(|| ServerKey(PublicKey::new(modulus, exponent)))
}

/// The content of the next element (DER), if it is of this kind.
fn element<'a>(rest: &mut &'a [u8], kind: u8) -> Option<&'a [u8]> {
    let (head, mut after) = rest.split_first_chunk::<2>()?;
    let mut length = usize::from(head[1]);
    if length >= 0x80 {
        let (digits, left) = after.split_at_checked(length & 0x7F)?;
        length = match *digits {
            [low] => low.into(),
            [high, low] => u16::from_be_bytes([high, low]).into(),
            _ => return None,
        };
        after = left;
    }
    let (content, left) = after.split_at_checked(length)?;
    *rest = left;
    (head[0] == kind).then_some(content)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Of 2048 bits; from mysql_common's tests.
    const PEM: &str = "-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAxSKOcxiet8lLMn8ImyUE
bGGKob5EdRz/4wdiw12ED0GfKKTKhVnodFCfm1mdy7bKOX5QxL9skrvYodpW43eR
R5bfOzIgy1qIB8RYb6qOXRBw1oA4snBDqtUjDv/lbHLJN+IbzM4oU+e3Lt9rXyLX
VY289ewONPweXHqSCnTL91w+wkU1peIFV2QhZ+upUCdCtwOn5hnJPNgxtbklFoya
C8W3Z7Xx7He2QDJsEWAqX197efw0L6j8X8Tyd8Uwb7zUB1tfMGhHfm9EwejPAtzx
4GztQNtNMtGS2oGZLQBLV9hib4dDL92iiZeckg2LAf4GsJofLLR8mcHCRoqVbQJ1
YQIDAQAB
-----END PUBLIC KEY-----
";

    #[test]
    fn a_key_takes_what_fits_under_its_padding() {
        let der = SubjectPublicKeyInfoDer::from_pem_slice(PEM.as_bytes()).unwrap();
        let key = parse(&der).unwrap();
        assert_eq!(key.encrypt(&[7; 214]).unwrap().len(), 256);
        assert!(key.encrypt(&[7; 215]).is_none());
        for end in 0..der.len() {
            assert!(parse(&der[..end]).is_none(), "cut after {end} bytes");
        }
    }

    #[test]
    fn a_file_that_holds_no_key_is_reported_by_its_name() {
        let trouble = ServerKey::read("/no/key.pem").unwrap_err();
        assert!(trouble.place == "/no/key.pem" && trouble.hint.contains("public_key.pem"));
    }
}
