"""
Tests of ``headway.durations``.
"""

from __future__ import annotations

import pickle
from statistics import NormalDist, fmean

import pytest

from headway.durations import (
    Constant,
    Law,
    LogNormal,
    Pareto,
    Recorded,
    Uniform,
    parse_law,
)
from headway.errors import OptionError

LAWS: dict[str, Law] = {
    "none": Constant(0.0),
    "constant:0.05": Constant(0.05),
    "uniform:0.02,0.1": Uniform(0.02, 0.1),
    "lognormal:0.05,0.8": LogNormal(0.05, 0.8),
    "pareto:0.05,2.5": Pareto(0.05, 2.5),
    "recorded:0.1,0.2,0.6": Recorded((0.1, 0.2, 0.6)),
}

MIDPOINTS = tuple((i + 0.5) / 20_000 for i in range(20_000))


@pytest.mark.parametrize("text", LAWS)
def test_text_and_law_are_two_spellings_of_one_thing(text: str) -> None:
    """
    A law is read from its text, and its text is read from it.
    """
    law = parse_law(text)

    assert (LAWS[text], text) == (law, str(law))


@pytest.mark.parametrize("law", LAWS.values(), ids=str)
def test_draws_average_to_the_mean(law: Law) -> None:
    """
    Over evenly spread numbers, the mean of the draws is the law's mean.
    """
    drawn = fmean(map(law.draw, MIDPOINTS))

    assert pytest.approx(law.mean, rel=0.01) == drawn


@pytest.mark.parametrize("law", LAWS.values(), ids=str)
def test_draws_never_fall_as_the_quantile_rises(law: Law) -> None:
    """
    A larger number never gives a shorter duration, and none is negative.
    """
    drawn = [law.draw(unit) for unit in (0.0, *MIDPOINTS, 1 - 2.0**-53)]

    assert sorted(map(abs, drawn)) == drawn


def test_sigma_is_that_of_the_logarithm() -> None:
    """
    One normal standard deviation multiplies a log-normal duration by exp(sigma).
    """
    law = LogNormal(0.05, 0.8)
    ratio = law.draw(NormalDist().cdf(1.0)) / law.draw(0.5)

    assert pytest.approx(2.718281828**0.8) == ratio


def test_recorded_law_gives_only_what_was_recorded() -> None:
    """
    The unit interval is cut into equal parts, one for each recorded duration, in their order.
    """
    trace = (0.1, 0.2, 0.6)
    drawn = tuple(Recorded(trace).draw(unit) for unit in (0.0, 0.34, 0.999))

    assert trace == drawn


@pytest.mark.parametrize("law", LAWS.values(), ids=str)
def test_laws_pickle(law: Law) -> None:
    """
    A law crosses a process boundary unchanged.
    """
    copy = pickle.loads(pickle.dumps(law))

    assert law == copy


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "constant",
        "constant:",
        "constant:fast",
        "constant:-1",
        "constant:nan",
        "constant:1,2",
        "uniform:2,1",
        "uniform:1",
        "lognormal:0,1",
        "lognormal:1,-1",
        "pareto:1,1",
        "pareto:0,2",
        "pareto:1,inf",
        "recorded:",
        "recorded:1,-1",
    ],
)
def test_bad_text_names_option_value_and_remedy(text: str) -> None:
    """
    A text that is no law is refused under the option's own name, with what to give instead.
    """
    with pytest.raises(OptionError, match="Give ") as caught:
        parse_law(text, option="pace")

    assert ("pace", text) == (caught.value.option, caught.value.value)


def test_bad_numbers_are_refused_without_a_text() -> None:
    """
    A law that is built directly is checked as well.
    """
    with pytest.raises(OptionError, match="alpha above 1"):
        Pareto(0.05, 0.5)
