//! Requests of the Query API: a POST each, whose body is a list of parameters, and an answer in XML. A signature (version 2) is
//! made of the parameters in the order of their names, so they are written in that order. Nothing is allocated per request.
//!
//! Sources: Amazon SimpleDB Developer Guide, "Making REST Requests", "HMAC-SHA Signature", "API Error Codes".
use super::xml::{Element, element};
use crate::server::aws::{Credentials, dated, not_the_services, of_action, second};
use crate::server::http::{Http, Route, Template, each_of_base64, escape};
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use ring::hmac;
use std::sync::Arc;
use std::time::Duration;

pub const NO_DOMAIN: &str = "NoSuchDomain";
/// Codes that say that a condition does not hold: the attribute has another value, or there is none.
const UNMET: [&str; 2] = ["ConditionalCheckFailed", "AttributeDoesNotExist"];

const VERSION: &[u8] = b"&Version=2009-04-15";
/// `2026-11-26T08:27:44Z`, as a parameter has it.
const PATTERN: [u8; 24] = *b"0000-00-00T00%3A00%3A00Z";

/// One endpoint, and who asks there.
pub struct Endpoint {
    route: Arc<Route>,
    template: Template,
    key: hmac::Key,
    /// What is signed before the parameters.
    before: Vec<u8>,
    /// `AWSAccessKeyId=...&Action=`
    who: Vec<u8>,
    /// `&SecurityToken=...`, or nothing.
    token: Vec<u8>,
}

fn parameter(name: &str, value: &str) -> Vec<u8> {
    let mut written = name.as_bytes().to_vec();
    escape(&mut written, value.as_bytes());
    written
}

impl Endpoint {
    /// `region`: an emulator takes it from the field `User-Agent`, for it is in no other part of such a request.
    pub fn new(route: Arc<Route>, credentials: &Credentials, region: &str) -> Self {
        let fields = [
            ("Content-Type", "application/x-www-form-urlencoded; charset=utf-8"),
            ("User-Agent", &format!("bakeoff region/{region}")),
        ];
        let token = credentials.token.as_deref();
        let mut who = parameter("AWSAccessKeyId=", &credentials.key_id);
        who.extend_from_slice(b"&Action=");
        Self {
            template: Template::new("POST", "/", &route, &fields),
            key: hmac::Key::new(hmac::HMAC_SHA256, credentials.secret.as_bytes()),
            before: format!("POST\n{}\n/\n", route.host().to_ascii_lowercase()).into_bytes(),
            who,
            token: token.map_or_else(Vec::new, |token| parameter("&SecurityToken=", token)),
            route,
        }
    }
}

/// A session's connection.
pub struct Calls {
    endpoint: Arc<Endpoint>,
    http: Http,
    action: &'static str,
    /// Where the parameters of the request begin.
    at: usize,
    second: i64,
    moment: [u8; PATTERN.len()],
}

impl Calls {
    pub async fn connect(endpoint: &Arc<Endpoint>, limit: Duration) -> Result<Self, OpError> {
        Ok(Self {
            http: Http::connect(&endpoint.route, limit).await?,
            endpoint: endpoint.clone(),
            action: "",
            at: 0,
            second: 0,
            moment: PATTERN,
        })
    }

    /// Begins a request, after which the answer before is gone. Its parameters up to the letter N are to be appended, in the
    /// order of their names.
    #[inline]
    pub async fn begin(&mut self, action: &'static str) -> Result<&mut Vec<u8>, OpError> {
        self.action = action;
        let body = self.http.begin_body(&self.endpoint.template).await?;
        self.at = body.len();
        body.extend_from_slice(&self.endpoint.who);
        body.extend_from_slice(action.as_bytes());
        Ok(body)
    }

    /// Parameters of the request that was begun; more may be appended.
    #[inline]
    pub fn body(&mut self) -> Result<&mut Vec<u8>, OpError> {
        self.http.request()
    }

    /// Signs and sends what was begun. `select`: the expression of a Select. Errors: the service's own, too.
    #[inline]
    pub async fn send(&mut self, select: Option<&[u8]>) -> Result<&[u8], OpError> {
        let now = second();
        if now != self.second {
            (self.second, self.moment) = (now, dated(now, PATTERN));
        }
        let body = self.http.request()?;
        body.extend_from_slice(&self.endpoint.token);
        if let Some(select) = select {
            body.extend_from_slice(b"&SelectExpression=");
            escape(body, select);
        }
        body.extend_from_slice(b"&SignatureMethod=HmacSHA256&SignatureVersion=2&Timestamp=");
        body.extend_from_slice(&self.moment);
        body.extend_from_slice(VERSION);
        let signature = sign(&self.endpoint.key, &self.endpoint.before, &body[self.at..]);
        body.extend_from_slice(b"&Signature=");
        escape(body, &signature);
        let sent = self.http.exchange().await;
        match sent.map_err(|error| error.with_statement(self.action))? {
            200 => Ok(self.http.answer()),
            status => Err(refused(status, self.http.answer(), self.action)),
        }
    }
}

