"""The official OpenAI SDK against a gateway: Chat Completions, Responses, models, embeddings."""

import json

import openai
from checks import KEY, MODEL, QUESTION, URL, WEATHER, WRONG_KEY, case, holds, model, raises, run, same
from openai import OpenAI

CHAT_TOOL = {"type": "function", "function": {"name": "get_weather", "description": "Weather", "parameters": WEATHER}}
RESPONSES_TOOL = {
    "type": "function",
    "name": "get_weather",
    "description": "Weather",
    "parameters": WEATHER,
    "strict": False,
}
ASK = [{"role": "user", "content": QUESTION}]


def connect(key: str = KEY, strict: bool = True) -> OpenAI:
    # Strict: an answer that does not fit the SDK's own types is an error.
    return OpenAI(base_url=f"{URL}/v1", api_key=key, max_retries=0, timeout=30, _strict_response_validation=strict)


client = connect()


@case
def chat_plain() -> None:
    answer = client.chat.completions.create(model=MODEL, messages=ASK)
    same(answer.choices[0].message.content, "Hello from the fake upstream")
    same(answer.choices[0].finish_reason, "stop")
    holds(answer.id, "the answer has no id")


@case
def chat_usage() -> None:
    usage = client.chat.completions.create(model=model("m-cached"), messages=ASK).usage
    same((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (120, 7, 127), "usage")
    same(usage.prompt_tokens_details.cached_tokens, 100, "cached tokens")


@case
def chat_streamed() -> None:
    stream = client.chat.completions.create(
        model=MODEL, messages=ASK, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    texts = [choice.delta.content for chunk in chunks for choice in chunk.choices if choice.delta.content]
    same("".join(texts), "Hello from the fake upstream")
    holds(len(texts) > 1, "the text came in one piece")
    same([c.finish_reason for chunk in chunks for c in chunk.choices if c.finish_reason], ["stop"], "finish reasons")
    same([chunk.usage.total_tokens for chunk in chunks if chunk.usage], [19], "usages")
    same(len({chunk.id for chunk in chunks}), 1, "number of ids")


@case
def chat_streamed_without_usage() -> None:
    chunks = list(client.chat.completions.create(model=MODEL, messages=ASK, stream=True))
    holds(all(chunk.choices for chunk in chunks), "a chunk without choices came unasked")
    holds(all(chunk.usage is None for chunk in chunks), "usage came unasked")


@case
def chat_tool_round_trip() -> None:
    first = client.chat.completions.create(model=model("m-tool"), messages=ASK, tools=[CHAT_TOOL])
    same(first.choices[0].finish_reason, "tool_calls", "finish reason")
    message = first.choices[0].message
    same([json.loads(call.function.arguments) for call in message.tool_calls], [{"city": "Berlin"}], "arguments")
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "21 degrees"}
    second = client.chat.completions.create(
        model=model("m-tool"), messages=[*ASK, message, result], tools=[CHAT_TOOL]
    )
    same(second.choices[0].message.content, "The tool said: 21 degrees")


@case
def chat_parallel_tools_streamed() -> None:
    with client.chat.completions.stream(model=model("m-tools"), messages=ASK, tools=[CHAT_TOOL]) as stream:
        for _ in stream:
            pass
        message = stream.get_final_completion().choices[0].message
    cities = [json.loads(call.function.arguments)["city"] for call in message.tool_calls]
    same(cities, ["Berlin", "Paris"], "cities")
    calls = [call.model_dump(include={"id", "type", "function"}) for call in message.tool_calls]
    for call in calls:
        call["function"] = {name: call["function"][name] for name in ("name", "arguments")}
    results = [{"role": "tool", "tool_call_id": call["id"], "content": city} for call, city in zip(calls, cities)]
    turn = {"role": "assistant", "content": None, "tool_calls": calls}
    second = client.chat.completions.create(
        model=model("m-tools"), messages=[*ASK, turn, *results], tools=[CHAT_TOOL]
    )
    same(second.choices[0].message.content, "The tool said: Paris")


@case
def chat_reasoning() -> None:
    answer = client.chat.completions.create(model=model("m-reason"), messages=ASK, reasoning_effort="low")
    same(answer.choices[0].message.content, "The answer is 42")
    same(answer.choices[0].message.reasoning_content, "Six times seven is forty-two", "reasoning")
    same(answer.usage.completion_tokens_details.reasoning_tokens, 9, "reasoning tokens")


@case
def chat_reasoning_streamed() -> None:
    stream = client.chat.completions.create(model=model("m-reason"), messages=ASK, stream=True)
    deltas = [choice.delta for chunk in stream for choice in chunk.choices]
    same("".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas), "Six times seven is forty-two")
    same("".join(delta.content or "" for delta in deltas), "The answer is 42")


@case
def chat_length() -> None:
    answer = client.chat.completions.create(model=model("m-length"), messages=ASK, max_tokens=3)
    same(answer.choices[0].finish_reason, "length", "finish reason")


@case
def chat_unknown_model() -> None:
    ask = lambda: client.chat.completions.create(model=model("no-such-model"), messages=ASK)
    error = raises(openai.NotFoundError, ask)
    holds(error.code is None or isinstance(error.code, str), "the code is not a string")
    holds(error.body and error.body.get("message"), "the error has no message")


@case
def chat_wrong_key() -> None:
    raises(openai.AuthenticationError, lambda: connect(WRONG_KEY).chat.completions.create(model=MODEL, messages=ASK))


