//! Where a server's name leads. To look a name up blocks, for seconds if it must, and a worker has other users: it is done
//! before anything starts, and again on a thread of its own when nobody answered where the name led.
use super::errors::{UNREACHED, code_of_io};
use bakeoff_model::outcome::OpError;
use bakeoff_reactor::{Address, Stream};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

type LookUp = dyn Fn() -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// The addresses of one endpoint, in the order of trying.
#[derive(Clone)]
pub struct Whereabouts(Arc<Known>);

struct Known {
    addresses: Mutex<Arc<[Address]>>,
    /// `None`: what does not change (a unix socket).
    look_up: Option<Box<LookUp>>,
    looking: AtomicBool,
}

impl Whereabouts {
    pub fn socket(path: &str) -> Self {
        Self::new([Address::Unix(path.into())].into(), None)
    }

    /// Blocks for as long as the look-up takes. Errors: the name is not known.
    pub fn host(host: &str, port: u16) -> io::Result<Self> {
        let host = host.to_owned();
        Self::named(move || Ok((host.as_str(), port).to_socket_addrs()?.collect()))
    }

    fn named(look_up: impl Fn() -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static) -> io::Result<Self> {
        let found = look_up()?;
        Ok(Self::new(addresses(found), Some(Box::new(look_up))))
    }

    fn new(addresses: Arc<[Address]>, look_up: Option<Box<LookUp>>) -> Self {
        Self(Arc::new(Known {
            addresses: Mutex::new(addresses),
            look_up,
            looking: AtomicBool::new(false),
        }))
    }

    /// As last looked up.
    fn addresses(&self) -> Arc<[Address]> {
        self.0.lock().clone()
    }

    /// A connection to the first address where somebody answers.
    pub async fn connect(&self) -> Result<(Stream, Address), OpError> {
        let mut last = None;
        for address in &*self.addresses() {
            match Stream::connect(address).await {
                Ok(stream) => return Ok((stream, address.clone())),
                Err(error) => last = Some(OpError::lost(code_of_io(&error), error.to_string())),
            }
        }
        self.look_again();
        Err(last.unwrap_or_else(|| OpError::lost(UNREACHED, "it has no address")))
    }

    /// Nobody answered there: the next to connect may find other addresses. Does not wait.
    fn look_again(&self) {
        if self.0.look_up.is_none() || self.0.looking.swap(true, Ordering::AcqRel) {
            return;
        }
        let known = self.0.clone();
        let begun = std::thread::Builder::new().spawn(move || {
            // What was known is better than nothing.
            if let Some(Ok(found)) = known.look_up.as_ref().map(|look_up| look_up()) {
                *known.lock() = addresses(found);
            }
            known.looking.store(false, Ordering::Release);
        });
        if begun.is_err() {
            self.0.looking.store(false, Ordering::Release);
        }
    }
}

impl Known {
    fn lock(&self) -> std::sync::MutexGuard<'_, Arc<[Address]>> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn addresses(found: Vec<SocketAddr>) -> Arc<[Address]> {
    found.into_iter().map(Address::Tcp).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::mpsc;
    use std::thread::ThreadId;

    #[test]
    fn a_name_is_looked_up_once_at_first_and_again_on_another_thread() {
        let (tell, told) = mpsc::channel::<ThreadId>();
        let (go, gate) = mpsc::channel::<u16>();
        let gate = Mutex::new(gate);
        go.send(1).unwrap();
        let name = Whereabouts::named(move || {
            tell.send(std::thread::current().id()).unwrap();
            let port = gate.lock().unwrap().recv().unwrap();
            Ok(vec![([127, 0, 0, 1], port).into()])
        })
        .unwrap();
        let port_1: Arc<[Address]> = [Address::Tcp(([127, 0, 0, 1], 1).into())].into();
        for _ in 0..3 {
            assert_eq!(name.addresses(), port_1);
        }
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [std::thread::current().id()]);
        // The look-up stands still until it is let go, and nobody here waits for it; a second is not begun meanwhile.
        name.look_again();
        name.look_again();
        assert_eq!(name.addresses(), port_1);
        assert_ne!(told.recv().unwrap(), std::thread::current().id());
        go.send(2).unwrap();
        while name.addresses() == port_1 {
            std::thread::yield_now();
        }
        assert!(told.try_recv().is_err());
    }

    #[test]
    fn a_socket_stays_where_it_is() {
        let socket = Whereabouts::socket("/run/s");
        socket.look_again();
        assert_eq!(*socket.addresses(), [Address::Unix("/run/s".into())]);
    }
}
