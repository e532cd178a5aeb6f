"""llama.cpp's server from the package xllamacpp, with those of the flags of `llama-server` that the tests use."""

from __future__ import annotations

import argparse
from threading import Event

import xllamacpp


def main() -> None:
    flags = argparse.ArgumentParser()
    flags.add_argument("--model", required=True)
    flags.add_argument("--alias", required=True)
    flags.add_argument("--host", required=True)
    flags.add_argument("--port", type=int, required=True)
    flags.add_argument("--context", type=int, required=True)
    flags.add_argument("--api-key", default="")
    flags.add_argument("--ignore-eos", action="store_true")
    flags.add_argument("--embeddings", action="store_true")
    given = flags.parse_args()
    asked = xllamacpp.CommonParams()
    asked.model.path, asked.model_alias = given.model, {given.alias}
    asked.hostnames, asked.port = [given.host], given.port
    asked.api_keys = [given.api_key] if given.api_key else []
    asked.n_ctx, asked.n_parallel = given.context, 1
    asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = 1
    asked.sampling.temp, asked.sampling.ignore_eos = 0, given.ignore_eos
    asked.endpoint_metrics = asked.use_jinja = asked.offline = True
    if given.embeddings:
        asked.embedding = True
        asked.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    _server = xllamacpp.Server(asked)
    Event().wait()


if __name__ == "__main__":
    main()
