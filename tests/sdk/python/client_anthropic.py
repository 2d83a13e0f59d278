"""The official Anthropic SDK."""

import anthropic
from anthropic import Anthropic
from checks import KEY, URL, WARNINGS
from turns import PDF, PNG, SCHEMA, Ask, Call, Problem, Reply, Results, Said

FINISHES = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "stop_sequence": "stop"}
MOST = 4096


class Messages:
    name = "anthropic-python"
    dialect = "messages"
    family = "anthropic"

    def __init__(self, key: str = KEY) -> None:
        # Strict: an answer that does not fit the SDK's own types is an error.
        self.sdk = Anthropic(base_url=URL, api_key=key, max_retries=0, timeout=30, _strict_response_validation=True)

    def problem(self, error: Exception) -> Problem:
        if isinstance(error, anthropic.APIStatusError):
            body = error.body if isinstance(error.body, dict) else {}
            details = body.get("error", {})
            message = details.get("message", str(error))
            return Problem(type(error).__name__, error.status_code, message, details.get("type"), details.get("code"))
        return Problem(type(error).__name__, None, str(error), None, None)

    def ask(self, ask: Ask, heard: Reply) -> None:
        options = {
            "system": ask.option("system"),
            "stop_sequences": ask.option("stop"),
            "tools": [
                {"name": name, "description": tool["description"], "input_schema": tool["parameters"]}
                for name, tool in ask.tools
            ]
            or None,
        }
        if name := ask.option("choice"):
            options["tool_choice"] = {"type": "tool", "name": name}
        # The SDK has no words for them any more, the service has.
        sampling = {"temperature": ask.option("temperature"), "top_k": ask.option("topK")}
        options["extra_body"] = {name: value for name, value in sampling.items() if value is not None} or None
        if ask.option("reasoning"):
            options["thinking"] = {"type": "enabled", "budget_tokens": 1024}
        if ask.option("format"):
            options["output_config"] = {"format": {"type": "json_schema", "schema": SCHEMA}}
        options = {name: value for name, value in options.items() if value is not None}
        options |= {"model": ask.model, "max_tokens": ask.option("max") or MOST, "messages": messages(ask)}
        if ask.stream:
            with self.sdk.messages.stream(**options) as stream:
                for event in stream:
                    if event.type == "message_start" and event.message.usage.input_tokens == 0:
                        raise AssertionError("the stream starts without input tokens")
                    if event.type == "text":
                        heard.text += event.text
                answer = stream.get_final_message()
                heard.warnings = stream.response.headers.get(WARNINGS)
        else:
            raw = self.sdk.messages.with_raw_response.create(**options)
            heard.warnings = raw.headers.get(WARNINGS)
            answer = raw.parse()
        heard.native = answer.content
        heard.text = "".join(block.text for block in answer.content if block.type == "text")
        heard.reasoning = "".join(block.thinking for block in answer.content if block.type == "thinking")
        uses = [block for block in answer.content if block.type == "tool_use"]
        heard.calls = [Call(use.id, use.name, use.input) for use in uses]
        heard.finish = FINISHES[answer.stop_reason]
        figures = answer.usage
        cached, written = figures.cache_read_input_tokens or 0, figures.cache_creation_input_tokens or 0
        heard.usage = {
            "input": figures.input_tokens + cached + written,
            "output": figures.output_tokens,
            "cached": cached,
        }


def messages(ask: Ask) -> list[dict]:
    written: list[dict] = []
    for turn in ask.turns:
        match turn:
            case Said(text, image, document):
                blocks: list[dict] = [{"type": "text", "text": text}]
                if image:
                    inline = {"type": "base64", "media_type": "image/png", "data": PNG}
                    source = inline if image == "data" else {"type": "url", "url": image}
                    blocks.append({"type": "image", "source": source})
                if document:
                    source = {"type": "base64", "media_type": "application/pdf", "data": PDF}
                    blocks.append({"type": "document", "source": source})
                written.append({"role": "user", "content": blocks if len(blocks) > 1 else text})
            case Results(texts, calls, failed, image):
                source = {"type": "base64", "media_type": "image/png", "data": PNG}
                picture = [{"type": "image", "source": source}] if image else []
                results = [
                    {
                        "type": "tool_result",
                        "tool_use_id": call.id,
                        "content": [{"type": "text", "text": text}, *picture] if image else text,
                        "is_error": failed,
                    }
                    for call, text in zip(calls, texts, strict=True)
                ]
                written.append({"role": "user", "content": results})
            case Reply():
                written.append({"role": "assistant", "content": turn.native})
    return written
