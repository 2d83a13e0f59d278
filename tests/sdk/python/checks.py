"""What the three checks share: the environment, the names of models, and one printed line per case."""

import os
import sys
import traceback
from collections.abc import Callable

URL = os.environ["OMNIROUTE_URL"].rstrip("/")
KEY = os.environ["OMNIROUTE_KEY"]
MODEL = os.environ.get("MODEL", "m1")
WRONG_KEY = f"{KEY}-wrong"
WARNINGS = "x-omniroute-warnings"

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Name of a city"}},
    "required": ["city"],
}
QUESTION = "What is the weather like?"

_cases: list[tuple[str, Callable[[], None]]] = []


def model(name: str) -> str:
    """A model beside MODEL: `m-tool` next to `fake/m1` is `fake/m-tool`."""
    prefix, slash, _ = MODEL.rpartition("/")
    return f"{prefix}{slash}{name}"


def case(check: Callable[[], None]) -> Callable[[], None]:
    """Registers a check under the name of its function."""
    _cases.append((check.__name__, check))
    return check


def same(seen: object, expected: object, what: str = "value") -> None:
    if seen != expected:
        raise AssertionError(f"{what} is {seen!r}, expected {expected!r}")


def holds(condition: object, why: str) -> None:
    if not condition:
        raise AssertionError(why)


def raises(kind: type[Exception], call: Callable[[], object]) -> Exception:
    """The exception of this very type that the call raises."""
    try:
        call()
    except Exception as error:
        if type(error) is kind:
            return error
        raise AssertionError(f"raised {type(error).__name__}: {error}, expected {kind.__name__}") from error
    raise AssertionError(f"raised nothing, expected {kind.__name__}")


def run(program: str) -> None:
    """Runs every case, or those named on the command line, and exits with 1 when any failed."""
    failed = False
    for name, check in _cases:
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        try:
            check()
            print(f"PASS {program}.{name}", flush=True)
        except Exception as error:
            failed = True
            why = " ".join(str(error).split())
            print(f"FAIL {program}.{name}: {type(error).__name__}: {why}", flush=True)
            if os.environ.get("TRACE"):
                traceback.print_exc()
    sys.exit(1 if failed else 0)
