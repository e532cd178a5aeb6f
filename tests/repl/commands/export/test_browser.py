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

import httpx
import pytest

from tests.repl.live.test_live import LOSSLESS, phone
from tests.support.branched_sessions import run
from tests.support.exported import everything, export, hostile, read
from tests.support.live_page import Viewer
from tests.support.sessions import ask, scripted
from thimble.repl.commands.context.message import rule
from thimble.repl.commands.context.rows import last_call
from thimble.repl.live.server import shown_live

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


def test_it_is_gone_through_by_keys(tmp_path: Path) -> None:
    session = read(2500, "Read the article about context windows", "What is observation masking?")
    exchanges = [call.exchange for call in session.agent.ledger.calls if call.purpose == "answer"]
    calls = len(exchanges)
    found = opened(export(session, "html", tmp_path), tmp_path, "ArrowRight", "End", "ArrowRight", "ArrowLeft", "Home")
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
def test_it_gives_the_reasons_that_why_gives(spec: str, tmp_path: Path) -> None:
    session = read(
        2500, "Read the article about context windows", "What is observation masking?", "And tokens?", spec=spec
    )
    xray = last_call(session)
    expected = [
        [row.name, f"{row.fate}{', in the cached prefix' if row.cached else ''}: {rule(xray, place)}"]
        for place, row in enumerate(xray.rows)
    ]
    assert opened(export(session, "html", tmp_path), tmp_path, "End")["told_of"] == expected


def test_two_branches_are_seen_side_by_side(tmp_path: Path) -> None:
    session = read(2500, "Read the article about context windows", "What is observation masking?")
    run(session, "/undo")
    run(session, "Which article is about tokenisers?")
    found = opened(export(session, "html", tmp_path), tmp_path, "ArrowRight", fragment="#1+1.3")
    assert [each["hash"] for each in found["saw"]] == ["#1+1.3", "#2+1.4"]
    assert found["saw"][0]["question"] == "Read the article about context windows"
    assert (found["refused"], found["failed"], found["unnamed"]) == ([], [], 0)
    assert max(each["wide"] for each in found["saw"]) <= 0


@pytest.mark.parametrize("part", range(4))
def test_nothing_of_a_session_runs(part: int, tmp_path: Path) -> None:
    texts = everything()[part::4]
    found = opened(export(hostile(texts), "html", tmp_path), tmp_path, "ArrowRight", "End", "Home")
    assert (found["harmed"], found["refused"], found["failed"]) == (0, [], [])
    assert sorted(found["theirs"]) == ["script"] * 4 + ["style"]
    assert found["bodies"] > 1


def test_as_it_is_written_it_makes_no_complaint(tmp_path: Path) -> None:
    export(hostile(everything()), "html", tmp_path)
    shown = browse(tmp_path / "session.html", tmp_path, "--dump-dom")
    assert "CONSOLE" not in shown
    assert "pwned" in shown


ROOM_BEFORE = """
const hears = {}, posted = [];
globalThis.EventSource = class { addEventListener(kind, take) { hears[kind] = take; } };
globalThis.fetch = async (to, { body }) => { posted.push([to, body]); return { ok: posted.length === 1 }; };
"""
ROOM_DRIVER = """(async () => {
const feed = (lines) => lines.forEach((line, at) => {
  const [, kind] = line.match(/^event: (.*)/) || [];
  hears[kind]?.({ data: lines[at + 1].slice("data: ".length) });
});
const here = () => [...document.querySelectorAll(".room input, .room button")];
feed(FIRST);
const before = here(), [, box] = before, button = before.at(-1), replies = [];
document.querySelector(".room details").open = true;
box.checked = true;
box.focus();
button.click();
await new Promise((done) => setTimeout(done, 50));
feed(THEN);
const found = {
  same: before.every((each, at) => each === here()[at]), ticked: box.checked, focused: document.activeElement === box,
  said: document.querySelector(".room [role=status]").textContent,
  asked: document.querySelector(".room summary").textContent,
  meters: [...document.querySelectorAll(".room meter")].map((each) => [each.value, each.max]),
  counts: [...document.querySelectorAll(".room label")].map((each) => each.lastChild.textContent),
};
button.click();
await new Promise((done) => setTimeout(done, 50));
found.refused = document.querySelector(".room [role=status]").textContent;
feed(NEXT);
found.boxes = here().filter((each) => each.checked !== undefined).map((each) => each.checked);
found.result = [...document.querySelectorAll(".room details")].at(-1).textContent;
setTimeout(() => { document.title = JSON.stringify({ ...found, posted }); }, 500);
})();"""


def test_a_vote_of_another_disturbs_nobody(tmp_path: Path) -> None:
    session = scripted("Yes.", "No.")
    with shown_live(session, LOSSLESS) as url:
        ask(session, "One?")
        viewer, told = Viewer(url).answered("One?"), []
        number = viewer.votes["open"]["number"]
        told.append([*viewer.lines])
        viewer.lines.clear()
        with phone(url) as one, phone(url) as other:
            one.post(f"vote/{number}", content="1 2")
            other.post(f"vote/{number}", content="2")
        while viewer.votes["open"]["voters"] < 2:
            viewer.until("votes")
        told.append([*viewer.lines])
        viewer.lines.clear()
        ask(session, "Two?")
        viewer.answered("Two?")
        told.append([*viewer.lines])
        page = httpx.get(url, trust_env=False).text
    driver = ROOM_DRIVER
    for name, lines in zip(("FIRST", "THEN", "NEXT"), told, strict=True):
        driver = driver.replace(f"feed({name})", f"feed({json.dumps(lines)})")
    found = driven(page, tmp_path, ROOM_BEFORE, driver)
    assert (found["same"], found["ticked"], found["focused"]) == (True, True, True)
    assert found["said"] == " Your vote is in."
    assert found["asked"].endswith("2 phones voted")
    assert found["meters"] == [[1, 2], [2, 2], [0, 2]]
    assert found["counts"] == ["1/2", "2/2", "0/2"]
    assert "was not taken" in found["refused"]
    assert found["posted"] == [[f"vote/{number}", "2"]] * 2
    assert not any(found["boxes"])
    assert "2/2 stayed" in found["result"]
