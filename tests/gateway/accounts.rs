//! How the accounts of a provider take turns (gateway specification, 3.11), for requests that name one model and for
//! targets of combos that leave the account open.

use acceptance::{Connection, World, chat_body};
use fake_upstream::Step;
use http::Method;
use serde_json::{Value, json};

pub(crate) const MODEL: &str = "openai/m1";

/// Three accounts of one provider.
pub(crate) struct Shared {
    pub(crate) world: World,
    pub(crate) accounts: [Connection; 3],
}

impl Shared {
    pub(crate) async fn start() -> Shared {
        let world = World::start().await;
        let accounts = [
            world.connect("openai", "a").await,
            world.connect("openai", "b").await,
            world.connect("openai", "c").await,
        ];
        Shared { world, accounts }
    }

    async fn with(strategy: &str) -> Shared {
        let shared = Shared::start().await;
        shared.takes_turns(strategy).await;
        shared
    }

    async fn takes_turns(&self, strategy: &str) {
        self.world.set(json!({ "routing": { "accountStrategy": { "openai": strategy } } })).await;
    }

    /// The number of the account that served.
    pub(crate) fn number(&self, id: Option<&str>) -> usize {
        self.accounts.iter().position(|account| Some(account.id.as_str()) == id).expect("one of the accounts")
    }

    /// Asks so often: who served.
    async fn served(&self, name: &str, times: usize) -> Vec<usize> {
        let mut served = Vec::new();
        for _ in 0..times {
            let reply = self.world.agent().post("/v1/chat/completions", chat_body(name, false)).await;
            assert_eq!(reply.status, 200, "{}", reply.text());
            served.push(self.number(reply.header("x-omniroute-selected-connection-id")));
        }
        served
    }

    async fn weighs(&self, account: usize, weight: u32) {
        self.world.change(&self.accounts[account], json!({ "providerSpecificData": { "weight": weight } })).await;
    }
}

fn count(served: &[usize]) -> [usize; 3] {
    [0, 1, 2].map(|account| served.iter().filter(|served| **served == account).count())
}

#[tokio::test]
async fn by_priority_and_filling_the_first_the_first_account_serves_everything() {
    let shared = Shared::start().await;
    assert_eq!(shared.served(MODEL, 4).await, [0; 4]);
    for strategy in ["priority", "fill-first", "cost-optimized"] {
        shared.takes_turns(strategy).await;
        assert_eq!(shared.served(MODEL, 4).await, [0; 4], "{strategy}");
    }
}

#[tokio::test]
async fn accounts_go_round_and_each_serves_as_many_in_a_row_as_it_is_told() {
    let shared = Shared::with("round-robin").await;
    assert_eq!(shared.served(MODEL, 6).await, [0, 1, 2, 0, 1, 2]);
    shared.world.set(json!({ "routing": { "stickyRoundRobinLimit": 2 } })).await;
    let served = shared.served(MODEL, 12).await;
    assert!(served.chunks(2).all(|two| two[0] == two[1]), "{served:?}");
    assert_eq!(count(&served), [4, 4, 4]);
}

#[tokio::test]
async fn the_next_account_is_tried_at_once_whoever_s_turn_it_is() {
    let shared = Shared::with("round-robin").await;
    shared.world.script(&shared.accounts[1]).then(Step::error(429, "slow down"));
    assert_eq!(shared.served(MODEL, 2).await, [0, 2]);
    assert_eq!(shared.world.calls(&shared.accounts[1]).len(), 1);
    let served = shared.served(MODEL, 4).await;
    assert_eq!(count(&served), [2, 0, 2], "who cools has no turn");
}

#[tokio::test]
async fn weighted_accounts_serve_by_their_share_and_a_zero_is_only_a_fallback() {
    let shared = Shared::with("weighted").await;
    for (account, weight) in [(0, 3), (1, 1), (2, 0)] {
        shared.weighs(account, weight).await;
    }
    let served = count(&shared.served(MODEL, 120).await);
    assert!((66..=114).contains(&served[0]), "five deviations around ninety: {served:?}");
    assert_eq!(served[2], 0);
    shared.world.script(&shared.accounts[0]).then(Step::error(401, "wrong key"));
    shared.world.script(&shared.accounts[1]).then(Step::error(401, "wrong key"));
    assert_eq!(shared.served(MODEL, 1).await, [2]);
}

#[tokio::test]
async fn strict_random_gives_each_account_one_request_before_any_gets_two() {
    let shared = Shared::with("strict-random").await;
    let served = shared.served(MODEL, 12).await;
    assert!(served.chunks(3).all(|round| count(round) == [1, 1, 1]), "{served:?}");
}

#[tokio::test]
async fn random_reaches_every_account() {
    let shared = Shared::with("random").await;
    let served = count(&shared.served(MODEL, 60).await);
    assert!(served.iter().all(|served| *served > 0), "{served:?}");
}

