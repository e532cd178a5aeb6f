"""Keys and tokens are masked wherever a log holds them; what only looks random is not."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.logs.samples import CLAUDE, claude, lines, tool_result
from thimble.logs.forms import read_logs
from thimble.logs.secrets import FORMS, mask_secrets

LETTERS = "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 3
SECRETS = {
    "private key": f"-----BEGIN RSA PRIVATE KEY-----\n{LETTERS}\n-----END RSA PRIVATE KEY-----",
    "AWS key": "AKIA" + "ABCDEFGH12345678",
    "GitHub token": "ghp_" + LETTERS[:36],
    "GitLab token": "glpat-" + LETTERS[:20],
    "Anthropic key": "sk-ant-" + "api03-" + LETTERS[:40],
    "OpenAI key": "sk-proj-" + LETTERS[:40],
    "Google key": "AIza" + LETTERS[:35],
    "Slack token": "xoxb-" + "123456789012-" + LETTERS[:24],
    "Hugging Face token": "hf_" + LETTERS[:34],
    "npm token": "npm_" + LETTERS[:36],
    "PyPI token": "pypi-" + LETTERS[:60],
    "Stripe key": "sk_" + "live_" + LETTERS[:24],
    "SendGrid key": "SG." + LETTERS[:22] + "." + LETTERS[:43],
    "JSON web token": "eyJ" + LETTERS[:20] + ".eyJ" + LETTERS[:30] + "." + LETTERS[:43],
    "password in a URL": "someone:" + "hunter2pw",
    "authorization": LETTERS[:32],
    "value of a key": LETTERS[3:35],
}
WHERE = {
    "password in a URL": "git clone https://{}@example.org/x.git",
    "authorization": "curl -H 'Authorization: Bearer {}' x",
    "value of a key": "DB_PASSWORD={}\nNEXT=1",
}


def test_every_form_is_tried() -> None:
    assert SECRETS.keys() == FORMS.keys()


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("escaped", [False, True])
def test_a_secret_is_masked_with_its_kind_and_nothing_around_it(kind: str, escaped: bool) -> None:
    text = f"before\n{WHERE.get(kind, '{}').format(SECRETS[kind])}\nafter"
    secret = SECRETS[kind]
    if escaped:  # as a call's arguments hold it
        text, secret = json.dumps(json.dumps({"text": text})), json.dumps(json.dumps(secret))[3:-3]
    found: Counter[str] = Counter()
    shown = mask_secrets(text, found)
    assert shown == text.replace(secret, f"[masked: {kind}]")
    assert found == {kind: 1}


@pytest.mark.parametrize(
    "text",
    [
        "commit 3f2a1c9e8b7d6540a1b2c3d4e5f60718293a4b5c",
        '"cache_read_input_tokens": 130000000000000000',
        "token = process.env.SOME_LONG_TOKEN_NAME",
        "password: correcthorsebatterystaple",
        "sk-this-is-a-css-class-name-of-mine",
        "https://example.org:8080/path@2x.png",
        "the secret of AKIA is short",
        "secret_key = 'aaaaaaaaaaaaaaaa1111'",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert mask_secrets(text, Counter()) == text


def test_secrets_are_masked_in_results_and_calls_and_counted_on_reading(tmp_path: Path) -> None:
    key = SECRETS["GitHub token"]
    call = [{"type": "tool_use", "id": "c1", "name": "run", "input": {"command": f"echo {key}"}}]
    path = tmp_path / "s.jsonl"
    path.write_bytes(
        lines(
            CLAUDE[1],
            claude("assistant", "a1", "u1", call, id="m1"),
            claude("user", "u2", "a1", tool_result(text=f"{key}\n{key}")),
        )
    )
    (log,) = read_logs(path)
    assert key not in json.dumps(log.entries)
    assert json.dumps(log.entries).count("[masked: GitHub token]") == 3
    assert log.left_out["masked: GitHub token"] == 3
    (kept,) = read_logs(path, keep_secrets=True)
    assert json.dumps(kept.entries).count(key) == 3
    assert kept.left_out["masked: GitHub token"] == 0
