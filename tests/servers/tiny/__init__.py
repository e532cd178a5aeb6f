"""A tiny language model of our own, which makes real tool calls in real servers: it drives them in the tests.

`words` makes words up, `corpora` articles and questions of them, `dialogues` what is to be learnt from these by way of
the real tools. `template` renders a conversation as a server does, `tokenizer` cuts it into tokens, `model` is the
network, `training` trains it, `weights` writes and reads the folder that vLLM loads, `gguf_file` writes the file that
llama.cpp loads, `evaluation` measures. `make tiny-model` does it all, in an environment of its own (`.tiny`); what
came of it is in `tests/servers/tiny/qwen2-tiny/`.
"""
