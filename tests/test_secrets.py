"""
Secrets reach no fault: they are planted everywhere that a fault may get its words from, and looked
for in everything that is kept or told.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway import run
from headway._secrets import REDACTED, is_secret_name, redact, shorten, without_secrets
from headway.cli import main
from headway.contracts import Fault
from headway.errors import OptionError, PluginWarning, UsageError
from headway.journal import Journal
from headway.registry import Registry
from headway.testing import ToyDomain
from headway.testing._erratic import Erratic

PLANTED = "zebra-4711-quagga"
"""What is looked for; it looks like nothing by itself."""

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIBOgIBAAJBAKj34\nGkxFhD90vcNLYLIn\n-----END RSA PRIVATE KEY-----"
LETTERS = "abcDEF0123456789abcDEF0123456789"

SECRETS = [
    (f"Authorization: Bearer {PLANTED}", PLANTED),
    (f"authorization: {PLANTED}", PLANTED),
    (f"Proxy-Authorization: Basic {PLANTED}=", PLANTED),
    (f"{{'Authorization': 'Bearer {PLANTED}'}}", PLANTED),
    (f'{{"authorization": "Token {PLANTED}"}}', PLANTED),
    (f"[(b'authorization', b'Bearer {PLANTED}')]", PLANTED),
    (f"Headers([('authorization', 'Basic {PLANTED}')])", PLANTED),
    (f"headers['Authorization'] = '{PLANTED}'", PLANTED),
    (f"-H 'Authorization: Digest username=x, response={PLANTED}'", PLANTED),
    (f"sent Bearer {PLANTED}, got 401", PLANTED),
    ("Bearer abcdefghijklmnopqrst", "abcdefghijklmnopqrst"),
    ("Basic bWU6aHVudGVyMg==", "bWU6aHVudGVyMg"),
    (f"Cookie: session={PLANTED}; a=b", PLANTED),
    (f"Set-Cookie: {PLANTED}", PLANTED),
    (f"X-Auth-Token: {PLANTED}", PLANTED),
    (f"api_key={PLANTED}", PLANTED),
    (f"api_key = '{PLANTED}'", PLANTED),
    (f'api_key="{PLANTED}"', PLANTED),
    (f"api_key='{PLANTED} with spaces'", "with spaces"),
    (f'{{"api_key": "{PLANTED}"}}', PLANTED),
    (f"{{'apiKey': '{PLANTED}', 'model': 'm'}}", PLANTED),
    (f'{{\\"api_key\\": \\"{PLANTED}\\"}}', PLANTED),
    (f"x-api-key: {PLANTED}", PLANTED),
    (f"X-API-KEY={PLANTED}", PLANTED),
    (f"(b'x-api-key', b'{PLANTED}')", PLANTED),
    (f"Client(api_key='{PLANTED}', timeout=3)", PLANTED),
    (f"openai_api_key: {PLANTED}", PLANTED),
    (f"OPENAI_API_KEY={PLANTED}", PLANTED),
    (f"os.environ['MY_TOKEN'] = '{PLANTED}'", PLANTED),
    (f"access_token={PLANTED}&x=1", PLANTED),
    (f"client_secret={PLANTED}", PLANTED),
    (f"AWS_SECRET_ACCESS_KEY={PLANTED}", PLANTED),
    (f"aws_access_key_id: {PLANTED}", PLANTED),
    (f"password={PLANTED}", PLANTED),
    (f"passwd: {PLANTED}", PLANTED),
    (f"pwd={PLANTED}", PLANTED),
    (f"passphrase => {PLANTED}", PLANTED),
    (f"password=rb'{PLANTED}'", PLANTED),
    (f"credentials: {PLANTED}", PLANTED),
    (f"--api-key {PLANTED} --verbose", PLANTED),
    (f"['curl', '--token', '{PLANTED}']", PLANTED),
    (f"--token={PLANTED}", PLANTED),
    (f"GET /v1?key={PLANTED}&alt=sse", PLANTED),
    (f"https://x/y?a=1&X-Amz-Signature={PLANTED}", PLANTED),
    (f"https://me:{PLANTED}@example.org/x", PLANTED),
    (f"postgresql+psycopg://me:{PLANTED}/%40@db:5432/x", PLANTED),
    (f"redis://:{PLANTED}@localhost", PLANTED),
    (f"https://{PLANTED}@example.org", PLANTED),
    (f"key sk-{LETTERS} is wrong", LETTERS),
    (f"sk-proj-{LETTERS}", LETTERS),
    (f"sk-ant-api03-{LETTERS}", LETTERS),
    (f"sk_live_{LETTERS}", LETTERS),
    (f"ghp_{LETTERS}", LETTERS),
    (f"github_pat_{LETTERS}", LETTERS),
    (f"glpat-{LETTERS}", LETTERS),
    (f"hf_{LETTERS}", LETTERS),
    (f"xoxb-{LETTERS}", LETTERS),
    ("AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"),
    (f"AIza{LETTERS}", LETTERS),
    (f"the token was {JWT}.", JWT[20:40]),
    (f"key:\n{PEM}\nend", "GkxFhD90vcNLYLIn"),
    (repr(PEM), "GkxFhD90vcNLYLIn"),
    (PEM[:60], PEM[35:60]),
]

HARMLESS = [
    "",
    "division by zero",
    "max_tokens=100, tokens_per_call=5 and 512 tokens",
    "unexpected token: expected ';'",
    "KeyError: 'key'",
    "key='a' is no number",
    "the author is unknown, the authority too",
    "Basic authentication failed: bearer token expired",
    "token=None, password=None, secret: missing",
    "api_key=os.environ['X'], token=get_token()",
    "self.token = self.config.token",
    "https://example.org:8080/a?b=c#d",
    "ssh://git@example.org/x",
    "the risk-averse desk-based sk-learn",
    'File "/x/tokens.py", line 3, in authorize',
    "a -- b --tokens 5",
]


@pytest.mark.parametrize(("text", "secret"), SECRETS, ids=lambda v: ascii(v)[:40])
def test_what_looks_like_a_secret_is_hidden(text, secret):
    """
    Alone, within other words, and after the end of a line; twice is as good as once.
    """
    for around in (text, f"x {text} y", f"a line\n{text}\nanother"):
        hidden = redact(around)

        assert secret not in hidden
        assert REDACTED in hidden
        assert hidden == redact(hidden)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_harmless_is_left_alone(text):
    """
    Else nobody could read what went wrong.
    """
    assert text == redact(text)


@pytest.mark.parametrize(
    "name",
    ["MY_API_KEY", "my_token", "DbPassword", "A_SECRET_B", "GOOGLE_CREDENTIALS", "PROXY_AUTH"],
)
def test_values_of_variables_that_say_so_are_hidden(name, monkeypatch):
    """
    Read when a text is redacted, in each spelling that a text may have them in.
    """
    value = 'p"laß/\\wort\nwith a second line'
    assert f"sent {PLANTED}" == redact(f"sent {PLANTED}")
    monkeypatch.setenv(name, PLANTED)

    assert f"sent {REDACTED}, twice {REDACTED}" == redact(f"sent {PLANTED}, twice {PLANTED}")
    monkeypatch.setenv(name, value)
    for text in (
        value,
        repr(value),
        json.dumps(value),
        "p%22la%C3%9F%2F%5Cwort%0Awith%20a%20second%20line",
    ):
        assert "wort" not in redact(text)
    assert "second line" not in redact("'with a second line'")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X_KEY", "true"),
        ("X_KEY", "short"),
        ("X_AUTH", "disabled"),
        ("SSH_AUTH_SOCK", "/run/user/1000/agent"),
        ("X_KEY_FILE", "~/keys/mine"),
        ("X_AUTH_URL", "https://login.example.org"),
        ("MAX_TOKENS", "1234567890"),
        ("HOME", "somewhere-else"),
        ("GIT_AUTHOR_NAME", "Some Person"),
        ("KEYBOARD_LAYOUT", "us-international"),
    ],
)
def test_values_that_are_no_secrets_stay(name, value, monkeypatch):
    """
    Short ones, plain words, paths, addresses, and those of other variables.
    """
    monkeypatch.setenv(name, value)

    assert f"it was {value}." == redact(f"it was {value}.")


@given(st.text(), st.sampled_from([text for text, _ in SECRETS]), st.text())
def test_redacting_twice_is_redacting_once(before, text, after):
    """
    Faults are copied and read back.
    """
    once = redact(before + text + after)

    assert once == redact(once)


@pytest.mark.parametrize("length", [100, 1_000, 20_000])
def test_a_cut_halves_no_secret(length):
    """
    Wherever the middle of a long text is left out.
    """
    secret = f"sk-{LETTERS}"
    for size in range(length // 2 - 40, length // 2 + 10):
        first = shorten(
            "." * size + f" {secret} " + "." * 5 * length + f"{secret} " + "x" * size, length
        )

        assert "sk-" not in first
        assert LETTERS[-8:] not in first
        assert len(first) < length + 100


@pytest.mark.parametrize("length", [2_000, 20_000])
@pytest.mark.parametrize("times", [0.9, 1.01, 1.5, 3, 7, 50])
def test_the_ends_of_a_long_text_are_kept(length, times):
    """
    As they are, and shortening it again changes nothing more.
    """
    text = " ".join(map(str, range(1_000_000, 1_000_000 + int(times * length / 8))))
    short = shorten(text, length)
    half = length // 2

    assert (text[: half - 1], text[1 - half :]) == (short[: half - 1], short[1 - half :])
    assert len(short) <= length + 60
    assert short == shorten(short, length)
    assert (len(text) > length + 60) == ("characters left out" in short)


def test_nothing_takes_long():
    """
    A thousand faults a second, and megabytes, cost little; no text makes a pattern run away.
    """
    error = ValueError("no answer from the backend: 503, token budget, key")
    began = time.process_time()
    for _ in range(1_000):
        Fault.of("rollout", error)
    assert time.process_time() - began < 2

    began = time.process_time()
    for piece in (
        "key=",
        "eyJ",
        "://a",
        "token: ",
        "\\",
        '"',
        "secret='",
        "--a-",
        "bearer ",
        "sk-",
    ):
        redact(piece * 20_000)
    shorten("api_key=x " * 1_000_000, 2_000)
    assert time.process_time() - began < 5


def test_names_of_secret_options():
    """
    By the words in them.
    """
    secret = [
        "api_key",
        "apikey",
        "API_KEY",
        "apiKey",
        "token",
        "hf_token",
        "authToken",
        "password",
    ]
    secret += [
        "db-password",
        "client_secret",
        "secret",
        "credentials",
        "auth",
        "private_key",
        "x-api-key",
    ]
    other = [
        "max_tokens",
        "tokens_per_call",
        "token_budget",
        "key",
        "sort_key",
        "author",
        "tokenizer",
    ]
    other += ["reward", "", "n_keys", "keyboard", "authority"]

    assert secret == [name for name in secret + other if is_secret_name(name)]


def test_an_error_about_a_secret_option_does_not_show_it():
    """
    The value is no help there.
    """
    assert "api_key=[redacted]: Give a number." == str(
        OptionError("api_key", PLANTED, "Give a number.")
    )
    assert "'x'" in str(OptionError("path", "x", "Give a number."))


def test_what_is_written_down_has_no_secret():
    """
    By its name at any depth, or by its look; all else as it was.
    """
    given = {
        "api_key": PLANTED,
        "a": {"token": 7, "b": [1, f"sk-{LETTERS}"]},
        "n": 1,
        "password": True,
    }
    want = {
        "api_key": REDACTED,
        "a": {"token": REDACTED, "b": [1, REDACTED]},
        "n": 1,
        "password": True,
    }

    assert want == without_secrets(given)


# -------------------------------------------------------------------------------------- real runs


class LeakError(RuntimeError):
    """
    As a client raises it: with the request's headers.
    """

    def __init__(self, place):
        told = f"{place}: 401 for {{'Authorization': 'Bearer {PLANTED}'}} key {os.environ['MY_API_KEY']}"
        super().__init__(told)


def leaking(method):
    def raises(self, *arguments, **more):
        api_key = "zebra-4711-quagga"  # noqa: F841 - the line of code stands in the traceback
        raise LeakError(method) from ValueError(f"password={PLANTED}")

    return raises


def made(base, method):
    return type("Leaking", (base,), {method: leaking(method)})


def plugin(method):
    from headway.builtins._memory_ledger import MemoryLedger
    from headway.builtins._policies import Guarded
    from headway.builtins._sampler import ShuffledEpochs
    from headway.builtins.standard import StandardAggregator
    from headway.contracts import Artifact

    class Selecting(StandardAggregator):
        def select(self, ticket, head, memory, rng): ...

    class Asking(StandardAggregator):
        def step(self, cards, context):
            yield f"api_key='{PLANTED}' {os.environ['MY_API_KEY']}"

    start = Artifact(ToyDomain(n_keys=20).initial())
    return {
        "select": lambda: {"aggregator": made(Selecting, "select")()},
        "step": lambda: {"aggregator": made(StandardAggregator, "step")()},
        "request": lambda: {"aggregator": Asking()},
        "decide": lambda: {"policy": made(Guarded, "decide")()},
        "pick": lambda: {"sampler": made(ShuffledEpochs, "pick")()},
        "commit": lambda: {"ledger": made(MemoryLedger, "commit")(start)},
        "observer": lambda: {"observers": [lambda notice: leaking("observer")(None)]},
    }[method]()


DOMAIN = ("rollout", "propose", "measure", "apply", "keys", "render", "train")
PLUGINS = ("select", "step", "request", "decide", "pick", "commit", "observer")


def asking(place):
    """
    An aggregator that has the domain train, where that is the place.
    """
    return {"aggregator": Erratic(training=1.0, faulty=0.0)} if place == "train" else {}


# A ledger of one's own that survives no process is refused there.
@pytest.mark.parametrize("place", [p for p in (*DOMAIN, *PLUGINS) if p != "commit"])
def test_no_secret_is_in_a_run_directory(place, monkeypatch, tmp_path):
    """
    Neither in the journal on disk nor beside it, whoever raises it.
    """
    monkeypatch.setenv("MY_API_KEY", "okapi-0815-ocelot")
    domain = made(ToyDomain, place)(n_keys=20) if place in DOMAIN else ToyDomain(n_keys=20)
    more = asking(place) if place in DOMAIN else plugin(place)
    result = run(domain, max_rollouts=40, run_dir=tmp_path / "run", **more)

    kept = b"".join(p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file())
    assert result.failures
    assert len(kept) > 1_000
    assert [False, False] == [s.encode() in kept for s in (PLANTED, "okapi-0815-ocelot")]


@pytest.mark.parametrize("driver", ["serial", "threads", "asyncio", "simulated"])
@pytest.mark.parametrize("place", [*DOMAIN, *PLUGINS])
def test_no_secret_of_an_exception_is_kept(place, driver, monkeypatch, caplog, capfd, tmp_path):
    """
    Whoever raises it: the result, the journal, the log and what is printed are free of it.
    """
    monkeypatch.setenv("MY_API_KEY", "okapi-0815-ocelot")
    caplog.set_level(logging.DEBUG, logger="headway")
    journal, domain = Journal(), ToyDomain(n_keys=20)
    if place in DOMAIN:
        domain, more = made(ToyDomain, place)(n_keys=20), asking(place)
    else:
        more = plugin(place)
    mode = "sync" if driver == "serial" else "async"
    result = run(domain, driver=driver, mode=mode, max_rollouts=40, journal=journal, **more)
    result.save(tmp_path / "saved.json")

    told = capfd.readouterr()
    kept = [
        json.dumps(result.to_json()),
        (tmp_path / "saved.json").read_text(),
        json.dumps(journal.to_json()),
        "".join(repr(vars(record)) for record in caplog.records),
        *(told.out, told.err, repr(result), str(result)),
    ]
    assert result.failures
    assert any(REDACTED in f.fault.message for f in result.failures)
    assert [False, False] == [any(s in k for k in kept) for s in (PLANTED, "okapi-0815-ocelot")]


STUDY = """
    import os, sys
    from headway.testing import ToyDomain

    class Leaking(ToyDomain):
        def __init__(self, api_key="", endpoint="", fail="", width="2"):
            super().__init__(n_keys=20)
            self.api_key, self.endpoint, self.fail = api_key, endpoint, fail
            if fail == "make":
                raise RuntimeError(f"no client for {endpoint} with {os.environ['MY_API_KEY']}")

        def rollout(self, state, task, *, rng):
            if self.fail == "rollout":
                raise RuntimeError(f"401 for {self.endpoint} {{'x-api-key': '{self.api_key}'}} "
                    + os.environ["MY_API_KEY"])
            return super().rollout(state, task, rng=rng)

    def domain(api_key="", endpoint="", fail=""):
        return Leaking(api_key, endpoint, fail)
