"""compress by LLMLingua: the package, where it is installed, with tiny random weights; a word of help elsewhere.

Random weights choose words at random. What these tests hold is what must be true whatever a model chooses.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from agent.errors import UsageError
from agent.view import prepare
from strategies import llmlingua
from strategies.compress import MARK
from tests.strategies.test_compress import reading
from tests.support.histories import budget, calls_of
from tests.support.specs import build

TEXT = """# The cache, in short
slug: cache · page 1 of 1

The cache of a server holds what it has already read, and it is not read once more. It was 57.2% faster
than parse_config() in Smallville, which "was to be expected" from 2017 until 25 May 2018, and never slower.

| when | what was said |
| 2018 | that it is as it is |
the last line of this text says nothing that would be new to a reader of the lines above
ValueError: this line is of an error, and it is not to be touched at all
"""


@pytest.mark.skipif(find_spec("llmlingua") is not None, reason="the package is installed")
def test_without_the_package_it_says_what_to_type() -> None:
    with pytest.raises(UsageError, match="the llmlingua package is not installed") as caught:
        build("compress:by=llmlingua")
    assert caught.value.fix == 'pip install "thimble[llmlingua]"'


installed = pytest.mark.skipif(find_spec("llmlingua") is None, reason="needs the extra llmlingua")
pytestmark = pytest.mark.filterwarnings("ignore")


@installed
def test_without_a_model_it_says_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(llmlingua.SETTING, str(tmp_path))
    with pytest.raises(UsageError, match="LLMLingua cannot load") as caught:
        build("compress:by=llmlingua")
    assert f"hf download {tmp_path}" in caught.value.fix


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A token classifier of two layers whose vocabulary is letters, and an encoding by bytes to count in."""
    import tiktoken.registry
    import torch
    from tiktoken import Encoding
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertForTokenClassification, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("models") / "tiny-bert-base-multilingual-cased"
    letters = string.ascii_letters + string.digits + string.punctuation
    marks = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    vocabulary = [*marks.values(), *letters, *(f"##{letter}" for letter in letters)]
    pieces = BertWordPieceTokenizer({piece: number for number, piece in enumerate(vocabulary)}, lowercase=False)
    PreTrainedTokenizerFast(tokenizer_object=pieces._tokenizer, **marks).save_pretrained(folder)
    torch.manual_seed(0)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    BertForTokenClassification(BertConfig(vocab_size=len(vocabulary), num_labels=2, **size)).save_pretrained(folder)
    by_bytes = Encoding(
        "cl100k_base", pat_str=r"\s?\S+|\s+", mergeable_ranks={bytes([n]): n for n in range(256)}, special_tokens={}
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiktoken.registry.ENCODINGS, "cl100k_base", by_bytes)
        patch.setenv(llmlingua.SETTING, str(folder))
        yield folder


@installed
@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("ratio", [0.2, 0.5, 0.8])
def test_what_is_protected_stays_whatever_the_model_chooses(ratio: float) -> None:
    shorter = llmlingua.compressed(TEXT, ratio)
    assert len(shorter.split()) < len(TEXT.split())
    for kept in ("57.2%", "parse_config", "Smallville", '"was to be expected"', "2017", "not", "never"):
        assert kept in shorter
    for line in TEXT.split("\n"):
        if line.startswith(("#", "|", "ValueError")):
            assert line in shorter.split("\n")
    assert llmlingua.compressed(TEXT, ratio) == shorter


@installed
@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("text", ["", "\n\n", "one", "日本語の文 と", "🙂 is not a word", "[NEW3] N E W 3 33"])
def test_nothing_is_too_nasty(text: str) -> None:
    assert isinstance(llmlingua.compressed(f"title\n{text}", 0.5), str)


@installed
@pytest.mark.usefixtures("tiny")
def test_it_compresses_behind_the_strategy() -> None:
    strategy, before = build("compress:by=llmlingua"), None
    for messages in calls_of(reading(14)):
        before = prepare(messages, strategy, budget(4_000), before)
        assert before.tokens <= 4_000
        assert before.notes == ()
    assert before is not None
    assert any(message.content.endswith(MARK[-20:]) for message in before.messages)
