from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.paths import ROOT
from thimble.agent.errors import UsageError
from thimble.corpus.article import Article, Section, parse_article, split_sections
from thimble.corpus.library import Library, load_library

FRONT = """---
slug: kv-cache
title: "KV cache: reuse"
tags: [inference, agents]
date: 2026-03-02
summary: How a prefix
  is kept.
sources:
  - "A, B, 2025"
  - C: D
---
"""
WORD = st.text("abc.,", min_size=1, max_size=8)
PROSE = st.lists(WORD, min_size=1, max_size=5).map(" ".join)
CODE = PROSE.map(lambda text: f"```\n## {text}\n\n{text}\n```")
NASTY = st.lists(
    st.sampled_from(
        ["", "a", "## b", "##", "## c ##", "### d", "```", "~~~", "    ## e", "\t## f", "# g", "## Opening"]
    )
)


def parsed(text: str) -> Article | str:
    try:
        return parse_article(text, "folder/My file.md")
    except ValueError as error:
        return str(error)


def bare(text: str) -> str:
    return "".join(text.replace("#", "").split())


@given(
    st.lists(st.one_of(PROSE, CODE), max_size=3),
    st.lists(st.tuples(WORD, st.lists(st.one_of(PROSE, CODE), max_size=3)), max_size=4),
)
def test_a_text_is_cut_at_its_headings(opening: list[str], parts: list[tuple[str, list[str]]]) -> None:
    body = "\n\n".join([*opening, *(f"## {title}\n\n" + "\n\n".join(blocks) for title, blocks in parts)])
    expected = [Section(title, "\n\n".join(blocks)) for title, blocks in parts]
    if opening or not parts:
        expected.insert(0, Section("Opening", "\n\n".join(opening)))
    assert list(split_sections(body)) == expected


@given(st.one_of(NASTY.map("\n".join), st.text()))
def test_sections_lose_no_text(body: str) -> None:
    found = split_sections(body)
    below = found[0].text + "".join(section.title + section.text for section in found[1:])
    assert bare(body) in (bare(below), bare(found[0].title + below))


@given(st.text())
def test_any_text_is_an_article_or_a_reason(text: str) -> None:
    article = parsed(text)
    assert article
    if isinstance(article, Article):
        assert article.slug
        assert article.title
        assert article.summary
        assert article.sections
        assert article.words == sum(section.words for section in article.sections)


@given(st.text("-: []{}&*!|>'\"\n\tab#%@`,?=+", max_size=60), st.sampled_from(["---", "+++"]))
def test_whatever_a_head_holds_the_text_below_it_is_read(block: str, mark: str) -> None:
    article = parse_article(f"{mark}\n{block}\n{mark}\nBody.", "a.md")
    assert article.sections[-1].text.endswith("Body.")


def test_front_matter() -> None:
    article = parse_article(f"{FRONT}\nFirst.\n\n## Next\nSecond one.\n", "a/b.md")
    assert article == Article(
        slug="kv-cache",
        title="KV cache: reuse",
        tags=("inference", "agents"),
        date="2026-03-02",
        summary="How a prefix is kept.",
        sources=("A, B, 2025", "C: D"),
        path="a/b.md",
        words=3,
        subject=" a agent cach how inferenc is kept kv prefix reus ",
        sections=(Section("Opening", "First."), Section("Next", "Second one.")),
    )
    assert article.words == 3


def test_without_front_matter() -> None:
    article = parse_article("# The *title*\n\nFirst sentence here. Second.\n", "a/My File.md")
    assert article.slug == "my-file"
    assert article.title == "The *title*"
    assert article.summary == "First sentence here."
    assert article.sections == (Section("Opening", "First sentence here. Second."),)
    assert parse_article("no heading", "a/My File.txt").title == "My File"


@pytest.mark.parametrize(
    "text",
    [
        "---\nJust prose\n---\nmore",
        "---\n\nOne rule alone.",
        "---\n\nI read the paper. My note: it holds.\n\n---\n\nmore",
        "---\nNote: it holds.\n---\nmore",
        "---\nA heading\n===\nwords\n\n---\nmore\n---",
        "---\n# A heading\n---\nmore",
        "+++\nnew\n+++\nmore",
    ],
)
def test_prose_between_rules_is_no_front_matter(text: str) -> None:
    assert (parse_article(text, "a.md").sections[0].text, parse_article(text, "a.md").unused) == (text, "")


