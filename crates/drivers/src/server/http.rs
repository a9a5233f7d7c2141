//! HTTP/1.1 for every database that speaks it: one connection, and one request with its answer at a time. Requests are
//! written into the connection's buffer behind a head that was prepared once, and an answer is read where it was received.
//! Per request nothing is allocated.
//!
//! ```text
//! let get = Template::new("GET", "/db/", &route, &[("Accept", "application/json")]);
//! http.begin(&get).await?.extend_from_slice(key);  // the rest of the path
//! http.fields(&get);                               // header lines that change may be appended to what it returns
//! let status = http.exchange().await?;             // before it: `http.body()`, to which a body is appended
//! http.answer();  http.field("etag");
//! ```
//!
//! What a status means is for the driver to say. Errors here are of the connection and of answers that are no HTTP; they say
//! whether the request may have been carried out.
//!
//! Sources: RFC 9110 (semantics), RFC 9112 (messages), RFC 7617 (basic authentication).
mod reply;
#[cfg(test)]
mod tests;

use super::account::{Secret, TlsSpec};
use super::address::Address;
use super::channel::Channel;
use super::errors::malformed;
use super::target::{Protocol, Target};
use super::tls::Encryption;
use super::whereabouts::Whereabouts;
use super::within;
use bakeoff_model::endpoint::Endpoint;
use bakeoff_model::outcome::{FailClass, OpError, Trouble};
use bakeoff_model::time::now_ns;
use reply::Reply;
use std::sync::Arc;
use std::time::Duration;

/// Digits that a body's length has room for.
const LENGTH_DIGITS: usize = 10;
/// Beyond this the room for a chunked body is not kept.
const KEPT_BYTES: usize = 256 << 10;
/// A connection that was unused for longer may have been closed by the server, and is looked at before it is used: servers
/// close idle ones (Node after 5 s, Jetty after 30 s), and a write that meets that is lost without need.
const IDLE_NS: u64 = 500_000_000;

/// One endpoint, who connects to it, and how.
pub struct Route {
    pub target: Target,
    whereabouts: Whereabouts,
    encryption: Option<Arc<Encryption>>,
}

impl Route {
    /// All endpoints of a spec. Looks names up, which may block, and finds the password; connects to nothing.
    pub fn all(
        protocol: &'static Protocol,
        endpoints: &[Endpoint],
        user: &str,
        password: Option<&Secret>,
        tls: Option<&TlsSpec>,
    ) -> Result<Vec<Arc<Self>>, Trouble> {
        let targets = Target::all(protocol, endpoints, user, password, "", tls.is_some())?;
        let encryptions = Encryption::towards(tls, &targets, protocol.driver)?;
        let route = |(target, encryption): (Target, _)| {
            Ok(Arc::new(Self {
                whereabouts: target.address.locate(&target.place, protocol.driver)?,
                target,
                encryption,
            }))
        };
        targets.into_iter().zip(encryptions).map(route).collect()
    }

    /// The field `Authorization` of requests in the account's name; `None`: there is no password.
    pub fn basic(&self) -> Option<String> {
        let password = self.target.password.as_ref()?;
        let account = format!("{}:{password}", self.target.user);
        Some(format!("Basic {}", base64(account.as_bytes())))
    }

    /// The field `Host`: without the port that its scheme has by default, as signatures want it (RFC 9110, 4.2.3).
    pub fn host(&self) -> String {
        let default_port = if self.encryption.is_some() { 443 } else { 80 };
        match &self.target.address {
            Address::Tcp { host, port } => {
                let host = if host.contains(':') {
                    &*format!("[{host}]")
                } else {
                    host
                };
                match *port == default_port {
                    true => host.to_owned(),
                    false => format!("{host}:{port}"),
                }
            }
            Address::Socket(_) => "localhost".to_owned(),
        }
    }

    async fn connect(&self, limit: Duration) -> Result<Channel, OpError> {
        let opening = async {
            let (stream, _) = self.whereabouts.connect(limit).await?;
            let mut channel = Channel::new(stream);
            if let Some(encryption) = &self.encryption {
                channel.encrypt(encryption).await?;
            }
            Ok(channel)
        };
        match within(limit, opening).await {
            Some(opened) => opened.map_err(|error| self.target.connect_failed(error)),
            None => Err(self.target.timed_out(limit)),
        }
    }
}

/// The head of one kind of request, but for what changes.
pub struct Template {
    /// Method and the beginning of the path.
    first: Vec<u8>,
    /// What follows the path: the version, and fields.
    rest: Vec<u8>,
    answers_head_only: bool,
    /// Says its length also when it has no body.
    sends: bool,
}

