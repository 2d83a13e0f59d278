//! Parts of content, read.

use serde_json::value::RawValue;

use crate::canonical::media::{from_base64, from_url};
use crate::canonical::{Media, Part, Source};
use crate::lenient::{some_string, str_of};

use super::wire;

/// The parts of content. Parts of unknown kinds are left out: nothing could be said of them elsewhere.
pub(super) fn read(content: wire::Content<'_>) -> Vec<Part> {
    content.0.into_iter().filter_map(part).collect()
}

pub(super) fn text(text: String) -> Part {
    Part::Text { text, cache: None }
}

/// The texts of content, a blank line between them.
pub(super) fn joined(content: &wire::Content<'_>) -> String {
    let texts: Vec<&str> = content.0.iter().map(|part| str_of(&part.text)).filter(|text| !text.is_empty()).collect();
    texts.join("\n\n")
}

fn part(part: wire::Part<'_>) -> Option<Part> {
    match str_of(&part.kind) {
        "refusal" => Some(Part::Refusal { text: str_of(&part.refusal).to_owned() }),
        "input_image" | "image_url" | "image" | "computer_screenshot" => image(&part),
        "input_file" => document(&part),
        "file" => document(part.file.as_deref().unwrap_or(&part)),
        "input_audio" => audio(&part),
        _ => part.text.map(|it| text(it.into_string())),
    }
}

fn image(part: &wire::Part<'_>) -> Option<Part> {
    let link = part.image_url.as_ref();
    let source = match link.filter(|link| !link.url.is_empty()) {
        Some(link) => from_url(&link.url),
        None => Source::File(some_string(&part.file_id)?),
    };
    let detail = some_string(&part.detail).or_else(|| link.and_then(|link| some_string(&link.detail)));
    Some(Part::Image { media: Media { source, name: None, detail }, cache: None })
}

fn document(part: &wire::Part<'_>) -> Option<Part> {
    let source = match (some_string(&part.file_data), some_string(&part.file_url), some_string(&part.file_id)) {
        (Some(data), _, _) => from_base64("", &data),
        (None, Some(url), _) => from_url(&url),
        (None, None, Some(id)) => Source::File(id),
        (None, None, None) => return None,
    };
    Some(Part::Document { media: Media { source, name: some_string(&part.filename), detail: None }, cache: None })
}

fn audio(part: &wire::Part<'_>) -> Option<Part> {
    let audio = part.input_audio.as_ref()?;
    let mime = match str_of(&audio.format) {
        "mp3" | "mpga" => "audio/mpeg".to_owned(),
        format => format!("audio/{format}"),
    };
    let source = from_base64(&mime, str_of(&audio.data));
    Some(Part::Audio { media: Media { source, name: None, detail: None } })
}

/// Something that only this dialect knows.
pub(super) fn opaque(raw: &RawValue, summary: String) -> Part {
    Part::Opaque { dialect: domain::Dialect::Responses, json: raw.to_owned(), summary }
}
