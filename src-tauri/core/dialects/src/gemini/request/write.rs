//! Writes a request.
//!
//! Google's servers check the order of a conversation: it begins with the user, speakers alternate, and all results of a
//! turn's calls stand together behind it. Signatures go back to Google alone and stand on the call they belong to; on
//! models that insist on one, a call that lost its signature carries the documented word for that.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::Bytes;
use domain::Dialect;
use serde_json::value::RawValue;

use super::read::is_kept_by_google;
use super::wire::{Blob, Call, File, KnownPart, Outcome, Response, WrittenBody, WrittenContent, WrittenPart};
use super::{options, tools};
use crate::canonical::ids::{NameRule, ToolNames};
use crate::canonical::{
    IdMap, Media, Origin, Part, Request, Role, Source, Target, ToolKind, Turn, Warning, Written, arguments, reasoning,
    repair, system, tools as tooling,
};
use crate::error::to_json;
use crate::translate::Refusal;

/// What Google documents for a call whose signature is not known.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";
/// What the user says where somebody has to speak first.
const OPENING: &str = ".";

pub(crate) fn write(request: &Request, target: &Target) -> Result<Written, Refusal> {
    if request.previous_response_id.is_some() {
        return Err(Refusal {
            code: "previous_response_not_found",
            ..Refusal::new("previous_response_id", "is not known to this provider: send the whole conversation")
        });
    }
    let tooling = tooling::fit(request, Dialect::Gemini, target)?;
    let names = ToolNames::new(NameRule::Gemini, request);
    let groups = tools::write(&tooling, &names, request);
    let has_functions = tooling.tools.iter().any(|tool| !matches!(tool.kind, ToolKind::Server(_)));
    let mut warnings = tooling.warnings.clone();
    let options = options::write(request, target, has_functions, &mut warnings);
    let instructions = system_texts(request, options.instruction.as_deref());
    let (turns, repairs) = repair::repaired(prepared(request, target, &instructions));
    warnings.extend(repairs);
    let mut writer = Writer { request, target, names: &names, called: calls(&turns), warnings };
    let contents = writer.contents(&turns)?;
    let system_instruction = (target.system_role && !instructions.is_empty()).then(|| WrittenContent {
        role: None,
        parts: instructions
            .iter()
            .map(|text| known(KnownPart { text: Some(text.clone()), ..KnownPart::default() }))
            .collect(),
    });
    let body = WrittenBody {
        system_instruction,
        contents,
        tools: groups,
        tool_config: tools::write_choice(&tooling, &names),
        generation_config: options.generation,
    };
    let body = Bytes::from(to_json(&body));
    let mut warnings = writer.warnings;
    warnings.sort_unstable();
    warnings.dedup();
    Ok(Written { body, warnings, ids: IdMap { origin: target.origin, ..names.id_map(request) } })
}

fn system_texts<'a>(request: &'a Request, instruction: Option<&str>) -> Vec<Cow<'a, str>> {
    let texts = request.system.iter().filter_map(|part| match part {
        Part::Text { text, .. } if !text.trim().is_empty() => Some(Cow::Borrowed(text.as_str())),
        _ => None,
    });
    texts.chain(instruction.map(|text| Cow::Owned(text.to_owned()))).collect()
}

/// The turns of user and model alone. A model that takes no instructions is told them by the user.
fn prepared<'a>(request: &'a Request, target: &Target, instructions: &[Cow<'_, str>]) -> Cow<'a, [Turn]> {
    let mut turns = system::fold(&request.turns);
    let is_told = !target.system_role && !instructions.is_empty();
    if is_told {
        turns.to_mut().insert(0, said(Role::User, instructions.join("\n\n")));
    } else if turns.first().is_none_or(|turn| turn.role == Role::Assistant) {
        turns.to_mut().insert(0, said(Role::User, OPENING.to_owned()));
    }
    turns
}

fn said(role: Role, text: String) -> Turn {
    Turn { role, parts: vec![Part::Text { text, cache: None }] }
}

/// The tool that each call is for.
fn calls(turns: &[Turn]) -> BTreeMap<String, String> {
    let parts = turns.iter().flat_map(|turn| &turn.parts);
    let calls = parts.filter_map(|part| match part {
        Part::ToolCall { id, name, .. } => Some((id.clone(), name.clone())),
        _ => None,
    });
    calls.collect()
}

fn known(part: KnownPart<'_>) -> WrittenPart<'_> {
    WrittenPart::Known(Box::new(part))
}

fn text(text: &str) -> KnownPart<'_> {
    KnownPart { text: Some(Cow::Borrowed(text)), ..KnownPart::default() }
}

struct Writer<'a> {
    request: &'a Request,
    target: &'a Target,
    names: &'a ToolNames,
    called: BTreeMap<String, String>,
    warnings: Vec<Warning>,
}

