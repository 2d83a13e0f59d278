//! Combos of scripted accounts, and an agent that asks them by name.

use acceptance::{Connection, Reply, World, chat_body};
use fake_upstream::Step;
use http::Method;
use serde_json::{Value, json};

/// Three providers that speak Chat, with one account each.
pub(crate) const PROVIDERS: [&str; 3] = ["openai", "deepseek", "groq"];

pub(crate) struct Team {
    pub(crate) world: World,
    pub(crate) accounts: [Connection; 3],
}

impl Team {
    pub(crate) async fn start() -> Team {
        Team::of(World::start().await).await
    }

    /// One that may wait for cooldowns.
    pub(crate) async fn start_patient() -> Team {
        Team::of(World::start_patient().await).await
    }

    async fn of(world: World) -> Team {
        let accounts = [
            world.connect(PROVIDERS[0], "a").await,
            world.connect(PROVIDERS[1], "b").await,
            world.connect(PROVIDERS[2], "c").await,
        ];
        let team = Team { world, accounts };
        for (n, account) in team.accounts.iter().enumerate() {
            team.world.script(account).then(Step::ok(format!("from {n}")));
        }
        team
    }

    /// Makes a combo of these steps.
    pub(crate) async fn combo(&self, name: &str, strategy: &str, models: Value, config: Value) -> Value {
        let body = json!({ "name": name, "strategy": strategy, "models": models, "config": config });
        self.world.managed(Method::POST, "/api/combos", Some(body)).await["combo"].clone()
    }

    /// A combo of the model `m1` of all three providers, without repetitions.
    pub(crate) async fn three(&self, strategy: &str) -> Value {
        self.combo("team", strategy, models(), json!({ "disableSessionStickiness": true })).await
    }

    pub(crate) async fn ask(&self, name: &str) -> Reply {
        self.world.agent().post("/v1/chat/completions", chat_body(name, false)).await
    }

    /// Asks so often, one after another: who served, by number of the account.
    pub(crate) async fn served(&self, name: &str, times: usize) -> Vec<usize> {
        let mut served = Vec::new();
        for _ in 0..times {
            served.push(who(&self.ask(name).await));
        }
        served
    }

    /// An account answers with this status from now on.
    pub(crate) fn fails(&self, account: usize, status: u16) {
        self.world.script(&self.accounts[account]).then(Step::error(status, "it does not work"));
    }

    pub(crate) fn recovers(&self, account: usize) {
        self.world.script(&self.accounts[account]).then(Step::ok(format!("from {account}")));
    }

    /// Calls that each account got.
    pub(crate) fn calls(&self) -> [usize; 3] {
        [0, 1, 2].map(|n| self.world.calls(&self.accounts[n]).len())
    }
}

pub(crate) fn models() -> Value {
    json!(PROVIDERS.map(|provider| format!("{provider}/m1")))
}

/// Which account answered.
pub(crate) fn who(reply: &Reply) -> usize {
    assert_eq!(reply.status, 200, "{}", reply.text());
    (0..3).find(|n| reply.text().contains(&format!("from {n}"))).unwrap_or_else(|| panic!("{}", reply.text()))
}

/// The text of a good stream.
pub(crate) fn told(reply: &Reply) -> String {
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(reply.text().ends_with("data: [DONE]\n\n"), "{}", reply.text());
    let chunks = reply.events().into_iter().filter_map(|event| serde_json::from_str::<Value>(&event.data).ok());
    chunks.filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned)).collect()
}