#[tokio::test]
async fn of_two_drawn_accounts_the_better_one_serves_so_the_worst_never_does() {
    let shared = Shared::with("priority").await;
    shared.world.script(&shared.accounts[0]).times(5, Step::error(400, "no")).then(Step::ok("from a"));
    for _ in 0..5 {
        shared.world.agent().post("/v1/chat/completions", chat_body(MODEL, false)).await;
    }
    shared.takes_turns("p2c").await;
    let served = count(&shared.served(MODEL, 40).await);
    assert_eq!(served[0], 0, "it failed five times: {served:?}");
}

#[tokio::test]
async fn the_least_used_account_serves() {
    let shared = Shared::with("least-used").await;
    let served = shared.served(MODEL, 9).await;
    assert_eq!(count(&served), [3, 3, 3], "{served:?}");
    let off = |on: bool| json!({ "isActive": on });
    shared.world.change(&shared.accounts[0], off(false)).await;
    assert_eq!(count(&shared.served(MODEL, 4).await), [0, 2, 2]);
    shared.world.change(&shared.accounts[0], off(true)).await;
    assert_eq!(shared.served(MODEL, 2).await, [0, 0], "it has two to make up");
}

#[tokio::test]
async fn a_combo_that_leaves_the_account_open_has_the_same_turns_and_a_pinned_step_none() {
    let shared = Shared::with("round-robin").await;
    let combo = |name: &str, step: Value| json!({ "name": name, "strategy": "priority", "models": [step] });
    let create = |body: Value| shared.world.managed(Method::POST, "/api/combos", Some(body));
    create(combo("open", json!("openai/m1"))).await;
    create(combo("pinned", json!({ "model": "openai/m1", "connectionId": shared.accounts[2].id }))).await;
    assert_eq!(shared.served("open", 3).await, [0, 1, 2]);
    assert_eq!(shared.served("pinned", 3).await, [2, 2, 2]);
    assert_eq!(shared.served(MODEL, 1).await, [0], "a pinned step takes nobody's turn");
}

#[tokio::test]
async fn other_providers_keep_their_own_order_and_looking_takes_no_turn() {
    let shared = Shared::with("round-robin").await;
    for _ in 0..2 {
        let seen = shared.world.managed(Method::GET, "/api/resilience/explain?model=openai/m1", None).await;
        let first = &seen["targets"][0]["connections"][0]["connectionId"];
        assert_eq!(first, shared.accounts[0].id.as_str(), "{seen}");
    }
    assert_eq!(shared.served(MODEL, 1).await, [0]);
    let seen = shared.world.managed(Method::GET, "/api/resilience/explain?model=openai/m1", None).await;
    let order: Vec<&str> = seen["targets"][0]["connections"]
        .as_array()
        .expect("connections")
        .iter()
        .filter_map(|account| account["connectionId"].as_str())
        .collect();
    let expected = [1, 2, 0].map(|account: usize| shared.accounts[account].id.as_str());
    assert_eq!(order, expected, "as the next request would ask");
    let body = json!({ "mode": "selections", "model": MODEL, "runs": 30, "seed": 7 });
    let drawn = shared.world.managed(Method::POST, "/api/routing/simulate", Some(body)).await;
    let bars: Vec<&Value> = drawn["histogram"].as_array().expect("bars").iter().map(|bar| &bar["first"]).collect();
    assert_eq!(bars, [10, 10, 10]);
    let (x, y) = (shared.world.connect("groq", "x").await, shared.world.connect("groq", "y").await);
    shared.world.agent().post("/v1/chat/completions", chat_body("groq/m1", false)).await;
    shared.world.agent().post("/v1/chat/completions", chat_body("groq/m1", false)).await;
    assert_eq!((shared.world.calls(&x).len(), shared.world.calls(&y).len()), (2, 0));
}

#[tokio::test]
async fn a_strategy_that_does_not_exist_and_a_weight_that_is_none_are_refused_by_their_place() {
    let shared = Shared::start().await;
    let wrong = json!({ "routing": { "accountStrategy": { "openai": "best" } } });
    let reply = shared.world.manage(Method::PATCH, "/api/settings", Some(wrong)).await;
    assert_eq!(reply.status, 400);
    assert!(reply.text().contains("routing.accountStrategy"), "{}", reply.text());
    let path = format!("/api/providers/{}", shared.accounts[0].id);
    let wrong = json!({ "providerSpecificData": { "weight": 101 } });
    let reply = shared.world.manage(Method::PATCH, &path, Some(wrong)).await;
    assert_eq!(reply.status, 400);
    assert!(reply.text().contains("providerSpecificData.weight"), "{}", reply.text());
}