impl Template {
    /// `path`: how all paths of these requests begin. `fields` are in addition to `Host` and the body's length.
    pub fn new(method: &str, path: &str, route: &Route, fields: &[(&str, &str)]) -> Self {
        let mut rest = format!(" HTTP/1.1\r\nHost: {}\r\n", route.host());
        for (name, value) in fields {
            rest.extend([name, ": ", value, "\r\n"]);
        }
        Self {
            first: format!("{method} {path}").into_bytes(),
            rest: rest.into_bytes(),
            answers_head_only: method == "HEAD",
            sends: matches!(method, "POST" | "PUT" | "PATCH"),
        }
    }
}

/// A session with one endpoint. It connects again by itself where a connection ended between two requests.
pub struct Http {
    route: Arc<Route>,
    limit: Duration,
    /// `None`: the last answer was the connection's last, or an error was.
    channel: Option<Channel>,
    /// Of the request that is being written: where its body's length belongs, and where its body begins.
    length_at: usize,
    body_at: usize,
    sends: bool,
    reply: Reply,
    /// A request was sent, and its answer has not been received; also where its future was dropped.
    is_owed: bool,
    /// A chunked answer's body.
    chunks: Vec<u8>,
    last_used_ns: u64,
}

impl Http {
    /// `limit` bounds connecting, now and later. Errors are worded for a person.
    pub async fn connect(route: &Arc<Route>, limit: Duration) -> Result<Self, OpError> {
        Ok(Self {
            channel: Some(route.connect(limit).await?),
            route: route.clone(),
            limit,
            length_at: 0,
            body_at: 0,
            sends: false,
            reply: Reply::default(),
            is_owed: false,
            chunks: Vec::new(),
            last_used_ns: now_ns(),
        })
    }

    /// Begins a request, after which the answer before is gone. The rest of its path is to be appended. Errors: there is no
    /// connection, and nothing was sent.
    #[inline]
    pub async fn begin(&mut self, template: &Template) -> Result<&mut Vec<u8>, OpError> {
        self.settle().await?;
        (self.length_at, self.body_at, self.sends) = (0, 0, template.sends);
        self.reply = Reply::to(template.answers_head_only);
        let request = self.request()?;
        request.clear();
        request.extend_from_slice(&template.first);
        Ok(request)
    }

    /// Ends the request's first line, and writes the prepared fields. Others may be appended, each a whole line.
    #[inline]
    pub fn fields(&mut self, template: &Template) -> Result<&mut Vec<u8>, OpError> {
        let request = self.request()?;
        request.extend_from_slice(&template.rest);
        Ok(request)
    }

    /// Ends the fields. The body is to be appended.
    #[inline]
    pub fn body(&mut self) -> Result<&mut Vec<u8>, OpError> {
        let request = self.request()?;
        request.extend_from_slice(b"Content-Length: ");
        let length_at = request.len();
        request.extend_from_slice(&[b' '; LENGTH_DIGITS]); // spaces before a value mean nothing
        request.extend_from_slice(b"\r\n\r\n");
        (self.length_at, self.body_at) = (length_at, length_at + LENGTH_DIGITS + 4);
        self.request()
    }

    /// A whole head of a request whose path does not change; the body is to be appended.
    #[inline]
    pub async fn begin_body(&mut self, template: &Template) -> Result<&mut Vec<u8>, OpError> {
        self.begin(template).await?;
        self.fields(template)?;
        self.body()
    }

    /// The request as written so far: its head, in which places may be overwritten (a signature), and its body.
    pub fn written(&mut self) -> Result<(&mut [u8], &[u8]), OpError> {
        let body_at = self.body_at;
        let (head, body) = self.request()?.split_at_mut(body_at);
        Ok((head, body))
    }

    /// Sends the request and receives the whole answer: its status. Errors: the answer is not known; the session can no
    /// longer be used.
    #[inline]
    pub async fn exchange(&mut self) -> Result<u16, OpError> {
        self.end_request()?;
        self.is_owed = true;
        let heard = self.converse().await;
        self.is_owed = false;
        match heard {
            Ok(()) => Ok(self.reply.status),
            Err(error) => {
                self.channel = None;
                Err(error)
            }
        }
    }

    /// The same of a request that writes nothing.
    #[inline]
    pub async fn exchange_of_read(&mut self) -> Result<u16, OpError> {
        self.exchange().await.map_err(OpError::of_read)
    }

