"""vLLM, llama.cpp's llama-server, LM Studio, SGLang: every server that speaks chat completions under /v1."""
