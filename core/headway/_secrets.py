"""
Keeps secrets out of what is kept: no fault, and so no journal, result or log, holds one.

What is hidden is what looks like a secret, wherever it stands in a text, and the value of every
environment variable whose name says that it is one.  A secret in a user's own artifact or in what a
model answered is not looked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import cast

REDACTED = "[redacted]"
"""What stands in a secret's place."""

_environments: list[Mapping[str, str]] = []


def look_in(environment: Mapping[str, str]) -> None:
    """
    Hide from now on also what these variables hold when a text is redacted.

    The package itself calls this once, with the process's environment: the contracts make faults and
    know no operating system.
    """
    if not any(known is environment for known in _environments):
        _environments.append(environment)


def redact(text: str) -> str:
    """
    The text without what looks like a secret.

    Doing it twice changes nothing more.  Safe to call from any thread.

    >>> redact("401 for https://me:hunter2@example.org with api_key='abc'")
    '401 for https://[redacted]@example.org with api_key=[redacted]'
    """
    for environment in _environments:
        for value in _values(environment):
            if value in text:
                text = text.replace(value, REDACTED)
    low = text.lower()
    for hints, pattern, instead in _SHAPES:
        if any(hint in low for hint in hints):
            text = pattern.sub(instead, text)
    return text


def shorten(text: str, longest: int) -> str:
    """
    A text without secrets, whose middle is left out when it is longer than this.

    A secret that the cut would have halved is hidden whole, and of megabytes only the ends are
    looked through.  What was shortened already stays as it is.
    """
    half = longest // 2
    reach = half + _MARGIN
    if len(text) <= 2 * reach:
        text = redact(text)
        if len(text) <= longest + _NOTE:
            return text
        first, last = text[:half], text[-half:]
    else:
        # What an inner end cuts off from a secret lies within the margin, which is dropped.
        first, last = (
            redact(text[:reach])[:-_MARGIN][:half],
            redact(text[-reach:])[_MARGIN:][-half:],
        )
    left_out = len(text) - len(first) - len(last)
    return redact(f"{first} ... ({left_out} characters left out) ... {last}")


def is_secret_name(name: str) -> bool:
    """
    Whether an option of this name holds a secret, by the words in it.

    >>> [name for name in ("api_key", "authToken", "max_tokens", "sort_key") if is_secret_name(name)]
    ['api_key', 'authToken']
    """
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return False
    pairs = {f"{first} {second}" for first, second in pairwise(words)}
    return bool(
        words[-1] in _SECRET_LAST or _SECRET_ANYWHERE.intersection(words) or pairs & _SECRET_PAIRS
    )


def without_secrets(value: object, name: str = "") -> object:
    """
    A value of an option, as it may be written down: a secret, by its name or its look, is replaced.

    Args:
        value: A text, or anything; tables and lists are looked through.
        name: The option's name.
    """
    if isinstance(value, Mapping):
        table = cast("Mapping[object, object]", value)
        return {str(key): without_secrets(held, str(key)) for key, held in table.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(held, name) for held in cast("Iterable[object]", value)]
    if value is None or isinstance(value, bool):
        return value
    if is_secret_name(name):
        return REDACTED
    return REDACTED if isinstance(value, str) and redact(value) != value else value


_MARGIN = 4_096
"""Characters; hardly any secret is longer."""

