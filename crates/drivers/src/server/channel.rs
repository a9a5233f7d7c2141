//! A connection to a server, as it is or encrypted. What a client writes and reads lies in the connection's own buffers
//! either way: without TLS nothing is copied, and an operation asks once whether there is any.
use super::errors::{TLS, lost, malformed};
use super::tls::Encryption;
use bakeoff_model::outcome::OpError;
use bakeoff_reactor::{Buffers, Stream};
use rustls::ClientConnection;
use std::io::{self, Read, Write};

pub struct Channel {
    stream: Stream,
    tls: Option<Box<Tls>>,
}

impl Channel {
    pub fn new(stream: Stream) -> Self {
        Self { stream, tls: None }
    }

    /// From now on. Both sides have agreed on it, and have said nothing since. Errors: the server's certificate is not to be
    /// trusted, or it speaks no TLS that is known here.
    pub async fn encrypt(&mut self, encryption: &Encryption) -> Result<(), OpError> {
        // Said by whoever is on the way, to be taken for the server's word.
        if !self.stream.input().is_empty() {
            return Err(malformed("more than was asked for, before the encryption"));
        }
        let begun = encryption.connection().map_err(refused).map_err(lost)?;
        let mut tls = Box::new(Tls::new(begun));
        let shaken = tls.shake_hands(&mut self.stream).await;
        self.stream.swap_buffers(&mut tls.others);
        self.tls = Some(tls);
        if shaken.is_err() {
            self.say(&[]); // why
        }
        shaken.map_err(lost)
    }

    /// The request to send next; what was sent is cleared from it.
    #[inline]
    pub fn request(&mut self) -> &mut Vec<u8> {
        self.stream.request()
    }

    /// What has been received and not consumed.
    #[inline]
    pub fn input(&self) -> &[u8] {
        self.stream.input()
    }

    #[inline]
    pub fn consume(&mut self, bytes: usize) {
        self.stream.consume(bytes);
    }

    /// Sends the request and receives the first bytes of the answer.
    #[inline]
    pub async fn exchange(&mut self) -> Result<(), OpError> {
        let done = match &mut self.tls {
            None => self.stream.exchange().await,
            Some(tls) => Box::pin(tls.exchange(&mut self.stream)).await,
        };
        done.map_err(lost)
    }

    /// At least one byte more in `input`.
    #[inline]
    pub async fn receive(&mut self) -> Result<(), OpError> {
        let done = match &mut self.tls {
            None => self.stream.receive().await,
            Some(tls) => Box::pin(tls.receive(&mut self.stream)).await,
        };
        done.map_err(lost)
    }

    /// The same; false: the other side has closed.
    #[cfg(feature = "http")]
    #[inline]
    pub async fn receive_unless_closed(&mut self) -> Result<bool, OpError> {
        let done = match &mut self.tls {
            None => self.stream.receive().await,
            Some(tls) => Box::pin(tls.receive(&mut self.stream)).await,
        };
        match done {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            done => done.map(|()| true).map_err(lost),
        }
    }

    /// Whether the other side has closed, or has said something that nobody asked for. Asks the kernel.
    #[cfg(feature = "http")]
    #[cold]
    pub fn is_stale(&self) -> bool {
        match self.stream.peek() {
            Ok(0) => true,
            Ok(_) => self.tls.is_none(), // some records are the encryption's own
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }

    /// Sends the whole request and waits for no answer.
    pub async fn send(&mut self) -> Result<(), OpError> {
        let done = match &mut self.tls {
            None => self.stream.send().await,
            Some(tls) => Box::pin(tls.send(&mut self.stream)).await,
        };
        done.map_err(lost)
    }

    /// Whether an operation has not ended: its future waits, or was dropped.
    pub fn is_in_flight(&self) -> bool {
        self.stream.is_in_flight()
    }

    /// This side's port; `None` on a unix socket.
    #[cfg(feature = "mysql")]
    pub fn local_port(&self) -> Option<u16> {
        self.stream.local_port()
    }

    /// Sends some last bytes without waiting, as far as that goes.
    pub fn say(&mut self, bytes: &[u8]) {
        match &mut self.tls {
            None => self.stream.say(bytes),
            Some(tls) => {
                let mut records = Vec::new();
                if tls.last_records(bytes, &mut records).is_ok() {
                    self.stream.say(&records);
                }
            }
        }
    }
}

/// The encryption of one connection. While an operation runs, the stream has the buffers with the records, and at other times
/// those with what they say.
struct Tls {
    session: ClientConnection,
    others: Option<Box<Buffers>>,
}

impl Tls {
    fn new(mut session: ClientConnection) -> Self {
        session.set_buffer_limit(None); // a bulk load's request is larger than the default
        Self {
            session,
            others: None,
        }
    }

