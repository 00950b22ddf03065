"""
Make the inflect domain's data file from the inflection table that lemminflect ships.

Run it where ``lemminflect`` 0.2.3 is installed::

    python scripts/make_inflect_data.py

It reads ``resources/infl_lu.csv.gz`` of that package, one row a line: the lemma, its part of
speech, then the forms in a fixed order, spellings of one form separated by ``/``.  A row gives an
example of a category when

- its part of speech has that category (nouns: plural; verbs: past tense, -ing form and third
  person; adjectives: comparative and superlative; participles and adverbs are left out, since
  nearly all of them repeat another category), and
- the lemma and at least one spelling of the form consist of the letters a to z alone.

An example keeps all such spellings, in the order of the table.  Nothing else is dropped or mended:
a noun without a plural (``travel``) has its lemma as its only form, and one that is also used
without a plural (``singularity``) has it as one of several.

The result is deterministic, byte for byte.
"""

from __future__ import annotations

import gzip
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src/headway_domains/inflect/data/inflections.txt.gz"

CATEGORIES: dict[str, tuple[str | None, ...]] = {
    "noun": ("noun-plural",),
    "verb": ("verb-past", None, "verb-ing", "verb-third-person"),
    "adj": ("adjective-comparative", "adjective-superlative"),
}
"""The category of each column of forms, by part of speech; None for the past participle."""

PLAIN = re.compile("[a-z]+")

Examples = dict[str, dict[str, str]]


def table() -> Path:
    """
    The inflection table, found without importing the package, which needs numpy.
    """
    spec = importlib.util.find_spec("lemminflect")
    if spec is None or spec.origin is None:
        sys.exit("lemminflect is not installed: python -m pip install lemminflect==0.2.3")
    return Path(spec.origin).parent / "resources/infl_lu.csv.gz"


def examples_of(line: str) -> Iterator[tuple[str, str, str]]:
    """
    Category, lemma and spellings of each example that a row gives.
    """
    lemma, part_of_speech, *forms = line.rstrip("\n").split(",")
    for category, spellings in zip(CATEGORIES.get(part_of_speech, ()), forms, strict=False):
        plain = [spelling for spelling in spellings.split("/") if PLAIN.fullmatch(spelling)]
        if category and plain and PLAIN.fullmatch(lemma):
            yield category, lemma, "/".join(plain)


def read(path: Path) -> Examples:
    """
    All examples: category to lemma to spellings.
    """
    examples: Examples = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            for category, lemma, plain in examples_of(line):
                examples.setdefault(category, {})[lemma] = plain
    return examples


def text_of(examples: Examples) -> str:
    """
    A headline ``# category`` and then one line an example, all of it sorted.
    """
    blocks = (
        "".join([f"# {category}\n", *(f"{a}\t{b}\n" for a, b in sorted(forms.items()))])
        for category, forms in sorted(examples.items())
    )
    return "".join(blocks)


def main() -> None:
    """
    Write the data file and say what is in it.
    """
    examples = read(table())
    # Without mtime=0 the file would differ at every run.
    TARGET.write_bytes(gzip.compress(text_of(examples).encode("ascii"), 9, mtime=0))
    for category, forms in sorted(examples.items()):
        print(f"{category}: {len(forms)}")
    print(f"total: {sum(map(len, examples.values()))}, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
