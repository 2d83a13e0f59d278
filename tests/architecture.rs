//! The rules of the house that a test can check: who may import whom, and where certain words may stand.

#![expect(clippy::expect_used, reason = "the helpers of a test fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

const CORE: [&str; 6] = ["domain", "resilience", "routing", "dialects", "catalog", "settings"];
const SHELL: [&str; 5] = ["store", "upstream", "gateway", "control", "server"];

/// Architecture, section 3: what each crate may import from this workspace.
fn allowed() -> BTreeMap<&'static str, Vec<&'static str>> {
    let core = CORE.to_vec();
    let with = |more: &[&'static str]| [core.as_slice(), more].concat();
    BTreeMap::from([
        ("domain", vec![]),
        ("resilience", vec!["domain"]),
        ("routing", vec!["domain"]),
        ("dialects", vec!["domain"]),
        ("catalog", vec!["domain", "resilience"]),
        ("settings", vec!["domain", "resilience", "routing"]),
        ("store", vec!["domain", "resilience", "routing", "settings"]),
        ("upstream", vec!["domain", "dialects", "catalog", "settings"]),
        ("gateway", with(&["store", "upstream"])),
        ("control", with(&["store", "upstream", "gateway"])),
        ("server", with(&["store", "upstream", "gateway", "control"])),
        ("omniroute", vec!["server", "control"]),
    ])
}

/// Crates that open, spawn or wait: no business of the core.
const NOT_IN_CORE: [&str; 13] = [
    "tokio",
    "axum",
    "hyper",
    "reqwest",
    "sqlx",
    "tracing",
    "parking_lot",
    "arc-swap",
    "tauri",
    "keyring",
    "futures-util",
    "tower",
    "getrandom",
];

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .expect("cargo knows this workspace")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests lie in the root").to_owned()
}

fn normal_dependencies(metadata: &Metadata, package: &str) -> BTreeSet<String> {
    let package = metadata.packages.iter().find(|candidate| candidate.name.as_str() == package).expect("a member");
    package
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind == DependencyKind::Normal)
        .map(|dependency| dependency.name.clone())
        .collect()
}

#[test]
fn every_crate_imports_only_what_the_table_allows() {
    let metadata = metadata();
    let members: BTreeSet<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    for (package, allowed) in allowed() {
        for dependency in normal_dependencies(&metadata, package) {
            let inside = members.contains(dependency.as_str());
            assert!(!inside || allowed.contains(&dependency.as_str()), "{package} must not import {dependency}");
        }
    }
}

#[test]
fn there_are_fifteen_packages_and_no_more() {
    let metadata = metadata();
    let members: BTreeSet<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    let expected: BTreeSet<&str> =
        allowed().keys().copied().chain(["fake-upstream", "simulator", "acceptance"]).collect();
    assert_eq!(members, expected);
}

#[test]
fn the_core_links_nothing_that_opens_spawns_or_waits() {
    let metadata = metadata();
    for package in CORE {
        for dependency in normal_dependencies(&metadata, package) {
            assert!(!NOT_IN_CORE.contains(&dependency.as_str()), "{package} must not link {dependency}");
        }
    }
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a readable folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn sources_below(folders: &[&str]) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for folder in folders {
        rust_files(&root().join(folder), &mut files);
    }
    files.into_iter().map(|path| (path.clone(), fs::read_to_string(path).expect("UTF-8"))).collect()
}

#[test]
fn sql_stands_in_the_store_alone() {
    let shell: Vec<String> =
        SHELL.iter().filter(|name| **name != "store").map(|name| format!("src-tauri/shell/{name}")).collect();
    let mut folders: Vec<&str> = shell.iter().map(String::as_str).collect();
    folders.extend(["src-tauri/core", "src-tauri/src"]);
    for (path, text) in sources_below(&folders) {
        for word in ["sqlx::", "SELECT ", "INSERT INTO", "DELETE FROM"] {
            assert!(!text.contains(word), "{} holds {word:?}", path.display());
        }
    }
}

/// The mechanisms that keep something away, and what others may name of them: how they are set and shown, never their state.
const MECHANISMS: [&str; 10] = [
    "circuit_breaker",
    "concurrency_gate",
    "connection_cooldown",
    "connection_status",
    "egress_bucket",
    "model_lockout",
    "provider_cooldown",
    "request_queue",
    "rest_period",
    "waiting_room",
];
const SHOWN: [&str; 4] = ["Config", "State", "Transition", "learned"];

#[test]
fn whether_something_may_be_tried_is_asked_in_one_place() {
    for (path, text) in sources_below(&["src-tauri/shell", "src-tauri/core/routing", "src-tauri/src"]) {
        for mechanism in MECHANISMS {
            for after in text.split(&format!("resilience::{mechanism}")).skip(1) {
                let name = after.trim_start_matches(':').split(|letter: char| !letter.is_alphanumeric()).next();
                let is_shown = after.starts_with("::") && name.is_some_and(|name| SHOWN.contains(&name));
                assert!(is_shown, "{} reads {mechanism} past the Engine", path.display());
            }
        }
    }
}

#[test]
fn contract_names_are_spelt_once() {
    for (path, text) in sources_below(&["src-tauri/shell", "src-tauri/src"]) {
        let production = text.split("#[cfg(test)]").next().unwrap_or(&text);
        if path.components().any(|part| part.as_os_str() == "tests") {
            continue;
        }
        for name in
            ["\"x-omniroute-", "\"upstream_auth_failed\"", "\"all_targets_cooling_down\"", "\"OMNIROUTE_DATA_DIR\""]
        {
            assert!(!production.contains(name), "{} spells {name} again: use domain::wire", path.display());
        }
    }
}

/// The names of one crate's module in backticks, each with whether "(next)" follows: `crate::module`, `crate::{a, b}`.
fn named_modules(text: &str) -> Vec<(String, String, bool)> {
    let crates: BTreeMap<&str, &str> =
        CORE.iter().map(|name| (*name, "core")).chain(SHELL.iter().map(|name| (*name, "shell"))).collect();
    let mut found = Vec::new();
    let mut pieces = text.split('`').skip(1);
    while let (Some(name), Some(after)) = (pieces.next(), pieces.next()) {
        let Some((package, path)) = name.split_once("::") else { continue };
        let Some(half) = crates.get(package) else { continue };
        let path = path.split('(').next().unwrap_or(path).trim_matches(['{', '}']);
        for module in path.split(", ") {
            let module = module.replace("::", "/");
            found.push((
                format!("{package}::{module}"),
                format!("src-tauri/{half}/{package}/src/{module}"),
                after.starts_with(" (next)"),
            ));
        }
    }
    found
}

#[test]
fn the_book_of_the_house_names_modules_where_they_are() {
    let book = fs::read_to_string(root().join("docs/architecture.md")).expect("the book is there");
    let prose: String = book.split("```").step_by(2).collect();
    let modules: Vec<_> =
        named_modules(&prose).into_iter().filter(|(name, ..)| !name.contains(char::is_uppercase)).collect();
    assert!(modules.len() > 100, "the book is read: {modules:?}");
    let there =
        |path: &str| [format!("{path}.rs"), format!("{path}/mod.rs")].iter().any(|file| root().join(file).is_file());
    let wrong: Vec<String> =
        modules.into_iter().filter(|(_, path, next)| there(path) == *next).map(|(name, ..)| name).collect();
    assert_eq!(wrong, Vec::<String>::new(), "a module that is there has no (next) behind it, one that is not has");
}