    /// The stream has the records' buffers during and after it.
    async fn shake_hands(&mut self, stream: &mut Stream) -> io::Result<()> {
        stream.swap_buffers(&mut self.others);
        while self.session.is_handshaking() {
            self.write_records(stream)?;
            match stream.request().is_empty() {
                true => stream.receive().await?,
                false => stream.exchange().await?,
            }
            self.open(stream)?;
        }
        Ok(()) // the last word of the handshake goes with the first request
    }

    async fn exchange(&mut self, stream: &mut Stream) -> io::Result<()> {
        self.seal(stream)?;
        let begun = stream.exchange().await;
        self.hear(stream, begun).await
    }

    async fn receive(&mut self, stream: &mut Stream) -> io::Result<()> {
        stream.swap_buffers(&mut self.others);
        let begun = stream.receive().await;
        self.hear(stream, begun).await
    }

    async fn send(&mut self, stream: &mut Stream) -> io::Result<()> {
        self.seal(stream)?;
        let sent = stream.send().await;
        stream.swap_buffers(&mut self.others);
        sent
    }

    /// The records with what the request says, in the other buffers.
    fn seal(&mut self, stream: &mut Stream) -> io::Result<()> {
        self.session.writer().write_all(stream.request())?;
        stream.request().clear();
        stream.swap_buffers(&mut self.others);
        self.write_records(stream)
    }

    fn write_records(&mut self, stream: &mut Stream) -> io::Result<()> {
        while self.session.wants_write() {
            self.session.write_tls(stream.request())?;
        }
        Ok(())
    }

    /// Until something is said in the records: some are the encryption's own.
    async fn hear(&mut self, stream: &mut Stream, begun: io::Result<()>) -> io::Result<()> {
        let mut heard = begun;
        loop {
            let said = match heard {
                Ok(()) => self.open(stream),
                Err(error) => Err(error),
            };
            match said {
                Ok(0) => heard = stream.receive().await,
                ended => {
                    stream.swap_buffers(&mut self.others);
                    return ended.map(drop);
                }
            }
        }
    }

    /// Takes all records, the last of which may not be whole. Bytes that they say.
    fn open(&mut self, stream: &mut Stream) -> io::Result<usize> {
        let said = self.others.get_or_insert_default();
        let (mut records, mut all) = (stream.input(), 0);
        let taken = records.len();
        while !records.is_empty() && self.session.read_tls(&mut records)? > 0 {
            let state = self.session.process_new_packets().map_err(refused)?;
            let mut left = state.plaintext_bytes_to_read();
            all += left;
            while left > 0 {
                let bytes = self.session.reader().read(said.room())?;
                said.fill(bytes);
                left -= bytes;
            }
            if state.peer_has_closed() && all == 0 {
                let what = "the server closed the connection";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
            }
        }
        stream.consume(taken);
        Ok(all)
    }

    /// After what the encryption itself has to say.
    fn last_records(&mut self, bytes: &[u8], records: &mut Vec<u8>) -> io::Result<()> {
        if !self.session.is_handshaking() {
            self.session.writer().write_all(bytes)?;
            self.session.send_close_notify();
        }
        while self.session.wants_write() {
            self.session.write_tls(records)?;
        }
        Ok(())
    }
}

fn refused(error: rustls::Error) -> io::Error {
    io::Error::other(error)
}

/// The server was asked for encryption.
#[cold]
pub fn no_tls() -> OpError {
    OpError::lost(
        TLS,
        "the server has no TLS, which is what SSL is called in its settings",
    )
}
