//! Feature flags: settings under the names of their variables (gateway specification, 6.2).

use acceptance::World;
use http::Method;
use serde_json::{Value, json};

use crate::rules::assert_error;

const FLAGS: &str = "/api/settings/feature-flags";

async fn flag(world: &World, name: &str) -> Value {
    let flags = world.managed(Method::GET, FLAGS, None).await;
    let found = flags["flags"].as_array().expect("flags").iter().find(|flag| flag["name"] == name);
    found.expect("the flag").clone()
}

#[tokio::test]
async fn a_flag_shows_its_value_where_that_comes_from_and_what_the_environment_says_beneath() {
    let world =
        World::start_with(&[("PROVIDER_COOLDOWN_ENABLED", "true"), ("MODELS_CATALOG_PREFIX_MODE", "alias")]).await;
    let cooldown = flag(&world, "PROVIDER_COOLDOWN_ENABLED").await;
    let expected = json!({
        "name": "PROVIDER_COOLDOWN_ENABLED", "group": "routing",
        "setting": "resilienceSettings.providerCooldown.enabled", "kind": "boolean", "choices": [], "value": true,
        "default": false, "source": "environment", "environment": true, "restartNeeded": false, "help": cooldown["help"],
    });
    assert_eq!(cooldown, expected);
    let path = format!("{FLAGS}/PROVIDER_COOLDOWN_ENABLED");
    let set = world.managed(Method::PUT, &path, Some(json!({ "value": false }))).await["flag"].clone();
    assert_eq!((&set["value"], &set["source"], &set["environment"]), (&json!(false), &json!("stored"), &json!(true)));
    let unset = world.managed(Method::DELETE, &path, None).await["flag"].clone();
    assert_eq!((&unset["value"], &unset["source"]), (&json!(true), &json!("environment")));
    let mode = flag(&world, "MODELS_CATALOG_PREFIX_MODE").await;
    assert_eq!((&mode["value"], &mode["choices"]), (&json!("alias"), &json!(["dual", "alias", "canonical"])));
}

#[tokio::test]
async fn a_flag_is_its_setting_and_survives_a_restart() {
    let mut world = World::start().await;
    world.set(json!({ "routing": { "emergencyFallback": { "enabled": true } } })).await;
    assert_eq!(flag(&world, "OMNIROUTE_EMERGENCY_FALLBACK").await["value"], true);
    let path = format!("{FLAGS}/PROTECTED_PRIORITY_INFRA_502_ENABLED");
    world.managed(Method::PUT, &path, Some(json!({ "value": true }))).await;
    let tree = world.managed(Method::GET, "/api/settings", None).await;
    assert_eq!(tree["routing"]["protectedPriorityInfra502"], true);
    assert_eq!(tree["sources"]["routing.protectedPriorityInfra502"], "stored");
    world.restart().await;
    assert_eq!(flag(&world, "PROTECTED_PRIORITY_INFRA_502_ENABLED").await["source"], "stored");
}

#[tokio::test]
async fn what_cannot_be_set_is_refused_and_changes_nothing() {
    let world = World::start().await;
    let before = world.managed(Method::GET, FLAGS, None).await;
    for (name, body) in [
        ("REQUIRE_API_KEY", json!({ "value": "perhaps" })),
        ("REQUIRE_API_KEY", json!({ "value": null })),
        ("MODELS_CATALOG_PREFIX_MODE", json!({ "value": "sideways" })),
    ] {
        let reply = world.manage(Method::PUT, &format!("{FLAGS}/{name}"), Some(body)).await;
        assert_error(&reply, 400, "invalid_request");
        assert_eq!(reply.json()["error"]["details"][0]["field"], "value", "{}", reply.text());
    }
    let reply = world.manage(Method::PUT, &format!("{FLAGS}/FETCH_TIMEOUT_MS"), Some(json!({ "value": 1 }))).await;
    assert_error(&reply, 404, "not_found");
    let reply = world.manage(Method::DELETE, &format!("{FLAGS}/NOTHING"), None).await;
    assert_error(&reply, 404, "not_found");
    assert_eq!(world.managed(Method::GET, FLAGS, None).await, before);
}