impl<'a> Writer<'a> {
    fn contents<'t>(&mut self, turns: &'t [Turn]) -> Result<Vec<WrittenContent<'t>>, Refusal>
    where
        'a: 't,
    {
        let mut contents = Vec::with_capacity(turns.len());
        for turn in turns {
            let parts = self.turn(turn)?;
            if !parts.is_empty() {
                let role = Some(if turn.role == Role::Assistant { "model" } else { "user" });
                contents.push(WrittenContent { role, parts });
            }
        }
        Ok(contents)
    }

    fn turn<'t>(&mut self, turn: &'t Turn) -> Result<Vec<WrittenPart<'t>>, Refusal>
    where
        'a: 't,
    {
        let mut parts: Vec<WrittenPart<'t>> = Vec::with_capacity(turn.parts.len());
        // Media that tools brought stand behind all the results of the turn.
        let mut brought = Vec::new();
        let mut pending: Option<&'t str> = None;
        let mut has_signed_call = false;
        for (place, part) in turn.parts.iter().enumerate() {
            if !matches!(part, Part::ToolResult { .. }) {
                parts.append(&mut brought);
            }
            match part {
                Part::ToolCall { id, name, arguments, kind, signature, .. } => {
                    let own = signature.as_deref().filter(|_| self.reads(Origin::Google));
                    let signature = own.or(pending.take());
                    let missing = !has_signed_call && self.target.thinking_level && self.reads(Origin::Google);
                    let signature = signature.or(missing.then_some(NO_SIGNATURE));
                    has_signed_call |= signature.is_some();
                    let call = self.call(id, name, arguments, kind);
                    let thought_signature = signature.map(Cow::Borrowed);
                    parts.push(known(KnownPart {
                        function_call: Some(call),
                        thought_signature,
                        ..KnownPart::default()
                    }));
                }
                Part::Reasoning { text, origin: Origin::Google | Origin::Anyone, .. } => {
                    let next = turn.parts.get(place + 1);
                    let proof = self.proof(part);
                    if matches!(next, Some(Part::ToolCall { signature: None, .. })) {
                        pending = proof;
                        self.thought(text, None, &mut parts);
                    } else {
                        self.thought(text, proof, &mut parts);
                    }
                }
                Part::Reasoning { .. } => self.warn("DROPPED_REASONING", "reasoning"),
                Part::ToolResult { call_id, content, is_error, .. } => {
                    let response = self.result(call_id, content, *is_error, &mut brought)?;
                    parts.push(known(KnownPart { function_response: Some(response), ..KnownPart::default() }));
                }
                other => parts.extend(self.plain(other)?),
            }
        }
        parts.append(&mut brought);
        Ok(parts)
    }

    /// The proof of a piece of reasoning, where the receiver made it. Clients of other dialects may carry it as encrypted.
    fn proof<'t>(&self, part: &'t Part) -> Option<&'t str> {
        match part {
            Part::Reasoning { signature, encrypted, origin, .. } if self.reads(*origin) => {
                signature.as_deref().or(encrypted.as_deref())
            }
            _ => None,
        }
    }

    fn reads(&self, maker: Origin) -> bool {
        reasoning::reads(self.target.origin, maker)
    }

    fn warn(&mut self, code: &'static str, about: &str) {
        self.warnings.push(Warning { code, about: about.to_owned() });
    }

    /// Thinking of Google's own; a proof without a text belongs to the part before it.
    fn thought<'t>(&self, thought: &'t str, proof: Option<&'t str>, parts: &mut Vec<WrittenPart<'t>>) {
        if !thought.is_empty() && (proof.is_some() || self.request.source == Dialect::Gemini) {
            let thought_signature = proof.map(Cow::Borrowed);
            parts.push(known(KnownPart { thought: Some(true), thought_signature, ..text(thought) }));
            return;
        }
        let Some(proof) = proof else { return };
        match parts.last_mut() {
            Some(WrittenPart::Known(last)) if last.thought_signature.is_none() && last.function_response.is_none() => {
                last.thought_signature = Some(Cow::Borrowed(proof));
            }
            _ => parts.push(known(KnownPart { thought_signature: Some(Cow::Borrowed(proof)), ..text("") })),
        }
    }

    fn call<'t>(&mut self, id: &'t str, name: &'t str, arguments: &str, kind: &ToolKind) -> Call<'t>
    where
        'a: 't,
    {
        let source = self.request.source;
        let arguments = if tooling::is_native(kind, Dialect::Gemini, source) {
            Cow::Borrowed(arguments)
        } else {
            tooling::emulated_arguments(kind, arguments)
        };
        let (args, warning) = arguments::to_object(name, &arguments);
        self.warnings.extend(warning);
        Call { id: self.target.call_ids.then_some(Cow::Borrowed(id)), name: self.names.sent(name), args }
    }

    fn result<'t>(
        &mut self,
        call_id: &'t str,
        content: &'t [Part],
        is_error: bool,
        brought: &mut Vec<WrittenPart<'t>>,
    ) -> Result<Response<'t>, Refusal>
    where
        'a: 't,
    {
        let mut texts: Vec<&'t str> = Vec::new();
        for part in content {
            match part {
                Part::Text { text, .. } | Part::Refusal { text } => texts.push(text),
                other => brought.extend(self.plain(other)?),
            }
        }
        let name = self.called.get(call_id).cloned().unwrap_or_default();
        let name = Cow::Owned(self.names.sent(&name).into_owned());
        let id = self.target.call_ids.then_some(Cow::Borrowed(call_id));
        Ok(Response { id, name, response: outcome(&texts, is_error) })
    }

    /// A part that is the same in every turn.
    fn plain<'t>(&mut self, part: &'t Part) -> Result<Option<WrittenPart<'t>>, Refusal> {
        Ok(match part {
            Part::Text { text: words, .. } | Part::Refusal { text: words } => Some(known(text(words))),
            Part::Image { media, .. } if self.target.takes_images => Some(self.media(media)?),
            Part::Audio { media } if self.target.takes_audio => Some(self.media(media)?),
            Part::Document { media, .. } => Some(self.media(media)?),
            Part::Image { .. } => Some(self.omitted("image", "[image omitted]")),
            Part::Audio { .. } => Some(self.omitted("audio", "[audio omitted]")),
            Part::Opaque { dialect: Dialect::Gemini, json, .. } if self.request.source == Dialect::Gemini => {
                Some(WrittenPart::Raw(json))
            }
            Part::Opaque { summary, .. } => {
                self.warn("DROPPED_PART", "server tool");
                Some(summary.as_str()).filter(|summary| !summary.trim().is_empty()).map(|summary| known(text(summary)))
            }
            Part::Reasoning { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => None,
        })
    }

    fn omitted(&mut self, about: &str, note: &'static str) -> WrittenPart<'static> {
        self.warn("DROPPED_PART", about);
        known(text(note))
    }

    fn media<'t>(&self, media: &'t Media) -> Result<WrittenPart<'t>, Refusal> {
        let display_name = media.name.as_deref();
        let part = match &media.source {
            Source::Inline { mime, data } => {
                KnownPart { inline_data: Some(Blob { mime_type: mime, data, display_name }), ..KnownPart::default() }
            }
            Source::Text(words) => text(words),
            Source::Url(uri) | Source::File(uri) if self.opens(uri) => KnownPart {
                file_data: Some(File { mime_type: mime_of(uri), file_uri: uri, display_name }),
                ..KnownPart::default()
            },
            Source::Url(_) => {
                return Err(Refusal::new(
                    "contents",
                    "a file by its address cannot be opened by Gemini: send its data instead",
                ));
            }
            Source::File(_) => {
                return Err(Refusal::new(
                    "contents",
                    "a file kept by another vendor cannot be opened by Gemini: send its data instead",
                ));
            }
        };
        Ok(known(part))
    }

    /// Whether Google opens such an address: its own files, and what a client of its own dialect points at.
    fn opens(&self, uri: &str) -> bool {
        is_kept_by_google(uri) || self.request.source == Dialect::Gemini
    }
}

/// The result of a tool as the object that Gemini wants: a JSON object is one, other text goes into one.
fn outcome<'t>(texts: &[&'t str], is_error: bool) -> Outcome<'t> {
    let joined = match texts {
        [] => Cow::Borrowed(""),
        [only] => Cow::Borrowed(*only),
        several => Cow::Owned(several.join("\n")),
    };
    if is_error {
        return Outcome::Error { error: joined };
    }
    let is_object = joined.trim_start().starts_with('{');
    match serde_json::from_str::<&RawValue>(&joined) {
        Ok(object) if is_object => Outcome::Object(object.to_owned()),
        _ => Outcome::Output { output: joined },
    }
}

/// The type of a file by the end of its address.
fn mime_of(uri: &str) -> Option<&'static str> {
    let path = uri.split(['?', '#']).next().unwrap_or(uri);
    let (_, ending) = path.rsplit_once('.')?;
    Some(match ending.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "heic" => "image/heic",
        "pdf" => "application/pdf",
        "txt" => "text/plain",
        "md" => "text/markdown",
        "csv" => "text/csv",
        "html" => "text/html",
        "mp3" => "audio/mp3",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        "mov" => "video/mov",
        "webm" => "video/webm",
        _ => return None,
    })
}