    /// The body of the last answer.
    #[inline]
    pub fn answer(&self) -> &[u8] {
        match &self.channel {
            _ if self.reply.is_chunked() => &self.chunks,
            Some(channel) => self.reply.body(channel.input()),
            None => &[],
        }
    }

    /// A field of the last answer; its name in any case.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        let input = self.channel.as_ref()?.input();
        self.reply.field(input, name)
    }

    /// Sends a last request without waiting, as far as that goes; false: that is not possible.
    pub fn say(&mut self, template: &Template, body: &[u8]) -> bool {
        let Some(channel) = &mut self.channel else {
            return false;
        };
        if self.is_owed || !self.reply.leaves_connection() {
            return false;
        }
        let length = format!("Content-Length: {}\r\n\r\n", body.len());
        channel.say(&[&template.first, &template.rest, length.as_bytes(), body].concat());
        true
    }

    /// What is written of it so far.
    #[inline]
    pub fn request(&mut self) -> Result<&mut Vec<u8>, OpError> {
        match &mut self.channel {
            Some(channel) => Ok(channel.request()),
            None => Err(not_begun()),
        }
    }

    /// Gives up what is left of the answer before, and connects where that was the connection's last.
    #[inline]
    async fn settle(&mut self) -> Result<(), OpError> {
        if self.chunks.capacity() > KEPT_BYTES {
            self.chunks = Vec::new();
        }
        if let Some(channel) = &mut self.channel {
            channel.consume(self.reply.size());
            let idle = now_ns().saturating_sub(self.last_used_ns) > IDLE_NS;
            let open = !self.is_owed && self.reply.leaves_connection();
            if open && !(idle && channel.is_stale()) {
                return Ok(());
            }
        }
        self.connect_again().await
    }

    #[cold]
    async fn connect_again(&mut self) -> Result<(), OpError> {
        (self.channel, self.is_owed) = (None, false);
        let connected = self.route.connect(self.limit).await;
        self.channel = Some(connected.map_err(|mut error| {
            error.connection_lost = true; // the next attempt is one of another session
            error
        })?);
        self.last_used_ns = now_ns();
        Ok(())
    }

    #[inline]
    fn end_request(&mut self) -> Result<(), OpError> {
        if self.body_at == 0 {
            let end: &[u8] = match self.sends {
                true => b"Content-Length: 0\r\n\r\n",
                false => b"\r\n",
            };
            self.request()?.extend_from_slice(end);
            return Ok(());
        }
        let (length_at, body_at) = (self.length_at, self.body_at);
        let request = self.request()?;
        let mut length = request.len() - body_at;
        for digit in request[length_at..length_at + LENGTH_DIGITS].iter_mut().rev() {
            *digit = b'0' + (length % 10) as u8;
            length /= 10;
            if length == 0 {
                return Ok(());
            }
        }
        Err(too_long())
    }

    #[inline]
    async fn converse(&mut self) -> Result<(), OpError> {
        let Self {
            channel: Some(channel),
            reply,
            chunks,
            last_used_ns,
            ..
        } = self
        else {
            return Err(not_begun());
        };
        chunks.clear();
        channel.exchange().await?;
        while !reply.read(channel.input(), chunks)? {
            if !channel.receive_unless_closed().await? {
                reply.closed(channel.input())?;
                break;
            }
        }
        *last_used_ns = now_ns();
        match channel.input().len() == reply.size() {
            true => Ok(()),
            false => Err(malformed("it goes on after its end")),
        }
    }
}

/// Appends bytes as a part of a path or of a query: all but letters, digits and `-._~` are spelt out (RFC 3986, 2.1).
pub fn escape(request: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => request.push(byte),
            _ => request.extend_from_slice(&[
                b'%',
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ]),
        }
    }
}

pub fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    each_of_base64(bytes, |sign| text.push(sign.into()));
    text
}

/// The signs of a text in base 64, one after the other (RFC 4648, section 4).
#[inline]
pub fn each_of_base64(bytes: &[u8], mut each: impl FnMut(u8)) {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for sign in 0..4 {
            each(match sign <= three.len() {
                true => SIGNS[(bits >> (18 - 6 * sign)) as usize & 63],
                false => b'=',
            });
        }
    }
}

#[cold]
fn not_begun() -> OpError {
    OpError::fail(
        FailClass::Other,
        "CLIENT",
        "no request was begun on this connection",
    )
}

#[cold]
fn too_long() -> OpError {
    OpError::fail(FailClass::Refused, "CLIENT", "a request of more than 10 GB")
}
