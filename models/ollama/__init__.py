"""The Ollama backend. `OllamaServer` is a server; `Ollama` is a model on it, as a session's backend."""
