"""The official Ollama library against a gateway: chat, generate, tools, lists, over whatever dialect MODEL's provider speaks."""

from checks import KEY, MODEL, QUESTION, URL, WEATHER, WRONG_KEY, case, holds, model, raises, run, same
from ollama import Client, Image, ResponseError


def connect(key: str = KEY) -> Client:
    return Client(host=URL, headers={"Authorization": f"Bearer {key}"}, timeout=30)


client = connect()
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "Weather", "parameters": WEATHER}}]
USER = {"role": "user", "content": QUESTION}


def failed(status: int, call: object) -> None:
    error = raises(ResponseError, call)
    same(error.status_code, status, "status")
    holds(error.error and "{" not in error.error, f"not one sentence: {error.error}")


@case
def chat() -> None:
    answer = client.chat(model=MODEL, messages=[USER])
    same(answer.message.content, "Hello from the fake upstream")
    same((answer.done, answer.done_reason), (True, "stop"), "end")
    holds(answer.prompt_eval_count > 0 and answer.eval_count == 7, "no counts")
    holds(answer.total_duration > 0 and answer.eval_duration > 0, "no durations")


@case
def chat_streamed() -> None:
    lines = list(client.chat(model=MODEL, messages=[USER], stream=True))
    same("".join(line.message.content for line in lines), "Hello from the fake upstream")
    holds(len(lines) > 2, "the text came in one piece")
    same([line.done for line in lines], [False] * (len(lines) - 1) + [True], "ends")


@case
def generate() -> None:
    answer = client.generate(model=MODEL, prompt=QUESTION, system="Be brief.", options={"num_predict": 50, "seed": 1})
    same(answer.response, "Hello from the fake upstream")
    streamed = client.generate(model=MODEL, prompt=QUESTION, stream=True)
    same("".join(line.response for line in streamed), "Hello from the fake upstream")


@case
def tool_round_trip() -> None:
    messages = [USER]
    first = client.chat(model=model("m-tools"), messages=messages, tools=TOOLS)
    calls = [(call.function.name, dict(call.function.arguments)) for call in first.message.tool_calls]
    same(calls, [("get_weather", {"city": "Berlin"}), ("get_weather", {"city": "Paris"})], "calls")
    messages += [first.message, *({"role": "tool", "tool_name": "get_weather", "content": "21 degrees"} for _ in calls)]
    same(client.chat(model=model("m-tools"), messages=messages, tools=TOOLS).message.content, "The tool said: 21 degrees")


@case
def thinking_streamed() -> None:
    lines = list(client.chat(model=model("m-reason"), messages=[USER], think=True, stream=True))
    same("".join(line.message.thinking or "" for line in lines), "Six times seven is forty-two", "thoughts")
    same("".join(line.message.content for line in lines), "The answer is 42")


@case
def image_and_format() -> None:
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
    messages = [{"role": "user", "content": QUESTION, "images": [Image(value=pixel)]}]
    same(client.chat(model=MODEL, messages=messages, format=WEATHER).message.content, "Hello from the fake upstream")


@case
def length() -> None:
    same(client.chat(model=model("m-length"), messages=[USER], options={"num_predict": 3}).done_reason, "length", "end")


@case
def models() -> None:
    holds(MODEL in [entry.model for entry in client.list().models], f"{MODEL} is not listed")
    holds("completion" in client.show(MODEL).capabilities, "no capabilities")
    same(list(client.ps().models), [], "running models")


@case
def typed_errors() -> None:
    failed(404, lambda: client.chat(model=model("no-such-model"), messages=[USER]))
    failed(429, lambda: client.chat(model=model("m-429"), messages=[USER]))
    failed(429, lambda: list(client.chat(model=model("m-429"), messages=[USER], stream=True)))
    failed(401, lambda: connect(WRONG_KEY).chat(model=MODEL, messages=[USER]))
    raises(ResponseError, lambda: client.chat(model=model("m-500"), messages=[USER]))


run("ollama")
