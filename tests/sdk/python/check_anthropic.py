"""The official Anthropic SDK against a gateway: Messages, token counting, models."""

import anthropic
from anthropic import Anthropic
from checks import KEY, MODEL, QUESTION, URL, WEATHER, WRONG_KEY, case, holds, model, raises, run, same

TOOL = {"name": "get_weather", "description": "Weather", "input_schema": WEATHER}
ASK = [{"role": "user", "content": QUESTION}]


def connect(key: str = KEY, **options: object) -> Anthropic:
    # Strict: an answer that does not fit the SDK's own types is an error.
    return Anthropic(
        base_url=URL, api_key=key, max_retries=0, timeout=30, _strict_response_validation=True, **options
    )


client = connect()


def create(name: str | None = None, *, through: Anthropic = client, messages: list = ASK, **options: object):
    return through.messages.create(model=name or MODEL, max_tokens=2048, messages=messages, **options)


def text(message: anthropic.types.Message) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


@case
def plain() -> None:
    answer = create()
    same(text(answer), "Hello from the fake upstream")
    same((answer.stop_reason, answer.role, answer.type), ("end_turn", "assistant", "message"), "answer")


@case
def usage() -> None:
    figures = create(model("m-cached")).usage
    same((figures.input_tokens, figures.cache_read_input_tokens, figures.output_tokens), (20, 100, 7), "usage")


@case
def streamed() -> None:
    events = list(create(stream=True))
    names = [event.type for event in events if event.type != "ping"]
    same(names[:2], ["message_start", "content_block_start"], "first events")
    same(names[-3:], ["content_block_stop", "message_delta", "message_stop"], "last events")
    texts = [event.delta.text for event in events if event.type == "content_block_delta"]
    same("".join(texts), "Hello from the fake upstream")
    holds(len(texts) > 1, "the text came in one piece")
    starts = [event.message.usage.input_tokens for event in events if event.type == "message_start"]
    holds(starts[0] > 0, "message_start has no input tokens")
    same([event.usage.output_tokens for event in events if event.type == "message_delta"], [7], "output tokens")


@case
def stream_helper() -> None:
    with client.messages.stream(model=MODEL, max_tokens=1024, messages=ASK) as stream:
        same("".join(stream.text_stream), "Hello from the fake upstream")
        same(stream.get_final_message().stop_reason, "end_turn", "stop reason")


@case
def tool_round_trip() -> None:
    first = create(model("m-tool"), tools=[TOOL])
    same(first.stop_reason, "tool_use", "stop reason")
    uses = [block for block in first.content if block.type == "tool_use"]
    same([use.input for use in uses], [{"city": "Berlin"}], "inputs")
    result = {"type": "tool_result", "tool_use_id": uses[0].id, "content": "21 degrees"}
    turns = [*ASK, {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    same(text(create(model("m-tool"), messages=turns, tools=[TOOL])), "The tool said: 21 degrees")


@case
def parallel_tools_streamed() -> None:
    with client.messages.stream(model=model("m-tools"), max_tokens=1024, messages=ASK, tools=[TOOL]) as stream:
        first = stream.get_final_message()
    uses = [block for block in first.content if block.type == "tool_use"]
    same([use.input for use in uses], [{"city": "Berlin"}, {"city": "Paris"}], "inputs")
    results = [
        {"type": "tool_result", "tool_use_id": use.id, "content": [{"type": "text", "text": use.input["city"]}]}
        for use in uses
    ]
    content = [{"type": "tool_use", "id": use.id, "name": use.name, "input": use.input} for use in uses]
    turns = [*ASK, {"role": "assistant", "content": content}, {"role": "user", "content": results}]
    same(text(create(model("m-tools"), messages=turns, tools=[TOOL])), "The tool said: Paris")


@case
def thinking() -> None:
    first = create(model("m-reason"), thinking={"type": "enabled", "budget_tokens": 1024})
    same([block.type for block in first.content], ["thinking", "text"], "blocks")
    same(first.content[0].thinking, "Six times seven is forty-two", "thinking")
    again = {"role": "user", "content": "Are you sure?"}
    turns = [*ASK, {"role": "assistant", "content": first.content}, again]
    same(text(create(model("m-reason"), messages=turns)), "The answer is 42")


@case
def thinking_streamed() -> None:
    with client.messages.stream(model=model("m-reason"), max_tokens=1024, messages=ASK) as stream:
        final = stream.get_final_message()
    same(final.content[0].thinking, "Six times seven is forty-two", "thinking")
    holds(final.content[0].signature, "the signature is missing")
    same(text(final), "The answer is 42")


@case
def length() -> None:
    same(create(model("m-length")).stop_reason, "max_tokens", "stop reason")


@case
def count_tokens() -> None:
    holds(client.messages.count_tokens(model=MODEL, messages=ASK).input_tokens > 0, "no count")


@case
def auth_token() -> None:
    same(text(create(through=connect(None, auth_token=KEY))), "Hello from the fake upstream")


@case
def unknown_model() -> None:
    error = raises(anthropic.NotFoundError, lambda: create(model("no-such-model")))
    same(error.body["error"]["type"], "not_found_error", "type")


@case
def wrong_key() -> None:
    error = raises(anthropic.AuthenticationError, lambda: create(through=connect(WRONG_KEY)))
    same(error.body["error"]["type"], "authentication_error", "type")


@case
def rate_limited() -> None:
    error = raises(anthropic.RateLimitError, lambda: create(model("m-429")))
    same(error.body["error"]["type"], "rate_limit_error", "type")
    holds(int(error.response.headers["retry-after"]) >= 1, "no Retry-After")


@case
def server_error() -> None:
    raises(anthropic.InternalServerError, lambda: create(model("m-500")))


@case
def rate_limited_before_a_stream() -> None:
    raises(anthropic.RateLimitError, lambda: list(create(model("m-429"), stream=True)))


@case
def models_list() -> None:
    names = [entry.id for entry in client.models.list()]
    holds(MODEL in names, f"{MODEL} is not among {names}")


@case
def models_get() -> None:
    same(client.models.retrieve(MODEL).id, MODEL, "id")


@case
def models_wrong_key() -> None:
    raises(anthropic.AuthenticationError, lambda: list(connect(WRONG_KEY).models.list()))


run("anthropic")
