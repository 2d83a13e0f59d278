//! Reads a request: a conversation or one prompt, with tools and options beside it.
//!
//! What only concerns a model that runs on this computer (`keep_alive`, the size of its context, threads, memory) means
//! nothing to an upstream and is passed over in silence; what would change the answer and cannot be said is a warning.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Form;
use crate::canonical::{
    Effort, Media, OutputFormat, Part, ReasoningMode, Request, Role, Sampling, Tool, ToolKind, Turn, arguments, ids,
    media,
};
use crate::client::Client;
use crate::fields;
use crate::lenient::{Amount, Text, some_string, str_of};
use crate::translate::Refusal;

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    messages: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    prompt: Option<Text<'a>>,
    #[serde(borrow)]
    system: Option<Text<'a>>,
    #[serde(borrow)]
    suffix: Option<Text<'a>>,
    #[serde(borrow)]
    images: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    tools: Option<Vec<Declared<'a>>>,
    #[serde(borrow)]
    format: Option<&'a RawValue>,
    #[serde(borrow)]
    options: Option<&'a RawValue>,
    #[serde(borrow)]
    think: Option<Text<'a>>,
    #[serde(flatten)]
    rest: BTreeMap<String, IgnoredAny>,
}

/// Members that are read elsewhere, or that mean nothing to an upstream.
const NOTHING_LOST: [&str; 7] = ["model", "stream", "keep_alive", "raw", "truncate", "shift", "context"];

/// Options of the program that runs a model.
const OF_THE_RUNNER: [&str; 13] = [
    "num_ctx",
    "num_batch",
    "num_gpu",
    "main_gpu",
    "num_thread",
    "num_keep",
    "low_vram",
    "use_mmap",
    "use_mlock",
    "vocab_only",
    "numa",
    "f16_kv",
    "draft_num_predict",
];

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Option<Text<'a>>,
    #[serde(borrow)]
    content: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    #[serde(borrow)]
    images: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    tool_calls: Option<Vec<Called<'a>>>,
    #[serde(borrow)]
    tool_call_id: Option<Text<'a>>,
    #[serde(borrow)]
    tool_name: Option<Text<'a>>,
    /// What `tool_name` was called before.
    #[serde(borrow)]
    name: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Called<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    function: Option<CalledFunction<'a>>,
}

#[derive(Deserialize)]
struct CalledFunction<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Declared<'a> {
    #[serde(borrow)]
    function: Option<DeclaredFunction<'a>>,
}

#[derive(Deserialize)]
struct DeclaredFunction<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    description: Option<Text<'a>>,
    parameters: Option<Value>,
}

#[derive(Default, Deserialize)]
struct Options<'a> {
    num_predict: Option<Amount>,
    temperature: Option<Amount>,
    top_p: Option<Amount>,
    top_k: Option<Amount>,
    seed: Option<Amount>,
    frequency_penalty: Option<Amount>,
    presence_penalty: Option<Amount>,
    #[serde(borrow)]
    stop: Option<&'a RawValue>,
    #[serde(flatten)]
    rest: BTreeMap<String, IgnoredAny>,
}

/// Reads the body of a request for `model`.
pub(crate) fn read(form: Form, body: &[u8], model: &str, stream: bool) -> Result<Request, Refusal> {
    let body = parse(body)?;
    let mut request = Request::new(model, Client::Ollama(form));
    request.stream = stream;
    request.wants_usage_chunk = true;
    match form {
        Form::Chat => {
            let mut conversation = Conversation::default();
            for (place, raw) in body.messages.iter().flatten().enumerate() {
                conversation.message(place, raw, &mut request)?;
            }
        }
        Form::Generate => prompt(&body, &mut request)?,
    }
    request.tools = body.tools.into_iter().flatten().map(tool).collect::<Result<_, _>>()?;
    request.reasoning.mode = thinking(str_of(&body.think));
    request.reasoning.visible =
        matches!(request.reasoning.mode, ReasoningMode::Effort(_) | ReasoningMode::Adaptive(_)).then_some(true);
    request.output_format = body.format.map(format).transpose()?.unwrap_or_default();
    if let Some(raw) = body.options {
        options(raw, &mut request)?;
    }
    request.dropped.extend(body.rest.into_keys().filter(|name| !NOTHING_LOST.contains(&name.as_str())));
    Ok(request)
}