@pytest.mark.parametrize(
    ("head", "title", "tags"),
    [
        (
            "title: Tools that can't be taken away: a manifesto\ntags: x",
            "Tools that can't be taken away: a manifesto",
            "x",
        ),
        ("title: [Draft] Caches\ntags: [C#, @home]", "[Draft] Caches", "C# @home"),
        ('title: "Foo" and bar\ntags:\n  - a: b: c\n  - d', '"Foo" and bar', "a:b:c d"),
        ("title: How: a\n  prefix breaks\ntags: [a,\n  b]", "How: a prefix breaks", "a b"),
        ("title: *A: b*\nextra:\n  k: v\n  list:\n    - c\ntags:\n\t- a", "*A: b*", "a"),
        ("title: {{title}}\ndate: {{date}}", "{{title}}", ""),
        ("Title: A: b\nTags: a, b", "A: b", "a b"),
        ("# remark\ntitle: A: b\n\ntags: a", "A: b", "a"),
        ("title: [[A note]]\ntags: {a: {b: c}}", "A note", "a:b:c"),
        ("title: a\ntags: &a [*a]", "a", "&a *a"),
        ("title: a\nb: &b [x]\nc: &c [*b, *b]\ntags: [*c, *c]", "a", "*c *c"),
        ("title: T\nx: " + "[" * 4_000, "T", ""),
    ],
)
def test_a_head_that_yaml_refuses_is_read_field_by_field(head: str, title: str, tags: str) -> None:
    article = parse_article(f"---\n{head}\n---\n\nBody.\n\n---\n\nBelow a rule.", "a.md")
    assert (article.title, " ".join(tag.replace(" ", "") for tag in article.tags)) == (title, tags)
    assert (article.sections[0].text, article.unused) == ("Body.\n\n---\n\nBelow a rule.", "")


def test_toml() -> None:
    head = '+++\ntitle = "Foo: bar"\ndate = 2024-01-02\ntags = ["a", "b"]\n\n[extra]\nweight = 1\n+++\n'
    article = parse_article(f"{head}Body.", "a.md")
    assert (article.title, article.date, article.tags) == ("Foo: bar", "2024-01-02", ("a", "b"))
    assert article.sections[0].text == "Body."
    assert parse_article("+++\ntitle = Foo\ntags = [\n 'a'\n]\n+++\nBody.", "a.md").title == "Foo"


@pytest.mark.parametrize(
    ("head", "title", "unused"),
    [
        ("title: A\nnot a field\ntags: a", "A", "not a field, and so text: 'not a field'"),
        ("title: A\n\nnot a field\n", "a", "it cannot be read, and counts as text"),
        ("title: A\n\nHere is my note: not a field\n", "a", "it cannot be read, and counts as text"),
        ("title: A\nkey: " + "[" * 20_000 + "\nnot a field", "A", "not a field, and so text: 'not a field'"),
    ],
)
def test_unused_lines_of_a_head_are_named_and_in_the_text(head: str, title: str, unused: str) -> None:
    article = parse_article(f"---\n{head}\n---\nBody.", "a.md")
    assert (article.title, article.unused) == (title, unused)
    assert "not a field" in article.sections[0].text
    assert article.sections[0].text.endswith("Body.")


def write(folder: Path, **files: str | bytes) -> None:
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends_of_windows_are_read(tmp_path: Path, encoding: str, end: str) -> None:
    text = f"{FRONT}# Café\n\nOne — two.\n\n## Two\n\n```\n## no\n```\n"
    mark = "\ufeff" if encoding[-3:] in ("-le", "-be") else ""
    write(tmp_path, a_MD=(mark + text.replace("\n", end)).encode(encoding))
    (article,) = load_library(tmp_path).articles
    assert article == parse_article(text, "a.MD")


