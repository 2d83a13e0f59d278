//! What log lines say of the request they are about (architecture, section 17).

use acceptance::{Ask, World};
use domain::Dialect;
use fake_upstream::Step;

#[tokio::test]
async fn a_line_of_an_attempt_names_its_request() {
    let world = World::start().await;
    let ask = Ask::new(Dialect::Chat, false);
    let first = world.connect(ask.provider, "first").await;
    world.connect(ask.provider, "second").await;
    world.script(&first).then(Step::error(503, "busy"));
    let reply = world.agent().post(&ask.path, ask.body.clone()).await;
    assert_eq!(reply.status, 200);
    let id = reply.header("x-omniroute-request-id").expect("an id");
    let model = format!("{}/m1", ask.provider);
    let span = format!("request{{id=\"{id}\" dialect=\"chat\" model=\"{model}\" route=\"direct\"}}");
    assert!(world.has_logged(&format!("{span}: gateway::record: attempt")), "{span}");
}
