//! Where a server's name leads. To look a name up blocks, for seconds if it must, and a worker has other users: it is done
//! before anything starts, and again on a thread of its own when nobody answered where the name led.
use super::errors::{UNREACHED, code_of_io};
use bakeoff_model::outcome::OpError;
use bakeoff_model::time::{SleepUntil, sleep};
use bakeoff_reactor::{Address, Stream};
use std::future::{Future, poll_fn};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

/// After this the next address is tried alongside, at the latest.
const PAUSE: Duration = Duration::from_millis(250);

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

    #[cfg(feature = "redis")]
    pub fn leads_to(&self, address: SocketAddr) -> bool {
        self.addresses().contains(&Address::Tcp(address))
    }

    /// A connection to the first address where somebody answers, within `limit` of the caller's. An address that does not
    /// answer soon is not given up, but the next is tried meanwhile (RFC 8305, "Happy Eyeballs").
    pub async fn connect(&self, limit: Duration) -> Result<(Stream, Address), OpError> {
        let addresses = self.addresses();
        let unanswered = Unanswered(self);
        let pause = PAUSE.min(limit / (2 * addresses.len().max(1) as u32));
        let mut left = addresses.iter();
        let mut tried: Vec<Attempt<'_>> = Vec::new();
        let mut last = None;
        loop {
            let next = left.next();
            tried.extend(next.map(|address| Attempt {
                address,
                connecting: Box::pin(Stream::connect(address)),
            }));
            if tried.is_empty() {
                return Err(last.unwrap_or_else(|| OpError::lost(UNREACHED, "it has no address")));
            }
            let pause = (left.len() > 0).then(|| sleep(pause));
            match first_of(&mut tried, pause).await {
                None => {}
                Some((address, Ok(stream))) => {
                    std::mem::forget(unanswered);
                    return Ok((stream, address.clone()));
                }
                Some((_, Err(error))) => last = Some(OpError::lost(code_of_io(&error), error.to_string())),
            }
        }
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

/// Nobody has answered yet; dropped so (the caller's time is over, too), the name is looked up again.
struct Unanswered<'a>(&'a Whereabouts);

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        self.0.look_again();
    }
}

struct Attempt<'a> {
    address: &'a Address,
    connecting: Pin<Box<dyn Future<Output = io::Result<Stream>> + 'a>>,
}

/// The attempt that ends first, which is taken out; `None`: the pause is over before.
async fn first_of<'a>(
    tried: &mut Vec<Attempt<'a>>,
    mut pause: Option<SleepUntil>,
) -> Option<(&'a Address, io::Result<Stream>)> {
    poll_fn(|cx| {
        for index in 0..tried.len() {
            if let Poll::Ready(ended) = tried[index].connecting.as_mut().poll(cx) {
                return Poll::Ready(Some((tried.remove(index).address, ended)));
            }
        }
        match &mut pause {
            Some(pause) => Pin::new(pause).poll(cx).map(|()| None),
            None => Poll::Pending,
        }
    })
    .await
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
    use crate::server::within;
    use bakeoff_model::run::IoKind;
    use bakeoff_reactor::{Margin, block_on};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc;
    use std::thread::ThreadId;
    use tokio::net::TcpSocket;
    use tokio::runtime::Builder;

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

    /// A listener that answers nobody any more, as a firewall that drops what it gets: its queue is full.
    fn black_hole() -> (TcpListener, Vec<TcpStream>) {
        let runtime = Builder::new_current_thread().enable_io().build().unwrap();
        let listener = runtime.block_on(async {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
            socket.listen(0).unwrap().into_std().unwrap()
        });
        let address = listener.local_addr().unwrap();
        let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(200));
        let queued: Vec<_> = (0..100).map_while(|_| connect().ok()).collect();
        assert!(queued.len() < 100, "its queue has no end");
        (listener, queued)
    }

    fn connect_to(addresses: &[SocketAddr], limit: Duration) -> Option<Result<Address, OpError>> {
        let there = Whereabouts::new(super::addresses(addresses.to_vec()), None);
        let connecting = async {
            let ended = within(limit, there.connect(limit)).await;
            ended.map(|connected| connected.map(|(_, address)| address))
        };
        block_on(IoKind::Epoll, Margin::new(false), Box::new(|_| {}), connecting).unwrap()
    }

    #[test]
    fn an_address_that_swallows_what_it_gets_does_not_keep_the_next_from_being_tried() {
        let (hole, _queued) = black_hole();
        let live = TcpListener::bind("127.0.0.1:0").unwrap();
        let [hole, live] = [&hole, &live].map(|listener| listener.local_addr().unwrap());
        let limit = Duration::from_secs(10);
        assert_eq!(
            connect_to(&[hole, live], limit).unwrap().unwrap(),
            Address::Tcp(live)
        );
        assert_eq!(
            connect_to(&[live, hole], limit).unwrap().unwrap(),
            Address::Tcp(live)
        );
        let closed = ([127, 0, 0, 1], 1).into();
        assert_eq!(
            connect_to(&[closed, hole, closed, live], limit).unwrap().unwrap(),
            Address::Tcp(live)
        );
        let refused = connect_to(&[closed, closed], limit).unwrap().unwrap_err();
        assert_eq!(refused.code, UNREACHED);
        assert!(
            connect_to(&[hole], Duration::from_millis(50)).is_none(),
            "it waits for the only one"
        );
    }
}
