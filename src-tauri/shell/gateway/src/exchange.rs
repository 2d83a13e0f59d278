//! Where client and upstream speak different dialects: what the upstream can take, and the way back for its answer.
//!
//! `dialects::translate` does the work; this file knows the catalogue. The same verbs also fold a stream for a client that
//! wants a body, and tell a body as a stream, whatever the dialects.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use catalog::{Provider, Quirk, Thinking};
use dialects::canonical::{Answer, CacheMarks, Effort, ForeignTools, IdMap, Origin, Target, Warning};
use dialects::client::Times;
use dialects::translate::{self, Reply, StreamWriter};
use dialects::{Client, StreamReader, UpstreamError, inline_think};
use domain::{Clock, Dialect, Operation, Timestamp};
use http::HeaderValue;
use settings::translation::{self, CacheControlMode};

use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::plan::Step;

/// What to ask an upstream for so that it serves the client's operation; nothing when it cannot.
pub(crate) fn upstream_operation(
    provider: &Provider,
    operation: Operation,
    model: &str,
    streams: bool,
) -> Option<Operation> {
    let offers = match operation {
        Operation::Embeddings => provider.embeddings,
        Operation::CountTokens => provider.count_tokens,
        Operation::ChatCompletions
        | Operation::Responses
        | Operation::Messages
        | Operation::GenerateContent
        | Operation::StreamGenerateContent
        | Operation::GeminiCountTokens
        | Operation::EmbedContent
        | Operation::BatchEmbedContents => true,
    };
    let only = provider.model(model).and_then(|model| model.dialect);
    let own = operation.dialect();
    let speaks = only.map_or_else(|| provider.dialects.contains(&own), |only| only == own);
    if speaks || !operation.generates() {
        return (speaks && offers).then_some(operation);
    }
    Some(match only.unwrap_or_else(|| provider.primary_dialect()) {
        Dialect::Chat => Operation::ChatCompletions,
        Dialect::Responses => Operation::Responses,
        Dialect::Messages => Operation::Messages,
        Dialect::Gemini if streams => Operation::StreamGenerateContent,
        Dialect::Gemini => Operation::GenerateContent,
    })
}

/// Where each maker's own hosts are; an answer or a signature is theirs only there.
const NATIVE: [(&str, Origin); 4] = [
    ("https://api.openai.com/", Origin::OpenAi),
    ("https://chatgpt.com/", Origin::OpenAi),
    ("https://api.anthropic.com/", Origin::Anthropic),
    ("https://generativelanguage.googleapis.com/", Origin::Google),
];

/// Whose models a host serves, if it is its maker's own.
pub(crate) fn maker_of(base_url: &str) -> Option<Origin> {
    NATIVE.iter().find(|(origin, _)| base_url.starts_with(origin)).map(|(_, maker)| *maker)
}

/// What a step's model can take, as far as the catalogue knows, and what its account wants.
pub(crate) fn target(step: &Step, settings: &translation::Config) -> Target {
    let (provider, model) = (step.provider.as_ref(), step.candidate.model.as_str());
    let mut target = Target::unknown(model);
    // The catalogue's own address: a proxy in front of a vendor hands signatures through.
    target.origin = maker_of(&provider.base_url).unwrap_or(Origin::Anyone);
    if let Some(known) = provider.model(model) {
        target.max_output = known.max_output;
        target.takes_images = known.supports.vision.unwrap_or(true);
        target.takes_audio = known.supports.audio.unwrap_or(true);
        target.takes_json_schema = known.supports.structured_output.unwrap_or(true);
        target.efforts = known.efforts.iter().filter_map(|word| Effort::parse(word)).collect();
        target.unsupported.clone_from(&known.unsupported_params);
    }
    match provider.thinking(model) {
        Thinking::Budget => {}
        Thinking::Adaptive => target.adaptive_thinking = true,
        Thinking::Level => target.thinking_level = true,
        Thinking::Refused => target.reasoning_effort = false,
    }
    target.developer_role = target.origin == Origin::OpenAi;
    target.system_role = !provider.has(Quirk::NoSystemRole);
    target.stream_options = !provider.has(Quirk::NoStreamOptions);
    target.max_completion_tokens = provider.has(Quirk::MaxCompletionTokens);
    target.string_content_only = provider.has(Quirk::StringContentOnly);
    target.reasoning_effort &= !provider.has(Quirk::NoReasoningEffort);
    target.parallel_flag = !provider.has(Quirk::NoParallelFlag);
    target.tool_ids_9_alnum = provider.has(Quirk::ToolIds9Alnum);
    target.top_k = provider.has(Quirk::TakesTopK);
    target.cache_marks = match step.entry.cache_control_mode().unwrap_or(settings.cache_control_mode) {
        CacheControlMode::Auto => CacheMarks::Placed,
        CacheControlMode::Off => CacheMarks::Dropped,
        CacheControlMode::Passthrough => CacheMarks::Kept,
    };
    let takes_marks = provider.has(Quirk::ClaudeCacheMarks) && model.contains("claude");
    target.chat_cache_marks = takes_marks && target.cache_marks != CacheMarks::Dropped;
    target.reasoning_replay = provider.has(Quirk::NeedsReasoningReplay);
    target.foreign_tools = match settings.foreign_tools {
        translation::ForeignTools::WhenSpare => ForeignTools::RefuseAlone,
        translation::ForeignTools::Drop => ForeignTools::Drop,
        translation::ForeignTools::Refuse => ForeignTools::Refuse,
    };
    target
}

