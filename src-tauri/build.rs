//! Prepares the window's resources; a build without `desktop` has none.

fn main() {
    println!("cargo:rerun-if-changed=tauri.conf.json");
    #[cfg(feature = "desktop")]
    {
        let attributes = tauri_build::Attributes::new().capabilities_path_pattern("./src-tauri/capabilities/**/*");
        if let Err(error) = tauri_build::try_build(attributes) {
            println!("cargo:warning={error:#}");
            std::process::exit(1);
        }
    }
}
