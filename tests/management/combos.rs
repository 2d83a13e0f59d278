//! Combos and the patterns that lead to them: made, changed, ordered, copied, handed over, refused (gateway specification,
//! 3.1 and 6.1).

use acceptance::{Reply, World};
use http::Method;
use serde_json::{Value, json};

use crate::rules::assert_error;

async fn make(world: &World, body: Value) -> Value {
    let reply = world.manage(Method::POST, "/api/combos", Some(body)).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
    reply.json()
}

async fn plain(world: &World, name: &str, models: Value) -> String {
    let made = make(world, json!({"name": name, "strategy": "priority", "models": models})).await;
    path_of(&made["combo"])
}

fn path_of(combo: &Value) -> String {
    format!("/api/combos/{}", combo["id"].as_str().expect("an id"))
}

async fn listed(world: &World) -> Vec<Value> {
    let reply = world.managed(Method::GET, "/api/combos?includeHidden=true", None).await;
    reply["combos"].as_array().expect("combos").clone()
}

fn names(combos: &[Value]) -> Vec<&str> {
    combos.iter().map(|combo| combo["name"].as_str().expect("a name")).collect()
}

fn details(reply: &Reply) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let details = reply.json()["error"]["details"].as_array().cloned().unwrap_or_default();
    details.iter().map(|detail| (text(&detail["field"]), text(&detail["message"]))).collect()
}

fn fields(reply: &Reply) -> Vec<String> {
    details(reply).into_iter().map(|(field, _)| field).collect()
}