/// In base 64.
#[inline]
fn sign(key: &hmac::Key, before: &[u8], parameters: &[u8]) -> [u8; 44] {
    let mut signed = hmac::Context::with_key(key);
    signed.update(before);
    signed.update(parameters);
    let mut text = [0; 44];
    let mut places = text.iter_mut();
    each_of_base64(signed.sign().as_ref(), |sign| {
        if let Some(place) = places.next() {
            *place = sign;
        }
    });
    text
}

/// Whether a condition of the request does not hold.
pub fn is_unmet(error: &OpError) -> bool {
    UNMET.contains(&&*error.code)
}

/// An answer that is none of success. `action`: what was asked.
#[cold]
fn refused(status: u16, body: &[u8], action: &'static str) -> OpError {
    let text = |name: &str| {
        let mut text = vec![];
        let found = element(body, "Error").and_then(|error| element(error.inside, name));
        found.filter(|found: &Element<'_>| found.text(&mut text))?;
        Some(String::from_utf8_lossy(&text).into_owned())
    };
    let Some(code) = text("Code") else {
        return of_action(not_the_services(status, body), action);
    };
    let words = text("Message").unwrap_or_default();
    of_action(
        OpError::new(outcome(status, &code, &words), false, code, words),
        action,
    )
}

fn outcome(status: u16, code: &str, words: &str) -> Outcome {
    let too_long = || words.to_ascii_lowercase().contains("length");
    let class = match code {
        _ if UNMET.contains(&code) => FailClass::Conflict,
        _ if code.starts_with("Number") && code.ends_with("Exceeded") => FailClass::Constraint,
        "InvalidParameterValue" if too_long() => FailClass::Constraint,
        "ServiceUnavailable"
        | "ServiceOverload"
        | "Throttling"
        | "RequestLimitExceeded"
        | "RequestTimeout"
        | "RequestThrottled" => FailClass::Overload,
        // It may have been carried out before the service failed.
        _ if status >= 500 => return Outcome::Unknown,
        _ => FailClass::Refused,
    };
    Outcome::Fail(class)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of AWS's documentation of that version ("DescribeJobFlows").
    #[test]
    fn a_published_request_has_its_published_signature() {
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
        let parameters =
            b"AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Action=DescribeJobFlows&SignatureMethod=HmacSHA256\
            &SignatureVersion=2&Timestamp=2011-10-03T15%3A19%3A30&Version=2009-03-31";
        let signature = sign(&key, b"GET\nelasticmapreduce.amazonaws.com\n/\n", parameters);
        assert_eq!(&signature, b"i91nKc4PWAt0JJIdXwz9HxZCJDdiy6cf/Mj6vPxyYIs=");
    }

    #[test]
    fn a_moment_is_written_as_a_parameter_has_it() {
        assert_eq!(&dated(1_709_251_199, PATTERN), b"2024-02-29T23%3A59%3A59Z");
    }

    fn said(status: u16, code: &str, words: &str) -> OpError {
        let body = format!(
            "<?xml version=\"1.0\"?>\n<Response><Errors><Error><Code>{code}</Code><Message>{words}</Message>\
             <BoxUsage>0.0000219907</BoxUsage></Error></Errors><RequestID>1</RequestID></Response>"
        );
        refused(status, body.as_bytes(), "PutAttributes")
    }

    #[test]
    fn errors_have_the_classes_of_the_design() {
        let fail = Outcome::Fail;
        for (status, code, words, outcome) in [
            (409, "ConditionalCheckFailed", "", fail(FailClass::Conflict)),
            (404, "AttributeDoesNotExist", "", fail(FailClass::Conflict)),
            (409, "NumberDomainBytesExceeded", "", fail(FailClass::Constraint)),
            (
                400,
                "InvalidParameterValue",
                "Value (\"x\") for parameter Value is invalid. Value exceeds maximum length of 1024.",
                fail(FailClass::Constraint),
            ),
            (400, "InvalidParameterValue", "", fail(FailClass::Refused)),
            (400, NO_DOMAIN, "", fail(FailClass::Refused)),
            (403, "SignatureDoesNotMatch", "", fail(FailClass::Refused)),
            (503, "ServiceUnavailable", "", fail(FailClass::Overload)),
            (408, "RequestTimeout", "", fail(FailClass::Overload)),
            (500, "InternalError", "", Outcome::Unknown),
        ] {
            let error = said(status, code, words);
            assert_eq!((error.outcome, error.connection_lost), (outcome, false), "{code}");
            assert_eq!(
                (&*error.code, error.statement.as_deref()),
                (code, Some("PutAttributes"))
            );
        }
        assert_eq!(refused(502, b"<html>", "PutAttributes").outcome, Outcome::Unknown);
        for action in ["Select", "GetAttributes"] {
            let outcome = refused(502, b"<html>", action).outcome;
            assert_eq!(
                outcome,
                fail(FailClass::Other),
                "a read is never perhaps carried out"
            );
        }
    }
}