def test_a_folder_is_read_in_order_and_below(tmp_path: Path) -> None:
    write(tmp_path, b_md="b", a_txt="a", c__d_markdown="d", e_rst="no", _hidden_md="no")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.md").write_text("no")
    assert [article.path for article in load_library(tmp_path).articles] == [
        "a.txt",
        "b.md",
        "c/d.markdown",
    ]


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("secret")
    folder = tmp_path / "in"
    write(
        folder,
        a_md="fine",
        b_md=b"caf\xe9",
        c_md="---\ntitle: A\nb\n---\nx",
        d_md="x" * 2_000_001,
        e_md=b"a\0b",
        f_md="",
        l_md=b"\xff\xfea\0b",
        m_md=b"\xff\xfe\0\0a\0\0\0",
        n_md="no mark".encode("utf-16-le"),
    )
    (folder / "g.md").symlink_to(outside)
    (folder / "h.md").symlink_to("h.md")
    (folder / "i.md").symlink_to("nowhere.md")
    (folder / "j.md").symlink_to("a.md")
    os.mkfifo(folder / "k.md")
    library = load_library(folder)
    assert [article.path for article in library.articles] == ["a.md", "c.md", "j.md"]
    assert {skip.path: skip.reason.split(" (")[0] for skip in library.skipped} == {
        "b.md": "it is not UTF-8 text",
        "c.md, front matter": "not a field, and so text: 'b'",
        "d.md": "it is larger than 2 MB",
        "e.md": "it is binary, not text",
        "f.md": "it contains no text",
        "g.md": "it is a link that leaves the folder",
        "h.md": "it is a link that leads to itself",
        "i.md": "No such file or directory",
        "k.md": "it is not a regular file",
        "l.md": "it is not UTF-16 text",
        "m.md": "it is binary, not text",
        "n.md": "it is binary, not text",
    }


def test_nothing_to_read_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder of articles") as missing:
        load_library(tmp_path / "nowhere")
    assert "--corpus" in missing.value.fix
    with pytest.raises(UsageError, match="no articles in"):
        load_library(tmp_path)
    write(tmp_path, a_md=b"\xff")
    with pytest.raises(UsageError, match=r"a\.md: it is not UTF-8"):
        load_library(tmp_path)


@pytest.fixture
def library() -> Library:
    texts = {
        "kv-cache.md": FRONT + "x",
        "masking.md": "---\ntitle: Masking/old observations\ntags: context\n---\nHide what is old.",
        "plans.md": "# Agent plans\n\nFor an agent.",
    }
    return Library(Path("x"), tuple(parse_article(text, path) for path, text in texts.items()))


def test_get_takes_the_exact_slug_only(library: Library) -> None:
    assert library.get("kv-cache").title == "KV cache: reuse"
    with pytest.raises(UsageError, match="no article 'KV-cashe'; nearest: kv-cache"):
        library.get("KV-cashe")


@pytest.mark.parametrize(
    "name",
    ["KV Cache", "kv-cache.md", " [kv-cache] ", "kv cache: REUSE", "articles/kv-cache.md", r"articles\kv-cache.md"],
)
def test_find_takes_what_is_meant(library: Library, name: str) -> None:
    assert library.find(name).slug == "kv-cache"
    assert library.find("masking old observations").slug == "masking"


@given(st.text())
def test_find_answers_or_says_no(name: str) -> None:
    known = Library(Path("x"), (parse_article("text", "a-b.md"), parse_article("# a b\ntext", "c.md")))
    try:
        found = known.find(name).slug
    except UsageError as error:
        found = error.what
    assert found in ("a-b", "c") or found.startswith("no article")


@pytest.mark.parametrize(
    ("topic", "slugs"),
    [
        ("agents", ["kv-cache", "plans"]),
        ("Agent plan", ["plans"]),
        ("the caches", ["kv-cache"]),
        ("old observation", ["masking"]),
        ("agents masking", []),
        ("?", []),
    ],
)
def test_topics(library: Library, topic: str, slugs: list[str]) -> None:
    assert [article.slug for article in library.matching(topic)] == slugs


def test_importing_the_rooms_loads_nothing_heavy() -> None:
    heavy = "{'yaml', 'sqlite3', 'pydantic'}"
    rooms = "thimble.corpus.library, thimble.corpus.search, thimble.tools"
    code = f"import sys, {rooms}; print(sorted({heavy} & {{*sys.modules}}))"
    root = ROOT
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
