# ruff: noqa: E501
"""Sessions to export, and what is exported of them."""

from __future__ import annotations

from pathlib import Path

from tests.support.doors import Doing, begin
from tests.support.payloads import ALL
from tests.support.sessions import Paper, ask, tool_call
from thimble.agent.protocols import Text, Thinking
from thimble.repl.commands.table import run_command
from thimble.session.session import Session

MARKUP = [
    "<script>pwned()</script>", "</script><script>pwned()</script>", "<!--<script>", "--><script>pwned()</script>",
    "<img src=x onerror=pwned()>", "<svg onload=pwned()>", "<svg/onload=pwned()//", "<a href=\"javascript:pwned()\">x</a>",
    "<iframe srcdoc='<script>parent.pwned()</script>'>", "<style>@import 'http://evil.example'</style>", "<body onload=pwned()>",
    "'\"><script>pwned()</script>", "]]><script>pwned()</script>", "<![CDATA[<script>pwned()</script>]]>", "&lt;script&gt;",
    "&#60;script&#62;pwned()&#60;/script&#62;", "<math><mtext></mtext></math>", "<details open ontoggle=pwned()>",
    "\u2028alert(1)\u2029", "</title><script>pwned()</script>", "</pre></details><script>pwned()</script>", "<?xml x?>",
    "![x](http://evil.example/a.png)", "[x](javascript:pwned())", "<http://evil.example>", "http://evil.example", "www.evil.example",
    "[x]: http://evil.example", "![x][x]", "```\n<script>pwned()</script>\n```", "````\n# out\n````", "~~~\n# out\n~~~",
    "    indented", "| a | b |\n|---|---|", "</summary></details>\n\n# out", "# out", "> out", "- out", "---", "a\n===", "\\`",
    "`````````````\nout", "</text></svg><script>pwned()</script>", "<foreignObject>", "\ufffe\uffff", "${pwned()}", "{{pwned()}}",
    "user@evil.example", "$$x$$", "<plaintext>", "<base href=http://evil.example>", "<meta http-equiv=refresh content=0>",
]  # fmt: skip
"""Text that would be more than text in a page, a picture or a document."""


def hostile(texts: list[str]) -> Session:
    """A session in which these are everything that is said, done, read and remembered."""
    payload = "\n".join(texts)
    calls = [tool_call("save_note", 1, title=payload, text=payload), tool_call(payload, 2, a=payload)]
    session = begin([Thinking(payload), Text(payload), *calls], [tool_call("get_notes", 3)], payload, payload)
    session.agent.strategy = Doing(payload)
    session.agent.state.strategy = payload
    session.agent.state.budget, limit = 10**6, session.agent.limit
    ask(session, payload)
    ask(session, payload)
    session.agent.state.budget = limit
    return session


def export(session: Session, kind: str, folder: Path) -> str:
    """The file that is written, as text."""
    path = folder / f"session.{kind}"
    run_command(session, f"/export {kind} {path}!", Paper(90).console)
    return path.read_text("utf-8")


def everything() -> list[str]:
    """Every text that could do harm, somewhere."""
    return [*MARKUP, *ALL]


def read(budget: int = 2500, *questions: str, spec: str = "observation-masking") -> Session:
    """A session of the reader with these questions."""
    from thimble.session.session import Session
    from thimble.session.settings import Settings

    session = Session(Settings(backend="reader", budget=budget, strategy=spec))
    for question in questions or ("Read the article about context windows", "What is observation masking?"):
        ask(session, question)
    return session
