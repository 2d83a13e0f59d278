//! "Test connection" and model discovery against real sockets: each way a connection can be wrong has its word.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::server::{ManualClock, Reply, Server, answer, json};
use catalog::Provider;
use domain::node::{AuthCarrier, CustomNode};
use domain::{ConnectionId, Dialect, Millis, ProviderClass, Timestamp};
use secrecy::SecretString;
use upstream::discovery::{self, ProbeCode, ProbeReport};
use upstream::{HttpTransport, Options, OwnAddresses, Route, Target};

const OPENAI_LIST: &str = r#"{"object":"list","data":[{"id":"m1","object":"model"},{"id":"m2","object":"model"}]}"#;
const ANTHROPIC_LIST: &str = r#"{"data":[{"type":"model","id":"m1","display_name":"M 1"}],"has_more":false}"#;
const GEMINI_LIST: &str = r#"{"models":[{"name":"models/m1","displayName":"M 1","inputTokenLimit":1000}]}"#;
const CHAT_ANSWER: &str = r#"{"choices":[{"message":{"role":"assistant","content":"Hi"}}]}"#;
const RESPONSES_ANSWER: &str = r#"{"object":"response","output":[]}"#;
const MESSAGES_ANSWER: &str = r#"{"type":"message","content":[]}"#;
const GEMINI_ANSWER: &str = r#"{"candidates":[]}"#;
const PAGE: &str = "<!DOCTYPE html><html><title>Welcome</title></html>";
const OPENAI_NO_PATH: &str = r#"{"error":{"message":"Invalid URL (POST /v1/x)","type":"invalid_request_error"}}"#;
const ANTHROPIC_NO_PATH: &str = r#"{"type":"error","error":{"type":"not_found_error","message":"Not Found"}}"#;
const NO_MODEL: &str = r#"{"error":{"message":"The model `m9` does not exist","code":"model_not_found"}}"#;
const PLAIN_NO_PATH: &str = r#"{"detail":"Not Found"}"#;

fn transport() -> HttpTransport {
    HttpTransport::new(Options { connect_timeout: Millis::seconds(10), own_addresses: OwnAddresses::default() })
}

fn target(dialect: Dialect, base_url: &str) -> Target {
    let node = CustomNode {
        id: CustomNode::id_for(dialect, "work"),
        name: "Work".to_owned(),
        prefix: "work".to_owned(),
        api_type: dialect,
        base_url: base_url.to_owned(),
        auth_carrier: AuthCarrier::Bearer,
        extra_headers: BTreeMap::new(),
        models_path: None,
        allow_private_network: false,
        provider_class: ProviderClass::Apikey,
        created_at: Timestamp::ZERO,
        updated_at: Timestamp::ZERO,
    };
    Target {
        provider: Arc::new(Provider::from_node(&node)),
        connection: ConnectionId::from("c1"),
        base_url: None,
        credential: Some(SecretString::from("sk-upstream")),
        route: Route::default(),
    }
}

async fn probe(target: &Target, model: Option<&str>) -> ProbeReport {
    discovery::probe(&transport(), target, model, &ManualClock::start(), Millis::seconds(30)).await
}

/// A server with one answer for the list, shown only to holders of a key, and one for everything that is posted.
async fn server(list: (u16, &'static str), posted: (u16, &'static str)) -> Server {
    Server::start(move |request| {
        let (status, body) = match request {
            get if get.starts_with("GET") && !get.contains("sk-upstream") => (401, "{}"),
            get if get.starts_with("GET") => list,
            _ => posted,
        };
        Reply::Close(json(status, body))
    })
    .await
}

#[tokio::test]
async fn a_list_for_key_holders_is_enough() {
    for (dialect, list) in
        [(Dialect::Chat, OPENAI_LIST), (Dialect::Messages, ANTHROPIC_LIST), (Dialect::Gemini, GEMINI_LIST)]
    {
        let server = server((200, list), (500, "{}")).await;
        let report = probe(&target(dialect, &server.url("/v1")), None).await;
        assert!(report.ok, "{report:?}");
        assert_eq!((report.status, report.model, report.error), (Some(200), None, None));
        assert!(report.models.is_some_and(|count| count > 0));
        assert!(server.paths().iter().all(|path| path.starts_with("GET /v1/models")), "{:?}", server.paths());
    }
}