fn parse(body: &[u8]) -> Result<Body<'_>, Refusal> {
    let text = std::str::from_utf8(body).map_err(|_| Refusal::new("body", "must be text in UTF-8"))?;
    fields::parse("", text)
}

/// Whether a request asks for nothing but that the model be ready, and then, whether it is to be given up instead: no
/// messages, or no prompt. Nothing for a request that asks for more, or that cannot be read.
pub fn loads_only(form: Form, body: &[u8]) -> Option<bool> {
    #[derive(Deserialize)]
    struct Asked<'a> {
        messages: Option<Vec<IgnoredAny>>,
        #[serde(borrow)]
        prompt: Option<Text<'a>>,
        images: Option<Vec<IgnoredAny>>,
        #[serde(borrow)]
        keep_alive: Option<Text<'a>>,
    }
    let asked: Asked<'_> = serde_json::from_slice(body).ok()?;
    let is_empty = match form {
        Form::Chat => asked.messages.is_none_or(|messages| messages.is_empty()),
        Form::Generate => str_of(&asked.prompt).is_empty() && asked.images.is_none_or(|images| images.is_empty()),
    };
    is_empty.then(|| str_of(&asked.keep_alive).trim_end_matches(char::is_alphabetic) == "0")
}

fn prompt(body: &Body<'_>, request: &mut Request) -> Result<(), Refusal> {
    if !str_of(&body.suffix).is_empty() {
        let message = "no provider fills in between two texts: send a prompt without a suffix";
        return Err(Refusal::new("suffix", message));
    }
    request.system.extend(text(&body.system));
    let parts = text(&body.prompt).into_iter().chain(images(body.images.as_deref())).collect();
    request.turns.push(Turn { role: Role::User, parts });
    Ok(())
}

fn text(text: &Option<Text<'_>>) -> Option<Part> {
    some_string(text).map(|text| Part::Text { text, cache: None })
}