"""

ENDPOINT = f"https://me:{PLANTED}@example.org"


@pytest.fixture
def study(tmp_path, monkeypatch):
    (tmp_path / "study.py").write_text(dedent(STUDY))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def in_a_process(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "headway", *arguments],
        env={**os.environ, "MY_API_KEY": "okapi-0815-ocelot", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def everything(folder: Path, done) -> str:
    files = [p.read_text(errors="replace") for p in sorted(folder.rglob("*")) if p.is_file()]
    return "\n".join([done.stdout, done.stderr, *files])


SETTINGS = ("--set", f"api_key={PLANTED}", "--set", f"endpoint={ENDPOINT}")


@pytest.mark.parametrize("fail", ["", "make", "rollout"])
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_the_command_line_tells_no_secret(study, fail, more):
    """
    In none of its files and on none of its streams, whether the run works or fails.
    """
    settings = [*SETTINGS, "--set", f"fail={fail}"] if fail else SETTINGS
    done = in_a_process(
        *("run", "study.py:domain", *settings, "--max-rollouts", "200", "--out", "out", *more)
    )
    kept = everything(study / "out", done)

    assert {"": 0, "make": 2, "rollout": 1}[fail] == done.returncode
    assert PLANTED not in kept
    assert "okapi-0815-ocelot" not in kept
    assert REDACTED in kept


def test_comparing_tells_no_secret(study):
    """
    Its settings are in ``results.json``.
    """
    done = in_a_process(
        *("compare", "study.py:domain", *SETTINGS, "--set", "fail=rollout", "--seeds", "0"),
        *("--max-rollouts", "10", "--out", "out", "--equal", "rollouts"),
    )
    kept = everything(study / "out", done)

    assert '"api_key": "[redacted]"' in kept
    assert PLANTED not in kept
    assert "okapi-0815-ocelot" not in kept


def test_a_secret_must_be_given_again(study, capsys):
    """
    The file that repeats a run says so, and the run works when it is.
    """
    assert 0 == main(["run", "study.py:domain", *SETTINGS, "--max-rollouts", "5", "--out", "one"])
    assert (
        'api_key = "[redacted]"\nendpoint = "[redacted]"\n' in Path("one/config.toml").read_text()
    )
    capsys.readouterr()

    again = ["run", "study.py:domain", "--config", "one/config.toml"]
    assert 2 == main([*again, "--set", f"api_key={PLANTED}"])
    told = (
        "one/config.toml: the option 'endpoint' of the domain was a secret, and not written down. "
    )
    assert f"{told}Give it again with --set KEY=VALUE" in capsys.readouterr().err
    assert 0 == main([*again, *SETTINGS, "--out", "two"])


def test_a_broken_plug_in_tells_no_secret(site, install, monkeypatch):
    """
    Neither as a warning of Python's nor on the command line.
    """
    monkeypatch.setenv("MY_API_KEY", "okapi-0815-ocelot")
    install("headway-leaky", f"raise RuntimeError('api_key={PLANTED} okapi-0815-ocelot')")
    with pytest.warns(PluginWarning) as warned:
        Registry.discover().names("ledger")
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    done = in_a_process("plugins", "--check", PYTHONPATH=path)
    kept = "".join([*(str(w.message) for w in warned), done.stdout, done.stderr])

    assert 1 == done.returncode
    assert "headway-leaky" in kept
    assert PLANTED not in kept
    assert "okapi-0815-ocelot" not in kept


def test_a_fault_is_clean_however_it_is_made():
    """
    Also when it is copied or made by hand.
    """
    fault = Fault(
        where="x", type="y", message=f"api_key={PLANTED}", traceback=f"token: '{PLANTED}'"
    )

    assert ("api_key=[redacted]", "token: [redacted]") == (fault.message, fault.traceback)
    assert fault == attrs.evolve(fault)


def test_usage_errors_are_shown_without_secrets(study, capsys):
    """
    Also those that show what was given.
    """
    code = main(
        ["run", "study.py:domain", "--set", f"api_keys={PLANTED}", "--set", f"token={PLANTED}"]
    )
    told = capsys.readouterr().err

    assert 2 == code
    assert PLANTED not in told
    assert issubclass(OptionError, UsageError)
