"""Every Python client over upstreams of every dialect: the cases of `cases.json`.

Prints one line of tab-separated fields per client, case and upstream, which `tests/sdk/table.mjs` makes a table of, and
`complete` at the end.
Names of clients, upstreams or cases on the command line run only those.
"""

import json
import sys
import time
import traceback
from collections.abc import Iterator

from client_anthropic import Messages
from client_genai import Gemini
from client_openai import Chat, Responses
from turns import BOOK, QUESTION, Ask, Client, Problem, Reply, Results, Said, Turn

CLIENTS = (Chat, Responses, Messages, Gemini)
# What a model's name begins with. Gemini 3 is the stricter kind of Gemini; `openai` is the maker of Responses itself.
UPSTREAMS = {
    "chat": "up-chat/",
    "responses": "up-responses/",
    "openai": "codex/",
    "messages": "anthropic/",
    "gemini": "gemini/gemini-3-",
}


def dialect(upstream: str) -> str:
    return "responses" if upstream == "openai" else upstream


def main() -> int:
    wanted = set(sys.argv[1:])
    failed = False
    for kind in CLIENTS:
        client = kind()
        for upstream in UPSTREAMS:
            for case, mode in cases(client, upstream):
                label = case["name"] if mode == "whole" else f"{case['name']} streamed"
                if wanted and not wanted - {"-v"} <= {client.name, upstream, case["name"]}:
                    continue
                started = time.monotonic()
                why = run(client, upstream, case, mode == "stream")
                failed |= bool(why)
                verdict = f"FAIL {why}" if why else "PASS"
                took = round((time.monotonic() - started) * 1000)
                print(client.name, label, upstream, took, verdict, sep="\t", flush=True)
    print("complete")
    return 1 if failed else 0


def cases(client: Client, upstream: str) -> Iterator[tuple[dict, str]]:
    for case in BOOK["cases"]:
        if client.name in case.get("only", [client.name]) and upstream in case.get("upstreams", [upstream]):
            yield from ((case, mode) for mode in case.get("modes", ["whole", "stream"]))


def run(client: Client, upstream: str, case: dict, stream: bool) -> str | None:
    """Why the case failed, in one line."""
    turns: list[Turn] = []
    try:
        for number, step in enumerate(case["steps"], start=1):
            where = f"step {number}: " if len(case["steps"]) > 1 else ""
            expected = outcome(client, upstream, step)
            turns.append(said(step, turns))
            prefix = f"refused-{dialect(upstream)}/" if step.get("account") == "refused" else UPSTREAMS[upstream]
            model = step["model"].replace("{upstream}", dialect(upstream))
            heard = Reply()
            options = case.get("ask", {}) | step.get("ask", {})
            asked = Ask(prefix + model, list(turns), options, stream)
            if why := attempt(client, dialect(upstream), asked, expected, heard):
                return where + why
            turns.append(heard)
    except Exception as error:  # What a client does not foresee is a failed case, not the end of the table.
        if "-v" in sys.argv:
            traceback.print_exc()
        return " ".join(f"{type(error).__name__}: {error}".split())
    return None


def outcome(client: Client, upstream: str, step: dict) -> dict:
    """What is expected here: the step, with the members that differ for this client or upstream."""

    def names(entry: dict, side: str) -> list[str] | None:
        return [entry[side]] if isinstance(entry.get(side), str) else entry.get(side)

    for entry in step.get("otherwise", []):
        clients, upstreams = names(entry, "client"), names(entry, "upstream")
        fits = clients is None or client.name in clients or client.dialect in clients
        if fits and (upstreams is None or upstream in upstreams or dialect(upstream) in upstreams):
            return step | entry
    return step


def said(step: dict, turns: list[Turn]) -> Turn:
    if "say" in step:
        text = QUESTION if step["say"] is True else step["say"]
        return Said(text, step.get("image"), step.get("document", False))
    last = turns[-1]
    assert isinstance(last, Reply)
    failed = "failure" in step
    return Results([step["failure"]] if failed else step["results"], last.calls, failed, step.get("image"))


