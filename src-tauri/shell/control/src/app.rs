//! The program itself.

use crate::view::{App, SecretStore};
use crate::{Control, ControlError};

const NAME: &str = "OmniRoute";

/// What runs, where it lives and where agents find it.
pub async fn app_get(control: &Control) -> Result<App, ControlError> {
    Ok(App {
        name: NAME.to_owned(),
        version: control.version().to_owned(),
        data_dir: control.data_dir().display().to_string(),
        url: control.address().map(|address| format!("http://{address}")).unwrap_or_default(),
        started_at: control.started_at().into(),
        secret_store: match control.store().secret_store() {
            store::SecretStore::Keychain => SecretStore::Keychain,
            store::SecretStore::File => SecretStore::File,
        },
        first_run_done: !control.keys().is_empty(),
    })
}
