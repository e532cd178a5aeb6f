"""The parts of a training that need no torch: the picture of its curve, and what a user is told who lacks a package."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from thimble.agent.errors import UsageError
from thimble.lab.training import base_model
from thimble.lab.training.base_model import load_base
from thimble.lab.training.curve import HEIGHT, WIDTH, write_curve


@pytest.mark.parametrize("flat", [False, True])
def test_the_curve_stays_on_its_paper(tmp_path: Path, *, flat: bool) -> None:
    logged = [{"reward": 0.5 if flat else step / 40, "completions/mean_length": 30.0, "loss": 0} for step in range(40)]
    write_curve(tmp_path / "curve.svg", [*logged, {"train_runtime": 3.0}])
    drawn = ElementTree.parse(tmp_path / "curve.svg").getroot()
    lines = [element.attrib["points"] for element in drawn if element.tag.endswith("polyline")]
    told = [element.text or "" for element in drawn if element.tag.endswith("text")]
    assert len(lines) == 2
    for at, line in enumerate(lines):
        points = [tuple(map(float, point.split(","))) for point in line.split()]
        assert len(points) == 40
        assert all(0 < x < WIDTH and at * HEIGHT < y < (at + 1) * HEIGHT for x, y in points)
    assert told[0].startswith("reward")
    assert told[1].startswith("tokens of a reply")
    heights = [float(point.split(",")[1]) for point in lines[0].split()]
    assert heights == sorted(heights, reverse=True)


def test_fine_tuning_draws_its_loss(tmp_path: Path) -> None:
    write_curve(tmp_path / "curve.svg", [{"loss": 3.0}, {"loss": 1.0}])
    assert re.search(r">loss, 2 to 3; 2 steps", (tmp_path / "curve.svg").read_text("utf-8"))


def test_a_package_that_is_missing_is_named_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_model, "find_spec", lambda name: None if name in ("torch", "trl") else object())
    with pytest.raises(UsageError, match="training needs torch, trl") as raised:
        load_base(Path("any"))
    assert raised.value.fix == "pip install 'thimble-agent[train]'"
