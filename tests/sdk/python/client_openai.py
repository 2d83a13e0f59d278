"""The official OpenAI SDK: Chat Completions and Responses."""

import json

import openai
from checks import KEY, URL, WARNINGS
from openai import OpenAI
from turns import PDF, PNG, SCHEMA, Ask, Call, Problem, Reply, Results, Said

FINISHES = {"stop": "stop", "tool_calls": "tool_calls", "length": "length"}


class OpenAiClient:
    family = "openai"

    def __init__(self, key: str = KEY) -> None:
        # Strict: an answer that does not fit the SDK's own types is an error.
        self.sdk = OpenAI(
            base_url=f"{URL}/v1", api_key=key, max_retries=0, timeout=30, _strict_response_validation=True
        )

    def problem(self, error: Exception) -> Problem:
        if isinstance(error, openai.APIStatusError):
            # The SDK's message is the whole body; the body's own stands in it.
            body = error.body if isinstance(error.body, dict) else {}
            message = body.get("message", error.message)
            return Problem(type(error).__name__, error.status_code, message, error.type, error.code)
        message = error.message if isinstance(error, openai.APIError) else str(error)
        return Problem(type(error).__name__, None, message, getattr(error, "type", None), getattr(error, "code", None))


class Chat(OpenAiClient):
    name = "openai-python-chat"
    dialect = "chat"

    def ask(self, ask: Ask, heard: Reply) -> None:
        options = {
            "max_completion_tokens": ask.option("max"),
            "temperature": ask.option("temperature"),
            "stop": ask.option("stop"),
            "reasoning_effort": ask.option("reasoning"),
            "tools": [{"type": "function", "function": {"name": name, **tool}} for name, tool in ask.tools] or None,
        }
        if name := ask.option("choice"):
            options["tool_choice"] = {"type": "function", "function": {"name": name}}
        if top_k := ask.option("topK"):
            # Not of OpenAI's, but of many servers that speak its dialect.
            options["extra_body"] = {"top_k": top_k}
        if ask.option("format"):
            schema = {"name": "place", "schema": SCHEMA, "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        options = {name: value for name, value in options.items() if value is not None}
        create = self.sdk.chat.completions.with_raw_response.create
        if ask.stream:
            usage = {"include_usage": True}
            raw = create(model=ask.model, messages=messages(ask), stream=True, stream_options=usage, **options)
            heard.warnings = raw.headers.get(WARNINGS)
            self._read_stream(raw.parse(), heard)
        else:
            raw = create(model=ask.model, messages=messages(ask), **options)
            heard.warnings = raw.headers.get(WARNINGS)
            answer = raw.parse()
            choice = answer.choices[0]
            heard.text = choice.message.content or ""
            heard.reasoning = getattr(choice.message, "reasoning_content", None) or ""
            calls = choice.message.tool_calls or []
            heard.calls = [Call(call.id, call.function.name, json.loads(call.function.arguments)) for call in calls]
            heard.finish = FINISHES[choice.finish_reason]
            heard.usage = chat_usage(answer.usage)
        heard.native = assistant(heard)

    def _read_stream(self, stream: openai.Stream, heard: Reply) -> None:
        calls: dict[int, dict] = {}
        for chunk in stream:
            if chunk.usage:
                heard.usage = chat_usage(chunk.usage)
            for choice in chunk.choices:
                heard.text += choice.delta.content or ""
                heard.reasoning += getattr(choice.delta, "reasoning_content", None) or ""
                heard.finish = FINISHES[choice.finish_reason] if choice.finish_reason else heard.finish
                for part in choice.delta.tool_calls or []:
                    call = calls.setdefault(part.index, {"id": part.id, "name": part.function.name, "arguments": ""})
                    call["arguments"] += part.function.arguments or ""
        for call in calls.values():
            heard.calls.append(Call(call["id"], call["name"], json.loads(call["arguments"])))


def chat_usage(usage: openai.types.CompletionUsage) -> dict:
    return {
        "input": usage.prompt_tokens,
        "output": usage.completion_tokens,
        "cached": usage.prompt_tokens_details and usage.prompt_tokens_details.cached_tokens,
        "reasoning": usage.completion_tokens_details and usage.completion_tokens_details.reasoning_tokens,
    }


def assistant(heard: Reply) -> dict:
    turn: dict = {"role": "assistant", "content": heard.text or None}
    if heard.reasoning:
        turn["reasoning_content"] = heard.reasoning
    if heard.calls:
        turn["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
            for call in heard.calls
        ]
    return turn


def messages(ask: Ask) -> list[dict]:
    written: list[dict] = []
    if system := ask.option("system"):
        written.append({"role": "system", "content": system})
    for turn in ask.turns:
        match turn:
            case Said(text, image, document):
                parts: list[dict] = [{"type": "text", "text": text}]
                if image:
                    url = f"data:image/png;base64,{PNG}" if image == "data" else image
                    parts.append({"type": "image_url", "image_url": {"url": url}})
                if document:
                    file = {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}
                    parts.append({"type": "file", "file": file})
                written.append({"role": "user", "content": parts if len(parts) > 1 else text})
            case Results(texts, calls, failed, _):
                prefix = "Error: " if failed else ""
                written += [
                    {"role": "tool", "tool_call_id": call.id, "content": f"{prefix}{text}"}
                    for call, text in zip(calls, texts, strict=True)
                ]
            case Reply():
                written.append(turn.native)
    return written


class Responses(OpenAiClient):
    name = "openai-python-responses"
    dialect = "responses"

    def ask(self, ask: Ask, heard: Reply) -> None:
        options = {
            "max_output_tokens": ask.option("max"),
            "temperature": ask.option("temperature"),
            "instructions": ask.option("system"),
            "tools": [{"type": "function", "name": name, "strict": False, **tool} for name, tool in ask.tools] or None,
        }
        if name := ask.option("choice"):
            options["tool_choice"] = {"type": "function", "name": name}
        if effort := ask.option("reasoning"):
            options["reasoning"] = {"effort": effort, "summary": "auto"}
        if ask.option("format"):
            format = {"type": "json_schema", "name": "place", "schema": SCHEMA, "strict": True}
            options["text"] = {"format": format}
        options = {name: value for name, value in options.items() if value is not None}
        options |= {"store": False, "include": ["reasoning.encrypted_content"]}
        if ask.stream:
            answer = self._last(ask, options, heard)
        else:
            raw = self.sdk.responses.with_raw_response.create(model=ask.model, input=items(ask), **options)
            heard.warnings = raw.headers.get(WARNINGS)
            answer = raw.parse()
        heard.text = answer.output_text
        heard.native = answer.output
        for item in answer.output:
            if item.type == "reasoning":
                heard.reasoning += "".join(part.text for part in item.summary)
            elif item.type == "function_call":
                heard.calls.append(Call(item.call_id, item.name, json.loads(item.arguments)))
        heard.finish = "tool_calls" if heard.calls else "stop"
        if answer.status == "incomplete":
            heard.finish = {"max_output_tokens": "length"}[answer.incomplete_details.reason]
        heard.usage = {
            "input": answer.usage.input_tokens,
            "output": answer.usage.output_tokens,
            "cached": answer.usage.input_tokens_details.cached_tokens,
            "reasoning": answer.usage.output_tokens_details.reasoning_tokens,
        }

    def _last(self, ask: Ask, options: dict, heard: Reply) -> openai.types.responses.Response:
        """The answer that a stream ends in; its pieces must add up to it, and its events be numbered."""
        text, number = "", 0
        create = self.sdk.responses.with_raw_response.create
        raw = create(model=ask.model, input=items(ask), stream=True, **options)
        heard.warnings = raw.headers.get(WARNINGS)
        for event in raw.parse():
            if event.sequence_number != number:
                raise AssertionError(f"event {number} has the number {event.sequence_number}")
            number += 1
            if event.type == "response.output_text.delta":
                text += event.delta
                heard.text = text
            elif event.type in ("response.completed", "response.incomplete"):
                if event.response.output_text != text:
                    raise AssertionError(f"streamed {text!r}, ended in {event.response.output_text!r}")
                return event.response
            elif event.type == "response.failed":
                raise ResponseFailed(event.response.error.code, event.response.error.message)
        raise ResponseFailed("none", "the stream ended without response.completed")


class ResponseFailed(Exception):
    """The SDK hands a failed response out as an event: this is one, with what it says."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def items(ask: Ask) -> list:
    written: list = []
    for turn in ask.turns:
        match turn:
            case Said(text, image, document):
                parts: list[dict] = [{"type": "input_text", "text": text}]
                if image:
                    url = f"data:image/png;base64,{PNG}" if image == "data" else image
                    parts.append({"type": "input_image", "image_url": url, "detail": "auto"})
                if document:
                    data = f"data:application/pdf;base64,{PDF}"
                    parts.append({"type": "input_file", "filename": "a.pdf", "file_data": data})
                written.append({"role": "user", "content": parts if len(parts) > 1 else text})
            case Results(texts, calls, failed, image):
                prefix = "Error: " if failed else ""
                picture = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"}
                for call, text in zip(calls, texts, strict=True):
                    said = f"{prefix}{text}"
                    output = [{"type": "input_text", "text": said}, picture] if image else said
                    written.append({"type": "function_call_output", "call_id": call.id, "output": output})
            case Reply():
                written += turn.native
    return written
