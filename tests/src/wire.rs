//! A bare TCP client, for what no well-behaved client sends.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use fake_upstream::PATIENCE;

/// An open connection.
pub struct Wire {
    stream: TcpStream,
}

/// What came back until the connection closed.
#[derive(Clone, Debug, Default)]
pub struct WireReply {
    pub bytes: Vec<u8>,
}

impl Wire {
    pub async fn open(address: SocketAddr) -> Wire {
        Wire { stream: TcpStream::connect(address).await.expect("a connection") }
    }

    /// Sends a whole head; `Connection: close` is added, so that the end of the reply is the end of the connection.
    pub async fn request(address: SocketAddr, request_line: &str, headers: &[(&str, &str)], body: &[u8]) -> WireReply {
        let mut head = format!("{request_line}\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\nConnection: close\r\n\r\n", body.len()));
        let mut wire = Wire::open(address).await;
        wire.write(head.as_bytes()).await;
        wire.write(body).await;
        wire.rest().await
    }

    /// Writes as much as the other side takes; it may have closed already.
    pub async fn write(&mut self, bytes: &[u8]) -> bool {
        let written = tokio::time::timeout(PATIENCE, self.stream.write_all(bytes)).await;
        written.expect("written in time").is_ok()
    }

    /// Reads until this text has come, or the connection closed.
    pub async fn until(&mut self, text: &str) -> WireReply {
        let mut reply = WireReply::default();
        while !reply.text().contains(text) && self.read_some(&mut reply).await {}
        reply
    }

    /// Everything until the connection closes.
    pub async fn rest(mut self) -> WireReply {
        let mut reply = WireReply::default();
        while self.read_some(&mut reply).await {}
        reply
    }

    async fn read_some(&mut self, reply: &mut WireReply) -> bool {
        let read =
            tokio::time::timeout(PATIENCE, self.stream.read_buf(&mut reply.bytes)).await.expect("an end in time");
        read.is_ok_and(|length| length > 0)
    }
}

impl WireReply {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// 0 when no head came at all.
    pub fn status(&self) -> u16 {
        self.text().split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }
}