#[tokio::test]
async fn a_combo_is_made_read_changed_and_removed() {
    let mut world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    plain(&world, "spare", json!(["openai/gpt-4o"])).await;
    let made = make(
        &world,
        json!({
            "name": "team", "strategy": "roundrobin", "system_message": "be brief",
            "config": {"maxRetries": 2, "fusion": {"minPanel": 3}},
            "models": [
                {"model": "openai/gpt-4o", "weight": 70, "connectionId": connection.id, "tags": ["fast"]},
                "spare",
                "cc/claude-*",
            ],
        }),
    )
    .await;
    let combo = made["combo"].clone();
    let path = path_of(&combo);
    assert_eq!(
        (&combo["strategy"], &combo["order"], &combo["isActive"]),
        (&json!("round-robin"), &json!(1), &json!(true))
    );
    let steps = combo["models"].as_array().expect("steps");
    assert_eq!(steps[0]["connectionId"], json!(connection.id));
    assert_eq!((&steps[1]["kind"], &steps[1]["comboName"]), (&json!("combo-ref"), &json!("spare")));
    assert_eq!((&steps[2]["kind"], &steps[2]["providerId"]), (&json!("provider-wildcard"), &json!("claude")));
    assert_eq!((&combo["compositeTiers"], &combo["context_cache_protection"]), (&Value::Null, &json!(false)));
    assert_eq!(made["warnings"], json!([]));

    world.advance(domain::Millis::seconds(1));
    let change = json!({
        "strategy": "weighted", "system_message": null, "isHidden": true, "updatedAt": combo["updatedAt"],
        "config": {"maxRetries": null, "fusion": {"judgeModel": "openai/gpt-4o"}},
        "compositeTiers": {"defaultTier": "t", "tiers": {"t": {"stepId": steps[2]["id"]}}},
    });
    let changed = world.managed(Method::PATCH, &path, Some(change.clone())).await["combo"].clone();
    assert_eq!(changed["config"], json!({"fusion": {"minPanel": 3, "judgeModel": "openai/gpt-4o"}}));
    assert_eq!((&changed["system_message"], &changed["models"]), (&Value::Null, &combo["models"]));
    assert_eq!((&changed["id"], &changed["createdAt"]), (&combo["id"], &combo["createdAt"]));
    assert_ne!(changed["updatedAt"], combo["updatedAt"]);
    assert_error(&world.manage(Method::PATCH, &path, Some(change)).await, 409, "conflict");

    let visible = world.managed(Method::GET, "/api/combos", None).await;
    assert_eq!(names(visible["combos"].as_array().expect("combos")), ["spare"]);
    world.restart().await;
    assert_eq!(world.managed(Method::GET, &path, None).await["combo"], changed);
    assert_eq!(names(&listed(&world).await), ["spare", "team"]);

    assert_eq!(world.managed(Method::DELETE, &path, None).await, json!({"ok": true}));
    for method in [Method::GET, Method::PATCH, Method::DELETE] {
        assert_error(&world.manage(method, &path, None).await, 404, "not_found");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_combo_that_leads_to_itself_through_two_others_is_refused_at_save() {
    let world = World::start().await;
    let c = plain(&world, "c", json!(["openai/gpt-4o"])).await;
    plain(&world, "b", json!(["openai/gpt-4o", "c"])).await;
    plain(&world, "a", json!(["b"])).await;
    let reply = world.manage(Method::PATCH, &c, Some(json!({"models": ["openai/gpt-4o", "a"]}))).await;
    assert_error(&reply, 400, "invalid_request");
    let message = "the combos lead to each other: c → a → b → c; remove one of these references";
    assert_eq!(details(&reply), [("models".to_owned(), message.to_owned())]);
    let kept = world.managed(Method::GET, &c, None).await;
    assert_eq!(kept["combo"]["models"].as_array().map(Vec::len), Some(1), "nothing changed");
}

#[tokio::test]
async fn two_changes_at_once_cannot_close_a_ring_together() {
    let world = World::start().await;
    let (a, b) = (plain(&world, "a", json!(["openai/m"])).await, plain(&world, "b", json!(["openai/m"])).await);
    let (first, second) = tokio::join!(
        world.manage(Method::PATCH, &a, Some(json!({"models": ["b"]}))),
        world.manage(Method::PATCH, &b, Some(json!({"models": ["a"]}))),
    );
    let mut statuses = [first.status.as_u16(), second.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400]);
}

#[tokio::test]
async fn a_new_name_is_carried_to_whoever_leads_to_the_old_one() {
    let world = World::start().await;
    let inner = plain(&world, "inner", json!(["openai/gpt-4o"])).await;
    let outer = plain(&world, "outer", json!(["inner"])).await;
    let alias = json!({"alias": "mine", "target": "inner"});
    assert_eq!(world.manage(Method::POST, "/api/models/aliases", Some(alias)).await.status, 201);
    world.managed(Method::PATCH, &inner, Some(json!({"name": "core"}))).await;
    let outer = world.managed(Method::GET, &outer, None).await;
    assert_eq!(outer["combo"]["models"][0]["comboName"], "core");
    let aliases = world.managed(Method::GET, "/api/models/aliases", None).await;
    assert_eq!(aliases["aliases"][0]["target"], "core");
    let reply = world.manage(Method::PATCH, &inner, Some(json!({"name": "outer"}))).await;
    assert_error(&reply, 409, "conflict");
}

#[tokio::test]
async fn a_combo_stays_while_something_leads_to_it() {
    let world = World::start().await;
    let made = make(&world, json!({"name": "base", "models": ["openai/gpt-4o"]})).await;
    let base = path_of(&made["combo"]);
    let parent = plain(&world, "parent", json!([{"comboName": "base", "enabled": false}])).await;
    let mapping = json!({"pattern": "claude-*", "comboId": made["combo"]["id"]});
    let mapping = world.manage(Method::POST, "/api/model-combo-mappings", Some(mapping)).await.json();
    let alias = json!({"alias": "mine", "target": "base"});
    let alias = world.manage(Method::POST, "/api/models/aliases", Some(alias)).await.json();
    let reply = world.manage(Method::DELETE, &base, None).await;
    assert_error(&reply, 409, "conflict");
    assert_eq!(
        reply.error_message(),
        "base is still used by the combo parent, the mapping claude-*, the alias mine: remove it there first"
    );
    let id = |reply: &Value, noun: &str| reply[noun]["id"].as_str().expect("an id").to_owned();
    for path in [
        parent,
        format!("/api/model-combo-mappings/{}", id(&mapping, "mapping")),
        format!("/api/models/aliases/{}", id(&alias, "alias")),
        base,
    ] {
        assert_eq!(world.managed(Method::DELETE, &path, None).await, json!({"ok": true}));
    }
    assert!(listed(&world).await.is_empty());
}

#[tokio::test]
async fn what_is_exported_is_imported_again_here_and_elsewhere() {
    let world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    plain(&world, "low", json!([{"model": "openai/gpt-4o", "connectionId": connection.id}])).await;
    let high = plain(&world, "high", json!(["low", "anthropic/claude-*"])).await;
    plain(&world, "apart", json!(["openai/gpt-4o"])).await;
    world.managed(Method::PATCH, &high, Some(json!({"config": {"queueDepth": 3}, "isHidden": true}))).await;
    let document = world.managed(Method::GET, "/api/combos/export", None).await;
    assert_eq!(document["version"], 2);
    let id = high.rsplit('/').next().expect("an id");
    let part = world.managed(Method::GET, &format!("/api/combos/export?id={id}"), None).await;
    assert_eq!(names(part["combos"].as_array().expect("combos")), ["low", "high"]);

    let body = |taken: &str| json!({"document": document, "taken": taken});
    let reply = world.manage(Method::POST, "/api/combos/import", Some(body("refuse"))).await;
    assert_error(&reply, 400, "invalid_request");
    assert_eq!(fields(&reply), ["combos[0].name", "combos[1].name", "combos[2].name"]);
    world.managed(Method::PATCH, &high, Some(json!({"strategy": "random"}))).await;
    let before = listed(&world).await;
    let reply = world.manage(Method::POST, "/api/combos/import", Some(body("replace"))).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
    let after = listed(&world).await;
    assert_eq!((names(&after), &after[1]["strategy"]), (names(&before), &json!("priority")));
    assert_eq!((&after[1]["id"], &after[1]["createdAt"]), (&before[1]["id"], &before[1]["createdAt"]));

    let elsewhere = World::start().await;
    plain(&elsewhere, "own", json!(["openai/gpt-4o"])).await;
    let reply = elsewhere.manage(Method::POST, "/api/combos/import", Some(json!({"document": document}))).await;
    let imported = reply.json();
    let pinned = json!({"code": "CONNECTION_UNKNOWN", "modelId": "gpt-4o", "providerId": "openai"});
    assert_eq!(imported["warnings"], json!([pinned]), "{}", reply.text());
    let there = listed(&elsewhere).await;
    assert_eq!(names(&there), ["own", "low", "high", "apart"]);
    for (mine, theirs) in after.iter().zip(&there[1..]) {
        for member in ["name", "strategy", "models", "config", "isHidden"] {
            assert_eq!(mine[member], theirs[member], "{member}");
        }
    }
    let renamed = elsewhere.manage(Method::PATCH, &path_of(&there[1]), Some(json!({"isActive": false}))).await;
    assert_eq!(renamed.status, 200, "an account that is not here hinders no other change: {}", renamed.text());
}

#[tokio::test]
async fn an_import_is_taken_whole_or_not_at_all() {
    let world = World::start().await;
    let ring = json!([{"name": "a", "models": ["b"]}, {"name": "b", "models": ["a"]}]);
    for (document, field) in [
        (ring, "combos[0].models"),
        (
            json!([{"name": "a", "models": ["openai/m"]}, {"name": "b", "models": ["nowhere/m"]}]),
            "combos[1].models[0].model",
        ),
        (json!([{"name": "a", "models": ["openai/m"]}, {"name": "a", "models": []}]), "combos[0].name"),
        (json!({"version": 9, "combos": []}), "version"),
        (json!({"combos": 3}), "combos"),
        (json!("text"), "body"),
    ] {
        let reply = world.manage(Method::POST, "/api/combos/import", Some(json!({"document": document}))).await;
        assert_error(&reply, 400, "invalid_request");
        assert_eq!(fields(&reply).first().map(String::as_str), Some(field), "{}", reply.text());
    }
    assert!(listed(&world).await.is_empty());
}

#[tokio::test]
async fn combos_are_put_into_an_order_that_lasts() {
    let mut world = World::start().await;
    for name in ["a", "b", "c"] {
        plain(&world, name, json!(["openai/gpt-4o"])).await;
    }
    let ids: Vec<Value> = listed(&world).await.iter().map(|combo| combo["id"].clone()).collect();
    for wrong in [json!([ids[0]]), json!([ids[0], ids[0], ids[1], ids[2]]), json!([ids[0], ids[1], "nobody"])] {
        let reply = world.manage(Method::PUT, "/api/combos/order", Some(json!({"ids": wrong}))).await;
        assert_error(&reply, 400, "invalid_request");
        assert_eq!(fields(&reply), ["ids"]);
    }
    let order = json!({"ids": [ids[2], ids[0], ids[1]]});
    let reply = world.managed(Method::PUT, "/api/combos/order", Some(order)).await;
    assert_eq!(names(reply["combos"].as_array().expect("combos")), ["c", "a", "b"]);
    world.restart().await;
    assert_eq!(names(&listed(&world).await), ["c", "a", "b"]);
    plain(&world, "d", json!(["openai/gpt-4o"])).await;
    assert_eq!(names(&listed(&world).await), ["c", "a", "b", "d"]);
}

#[tokio::test]
async fn a_copy_has_steps_of_its_own() {
    let world = World::start().await;
    let made = make(
        &world,
        json!({"name": "one", "strategy": "weighted", "models": [
            {"id": "first", "model": "openai/gpt-4o", "weight": 9}, {"id": "second", "model": "openai/gpt-4.1"}],
            "compositeTiers": {"defaultTier": "t", "tiers": {"t": {"stepId": "second"}}}}),
    )
    .await;
    let path = format!("{}/duplicate", path_of(&made["combo"]));
    let reply = world.manage(Method::POST, &path, Some(json!({"name": "two"}))).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
    let copy = reply.json()["combo"].clone();
    assert_eq!((&copy["strategy"], &copy["models"][0]["weight"]), (&json!("weighted"), &json!(9)));
    assert_ne!((&copy["id"], &copy["models"][0]["id"]), (&made["combo"]["id"], &json!("first")));
    assert_eq!(copy["compositeTiers"]["tiers"]["t"]["stepId"], copy["models"][1]["id"]);
    assert_error(&world.manage(Method::POST, &path, Some(json!({"name": "two"}))).await, 409, "conflict");
    assert_error(&world.manage(Method::POST, &path, Some(json!({"name": ""}))).await, 400, "invalid_request");
    for _ in 0..2 {
        world.managed(Method::POST, &path, None).await;
    }
    assert_eq!(names(&listed(&world).await), ["one", "two", "one copy", "one copy 2"]);
}

#[tokio::test]
async fn a_name_that_is_also_a_models_is_allowed_and_warned_about() {
    let world = World::start().await;
    world.connect("anthropic", "c1").await;
    let catalog = world.managed(Method::GET, "/api/models/catalog?provider=openai", None).await;
    let model = catalog["models"][0]["id"].as_str().expect("a model").to_owned();
    let shadow = json!({"code": "COMBO_NAME_SHADOWS_MODEL", "modelId": model, "providerId": "openai"});
    for name in [model.clone(), format!("openai/{model}")] {
        let made = make(&world, json!({"name": name, "models": [format!("openai/{model}")]})).await;
        assert_eq!(made["warnings"], json!([shadow]), "{name}");
        let kind = &made["combo"]["models"][0]["kind"];
        assert_eq!(kind, "model", "its own name in shorthand is the model");
    }
    let made =
        make(&world, json!({"name": "free", "models": ["openai/not-listed-yet", "openai/not-listed-yet"]})).await;
    let unknown = json!({"code": "MODEL_UNKNOWN", "modelId": "not-listed-yet", "providerId": "openai"});
    assert_eq!(made["warnings"], json!([unknown]));
    let path = path_of(&made["combo"]);
    let changed = world.managed(Method::PATCH, &path, Some(json!({"name": model.to_uppercase()}))).await;
    assert_eq!(changed["warnings"], json!([unknown]), "names are compared by letter case");
    assert_eq!(world.managed(Method::GET, &path, None).await["warnings"], json!([unknown]));
}

#[tokio::test]
async fn everything_that_is_wrong_is_named_and_changes_nothing() {
    let world = World::start().await;
    let connection = world.connect("anthropic", "c1").await;
    let long = "n".repeat(101);
    let combo = |more: Value| {
        let mut body = json!({"name": "x", "strategy": "priority", "models": ["openai/gpt-4o"]});
        for (member, value) in more.as_object().expect("members") {
            body[member] = value.clone();
        }
        body
    };
    let existing = plain(&world, "existing", json!(["openai/gpt-4o"])).await;
    for (more, expected) in [
        (json!({"name": ""}), "name"),
        (json!({"name": null}), "name"),
        (json!({"name": long}), "name"),
        (json!({"name": "a\nb"}), "name"),
        (json!({"name": 7}), "name"),
        (json!({"strategy": "best"}), "strategy"),
        (json!({"strategy": "quota-share"}), "strategy"),
        (json!({"models": "openai/gpt-4o"}), "models"),
        (json!({"models": ["gpt-4o"]}), "models[0]"),
        (json!({"models": ["nowhere/m"]}), "models[0].model"),
        (json!({"models": ["nowhere/*"]}), "models[0].providerId"),
        (json!({"models": [{"comboName": "nobody"}]}), "models[0].comboName"),
        (json!({"models": ["openai/a", {"model": "openai/b", "weight": 101}]}), "models[1].weight"),
        (json!({"models": [{"model": "openai/a", "colour": 1}]}), "models[0].colour"),
        (json!({"models": [{"model": "openai/a", "providerId": "anthropic"}]}), "models[0].providerId"),
        (json!({"models": [{"model": "openai/a", "connectionId": "nobody"}]}), "models[0].connectionId"),
        (json!({"models": [{"model": "openai/a", "connectionId": connection.id}]}), "models[0].connectionId"),
        (
            json!({"models": [{"model": "openai/a", "allowedConnectionIds": ["nobody"]}]}),
            "models[0].allowedConnectionIds",
        ),
        (json!({"models": [{"id": "s", "model": "openai/a"}, {"id": "s", "model": "openai/b"}]}), "models[1].id"),
        (json!({"config": {"maxRetries": 11}}), "config.maxRetries"),
        (json!({"config": {"maxComboDepth": 11}}), "config.maxComboDepth"),
        (json!({"config": {"fusion": {"minPanel": 0}}}), "config.fusion.minPanel"),
        (json!({"config": {"nonsense": 1}}), "config.nonsense"),
        (json!({"config": []}), "config"),
        (json!({"isActive": "yes"}), "isActive"),
        (json!({"compositeTiers": {"defaultTier": "t", "tiers": {}}}), "compositeTiers.defaultTier"),
        (json!({"compositeTiers": 1}), "compositeTiers"),
        (json!({"colour": 1}), "colour"),
        (json!({"id": "mine"}), "id"),
        (json!({"order": 3}), "order"),
    ] {
        let created = world.manage(Method::POST, "/api/combos", Some(combo(more.clone()))).await;
        let changed = world.manage(Method::PATCH, &existing, Some(more.clone())).await;
        for reply in [created, changed] {
            assert_error(&reply, 400, "invalid_request");
            assert_eq!(fields(&reply), [expected], "{more}: {}", reply.text());
            assert!(details(&reply).iter().all(|(_, message)| !message.is_empty()));
        }
    }
    assert_error(
        &world.manage(Method::POST, "/api/combos", Some(combo(json!({"name": "existing"})))).await,
        409,
        "conflict",
    );
    let several =
        combo(json!({"name": "", "models": [{"comboName": "nobody"}, "nowhere/m"], "config": {"queueDepth": -1}}));
    let reply = world.manage(Method::POST, "/api/combos", Some(several)).await;
    assert_eq!(fields(&reply), ["name", "models[0].comboName", "config.queueDepth", "models[1].model"]);
    assert_eq!(names(&listed(&world).await), ["existing"]);
}

#[tokio::test]
async fn mappings_lead_names_to_combos_by_priority() {
    let mut world = World::start().await;
    let made = make(&world, json!({"name": "team", "models": ["openai/gpt-4o"]})).await;
    let combo = made["combo"]["id"].clone();
    let add =
        async |world: &World, body: Value| world.manage(Method::POST, "/api/model-combo-mappings", Some(body)).await;
    let first = add(&world, json!({"pattern": "claude-*", "comboId": combo})).await;
    assert_eq!(first.status, 201, "{}", first.text());
    let first = first.json()["mapping"].clone();
    assert_eq!((&first["priority"], &first["enabled"]), (&json!(0), &json!(true)));
    add(&world, json!({"pattern": "claude-opus*", "comboId": combo, "priority": 10, "enabled": false})).await;
    world.restart().await;
    let patterns = async |world: &World| {
        let list = world.managed(Method::GET, "/api/model-combo-mappings", None).await;
        let mappings = list["mappings"].as_array().expect("mappings").clone();
        mappings.iter().map(|mapping| mapping["pattern"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(patterns(&world).await, ["claude-opus*", "claude-*"]);
    let path = format!("/api/model-combo-mappings/{}", first["id"].as_str().expect("an id"));
    let changed =
        world.managed(Method::PATCH, &path, Some(json!({"priority": 11, "updatedAt": first["updatedAt"]}))).await;
    assert_eq!((&changed["mapping"]["priority"], &changed["mapping"]["pattern"]), (&json!(11), &json!("claude-*")));
    let stale = world.manage(Method::PATCH, &path, Some(json!({"priority": 1, "updatedAt": first["updatedAt"]}))).await;
    assert_error(&stale, 409, "conflict");
    assert_eq!(patterns(&world).await, ["claude-*", "claude-opus*"]);
    for (body, field) in [
        (json!({"pattern": "", "comboId": combo}), "pattern"),
        (json!({"pattern": "a b", "comboId": combo}), "pattern"),
        (json!({"pattern": "a", "comboId": "nobody"}), "comboId"),
        (json!({"pattern": "a", "comboId": combo, "priority": 1_000_001}), "priority"),
        (json!({"pattern": "a", "comboId": combo, "colour": 1}), "colour"),
        (json!({"pattern": "a"}), "comboId"),
    ] {
        let reply = add(&world, body).await;
        assert_error(&reply, 400, "invalid_request");
        assert_eq!(fields(&reply), [field], "{}", reply.text());
    }
    assert_eq!(world.managed(Method::DELETE, &path, None).await, json!({"ok": true}));
    assert_error(&world.manage(Method::DELETE, &path, None).await, 404, "not_found");
    assert_eq!(patterns(&world).await, ["claude-opus*"]);
}

#[tokio::test]
async fn agents_are_shown_active_combos_with_their_smallest_known_window() {
    let world = World::start().await;
    world.upstream.set_models([]);
    world.connect("openai", "c1").await;
    let catalog = world.managed(Method::GET, "/api/models/catalog?provider=openai", None).await;
    let models = catalog["models"].as_array().expect("models");
    let windows: Vec<(&str, u64)> =
        models.iter().filter_map(|model| Some((model["id"].as_str()?, model["context"].as_u64()?))).collect();
    let smallest = windows.iter().min_by_key(|(_, window)| *window).expect("a model");
    let largest = windows.iter().max_by_key(|(_, window)| *window).expect("a model");
    assert_ne!(smallest.1, largest.1);
    let of = |model: &str| format!("openai/{model}");
    plain(&world, "inner", json!([of(smallest.0)])).await;
    plain(&world, "team", json!([of(largest.0), "openai/not-listed-yet", "inner"])).await;
    plain(&world, "large", json!([of(largest.0)])).await;
    make(&world, json!({"name": "hidden", "models": [of(largest.0)], "isHidden": true})).await;
    make(&world, json!({"name": "off", "models": [of(largest.0)], "isActive": false})).await;
    let shadow = of(largest.0);
    plain(&world, &shadow, json!([of(smallest.0)])).await;

    let list = world.agent().get("/v1/models").await.json();
    let data = list["data"].as_array().expect("models");
    let own: Vec<(&str, u64)> = data
        .iter()
        .filter(|model| model["owned_by"] == "omniroute")
        .filter_map(|model| Some((model["id"].as_str()?, model["context_length"].as_u64()?)))
        .collect();
    let expected = [("inner", smallest.1), ("team", smallest.1), ("large", largest.1), (shadow.as_str(), smallest.1)];
    assert_eq!(own, expected);
    assert_eq!(data.iter().filter(|model| model["id"] == json!(shadow)).count(), 1, "a combo stands for its namesake");

    let key = world.make_key(json!({"name": "narrow", "allowedModels": [of(smallest.0)]})).await;
    let list = world.stranger().with_key(&key).get("/v1/models").await.json();
    let ids: Vec<&str> =
        list["data"].as_array().expect("models").iter().filter_map(|model| model["id"].as_str()).collect();
    assert!(ids.contains(&"inner") && ids.contains(&"team") && !ids.contains(&"large"), "{ids:?}");
}

#[tokio::test]
async fn what_every_combo_does_is_a_setting() {
    let mut world = World::start().await;
    let patch =
        json!({"comboDefaults": {"maxRetries": 4}, "providerOverrides": {"claude": {"targetTimeoutMs": 60_000}}});
    world.managed(Method::PATCH, "/api/settings", Some(patch)).await;
    world.restart().await;
    let tree = world.managed(Method::GET, "/api/settings", None).await;
    assert_eq!((&tree["comboDefaults"]["maxRetries"], &tree["comboDefaults"]["queueDepth"]), (&json!(4), &json!(20)));
    assert_eq!(tree["providerOverrides"], json!({"claude": {"targetTimeoutMs": 60_000}}));
    assert_eq!(tree["sources"]["comboDefaults.maxRetries"], "stored");
    for (patch, field) in [
        (json!({"comboDefaults": {"maxRetries": 11}}), "comboDefaults.maxRetries"),
        (json!({"comboDefaults": {"nonsense": 1}}), "comboDefaults.nonsense"),
        (json!({"providerOverrides": {"claude": {"queueDepth": 101}}}), "providerOverrides.claude.queueDepth"),
        (json!({"providerOverrides": {"claude": 1}}), "providerOverrides"),
    ] {
        let reply = world.manage(Method::PATCH, "/api/settings", Some(patch)).await;
        assert_error(&reply, 400, "invalid_request");
        assert_eq!(fields(&reply), [field], "{}", reply.text());
    }
}