#[tokio::test]
async fn a_named_model_is_asked_for_a_token_in_the_providers_dialect() {
    let rows = [
        (Dialect::Chat, OPENAI_LIST, CHAT_ANSWER, "POST /v1/chat/completions"),
        (Dialect::Responses, OPENAI_LIST, RESPONSES_ANSWER, "POST /v1/responses"),
        (Dialect::Messages, ANTHROPIC_LIST, MESSAGES_ANSWER, "POST /v1/messages"),
        (Dialect::Gemini, GEMINI_LIST, GEMINI_ANSWER, "POST /v1/models/m1:generateContent"),
    ];
    for (dialect, list, generated, path) in rows {
        let server = server((200, list), (200, generated)).await;
        let report = probe(&target(dialect, &server.url("/v1")), Some("m1")).await;
        assert!(report.ok, "{report:?}");
        assert_eq!(report.model.as_deref(), Some("m1"));
        assert_eq!(server.paths().last().map(String::as_str), Some(path));
    }
}

#[tokio::test]
async fn every_fault_of_a_server_has_its_word_and_its_remedy() {
    use Dialect::{Chat, Gemini, Messages, Responses};
    use ProbeCode as Code;
    let rows = [
        // dialect, model, list, generation, verdict, part of the message
        (Chat, None, (401, r#"{"error":{"message":"bad key"}}"#), (200, "{}"), Code::Unauthorized, "store a valid key"),
        (Chat, None, (402, "{}"), (200, "{}"), Code::NoCredit, "no credit"),
        (Chat, None, (429, "{}"), (200, "{}"), Code::RateLimited, "now (429): wait"),
        (Chat, None, (503, "{}"), (200, "{}"), Code::ServerError, "(503"),
        (Chat, None, (200, r#"{"object":"list","data":[]}"#), (200, "{}"), Code::NoModels, "load or pull"),
        (Chat, Some("m9"), (200, OPENAI_LIST), (404, NO_MODEL), Code::ModelNotFound, "no model m9"),
        (Chat, Some("m9"), (200, OPENAI_LIST), (400, NO_MODEL), Code::ModelNotFound, "no model m9"),
        (Chat, Some("m1"), (200, OPENAI_LIST), (401, "{}"), Code::Unauthorized, "does not accept the key"),
        (Chat, Some("m1"), (200, OPENAI_LIST), (403, "{}"), Code::Forbidden, "permissions"),
        (Chat, Some("m1"), (200, OPENAI_LIST), (429, "{}"), Code::RateLimited, "wait"),
        (Chat, Some("m1"), (200, OPENAI_LIST), (529, "{}"), Code::ServerError, "later"),
        (
            Chat,
            Some("m1"),
            (200, OPENAI_LIST),
            (400, r#"{"error":{"message":"no"}}"#),
            Code::InvalidRequest,
            "(400: no)",
        ),
        (Chat, Some("m1"), (200, OPENAI_LIST), (404, OPENAI_NO_PATH), Code::WrongPath, "base URL"),
        (Chat, Some("m1"), (404, PAGE), (404, PAGE), Code::WrongPath, "web page"),
        (Chat, Some("m1"), (404, PAGE), (200, PAGE), Code::WrongPath, "web page"),
        (Chat, None, (200, PAGE), (200, PAGE), Code::WrongPath, "web page"),
        (Chat, None, (404, PLAIN_NO_PATH), (404, PLAIN_NO_PATH), Code::WrongPath, "Not Found"),
        (Chat, None, (404, "{}"), (404, NO_MODEL), Code::NoModels, "name one of its models"),
        (Chat, None, (404, "{}"), (401, "{}"), Code::Unauthorized, "key"),
        (Chat, None, (403, "{}"), (403, "{}"), Code::Forbidden, "permissions"),
        // other dialects than the one that was chosen
        (Chat, Some("m1"), (200, ANTHROPIC_LIST), (404, ANTHROPIC_NO_PATH), Code::WrongDialect, "Anthropic Messages"),
        (Chat, None, (200, ANTHROPIC_LIST), (404, ""), Code::WrongDialect, "Anthropic Messages"),
        (Chat, None, (200, GEMINI_LIST), (404, PAGE), Code::WrongDialect, "Gemini"),
        (Chat, Some("m1"), (404, "{}"), (200, MESSAGES_ANSWER), Code::WrongDialect, "Anthropic Messages"),
        (Chat, Some("m1"), (404, "{}"), (200, r#"{"status":"up"}"#), Code::WrongDialect, "not in the format"),
        (
            Responses,
            Some("m1"),
            (200, OPENAI_LIST),
            (404, OPENAI_NO_PATH),
            Code::WrongDialect,
            "OpenAI Chat Completions",
        ),
        (Messages, None, (200, OPENAI_LIST), (404, PLAIN_NO_PATH), Code::WrongDialect, "OpenAI Chat Completions"),
        (Gemini, None, (200, OPENAI_LIST), (404, OPENAI_NO_PATH), Code::WrongDialect, "OpenAI Chat Completions"),
    ];
    for (dialect, model, list, posted, code, part) in rows {
        let server = server(list, posted).await;
        let report = probe(&target(dialect, &server.url("/v1")), model).await;
        let context = format!("{dialect} {model:?} {list:?} {posted:?}: {report:?}");
        let error = report.error.expect(&context);
        assert!(!report.ok && error.code == code && error.message.contains(part), "{context}\n{error:?}");
        assert!(!error.message.contains("sk-upstream"), "{context}");
    }
}

#[tokio::test]
async fn faults_of_the_way_there_have_their_words() {
    let garbage = Server::raw(b"SSH-2.0-OpenSSH_9.6\r\n").await;
    let reset = Server::start(|_| Reply::Reset).await;
    let plain = Server::raw(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let rows = [
        (format!("http://{closed}/v1"), ProbeCode::Refused, closed.to_string()),
        (reset.url("/v1"), ProbeCode::Reset, "closed the connection".to_owned()),
        (garbage.url("/v1"), ProbeCode::WrongDialect, "host and port".to_owned()),
        (format!("https://{}/v1", plain.address), ProbeCode::Tls, "use http://".to_owned()),
        ("https://169.254.169.254/v1".to_owned(), ProbeCode::AddressRefused, "metadata".to_owned()),
        ("http://192.168.7.7/v1".to_owned(), ProbeCode::AddressRefused, "allow private networks".to_owned()),
        ("https://{region}.example/v1".to_owned(), ProbeCode::InvalidConfiguration, "placeholder".to_owned()),
    ];
    for (url, code, part) in rows {
        let target = target(Dialect::Chat, &url);
        let error = probe(&target, None).await.error.unwrap();
        assert!(error.code == code && error.message.contains(&part), "{url}: {error:?}");
        let listing = discovery::models(&transport(), &target, &ManualClock::start(), Millis::seconds(30)).await;
        assert_eq!(listing.unwrap_err().code, code, "{url}");
    }
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_at_the_deadline() {
    let server = Server::start(|_| Reply::Hang).await;
    let (target, transport, clock) = (target(Dialect::Chat, &server.url("/v1")), transport(), ManualClock::start());
    let mut hung_up = server.hung_up.clone();
    let probing = discovery::probe(&transport, &target, None, &clock, Millis::seconds(30));
    let time_passes = async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        clock.advance(Millis::new(29_999));
        tokio::task::yield_now().await;
        assert!(!hung_up.has_changed().unwrap());
        clock.advance(Millis::new(1));
    };
    let (report, ()) = futures_util::future::join(probing, time_passes).await;
    let error = report.error.unwrap();
    assert_eq!((error.code, report.status, report.latency), (ProbeCode::Timeout, None, Millis::seconds(30)));
    assert!(error.message.contains("within 30 s"), "{}", error.message);
    hung_up.wait_for(|count| *count == 1).await.unwrap();
}

#[tokio::test]
async fn a_public_list_says_nothing_about_the_key() {
    for (posted, code) in [
        ((401, "{}"), Some(ProbeCode::Unauthorized)),
        ((200, CHAT_ANSWER), None),
        ((404, NO_MODEL), None),
        ((400, r#"{"error":{"message":"this model only embeds"}}"#), None),
    ] {
        let server = Server::start(move |request| {
            let (status, body) = if request.starts_with("GET") { (200, OPENAI_LIST) } else { posted };
            Reply::Close(json(status, body))
        })
        .await;
        let report = probe(&target(Dialect::Chat, &server.url("/v1")), None).await;
        assert_eq!(report.error.map(|error| error.code), code, "{posted:?}");
        assert_eq!(server.paths(), ["GET /v1/models", "GET /v1/models", "POST /v1/chat/completions"]);
        assert!(!server.requests()[1].contains("sk-upstream"));
    }
}

#[tokio::test]
async fn a_refusal_of_so_short_an_answer_is_a_working_connection() {
    let body = r#"{"error":{"message":"Could not finish because max_tokens or model output limit was reached"}}"#;
    let server = server((200, OPENAI_LIST), (400, body)).await;
    let report = probe(&target(Dialect::Chat, &server.url("/v1")), Some("m1")).await;
    assert!(report.ok, "{report:?}");
}

#[tokio::test]
async fn the_remedy_for_a_wrong_path_names_the_likely_mistake() {
    let server = server((404, PLAIN_NO_PATH), (404, PLAIN_NO_PATH)).await;
    let rows = [
        (Dialect::Chat, "", "/v1"),
        (Dialect::Gemini, "", "/v1beta"),
        (Dialect::Chat, "/v1/chat/completions", "remove /chat/completions"),
        (Dialect::Messages, "/v1/messages", "remove /messages"),
        (Dialect::Chat, "/v1", "check the base URL"),
    ];
    for (dialect, path, part) in rows {
        let error = probe(&target(dialect, &server.url(path)), Some("m1")).await.error.unwrap();
        assert!(error.code == ProbeCode::WrongPath && error.message.contains(part), "{path}: {error:?}");
    }
}

#[tokio::test]
async fn a_list_is_followed_to_the_same_host_and_no_further() {
    let server = Server::start(|request| {
        let reply = match request.split(' ').nth(1).unwrap() {
            "/v1/models" => answer(308, "location: /v2/models\r\n", b""),
            "/v2/models" => json(200, OPENAI_LIST),
            "/away/models" => answer(302, "location: http://127.0.0.1:1/models\r\n", b""),
            _ => answer(302, "location: /loop/models\r\n", b""),
        };
        Reply::Close(reply)
    })
    .await;
    let (transport, clock) = (transport(), ManualClock::start());
    let rows = [("/v1", Ok(2)), ("/away", Err(ProbeCode::WrongPath)), ("/loop", Err(ProbeCode::WrongPath))];
    for (path, expected) in rows {
        let target = target(Dialect::Chat, &server.url(path));
        let found = discovery::models(&transport, &target, &clock, Millis::seconds(30)).await;
        assert_eq!(found.map(|models| models.len()).map_err(|error| error.code), expected, "{path}");
    }
    assert_eq!(server.paths().iter().filter(|path| path.contains("/loop")).count(), 4);
}

#[tokio::test]
async fn discovery_reads_names_and_windows() {
    let server = server((200, GEMINI_LIST), (500, "{}")).await;
    let target = target(Dialect::Gemini, &server.url("/v1beta"));
    let models = discovery::models(&transport(), &target, &ManualClock::start(), Millis::seconds(30)).await.unwrap();
    assert_eq!((models[0].id.as_str(), models[0].context), ("m1", Some(1000)));
    assert_eq!(server.paths(), ["GET /v1beta/models?pageSize=1000"]);
}
