//! A server of a few lines on a loopback port: it records what it is asked and answers byte for byte as told.

#![expect(clippy::unwrap_used, reason = "test code: a failing loopback socket is a failing test")]

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use domain::{Clock, Millis, Timestamp};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// What the server does with a connection after one request has come.
pub enum Reply {
    /// Writes these bytes and closes.
    Close(Vec<u8>),
    /// Writes these bytes and waits for the next request on the same connection.
    Keep(Vec<u8>),
    /// Writes what the test sends, as it sends it, and closes when the sender is dropped.
    Live(mpsc::Receiver<Vec<u8>>),
    /// Resets the connection.
    Reset,
    /// Never answers. Ends when the client goes.
    Hang,
}

pub struct Server {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
    /// Counts connections that the client has closed while the server was hanging.
    pub hung_up: watch::Receiver<usize>,
    _tasks: JoinSet<()>,
}

impl Server {
    /// `answer` gets the whole request as text.
    pub async fn start(answer: impl FnMut(&str) -> Reply + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (hanging, hung_up) = watch::channel(0);
        let mut tasks = JoinSet::new();
        let connections = Arc::new(AtomicUsize::new(0));
        let shared = Shared {
            requests: Arc::clone(&requests),
            connections: Arc::clone(&connections),
            answer: Mutex::new(Box::new(answer)),
            hanging,
        };
        tasks.spawn(accept(listener, Arc::new(shared)));
        Server { address, requests, connections, hung_up, _tasks: tasks }
    }

    /// Sends these bytes to whoever connects and says anything, then closes.
    pub async fn raw(bytes: &'static [u8]) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 1024]).await;
                let _ = stream.write_all(bytes).await;
                let _ = stream.shutdown().await;
                let _ = stream.read(&mut [0; 1024]).await;
            }
        });
        Server {
            address,
            requests: Arc::default(),
            connections: Arc::default(),
            hung_up: watch::channel(0).1,
            _tasks: tasks,
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Method and path of every request.
    pub fn paths(&self) -> Vec<String> {
        let line = |request: &String| request.split(" HTTP/").next().unwrap_or_default().to_owned();
        self.requests().iter().map(line).collect()
    }
}

/// From a request to what is done with it.
type Script = Box<dyn FnMut(&str) -> Reply + Send>;

struct Shared {
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
    answer: Mutex<Script>,
    hanging: watch::Sender<usize>,
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        shared.connections.fetch_add(1, Ordering::Relaxed);
        connections.spawn(serve(stream, Arc::clone(&shared)));
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    while let Some(request) = read_request(&mut stream).await {
        shared.requests.lock().unwrap().push(request.clone());
        let reply = (shared.answer.lock().unwrap())(&request);
        match reply {
            Reply::Keep(bytes) => stream.write_all(&bytes).await.unwrap(),
            Reply::Close(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.shutdown().await;
                return;
            }
            Reply::Live(mut chunks) => {
                while let Some(chunk) = chunks.recv().await {
                    if stream.write_all(&chunk).await.is_err() {
                        return;
                    }
                }
                return;
            }
            Reply::Reset => {
                stream.set_zero_linger().unwrap();
                return;
            }
            Reply::Hang => {
                let _ = stream.read(&mut [0; 1]).await;
                shared.hanging.send_modify(|count| *count += 1);
                return;
            }
        }
    }
}

/// Head and body by content length; `None` once the client is gone.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:").map(str::to_owned))
                .map_or(0, |value| value.trim().parse::<usize>().unwrap());
            if body.len() >= length {
                return Some(text);
            }
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&chunk[..read]),
        }
    }
}

/// A complete answer with a JSON body.
pub fn json(status: u16, body: &str) -> Vec<u8> {
    answer(status, "content-type: application/json\r\n", body.as_bytes())
}

/// A complete answer with any body.
pub fn answer(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Time stands still until the test moves it.
pub struct ManualClock(watch::Sender<Timestamp>);

impl ManualClock {
    pub fn start() -> ManualClock {
        ManualClock(watch::channel(Timestamp::from_millis(1_000_000)).0)
    }

    pub fn advance(&self, by: Millis) {
        self.0.send_modify(|now| *now = *now + by);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.borrow()
    }

    fn sleep_until(&self, at: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let mut now = self.0.subscribe();
        Box::pin(async move {
            // An error means that the clock is gone, and then nothing is left to wake.
            let _ = now.wait_for(|now| *now >= at).await;
        })
    }
}
