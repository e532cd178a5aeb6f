"""The model card: what the model is, how well it does, and what it is not for."""

from __future__ import annotations

CARD = """\
# qwen2-tiny

A language model of two million parameters that makes real tool calls in real servers. thimble's own tests drive vLLM
and llama.cpp with it, where no other weights can be had. It is not a product: it knows no facts, hardly any English,
and one way of working, which is to list articles, to read one, and to quote what that one states.

- Architecture: Qwen2 (`Qwen2ForCausalLM`), 4 layers, width 192, 3 heads of 64, half precision, context 8,192 tokens.
- Tokenizer: byte-level BPE of some 1,600 tokens, split as Qwen2 splits; chat template in the form of Qwen's, with
  `<tool_call>` (vLLM: `--tool-call-parser hermes`; llama.cpp: `--jinja`).
- Data: conversations that a generator makes up (`dialogues.py`) over made-up libraries, with the results that
  thimble's own tools give. A tenth of all made-up words, chosen by checksum, is kept from training: the *new words*.
- Made by `make tiny-model`: {steps} steps of {tokens:,} tokens, on two cores in less than 20 minutes. Another kind of
  processor rounds otherwise and comes to other weights.
- Licence: that of this project.

## How well it does

Sessions through thimble's loop, with its system prompt and all of its tools, over libraries of three to six articles
made from seeds that training does not use; greedy; {asked} questions a row; in brackets the 95 % Wilson interval.
Made by `python -m tests.servers.tiny.evaluation`.

{table}

*Calls parsed*: of the two calls that a question needs, those that came as valid JSON for a known tool. *Right slug*:
the first article read is the one that was asked about. *Right answer*: the reply holds the value and cites the article.
*Listed by group*: the question names a group of articles, so that the slug is to be found in a list of several. With
two or three facts in an article, the one that was asked for has to be told from the others.

It was to reach 99 % of calls parsed, and the right slug for 90 % on words seen and for 80 % on new ones. The rows
*listed by group* are below that: it names the right thing, but from a list of several it too often takes the second
half of the slug from another line. Told by the error that there is no such article, it often reads the right one then,
so that more answers than slugs are right.

The tests ask questions over libraries that `corpora.corpus` writes of new words, whose articles state one fact
each. `sound-seeds.json` has the seeds of those on which this model answers all six questions right, each in a session
of its own and all in one: {sound} that were tried. To ask about others is to measure the model, not the servers.

## Serve it

```sh
python -m vllm.entrypoints.openai.api_server --model tests/servers/tiny/qwen2-tiny --served-model-name tiny \\
  --enable-auto-tool-choice --tool-call-parser hermes --max-model-len 8192

python -m tests.servers.tiny.gguf_file tiny.gguf && thimble --model tiny.gguf
```
"""


def card(table: str, asked: int, sound: str) -> str:
    """The card with the figures of an evaluation."""
    from tests.servers.tiny.training import STEPS, TOKENS

    return CARD.format(table=table, asked=asked, sound=sound, steps=STEPS, tokens=TOKENS)