def attempt(client: Client, upstream: str, ask: Ask, expected: dict, heard: Reply) -> str | None:
    try:
        client.ask(ask, heard)
    except AssertionError:
        raise
    except Exception as error:
        if "-v" in sys.argv:
            traceback.print_exc()
        problem = client.problem(error)
        if "error" in expected:
            return differs(wanted_whole(client, upstream, expected["error"]), problem)
        if "breaks" not in expected:
            return " ".join(f"{problem.kind} {problem.status}: {problem.message}".split())
        if not heard.text.startswith(expected["breaks"]["after"]):
            return f"broke with {error!r} after {heard.text!r}"
        return differs(wanted_midway(client, expected["breaks"]), problem)
    if "error" in expected or "breaks" in expected:
        return f"no exception, but {heard.text!r}"
    return compare(expected, heard)


def word_of(client: Client, status: int) -> str:
    words = BOOK["errors"][str(status)]
    return words.get(client.dialect, words["type"])


def wanted_whole(client: Client, upstream: str, expected: dict) -> dict:
    """The exception for an error instead of an answer."""
    words = BOOK["errors"][str(expected["status"])]
    codes = expected.get("codes") or [code_of(client, upstream, expected["status"], words)]
    kind = words.get(client.family, "ClientError" if expected["status"] < 500 else "ServerError")
    word = word_of(client, expected["status"])
    return {"kind": kind, "status": expected["status"], "word": word, "codes": codes, "says": expected["says"]}


def code_of(client: Client, upstream: str, status: int, words: dict) -> str | None:
    """The code that the client reads.

    In the client's own dialect an error has its maker's. Where that gave it none, it stays without one in the very bytes of a
    fault found with the request, and has the usual one of its status where it is told anew; Google's have none of their own.
    """
    if client.dialect != upstream:
        return words["code"]
    own = words.get("own") if client.family == "openai" else None
    stays = status in (400, 422) or client.dialect == "gemini"
    return own if stays else own or words["code"]


def wanted_midway(client: Client, expected: dict) -> dict:
    """The exception for a stream that began well."""
    told = {"status": expected["status"], "word": word_of(client, expected["status"]), "code": expected["code"]}
    shown = told | BOOK["midway"][client.name]
    return shown | {"codes": [shown["code"]], "says": expected["says"]}


def differs(wanted: dict, problem: Problem) -> str | None:
    seen = {"kind": problem.kind, "status": problem.status, "word": problem.word}
    for name, value in seen.items():
        if value != wanted[name]:
            return f"the exception is {problem}, expected {name} {wanted[name]!r}"
    if problem.code not in wanted["codes"]:
        return f"the exception is {problem}, expected code {wanted['codes']}"
    if wanted["says"] not in problem.message:
        return f"the error says {problem.message!r}, expected {wanted['says']!r}"
    return None


def compare(expected: dict, heard: Reply) -> str | None:
    calls = [[call.name, call.arguments] for call in heard.calls]
    parts = {"text": heard.text, "reasoning": heard.reasoning, "calls": calls, "finish": heard.finish}
    for name, value in parts.items():
        if name in expected and value != expected[name]:
            return f"{name} is {value!r}, expected {expected[name]!r}"
    for name, count in expected.get("usage", {}).items():
        if heard.usage.get(name) != count:
            return f"usage is {heard.usage}, expected {name} {count}"
    if "warned" in expected and expected["warned"] not in (heard.warnings or ""):
        return f"the warnings are {heard.warnings!r}, expected {expected['warned']}"
    if "json" in expected and json.loads(heard.text) != expected["json"]:
        return f"the text is {heard.text!r}, expected {expected['json']}"
    for name, value in (expected.get("seen") or {}).items():
        seen = json.loads(heard.text).get(name)
        if seen != value:
            return f"the upstream saw {name} {seen!r}, expected {value!r}"
    return None


sys.exit(main())
