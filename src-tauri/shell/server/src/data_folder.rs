//! Where the data folder is (specification's decision 24).

use std::collections::BTreeMap;
use std::path::PathBuf;

use domain::wire;

/// The folder named explicitly, else by `OMNIROUTE_DATA_DIR`, else what the platform expects; below the working folder
/// when the environment does not even say where this user's home is.
pub fn data_folder(explicit: Option<PathBuf>, environment: &BTreeMap<String, String>) -> PathBuf {
    let named = environment.get(wire::env::DATA_DIR).filter(|path| !path.is_empty()).map(PathBuf::from);
    explicit.or(named).unwrap_or_else(|| platform_folder(environment).unwrap_or_default().join(wire::BUNDLE_ID))
}

/// Where programs keep their data.
fn platform_folder(environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    let variable = |name: &str| environment.get(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let home = || variable("HOME");
    if cfg!(target_os = "windows") {
        variable("APPDATA")
    } else if cfg!(target_os = "macos") {
        home().map(|home| home.join("Library/Application Support"))
    } else {
        variable("XDG_DATA_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| home().map(|home| home.join(".local/share")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_argument_beats_the_environment_and_that_the_platform() {
        let set = environment(&[("OMNIROUTE_DATA_DIR", "/from/env"), ("HOME", "/home/me")]);
        assert_eq!(data_folder(Some("/from/argument".into()), &set), PathBuf::from("/from/argument"));
        assert_eq!(data_folder(None, &set), PathBuf::from("/from/env"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_keeps_data_where_the_desktop_specification_says() {
        for (pairs, expected) in [
            (&[("HOME", "/home/me")][..], "/home/me/.local/share/app.omniroute.desktop"),
            (&[("HOME", "/home/me"), ("XDG_DATA_HOME", "/data")], "/data/app.omniroute.desktop"),
            (&[("HOME", "/home/me"), ("XDG_DATA_HOME", "relative")], "/home/me/.local/share/app.omniroute.desktop"),
            (&[], "app.omniroute.desktop"),
        ] {
            assert_eq!(data_folder(None, &environment(pairs)), PathBuf::from(expected), "{pairs:?}");
        }
    }
}
