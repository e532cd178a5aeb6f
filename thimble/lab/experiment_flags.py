"""The flags that several experiments share, the parsers of their values, and the settings of a model's session."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from thimble.agent.budget import UNLIMITED, Prices, read_limit
from thimble.agent.errors import UsageError
from thimble.models import READER
from thimble.models.prices import read_prices
from thimble.session.settings import Settings
from thimble.session.settings_table import served_embeddings

CACHED_PRICES = "1.0,0.4,0.25,0.1"
COUNTED_MODEL = "qwen2.5:7b"
MODEL_FORM = f"{READER}, or KIND:NAME or KIND:NAME@URL of a server"


def whole_number(flag: str, least: int, most: int) -> Callable[[str], int]:
    """Make the parser of a flag that takes a number from `least` to `most`; it raises UsageError for any other text."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal()) or not least <= int(text) <= most:
            raise UsageError(f"{flag} {text[:40]} is not valid", f"it takes {least} to {most:,}")
        return int(text)

    return read


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the flags for the form of the output."""
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print a JSON list")
    forms.add_argument("--csv", action="store_true", help="print CSV, one line for each row")
    forms.add_argument("--markdown", action="store_true", help="print the tables in Markdown")
    told = "also write the tables to an HTML page; FILE.html! overwrites an existing one"
    parser.add_argument("--report", type=_writable_page, metavar="FILE.html", help=told)


def _writable_page(text: str) -> Path:
    """The path of a page, checked to be writable before the work starts."""
    path = Path(text.removesuffix("!"))
    if path.suffix.lower() != ".html" or "\0" in text:
        raise UsageError(f"--report {text[:200]!r} is not an HTML file", "give a path that ends in .html")
    if not os.access(path.parent, os.W_OK) or path.is_dir():
        raise UsageError(f"--report {path} cannot be written", "give a path in a folder that you can write to")
    if os.path.lexists(path) and not text.endswith("!"):
        raise UsageError(f"{path} already exists", f"to overwrite it: --report '{path}!'")
    return path


def add_lag(parser: argparse.ArgumentParser, **more: object) -> None:
    """Add the flag for the delay of background summaries."""
    told = "calls until a background summary is ready; default: 0"
    parser.add_argument("--lag", type=whole_number("--lag", 0, 1_000), metavar="N", help=told, **more)  # type: ignore[arg-type]


def add_prompts(parser: argparse.ArgumentParser, strategies: str, cached: str = CACHED_PRICES) -> None:
    """Add the flags for preparing, counting and pricing prompts; `strategies` and `cached` are defaults."""
    add = parser.add_argument
    add("--strategy", nargs="+", action="extend", metavar="SPEC", help=f"default: {strategies}")
    add("--budget", default=UNLIMITED, type=read_limit, metavar="N", help="prompt tokens a call may use; default: none")
    add_costs(parser, cached)


def add_costs(parser: argparse.ArgumentParser, cached: str = CACHED_PRICES) -> None:
    """Add the flags for reading runs, and for counting and pricing prompts."""
    add = parser.add_argument
    add("--price", action="append", default=[], metavar="cached=C,…", help=f"default: cached={cached},output=4")
    add(
        "--model",
        default=COUNTED_MODEL,
        metavar="NAME",
        help=f"the model that tokens are counted for; default: {COUNTED_MODEL}",
    )
    tokens = whole_number("--summary-tokens", 0, 100_000)
    add("--summary-tokens", default=700, type=tokens, metavar="N", help="tokens of each summary; default: 700")
    add("--observations", metavar="PATTERN", help="a regular expression: user messages that match are tool results")
    add("--keep-secrets", action="store_true", help="do not mask keys and tokens in the files")
    add("--uncached-summaries", action="store_true", help="the prompts of a strategy's own model calls are not cached")


def price_cards(given: Sequence[str], usual: str = CACHED_PRICES) -> list[Prices]:
    """A price card for each cached price in `--price`: `cached=1.0,0.1,output=4`.

    Raises:
        UsageError: an unknown name, several prices of output, or a price out of range.
    """
    found: dict[str, list[str]] = {"cached": [], "output": []}
    name = ""
    for word in ",".join(given).split(",") if given else ():
        key, equals, text = word.rpartition("=")
        name = key.strip() if equals else name
        if name not in found:
            raise UsageError(f"--price: {word!r} is not a price", "write --price cached=1.0,0.4,0.1,output=4")
        found[name].append(text)
    if len(found["output"]) > 1:
        raise UsageError("--price has several prices of output", "give one: --price cached=1.0,0.1,output=4")
    output = "".join(f",output={text}" for text in found["output"])
    cards = [read_prices(f"cached={text}{output}") for text in found["cached"] or usual.split(",")]
    return list(dict.fromkeys(cards))


def model_name(text: str) -> str:
    """The name of a model, checked. Raises UsageError."""
    if text != READER and not served_embeddings(text):
        raise UsageError(f"{text[:80]!r} is not a model", f"write {READER}, ollama:NAME or openai:NAME@URL")
    return text


def bare_model_name(model: str) -> str:
    """The name of a model without the address of its server."""
    served = served_embeddings(model)
    return f"{served.kind}:{served.model}" if served else model


def settings_of(model: str, **rest: Any) -> Settings:
    """The settings of a session with this model; the user's config files and environment are ignored."""
    served = served_embeddings(model)
    backend, name, url = (served.kind, served.model, served.url) if served else (READER, "", "")
    origins = {} if url else {"base_url": "default"}  # without a URL, the environment may give the address
    return Settings(backend=backend, model=name, base_url=url, origins=origins, **rest)
