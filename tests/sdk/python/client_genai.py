"""The official Google Gen AI SDK."""

import base64
import os

from checks import KEY, URL, WARNINGS
from google import genai
from google.genai import errors, types
from turns import PDF, PNG, SCHEMA, TOOLS, Ask, Call, Problem, Reply, Results, Said

# The SDK warns when the environment holds keys beside the one it is given.
for variable in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
    os.environ.pop(variable, None)

FINISHES = {types.FinishReason.STOP: "stop", types.FinishReason.MAX_TOKENS: "length"}


class Gemini:
    name = "genai-python"
    dialect = "gemini"
    family = "genai"

    def __init__(self, key: str = KEY) -> None:
        retry = types.HttpRetryOptions(attempts=1)
        options = types.HttpOptions(base_url=URL, timeout=30_000, retry_options=retry)
        self.sdk = genai.Client(api_key=key, http_options=options)

    def problem(self, error: Exception) -> Problem:
        if isinstance(error, errors.APIError):
            reasons = [detail["reason"] for detail in details(error) if "reason" in detail]
            code = reasons[0] if reasons else None
            return Problem(type(error).__name__, error.code, error.message or "", error.status, code)
        return Problem(type(error).__name__, None, str(error), None, None)

    def ask(self, ask: Ask, heard: Reply) -> None:
        asked = {"model": ask.model, "contents": contents(ask), "config": config(ask)}
        parts: list[types.Part] = []
        if ask.stream:
            for chunk in self.sdk.models.generate_content_stream(**asked):
                parts += self._read(chunk, heard)
        else:
            parts = self._read(self.sdk.models.generate_content(**asked), heard)
        if heard.calls and heard.finish == "stop":
            heard.finish = "tool_calls"
        heard.native = types.Content(role="model", parts=parts)

    def _read(self, answer: types.GenerateContentResponse, heard: Reply) -> list[types.Part]:
        if answer.sdk_http_response:
            heard.warnings = (answer.sdk_http_response.headers or {}).get(WARNINGS)
        if not answer.candidates:
            raise AssertionError("a reply without candidates")
        candidate = answer.candidates[0]
        parts = (candidate.content and candidate.content.parts) or []
        for part in parts:
            if part.function_call:
                call = part.function_call
                heard.calls.append(Call(call.id, call.name, call.args or {}))
            elif part.thought:
                heard.reasoning += part.text or ""
            else:
                heard.text += part.text or ""
        if candidate.finish_reason:
            heard.finish = FINISHES[candidate.finish_reason]
        if figures := answer.usage_metadata:
            thoughts = figures.thoughts_token_count or 0
            heard.usage = {
                "input": figures.prompt_token_count,
                "output": (figures.candidates_token_count or 0) + thoughts,
                "cached": figures.cached_content_token_count or 0,
                "reasoning": thoughts,
            }
        return parts


def details(error: errors.APIError) -> list[dict]:
    body = error.details if isinstance(error.details, dict) else {}
    return body.get("error", {}).get("details", [])


def config(ask: Ask) -> types.GenerateContentConfig:
    options: dict = {
        "system_instruction": ask.option("system"),
        "max_output_tokens": ask.option("max"),
        "temperature": ask.option("temperature"),
        "top_k": ask.option("topK"),
        "stop_sequences": ask.option("stop"),
    }
    if ask.tools:
        declarations = [
            types.FunctionDeclaration(name=name, description=tool["description"], **parameters(name))
            for name, tool in ask.tools
        ]
        options["tools"] = [types.Tool(function_declarations=declarations)]
    if name := ask.option("choice"):
        calling = types.FunctionCallingConfig(mode="ANY", allowed_function_names=[name])
        options["tool_config"] = types.ToolConfig(function_calling_config=calling)
    if ask.option("reasoning"):
        options["thinking_config"] = types.ThinkingConfig(include_thoughts=True, thinking_budget=1024)
    if ask.option("format"):
        options |= {"response_mime_type": "application/json", "response_json_schema": SCHEMA}
    manual = types.AutomaticFunctionCallingConfig(disable=True)
    return types.GenerateContentConfig(automatic_function_calling=manual, **options)


def parameters(name: str) -> dict:
    """In the SDK's own subset of schemas where that has words for it; the JavaScript client sends JSON Schemas."""
    schema = TOOLS[name]["parameters"]
    if not schema["properties"]:
        return {}
    if "$defs" in schema or "anyOf" in schema:
        return {"parameters_json_schema": schema}
    return {"parameters": types.Schema.model_validate(schema)}


def contents(ask: Ask) -> list[types.Content]:
    written: list[types.Content] = []
    for turn in ask.turns:
        match turn:
            case Said(text, image, document):
                parts = [types.Part(text=text)]
                if image:
                    parts.append(types.Part.from_bytes(data=base64.b64decode(PNG), mime_type="image/png"))
                if document:
                    parts.append(types.Part.from_bytes(data=base64.b64decode(PDF), mime_type="application/pdf"))
                written.append(types.Content(role="user", parts=parts))
            case Results(texts, calls, failed, _):
                word = "error" if failed else "output"
                responses = [
                    types.FunctionResponse(id=call.id, name=call.name, response={word: text})
                    for call, text in zip(calls, texts, strict=True)
                ]
                parts = [types.Part(function_response=response) for response in responses]
                written.append(types.Content(role="user", parts=parts))
            case Reply():
                written.append(turn.native)
    return written
