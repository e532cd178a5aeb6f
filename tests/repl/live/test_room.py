"""The live page in a real browser: what a real server has told is given to it, event by event."""

from __future__ import annotations

import json
from pathlib import Path

import httpx

from tests.repl.commands.export.test_browser import driven
from tests.repl.commands.export.test_browser import pytestmark as pytestmark
from tests.repl.live.test_live import LOSSLESS, phone
from tests.support.live_page import Viewer
from tests.support.sessions import ask, scripted
from thimble.repl.live.server import shown_live

BEFORE = """
const hears = {}, posted = [];
globalThis.EventSource = class { addEventListener(kind, take) { hears[kind] = take; } };
globalThis.fetch = async (to, { body }) => { posted.push([to, body]); return { ok: posted.length === 1 }; };
"""
DRIVER = """(async () => {
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
    driver = DRIVER
    for name, lines in zip(("FIRST", "THEN", "NEXT"), told, strict=True):
        driver = driver.replace(f"feed({name})", f"feed({json.dumps(lines)})")
    found = driven(page, tmp_path, BEFORE, driver)
    assert (found["same"], found["ticked"], found["focused"]) == (True, True, True)
    assert found["said"] == " Your vote is in."
    assert found["asked"].endswith("2 phones voted")
    assert found["meters"] == [[1, 2], [2, 2], [0, 2]]
    assert found["counts"] == ["1/2", "2/2", "0/2"]
    assert "was not taken" in found["refused"]
    assert found["posted"] == [[f"vote/{number}", "2"]] * 2
    assert not any(found["boxes"])
    assert "2/2 stayed" in found["result"]
