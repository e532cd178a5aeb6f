"""What of an example is learnt."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from thimble.lab.training.fine_tune import Example, _row


class Letters:
    """A tokenizer whose tokens are letters."""

    eos_token_id = 0

    def __call__(self, text: str, *, add_special_tokens: bool) -> dict[str, list[int]]:
        return {"input_ids": [*map(ord, f"^{text}" if add_special_tokens else text)]}


@given(st.lists(st.tuples(st.text("ab"), st.text("cd")), min_size=1, max_size=4))
def test_each_reply_of_an_example_is_learnt_with_its_end_and_no_prompt_is(parts: list[tuple[str, str]]) -> None:
    first, *then = [Example(*part) for part in parts]
    row = _row(Letters(), Example(first.prompt, first.completion, then))
    pairs = list(zip(row["input_ids"], row["completion_mask"], strict=True))
    assert "".join(chr(token) if token else "." for token, _ in pairs) == "^" + "".join(f"{a}{b}." for a, b in parts)
    assert all(bool(learnt) is (chr(token) not in "^ab") for token, learnt in pairs)