/// The way back: what an answer must know of the request it answers.
#[derive(Clone)]
pub(crate) struct Back {
    client: Client,
    arrived: Timestamp,
    clock: Arc<dyn Clock>,
    /// A Gemini client that did not ask for `alt=sse`: a stream is one JSON array.
    array: bool,
    /// The answer is told in other words, and its text holds reasoning between tags.
    splits_thoughts: bool,
    pub(crate) reply: Reply,
}

impl Back {
    pub(crate) fn new(gateway: &Gateway, request: &ClientRequest, step: &Step, ids: IdMap) -> Self {
        let glance = &request.glance;
        let reply = Reply {
            id: request.id.as_str().to_owned(),
            model: step.candidate.model.clone(),
            created: gateway.now().as_millis() / 1_000,
            wants_usage_chunk: glance.include_usage,
            estimated_input: request.estimated_input().max(1),
            ids,
        };
        let array = request.operation == Operation::StreamGenerateContent && !request.gemini_sse;
        let splits_thoughts = !request.passes_to(step.operation) && step.provider.has(Quirk::InlineThink);
        let clock = Arc::clone(gateway.clock());
        Back { client: request.client, arrived: request.arrived, clock, array, splits_thoughts, reply }
    }

    /// A reader for the upstream's stream.
    pub(crate) fn reader(&self, upstream: Dialect) -> Box<dyn StreamReader + Send> {
        let reader = dialects::reader(upstream);
        if self.splits_thoughts { inline_think::splitting(reader) } else { reader }
    }

    /// A writer for a stream in the client's words.
    pub(crate) fn writer(&self) -> Box<dyn StreamWriter> {
        if self.array {
            return translate::gemini_array_writer(self.reply.clone());
        }
        self.client.writer(self.reply.clone(), self.arrived)
    }

    /// The media type of a stream in the client's words.
    pub(crate) fn stream_type(&self) -> HeaderValue {
        HeaderValue::from_static(if self.array { "application/json" } else { self.client.stream_type() })
    }

    /// Whether a stream in the client's words is one JSON array.
    pub(crate) fn is_array(&self) -> bool {
        self.array
    }

    /// A body in the client's words.
    pub(crate) fn body(&self, answer: &Answer) -> Bytes {
        let times = Times { arrived: self.arrived, now: self.clock.now() };
        self.client.write_answer(answer, &self.reply, times)
    }

    /// A whole answer of the upstream's, as a body or told as a stream.
    ///
    /// # Errors
    /// What the answer says is wrong, or that it is not of its dialect.
    pub(crate) fn whole(
        &self,
        upstream: Dialect,
        body: &[u8],
        as_stream: bool,
    ) -> Result<(Bytes, Answer), UpstreamError> {
        let mut events = translate::read_answer(upstream, body)?;
        if self.splits_thoughts {
            events = inline_think::split(events);
        }
        let answer = Answer::fold(events.iter().cloned())?;
        if !as_stream {
            return Ok((self.body(&answer), answer));
        }
        let mut writer = self.writer();
        writer.at(self.clock.now());
        let mut out = BytesMut::new();
        events.iter().for_each(|event| writer.push(event, &mut out));
        writer.end(&mut out);
        Ok((out.freeze(), answer))
    }
}

/// A warning as the header and the request's page show it.
pub(crate) fn word(warning: &Warning) -> String {
    if warning.about.is_empty() { warning.code.to_owned() } else { format!("{}:{}", warning.code, warning.about) }
}
