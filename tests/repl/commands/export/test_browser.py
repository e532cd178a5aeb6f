"""The page in a real browser: it opens from a file, is gone through by keys, and nothing of a session runs in it.

Chromium is looked for under its usual names, and where the variable CHROMIUM says. A driver goes into the page beside
its own script, allowed by one more hash, presses the keys, and leaves what it saw in the title.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from base64 import b64encode
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.support.exported import everything, export, hostile, read
from thimble.repl.commands.context.message import describe_rule
from thimble.repl.commands.context.rows import last_call
from thimble.session.story import read_stories

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), "")

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no Chromium here: install it, or set CHROMIUM to where it is")

BEFORE = (
    "const refused = []; addEventListener('securitypolicyviolation', (event) => refused.push(event.violatedDirective));"
)
BEFORE += "const failed = []; addEventListener('error', (event) => failed.push(event.message)); let harmed = 0;"
BEFORE += "window.pwned = window.alert = () => { harmed += 1; };"
DRIVER = """{
const saw = [];
const look = () => saw.push({
  question: document.querySelector("h2").textContent, place: document.querySelector(".place span").textContent,
  blocks: document.querySelectorAll(".bar.now .block").length, rows: document.querySelectorAll(".rows details").length,
  spans: document.querySelectorAll(".timeline .span title").length,
  current: document.querySelector("nav [aria-current] .number").textContent, hash: location.hash,
  scales: new Set([...document.querySelectorAll(".bar .budget")].map((each) => each.style.left)).size,
  wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
});
const press = (key, where = document.body) =>
  where.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
look();
for (const key of KEYS) { press(key); look(); }
const swap = document.querySelector("header button"), schemes = [];
for (const _ of [1, 2]) { swap.click(); schemes.push(document.documentElement.style.colorScheme); }
const strip = document.querySelector(".bar.now");
strip.focus();
press("ArrowDown", strip);
const told = document.querySelector(".told").textContent;
const active = document.getElementById(strip.getAttribute("aria-activedescendant"));
press("Enter", strip);
for (const details of document.querySelectorAll("details")) details.open = true;
const named = (each) => each.textContent.trim() || each.getAttribute("aria-label");
const unnamed = [...document.querySelectorAll("button")].filter((each) => !named(each)).length;
setTimeout(() => {
  const theirs = [...document.querySelectorAll("img,iframe,object,embed,link,a,base,form,script,style")];
  const bodies = document.querySelectorAll(".rows .body").length;
  const told_of = [...document.querySelectorAll(".rows details")].map((each) =>
    [each.dataset.name, each.querySelector(".body p").textContent]);
  const label = active.getAttribute("aria-label");
  document.title = JSON.stringify({ saw, told, label, refused, failed, harmed, bodies, unnamed, told_of, schemes,
    theirs: theirs.map((each) => each.localName) });
}, 300);
}"""


def opened(page: str, folder: Path, *keys: str, fragment: str = "") -> dict[str, Any]:
    """What the driver saw, when it has pressed these keys."""
    return driven(page, folder, BEFORE, DRIVER.replace("KEYS", json.dumps(keys)), fragment)


def driven(page: str, folder: Path, before: str, driver: str, fragment: str = "") -> dict[str, Any]:
    """What a driver wrote into the title. `before` runs before all of the page, the driver after it."""
    page = page.replace("script-src ", f"script-src {_hash(before)} {_hash(driver)} ", 1)
    page = page.replace('<meta name="viewport"', f'<script>{before}</script>\n<meta name="viewport"', 1)
    page = page.replace("</body>", f"<script>{driver}</script></body>")
    path = folder / "driven.html"
    path.write_text(page, "utf-8")
    title = re.search(r"<title>(.*?)</title>", browse(path, folder, "--dump-dom", fragment=fragment), re.DOTALL)
    assert title
    found: dict[str, Any] = json.loads(unescape(title[1]))
    return found


def browse(path: Path, folder: Path, *flags: str, fragment: str = "") -> str:
    """What Chromium writes, its errors behind it."""
    quiet = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000", "--enable-logging=stderr")
    run = subprocess.run(
        [
            CHROMIUM,
            *quiet,
            "--window-size=1200,900",
            f"--user-data-dir={folder}/profile",
            *flags,
            f"{path.as_uri()}{fragment}",
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return run.stdout + "\n".join(line for line in run.stderr.splitlines() if "CONSOLE" in line)


def _hash(script: str) -> str:
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"


def test_keys_go_through_the_exported_page(tmp_path: Path) -> None:
    session = read(2500, "Read the article about context windows", "What is observation masking?")
    exchanges = [call.exchange for call in session.agent.ledger.calls if call.purpose == "answer"]
    calls = len(exchanges)
    page = export(session, "html", tmp_path)
    made = [call for exchange in next(read_stories(session.journal.read()[0])).exchanges for call in exchange.calls]
    first = next(at for at, call in enumerate(made, 1) if {*call.prepared.view.fates} != {"kept"})
    assert opened(page, tmp_path)["saw"][0]["hash"] == f"#{first}", "it opens where the strategy first acted"
    found = opened(page, tmp_path, "ArrowRight", "End", "ArrowRight", "ArrowLeft", "Home", fragment="#1")
    hashes = [each["hash"] for each in found["saw"]]
    assert hashes == ["#1", "#2", f"#{calls}", f"#{calls}", f"#{calls - 1}", "#1"]
    assert found["saw"][2]["question"] == "What is observation masking?"
    assert [each["current"] for each in found["saw"]] == ["1", "1", "2", "2", str(exchanges[-2]), "1"]
    view = session.agent.ledger.view
    assert view
    assert found["saw"][2]["blocks"] == len(view.messages) + 1
    assert found["saw"][2]["spans"] > 0
    assert found["saw"][2]["scales"] == 1, "both bars have one scale"
    assert found["saw"][2]["rows"] == len(view.history) + len(view.inserted)
    assert "message 1 (system), kept" in found["told"]
    assert "message 1 (system), kept" in found["label"]
    assert found["bodies"] == found["saw"][-1]["rows"]
    assert (found["refused"], found["failed"], found["unnamed"]) == ([], [], 0)
    assert sorted(found["schemes"]) == ["dark", "light"]
    assert max(each["wide"] for each in found["saw"]) <= 0


@pytest.mark.parametrize("spec", ["observation-masking:window=1", "sliding-window", "hybrid", "retrieval", "delegate"])
def test_the_exported_page_gives_the_reasons_of_why(spec: str, tmp_path: Path) -> None:
    session = read(
        2500, "Read the article about context windows", "What is observation masking?", "And tokens?", spec=spec
    )
    xray = last_call(session)
    expected = [
        [row.name, f"{row.fate}{', in the cached prefix' if row.cached else ''}: {describe_rule(xray, place)}"]
        for place, row in enumerate(xray.rows)
    ]
    assert opened(export(session, "html", tmp_path), tmp_path, "End")["told_of"] == expected


@pytest.mark.parametrize("part", range(4))
def test_nothing_of_a_session_runs(part: int, tmp_path: Path) -> None:
    texts = everything()[part::4]
    found = opened(export(hostile(texts), "html", tmp_path), tmp_path, "ArrowRight", "End", "Home")
    assert (found["harmed"], found["refused"], found["failed"]) == (0, [], [])
    assert sorted(found["theirs"]) == ["script"] * 4 + ["style"]
    assert found["bodies"] > 1


def test_the_exported_page_opens_without_a_complaint(tmp_path: Path) -> None:
    export(hostile(everything()), "html", tmp_path)
    shown = browse(tmp_path / "session.html", tmp_path, "--dump-dom")
    assert "CONSOLE" not in shown
    assert "pwned" in shown