fn images<'a>(list: Option<&'a [Text<'_>]>) -> impl Iterator<Item = Part> + 'a {
    list.unwrap_or_default().iter().map(|data| {
        let media = Media { source: media::from_base64("", data.as_str()), name: None, detail: None };
        Part::Image { media, cache: None }
    })
}

#[derive(Default)]
struct Conversation {
    /// Calls without a result so far: id and name.
    open: Vec<(String, String)>,
}

impl Conversation {
    fn message(&mut self, place: usize, raw: &RawValue, request: &mut Request) -> Result<(), Refusal> {
        let field = format!("messages[{place}]");
        let message: Message<'_> = fields::parse(&field, raw.get())?;
        let said = text(&message.content).into_iter().chain(images(message.images.as_deref()));
        match str_of(&message.role) {
            "system" if request.turns.is_empty() => request.system.extend(said),
            "system" => request.turns.push(Turn { role: Role::System, parts: said.collect() }),
            "user" => speak(said.collect(), request),
            "assistant" => {
                let parts = thought(&message).into_iter().chain(said).chain(self.calls(place, &message)).collect();
                request.turns.push(Turn { role: Role::Assistant, parts });
            }
            "tool" => {
                let call_id = self.answered(&message);
                let result = Part::ToolResult { call_id, content: said.collect(), is_error: false, cache: None };
                speak(vec![result], request);
            }
            role => {
                let message = format!("the role `{role}` is unknown: use `system`, `user`, `assistant` or `tool`");
                return Err(Refusal::new(format!("{field}.role"), message));
            }
        }
        Ok(())
    }

    fn calls(&mut self, place: usize, message: &Message<'_>) -> Vec<Part> {
        // What was not answered by now never will be.
        self.open.clear();
        let mut parts = Vec::new();
        for (index, call) in message.tool_calls.iter().flatten().enumerate() {
            let function = call.function.as_ref();
            let name = function.map_or("", |function| str_of(&function.name)).to_owned();
            let arguments = function.and_then(|function| function.arguments).map(arguments_text).unwrap_or_default();
            let id =
                some_string(&call.id).unwrap_or_else(|| ids::minted(&format!("{place} {arguments}"), index, &name));
            self.open.push((id.clone(), name.clone()));
            parts.push(Part::ToolCall { id, name, arguments, kind: ToolKind::Function, signature: None, cache: None });
        }
        parts
    }

    /// The call a result answers: the one it names by id, else the first of its tool, else the first of all.
    fn answered(&mut self, message: &Message<'_>) -> String {
        if let Some(id) = some_string(&message.tool_call_id) {
            self.open.retain(|(open, _)| *open != id);
            return id;
        }
        let tool = some_string(&message.tool_name).or_else(|| some_string(&message.name));
        let place = match &tool {
            Some(tool) => self.open.iter().position(|(_, name)| name == tool),
            None => (!self.open.is_empty()).then_some(0),
        };
        place.map_or_else(|| tool.unwrap_or_default(), |place| self.open.remove(place).0)
    }
}

/// What the user's side says goes on after results: they are said by the same speaker.
fn speak(parts: Vec<Part>, request: &mut Request) {
    let only_results = |turn: &Turn| turn.parts.iter().all(|part| matches!(part, Part::ToolResult { .. }));
    match request.turns.last_mut() {
        Some(turn) if turn.role == Role::User && only_results(turn) => turn.parts.extend(parts),
        _ => request.turns.push(Turn { role: Role::User, parts }),
    }
}

fn thought(message: &Message<'_>) -> Option<Part> {
    let text = some_string(&message.thinking)?;
    Some(Part::Reasoning { text, signature: None, encrypted: None, item_id: None, origin: Default::default() })
}

/// An object by rule, text with some clients.
fn arguments_text(raw: &RawValue) -> String {
    serde_json::from_str::<String>(raw.get()).unwrap_or_else(|_| arguments::to_text(raw))
}

fn tool(declared: Declared<'_>) -> Result<Tool, Refusal> {
    let function = declared.function.filter(|function| !str_of(&function.name).is_empty());
    let function = function.ok_or_else(|| Refusal::new("tools", "each needs a `function` with a `name`"))?;
    Ok(Tool {
        name: str_of(&function.name).to_owned(),
        description: some_string(&function.description),
        schema: function.parameters.filter(|schema| !schema.is_null()),
        ..Tool::default()
    })
}

/// A switch or an effort.
fn thinking(word: &str) -> ReasoningMode {
    match word {
        "true" => ReasoningMode::Adaptive(None),
        "false" => ReasoningMode::Off,
        word => Effort::parse(word).map_or(ReasoningMode::Default, ReasoningMode::Effort),
    }
}

/// `"json"`, or a schema; clients send an empty text for none.
fn format(raw: &RawValue) -> Result<OutputFormat, Refusal> {
    match fields::parse("format", raw.get())? {
        Value::String(word) if word == "json" => Ok(OutputFormat::JsonObject),
        Value::String(word) if word.is_empty() => Ok(OutputFormat::Text),
        schema @ Value::Object(_) => {
            Ok(OutputFormat::JsonSchema { name: "answer".to_owned(), description: None, schema, strict: None })
        }
        _ => Err(Refusal::new("format", "must be `json` or a JSON schema")),
    }
}

fn options(raw: &RawValue, request: &mut Request) -> Result<(), Refusal> {
    let options: Option<Options<'_>> = fields::parse("options", raw.get())?;
    let options = options.unwrap_or_default();
    request.max_output = fields::whole("options.num_predict", options.num_predict)?.filter(|most| *most > 0);
    request.sampling = Sampling {
        temperature: fields::amount("options.temperature", options.temperature)?,
        top_p: fields::amount("options.top_p", options.top_p)?,
        top_k: fields::whole("options.top_k", options.top_k)?,
        // Beyond 53 bits a seed is no longer exact, and still a seed.
        seed: fields::amount("options.seed", options.seed)?.map(|seed| seed as i64),
        frequency_penalty: fields::amount("options.frequency_penalty", options.frequency_penalty)?,
        presence_penalty: fields::amount("options.presence_penalty", options.presence_penalty)?,
        stop: options.stop.map_or_else(|| Ok(Vec::new()), |raw| fields::texts("options.stop", raw.get()))?,
        ..Sampling::default()
    };
    let lost = options.rest.into_keys().filter(|name| !OF_THE_RUNNER.contains(&name.as_str()));
    request.dropped.extend(lost.map(|name| format!("options.{name}")));
    Ok(())
}
