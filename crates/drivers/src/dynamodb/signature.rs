//! Signature Version 4: who sends a request, and that nobody changed it. Nothing is allocated per request; the key of a day is
//! derived once.
//!
//! Source: AWS documentation, "Create a signed AWS API request".
use crate::server::aws::{Credentials, dated};
use ring::digest::{Context, Digest, SHA256};
use ring::hmac;
use std::sync::Arc;

pub const ALGORITHM: &str = "AWS4-HMAC-SHA256";
pub const SIGNATURE_BYTES: usize = 64;
/// `20150830T123600Z`
pub const MOMENT_BYTES: usize = 16;
const DAY_BYTES: usize = 8;

/// For what somebody signs.
pub struct Scope {
    credentials: Credentials,
    region: String,
    service: &'static str,
    /// `/us-east-1/dynamodb/aws4_request`
    words: String,
}

impl Scope {
    pub fn new(credentials: Credentials, region: &str, service: &'static str) -> Self {
        Self {
            credentials,
            region: region.to_owned(),
            service,
            words: format!("/{region}/{service}/aws4_request"),
        }
    }

    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    pub fn words(&self) -> &str {
        &self.words
    }

    fn key_of(&self, day: &[u8]) -> hmac::Key {
        let first = format!("AWS4{}", self.credentials.secret);
        let mut key = hmac::Key::new(hmac::HMAC_SHA256, first.as_bytes());
        for part in [
            day,
            self.region.as_bytes(),
            self.service.as_bytes(),
            b"aws4_request",
        ] {
            key = hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&key, part).as_ref());
        }
        key
    }
}

pub struct Signer {
    scope: Arc<Scope>,
    /// Of `moment`, since 1970.
    second: i64,
    moment: [u8; MOMENT_BYTES],
    /// Of the moment's day.
    key: hmac::Key,
}

impl Signer {
    pub fn new(scope: Arc<Scope>, second: i64) -> Self {
        let moment = moment(second);
        Self {
            key: scope.key_of(&moment[..DAY_BYTES]),
            scope,
            second,
            moment,
        }
    }

    /// What is signed from now on is of this second.
    #[inline]
    pub fn set_time(&mut self, second: i64) {
        if second != self.second {
            self.tick(second);
        }
    }

    #[cold]
    fn tick(&mut self, second: i64) {
        let moment = moment(second);
        if moment[..DAY_BYTES] != self.moment[..DAY_BYTES] {
            self.key = self.scope.key_of(&moment[..DAY_BYTES]);
        }
        (self.second, self.moment) = (second, moment);
    }

    #[inline]
    pub fn moment(&self) -> &[u8; MOMENT_BYTES] {
        &self.moment
    }

    #[inline]
    pub fn day(&self) -> &[u8] {
        &self.moment[..DAY_BYTES]
    }

    /// Of a canonical request, by its digest.
    #[inline]
    pub fn sign(&self, request: &Digest) -> [u8; SIGNATURE_BYTES] {
        let mut signed = hmac::Context::with_key(&self.key);
        for part in [
            ALGORITHM.as_bytes(),
            b"\n",
            &self.moment,
            b"\n",
            self.day(),
            self.scope.words.as_bytes(),
            b"\n",
            &hex(request.as_ref()),
        ] {
            signed.update(part);
        }
        hex(signed.sign().as_ref())
    }
}

/// Of texts one behind the other.
#[inline]
pub fn digest(parts: &[&[u8]]) -> Digest {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(part);
    }
    context.finish()
}

/// Of 32 bytes.
#[inline]
pub fn hex(bytes: &[u8]) -> [u8; SIGNATURE_BYTES] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [b'0'; SIGNATURE_BYTES];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    text
}

fn moment(second: i64) -> [u8; MOMENT_BYTES] {
    dated(second, *b"00000000T000000Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2015-08-30 12:36:00, that of the examples.
    const SECOND: i64 = 1_440_938_160;

    fn signer(service: &'static str) -> Signer {
        let credentials = Credentials {
            key_id: "AKIDEXAMPLE".into(),
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
            token: None,
        };
        Signer::new(Arc::new(Scope::new(credentials, "us-east-1", service)), SECOND)
    }

    fn text(signature: [u8; 64]) -> String {
        String::from_utf8_lossy(&signature).into_owned()
    }

    /// Of AWS's documentation ("ListUsers"), and of its test suite (get-vanilla, post-vanilla).
    #[test]
    fn published_requests_have_their_published_signatures() {
        const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(text(hex(digest(&[]).as_ref())), EMPTY);
        let list = [
            "GET\n/\nAction=ListUsers&Version=2010-05-08\n",
            "content-type:application/x-www-form-urlencoded; charset=utf-8\nhost:iam.amazonaws.com\n",
            "x-amz-date:20150830T123600Z\n\ncontent-type;host;x-amz-date\n",
            EMPTY,
        ];
        let list = digest(&list.map(str::as_bytes));
        assert_eq!(
            text(hex(list.as_ref())),
            "f536975d06c0309214f805bb90ccff089219ecd68b2577efef23edd43b7e1a59"
        );
        assert_eq!(
            text(signer("iam").sign(&list)),
            "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
        );
        for (method, signature) in [
            (
                "GET",
                "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
            ),
            (
                "POST",
                "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
            ),
        ] {
            let request = format!(
                "{method}\n/\n\nhost:example.amazonaws.com\nx-amz-date:20150830T123600Z\n\nhost;x-amz-date\n{EMPTY}"
            );
            let signed = signer("service").sign(&digest(&[request.as_bytes()]));
            assert_eq!(text(signed), signature, "{method}");
        }
    }

    #[test]
    fn the_key_is_the_days_and_the_moment_the_seconds() {
        let mut signer = signer("iam");
        let request = digest(&[b"x"]);
        let first = signer.sign(&request);
        assert_eq!(signer.moment(), b"20150830T123600Z");
        signer.set_time(SECOND + 86_400);
        assert_eq!(
            (signer.day(), signer.moment()),
            (&b"20150831"[..], b"20150831T123600Z")
        );
        assert_ne!(signer.sign(&request), first);
        signer.set_time(SECOND);
        assert_eq!(signer.sign(&request), first);
        signer.set_time(1_709_251_199);
        assert_eq!(signer.moment(), b"20240229T235959Z");
    }

    #[test]
    fn a_secret_is_not_printed() {
        assert_eq!(
            format!("{:?}", signer("iam").scope.credentials()),
            "Credentials(AKIDEXAMPLE)"
        );
    }
}