@case
def chat_rate_limited() -> None:
    error = raises(
        openai.RateLimitError, lambda: client.chat.completions.create(model=model("m-429"), messages=ASK)
    )
    holds(int(error.response.headers["retry-after"]) >= 1, "no Retry-After")


@case
def chat_server_error() -> None:
    error = raises(
        openai.InternalServerError, lambda: client.chat.completions.create(model=model("m-500"), messages=ASK)
    )
    holds(error.status_code >= 500, "not a server error")


@case
def chat_rate_limited_before_a_stream() -> None:
    ask = lambda: list(client.chat.completions.create(model=model("m-429"), messages=ASK, stream=True))
    raises(openai.RateLimitError, ask)


@case
def responses_plain() -> None:
    answer = client.responses.create(model=MODEL, input=QUESTION)
    same(answer.output_text, "Hello from the fake upstream")
    same(answer.status, "completed", "status")
    same((answer.usage.input_tokens, answer.usage.output_tokens), (12, 7), "usage")


@case
def responses_streamed() -> None:
    events = list(client.responses.create(model=MODEL, input=QUESTION, stream=True))
    same([event.sequence_number for event in events], list(range(len(events))), "sequence numbers")
    same(events[0].type, "response.created", "first event")
    same(events[-1].type, "response.completed", "last event")
    texts = [event.delta for event in events if event.type == "response.output_text.delta"]
    same("".join(texts), "Hello from the fake upstream")
    same(events[-1].response.output_text, "Hello from the fake upstream", "final text")


@case
def responses_stream_helper() -> None:
    with client.responses.stream(model=MODEL, input=QUESTION) as stream:
        for _ in stream:
            pass
        same(stream.get_final_response().output_text, "Hello from the fake upstream")


@case
def responses_tool_round_trip() -> None:
    asked = [{"role": "user", "content": QUESTION}]
    first = client.responses.create(model=model("m-tool"), input=asked, tools=[RESPONSES_TOOL], store=False)
    calls = [item for item in first.output if item.type == "function_call"]
    same([json.loads(call.arguments) for call in calls], [{"city": "Berlin"}], "arguments")
    output = {"type": "function_call_output", "call_id": calls[0].call_id, "output": "21 degrees"}
    second = client.responses.create(
        model=model("m-tool"), input=[*asked, *first.output, output], tools=[RESPONSES_TOOL], store=False
    )
    same(second.output_text, "The tool said: 21 degrees")


@case
def responses_parallel_tools_streamed() -> None:
    with client.responses.stream(model=model("m-tools"), input=QUESTION, tools=[RESPONSES_TOOL]) as stream:
        events = list(stream)
        final = stream.get_final_response()
    calls = [item for item in final.output if item.type == "function_call"]
    same([json.loads(call.arguments)["city"] for call in calls], ["Berlin", "Paris"], "cities")
    done = [event.arguments for event in events if event.type == "response.function_call_arguments.done"]
    same(done, [call.arguments for call in calls], "arguments")


@case
def responses_reasoning() -> None:
    first = client.responses.create(
        model=model("m-reason"),
        input=QUESTION,
        reasoning={"effort": "low", "summary": "auto"},
        include=["reasoning.encrypted_content"],
        store=False,
    )
    reasoning = [item for item in first.output if item.type == "reasoning"]
    same([part.text for part in reasoning[0].summary], ["Six times seven is forty-two"], "summary")
    same(first.usage.output_tokens_details.reasoning_tokens, 9, "reasoning tokens")
    again = [*ASK, *first.output, {"role": "user", "content": "Are you sure?"}]
    same(client.responses.create(model=model("m-reason"), input=again, store=False).output_text, "The answer is 42")


@case
def responses_incomplete() -> None:
    answer = client.responses.create(model=model("m-length"), input=QUESTION, max_output_tokens=16)
    same((answer.status, answer.incomplete_details.reason), ("incomplete", "max_output_tokens"), "status")


@case
def responses_unknown_model() -> None:
    raises(openai.NotFoundError, lambda: client.responses.create(model=model("no-such-model"), input=QUESTION))


@case
def responses_wrong_key() -> None:
    raises(openai.AuthenticationError, lambda: connect(WRONG_KEY).responses.create(model=MODEL, input=QUESTION))


@case
def responses_rate_limited() -> None:
    raises(openai.RateLimitError, lambda: client.responses.create(model=model("m-429"), input=QUESTION))


@case
def responses_server_error() -> None:
    raises(openai.InternalServerError, lambda: client.responses.create(model=model("m-500"), input=QUESTION))


@case
def models_list() -> None:
    names = [entry.id for entry in client.models.list()]
    holds(MODEL in names, f"{MODEL} is not among {names}")


@case
def models_get() -> None:
    same(client.models.retrieve(MODEL).id, MODEL, "id")


@case
def models_wrong_key() -> None:
    raises(openai.AuthenticationError, lambda: list(connect(WRONG_KEY).models.list()))


@case
def embeddings() -> None:
    # The SDK asks for base64, which its own types do not foresee.
    answer = connect(strict=False).embeddings.create(model=MODEL, input=["one", "two"])
    same([entry.index for entry in answer.data], [0, 1], "indexes")
    holds(all(len(entry.embedding) == 8 for entry in answer.data), "wrong length of a vector")
    holds(all(isinstance(value, float) for value in answer.data[0].embedding), "a vector of something else")
    holds(answer.usage.total_tokens > 0, "no usage")


@case
def embeddings_as_numbers() -> None:
    answer = client.embeddings.create(model=MODEL, input="one", encoding_format="float", dimensions=4)
    same(answer.data[0].embedding, [1.0, 0.0, 0.0, 0.0], "vector")


run("openai")
