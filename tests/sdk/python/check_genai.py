"""The official Google Gen AI SDK against a gateway: generateContent, token counting, models, under two versions."""

import os

from checks import KEY, MODEL, QUESTION, URL, WEATHER, WRONG_KEY, case, holds, model, raises, run, same
from google import genai
from google.genai import errors, types

# The SDK warns when the environment holds keys beside the one it is given.
for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
    os.environ.pop(name, None)

TOOLS = [
    types.Tool(
        function_declarations=[
            types.FunctionDeclaration(name="get_weather", description="Weather", parameters_json_schema=WEATHER)
        ]
    )
]


def connect(key: str = KEY, version: str | None = None) -> genai.Client:
    retry = types.HttpRetryOptions(attempts=1)
    options = types.HttpOptions(base_url=URL, api_version=version, timeout=30_000, retry_options=retry)
    return genai.Client(api_key=key, http_options=options)


client = connect()


def config(**options: object) -> types.GenerateContentConfig:
    manual = types.AutomaticFunctionCallingConfig(disable=True)
    return types.GenerateContentConfig(automatic_function_calling=manual, **options)


def generate(name: str | None = None, *, through: genai.Client = client, contents: object = QUESTION, **options: object):
    return through.models.generate_content(model=name or MODEL, contents=contents, config=config(**options))


def stream(name: str | None = None, **options: object) -> list[types.GenerateContentResponse]:
    return list(
        client.models.generate_content_stream(model=name or MODEL, contents=QUESTION, config=config(**options))
    )


def parts(chunks: list[types.GenerateContentResponse]) -> list[types.Part]:
    return [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]


def failed(status: int, call: object, kind: type = errors.ClientError) -> None:
    same(raises(kind, call).code, status, "status")


@case
def plain() -> None:
    answer = generate()
    same(answer.text, "Hello from the fake upstream")
    same(answer.candidates[0].finish_reason, types.FinishReason.STOP, "finish reason")


@case
def plain_in_both_versions() -> None:
    for version in ("v1", "v1beta"):
        same(generate(through=connect(version=version)).text, "Hello from the fake upstream", version)


@case
def usage() -> None:
    figures = generate(model("m-cached")).usage_metadata
    seen = (figures.prompt_token_count, figures.cached_content_token_count, figures.candidates_token_count)
    same(seen, (120, 100, 7), "usage")


@case
def streamed() -> None:
    chunks = stream()
    same("".join(chunk.text or "" for chunk in chunks), "Hello from the fake upstream")
    holds(len(chunks) > 1, "the text came in one piece")
    same(chunks[-1].candidates[0].finish_reason, types.FinishReason.STOP, "finish reason")
    same(chunks[-1].usage_metadata.candidates_token_count, 7, "output tokens")


@case
def tool_round_trip() -> None:
    first = generate(model("m-tool"), tools=TOOLS)
    same([call.args for call in first.function_calls], [{"city": "Berlin"}], "arguments")
    call = first.function_calls[0]
    result = types.FunctionResponse(id=call.id, name=call.name, response={"output": "21 degrees"})
    contents = [
        types.Content(role="user", parts=[types.Part(text=QUESTION)]),
        first.candidates[0].content,
        types.Content(role="user", parts=[types.Part(function_response=result)]),
    ]
    same(generate(model("m-tool"), contents=contents, tools=TOOLS).text, "The tool said: 21 degrees")


@case
def parallel_tools_streamed() -> None:
    calls = [part.function_call for part in parts(stream(model("m-tools"), tools=TOOLS)) if part.function_call]
    same([call.args for call in calls], [{"city": "Berlin"}, {"city": "Paris"}], "arguments")


@case
def thinking() -> None:
    answer = generate(model("m-reason"), thinking_config=types.ThinkingConfig(include_thoughts=True))
    thoughts = [part.text for part in answer.candidates[0].content.parts if part.thought]
    same(thoughts, ["Six times seven is forty-two"], "thoughts")
    same(answer.text, "The answer is 42")
    same(answer.usage_metadata.thoughts_token_count, 9, "thought tokens")


@case
def thinking_streamed() -> None:
    seen = parts(stream(model("m-reason"), thinking_config=types.ThinkingConfig(include_thoughts=True)))
    same("".join(part.text for part in seen if part.thought), "Six times seven is forty-two", "thoughts")
    same("".join(part.text for part in seen if not part.thought), "The answer is 42")


@case
def length() -> None:
    reason = generate(model("m-length"), max_output_tokens=3).candidates[0].finish_reason
    same(reason, types.FinishReason.MAX_TOKENS, "finish reason")


@case
def count_tokens() -> None:
    holds(client.models.count_tokens(model=MODEL, contents=QUESTION).total_tokens > 0, "no count")


@case
def unknown_model() -> None:
    failed(404, lambda: generate(model("no-such-model")))


@case
def wrong_key() -> None:
    failed(401, lambda: generate(through=connect(WRONG_KEY)))


@case
def rate_limited() -> None:
    failed(429, lambda: generate(model("m-429")))


@case
def server_error() -> None:
    call = lambda: generate(model("m-500"))
    holds(raises(errors.ServerError, call).code >= 500, "not a server error")


@case
def rate_limited_before_a_stream() -> None:
    failed(429, lambda: stream(model("m-429")))


@case
def models_list() -> None:
    names = [entry.name for entry in client.models.list()]
    holds(f"models/{MODEL}" in names, f"{MODEL} is not among {names}")


@case
def models_get() -> None:
    same(client.models.get(model=MODEL).name, f"models/{MODEL}", "name")


@case
def models_wrong_key() -> None:
    stranger = connect(WRONG_KEY)
    failed(401, lambda: list(stranger.models.list()))


run("genai")
