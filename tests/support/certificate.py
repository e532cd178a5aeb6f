"""A certificate that nobody trusts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def self_signed(folder: Path) -> Path:
    """A certificate for 127.0.0.1, signed by itself and good for a day, and its key, in one file. Needs openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, certificate, both = folder / "key.pem", folder / "certificate.pem", folder / "server.pem"
    kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", *kind, *name, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    both.write_text(certificate.read_text() + key.read_text())
    return both