_NOTE = 60
"""Characters that a shortened text may be longer than asked: it says how much was left out."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_SECRET_LAST = {"auth", "authorization", "bearer", "cookie", "pwd", "token"}
_SECRET_ANYWHERE = {
    *("apikey", "credential", "credentials", "passphrase", "passwd", "password", "passwords"),
    *("secret", "secrets"),
}
_SECRET_PAIRS = {
    f"{first} {key}"
    for first in ("access", "api", "client", "encryption", "private", "signing")
    for key in ("key", "keys")
}

_VARIABLE = re.compile(
    r"KEY(?!BOARD|MAP)|TOKEN(?!S|IZ)|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH(?!OR(?!IZ))",
    re.IGNORECASE,
)
_PATH = re.compile(r"[./~]|[A-Za-z]:[\\/]")
_ADDRESS = re.compile(r"\w+://[^@?\s]*")
_PLAIN = {
    *("anonymous", "automatic", "disabled", "external", "internal", "localhost", "optional"),
    *("password", "required", "undefined"),
}
_SHORTEST = 8
_LINE = 16
"""Characters of a line of a longer secret that are hidden by themselves."""


def _values(environment: Mapping[str, str]) -> list[str]:
    found: set[str] = set()
    for name in tuple(environment):
        if _says_secret(name):
            found.update(_spellings(environment.get(name, "").strip()))
    return sorted(found, key=lambda value: (-len(value), value))


@lru_cache(maxsize=1_024)  # the names stay the same, and are looked at with every fault
def _says_secret(variable: str) -> bool:
    return _VARIABLE.search(variable) is not None


def _spellings(value: str) -> Iterator[str]:
    if len(value) < _SHORTEST or value.lower() in _PLAIN:
        return
    if _PATH.match(value) or _ADDRESS.fullmatch(value):
        return
    yield value
    if not value.isalnum():
        from json import dumps
        from urllib.parse import quote

        yield from (repr(value)[1:-1], dumps(value)[1:-1], quote(value, safe=""))
        yield from (line for line in value.splitlines() if len(line) >= _LINE)


# Every pattern begins with a literal, so that none looks at a text more than about once; the hints
# before it, in lower case, say whether it need look at all.
_KEPT = rf"(?!\\*[\"']?{re.escape(REDACTED)})"
_NAME = (
    r"(?=[apsectw])(?:api[_\-. ]?key|apikey|access[_-]?key(?:[_-]?id)?|private[_-]?key|secret[_-]?key|"
    r"signing[_-]?key|encryption[_-]?key|client[_-]?secret|secret|token|passw(?:or)?d|"
    r"passphrase|pwd|credentials?|auth)"
)
_TO = r"""(?:\\*["']?\s*(?:=>|:=|[:=])\s*|\\*["']\s*,\s*|\\*["']\]\s*=\s*)"""
_QUOTED = r"""[bfruBFRU]{0,2}(?P<quote>\\*["'])(?:(?!(?P=quote))[^\n])*(?P=quote)"""
_HARMLESS = (
    r"(?!(?:-?[0-9.]+|true|false|none|null|required|missing|invalid|expired|expected|unexpected|"
    r"not|is|was|must|should|str|int|bytes|bool|float|Any)\b(?![-\w+/=]))"
)
_CODE = r"(?![A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*[\[(])(?!(?:self|cls|os|config|settings|args)\.)"
_BARE = rf"""{_HARMLESS}{_CODE}\\*["']?[^\s,;&"'(){{}}\[\]<>\\]+"""
_VALUE = rf"(?:{_QUOTED}|{_BARE})"

_SCHEME = r"(?:bearer|basic|token|digest|negotiate|apikey|aws4-hmac-sha256)"
_SHAPES: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    (
        ("private key",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?!-----END )[\s\S])*(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?"
        ),
        REDACTED,
    ),
    (
        ("authorization", "cookie", "x-auth"),
        re.compile(
            rf"(?P<name>(?=[acx])(?:authorization|cookie|x-auth[a-z-]*){_TO}){_KEPT}"
            rf"(?:{_QUOTED}|{_SCHEME}\s+[^\n\"']+|[^\s\"',}})]+(?:;[^\n\"']*)?)",
            re.IGNORECASE,
        ),
        rf"\g<name>{REDACTED}",
    ),
    (
        ("bearer", "basic"),
        re.compile(
            r"(?P<name>\bb(?:earer|asic)\s+)"
            r"(?:(?=[^\s\"']*(?-i:[^a-z\s\"',.;:)]))[A-Za-z0-9+/_.~=-]{8,}|[a-z]{16,})",
            re.IGNORECASE,
        ),
        rf"\g<name>{REDACTED}",
    ),
    (
        ("key", "secret", "token", "passw", "passphrase", "pwd", "credential", "auth"),
        re.compile(rf"(?P<name>{_NAME}{_TO}){_KEPT}{_VALUE}", re.IGNORECASE),
        rf"\g<name>{REDACTED}",
    ),
    (
        ("--",),
        re.compile(
            rf"(?P<name>--(?:[a-z0-9]+-){{0,4}}{_NAME}\s+){_KEPT}{_VALUE}",
            re.IGNORECASE,
        ),
        rf"\g<name>{REDACTED}",
    ),
    (
        ("?", "&"),
        re.compile(
            rf"(?P<name>[?&](?:key|sig|signature|code|x-amz-[a-z-]+)=){_KEPT}[^\s&\"'#]+",
            re.IGNORECASE,
        ),
        rf"\g<name>{REDACTED}",
    ),
    (
        ("://",),
        re.compile(
            rf"(?<=://){_KEPT}(?:[^\s/@:\"'<>]*:(?![0-9]+/)[^\s\"'<>]{{1,512}}|[^\s/@:\"'<>]{{16,}})@"
        ),
        f"{REDACTED}@",
    ),
    (
        ("sk-", "sk_", "rk_", "gsk_"),
        re.compile(
            r"(?<![A-Za-z0-9])(?:sk-(?:(?=[\w-]*[0-9])[\w-]{8,}|[\w-]{20,})|"
            r"(?:[sr]k_(?:live|test)|gsk)_\w{10,})"
        ),
        REDACTED,
    ),
    (
        ("gh", "github_pat_", "glpat-", "hf_", "npm_", "pypi-", "xox", "xapp-"),
        re.compile(
            r"(?<![A-Za-z0-9])(?:gh[opsru]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|hf_\w{20,}|"
            r"npm_\w{20,}|pypi-[\w-]{20,}|xox[a-z]-[\w-]{8,}|xapp-[\w-]{8,})"
        ),
        REDACTED,
    ),
    (
        ("akia", "asia", "aiza", "ya29.", "sg."),
        re.compile(
            r"(?<![A-Za-z0-9])(?:(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,}|ya29\.[\w-]{10,}|"
            r"SG\.[\w-]{16,}\.[\w-]{16,})"
        ),
        REDACTED,
    ),
    (
        ("eyj",),
        re.compile(r"(?<![A-Za-z0-9])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)*"),
        REDACTED,
    ),
)
