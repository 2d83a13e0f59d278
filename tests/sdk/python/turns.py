"""A conversation in words of no dialect: what a case asks, what an SDK heard. The clients translate both ways."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

BOOK = json.loads((Path(__file__).parent.parent / "cases.json").read_text())
QUESTION = BOOK["question"]
PNG = BOOK["png"]
PDF = BOOK["pdf"]
TOOLS = BOOK["tools"]
SCHEMA = BOOK["schema"]


@dataclass
class Call:
    id: str | None
    name: str
    arguments: dict


@dataclass
class Reply:
    """What was heard. `native` is what the SDK wants to be given back as the assistant's turn."""

    text: str = ""
    reasoning: str = ""
    calls: list[Call] = field(default_factory=list)
    finish: str | None = None
    usage: dict[str, int | None] = field(default_factory=dict)
    native: object = None
    # The header with what a translation left out or changed.
    warnings: str | None = None


@dataclass
class Said:
    text: str
    image: str | None = None
    document: bool = False


@dataclass
class Results:
    texts: list[str]
    calls: list[Call]
    failed: bool = False
    image: str | None = None


Turn = Said | Results | Reply


@dataclass
class Ask:
    """One request: the options of its case and the conversation so far."""

    model: str
    turns: list[Turn]
    options: dict
    stream: bool

    def option(self, name: str) -> object:
        return self.options.get(name)

    @property
    def tools(self) -> list[tuple[str, dict]]:
        return [(name, TOOLS[name]) for name in self.options.get("tools", [])]


@dataclass
class Problem:
    """A typed exception: its class, the status, and the words for it in the error's body.

    `word` is what the SDK sorts errors by, `type` or Gemini's `status`; `code` the stable word, in Gemini the reason.
    """

    kind: str
    status: int | None
    message: str
    word: str | None
    code: str | None


class Client(Protocol):
    name: str
    dialect: str
    family: str

    def ask(self, ask: Ask, heard: Reply) -> None:
        """Sends and fills `heard` as the answer comes in, so that what came before an exception is kept."""

    def problem(self, error: Exception) -> Problem: ...
