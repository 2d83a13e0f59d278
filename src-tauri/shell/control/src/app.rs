//! The program itself.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::view::{App, SecretStore};
use crate::{Control, ControlError};

const NAME: &str = "OmniRoute";

/// What runs, where it lives and where agents find it.
pub async fn app_get(control: &Control) -> Result<App, ControlError> {
    Ok(App {
        name: NAME.to_owned(),
        version: control.version().to_owned(),
        data_dir: control.data_dir().display().to_string(),
        url: control.address().map(url_of).unwrap_or_default(),
        started_at: control.started_at().into(),
        secret_store: match control.store().secret_store() {
            store::SecretStore::Keychain => SecretStore::Keychain,
            store::SecretStore::File => SecretStore::File,
        },
        first_run_done: !control.keys().is_empty(),
    })
}

/// The URL that agents on this computer use, also when every address is listened on.
pub fn url_of(address: SocketAddr) -> String {
    let ip = if address.ip().is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { address.ip() };
    format!("http://{}", SocketAddr::new(ip, address.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_pointed_at_an_address_they_can_reach() {
        for (address, url) in [
            ("127.0.0.1:20128", "http://127.0.0.1:20128"),
            ("0.0.0.0:20128", "http://127.0.0.1:20128"),
            ("[::]:20128", "http://127.0.0.1:20128"),
            ("[::1]:20128", "http://[::1]:20128"),
            ("192.168.1.2:80", "http://192.168.1.2:80"),
        ] {
            assert_eq!(url_of(address.parse().expect("an address")), url);
        }
    }
}
