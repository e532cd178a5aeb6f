"""Servers that speak OpenAI's chat completions: vLLM, llama-server and others."""
