//! A new migration is a new file: cargo has to look at the folder, not only at the files it knows.

fn main() {
    println!("cargo:rerun-if-changed=../../../migrations");
}
