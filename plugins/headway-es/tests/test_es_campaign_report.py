"""
The page says what the results say, and not more.
"""

from __future__ import annotations

import re
from statistics import fmean

import attrs
import pytest

from headway_es.campaign import FULL, Difference, Done, Plan, Store, compare, write_report
from headway_es.campaign._analysis import Analysis, area, held
from headway_es.campaign._claims import CLAIMS, _verdict
from headway_es.campaign._plan import GRADIENT
from headway_es.campaign._words import interval

PLAN = Plan(
    problems=("miniterm", "sphere-100"),
    conditions=FULL.conditions,
    rates=(0.02, 0.005),
    gradient_rates=(0.01,),
    seeds=20,
    updates=20,
    every=10,
    checks=("sphere-100",),
)
LOSES = {"pipeline-8": 20.0, "pipeline-4": 6.0, "wait-1": -0.5, "10 %/4": 1.6, "10 %/8": 3.1}
SPEEDS = {"sync": 30.0, "10 %/4": 30.0, "10 %/8": 30.0, "drop-1": 10.0}


def made_up(unit):
    """
    A run that ends at 50 points and a little, less what its condition loses.
    """
    end = 50.0 - LOSES.get(unit.condition, 0.0) + 0.1 * (hash_of(unit) % 7 - 3)
    step = SPEEDS.get(unit.condition, 15.0)
    laws = [unit.law] if unit.law else list(PLAN.laws)
    bare = unit.checked or unit.condition == GRADIENT
    return Done(
        unit=unit,
        curve=() if unit.checked else (25.0, 25.0 + (end - 25.0) / 2, end),
        times={} if bare else dict.fromkeys(laws, (0.0, step, 2 * step)),
        digest=f"{unit.problem} {unit.condition} {unit.law}",
        seconds=2.0,
    )


def hash_of(unit):
    return sum(map(ord, unit.condition)) * (unit.seed + 3) + unit.seed


def filled(folder, seeds, plan=PLAN):
    store = Store.begin(folder, plan)
    for unit in attrs.evolve(plan, seeds=seeds).units():
        store.add(made_up(unit))
    return store


def page_of(folder, seeds, plan=PLAN):
    pytest.importorskip("matplotlib", reason="it draws with matplotlib")
    store, page = filled(folder / "results", seeds, plan), folder / "docs" / "explanation" / "p.md"
    page.parent.mkdir(parents=True)
    write_report(store, page)
    return page.read_text(encoding="utf-8"), page


def test_only_whole_seeds_count(tmp_path):
    """
    A seed in which one condition is missing is in no table.
    """
    analysis = Analysis.of(filled(tmp_path, 3))
    last = attrs.evolve(PLAN, seeds=1)
    gone = next(u for u in last.units() if u.condition == "drop-1" and u.problem == "miniterm")
    without = {unit: one for unit, one in analysis.results.items() if unit != gone}
    less = attrs.evolve(analysis, results=without)

    assert [0, 1, 2] == analysis.seeds("miniterm", 0.02)
    assert [1, 2] == less.seeds("miniterm", 0.02)
    assert [0, 1, 2] == less.seeds("miniterm", 0.005) == less.seeds("sphere-100", 0.02)
    assert {2} == {len(ran) for ran in less.runs("miniterm", 0.02).values()}


def test_pairs_are_of_one_seed(tmp_path):
    """
    A row's difference is that of the runs of the same seeds.
    """
    analysis = Analysis.of(filled(tmp_path, 12))
    rows = {row.arm: row for row in analysis.table("miniterm", 0.02, "final")}
    ends = [
        [
            analysis.results[u].curve[-1]
            for u in PLAN.units()
            if (u.condition, u.rate, u.problem) == case and u.seed < 12
        ]
        for case in (("pipeline-8", 0.02, "miniterm"), ("sync", 0.02, "miniterm"))
    ]

    assert compare(*ends) == rows["pipeline-8"].difference
    assert fmean(ends[0]) == pytest.approx(rows["pipeline-8"].value)
    assert rows["sync"].difference is None
    assert rows[GRADIENT].corrected is None
    assert rows["pipeline-8"].corrected == pytest.approx(9 * rows["pipeline-8"].difference.p)


def test_equal_time_is_one_moment_for_all(tmp_path):
    """
    That at which the fastest, ``drop-1``, has made its updates: ``sync`` has made a third of them by then.
    """
    analysis = Analysis.of(filled(tmp_path, 2))
    values = analysis.values("miniterm", 0.02, "final", "Pareto")
    runs = analysis.runs("miniterm", 0.02, "Pareto")

    assert held((0.0, 30.0, 60.0), runs["sync"][0].curve, 20.0) == values["sync"][0]
    assert runs["drop-1"][0].curve[-1] == values["drop-1"][0]
    assert 3.0 == analysis.speeds("miniterm", 0.02, "Pareto")["drop-1"]
    assert GRADIENT not in values
    assert {"Pareto", ""} == {ran[0].unit.law for ran in runs.values()}


def test_areas_and_places():
    """
    Of straight lines, cut where the span ends.
    """
    places, curve = (0.0, 10.0, 20.0), (0.0, 10.0, 10.0)

    assert (5.0, 10.0) == (held(places, curve, 5.0), held(places, curve, 99.0))
    assert (2.5, 5.0, 7.5) == (
        area(places, curve, 5.0),
        area(places, curve, 10.0),
        area(places, curve, 20.0),
    )


def test_a_page_of_few_seeds_says_so(tmp_path):
    """
    How many of how many, that nothing is settled, and no verdict on published figures.
    """
    text, _ = page_of(tmp_path, 3)

    assert "**The campaign is not finished: of the 20 paired seeds of the plan" in text
    assert "3 of MiniTerm" in text
    assert "too few seeds to say" in text
    assert "consistent with it" not in text
    assert "no smaller p than 0.25" in text


def test_a_page_of_one_seed_tests_nothing(tmp_path):
    """
    Differences stand there, and neither intervals nor p-values.
    """
    text, _ = page_of(tmp_path, 1)
    row = next(line for line in text.splitlines() if line.startswith("| pipeline-8 |"))

    assert "Of so few nothing can be tested" in text
    assert "[" not in row
    assert "1.000" not in row


def test_a_page_of_all_seeds(tmp_path):
    """
    Published differences are within the intervals or outside; nothing is confirmed.
    """
    text, page = page_of(tmp_path, 20)
    verdicts = [
        line for line in text.splitlines() if line.startswith(("| a tenth", "| natural", "| GRPO"))
    ]

    assert "**It rests on all 20 paired seeds of the plan.**" in text
    assert "consistent with it" in verdicts[1]
    assert "outside of the interval" in verdicts[3]
    assert "confirm" not in text.lower()
    assert (
        "8 runs were also made whole through Headway's machine: 8 of them led to the same theta"
        not in text
    )
    assert "10 runs were also made whole through Headway's machine: 10 of them" in text
    for link in re.findall(r"\]\((\.\./figures/[^)]+)\)", text):
        assert (page.parent / link).read_text(encoding="utf-8").startswith("<?xml")
    assert 2 == len(list((tmp_path / "docs" / "figures").iterdir()))


def test_the_page_says_what_no_p_says(tmp_path):
    """
    Of a p that is not small, of several tables, of equivalence among many, and of bands.
    """
    text, _ = page_of(tmp_path, 20)

    assert "A p that is not small says nothing" in text
    assert "No correction is over several tables." in text
    assert "it is not corrected for how many there are" in text
    assert "of each mean alone" in text
    assert "its runs are the same in both tables; Holm's correction leaves it out" in text
    assert "in the normal approximation" in text
    assert "at its worst" not in text


def test_the_gradients_rows_are_as_said(tmp_path):
    """
    The same runs in the tables of both learning rates, and an empty cell where Holm's p would be.
    """
    text, _ = page_of(tmp_path, 20)
    rows = [line for line in text.splitlines() if line.startswith(f"| {GRADIENT} |")]
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows[:2]]

    assert cells[0][3] == cells[1][3] != ""
    assert ["", ""] == [row[6] for row in cells]
    assert all(row[5] for row in cells)


@pytest.mark.parametrize(("seeds", "told"), [(1, "one seed"), (2, "mean of 2 seeds"), (3, "")])
def test_bands_are_of_as_many_seeds_as_intervals(tmp_path, seeds, told):
    """
    Of one or two seeds there is no band, as there is no interval in the tables.
    """
    page_of(tmp_path, seeds)
    figure = (tmp_path / "docs" / "figures" / "async-es-updates.svg").read_text(encoding="utf-8")

    assert f"MiniTerm: {told or 'mean of 3 seeds, 95 % intervals'}<" in figure
    assert (seeds >= 3) == ("PolyCollection" in figure)


def test_marks_of_functions_are_those_of_their_p(tmp_path):
    """
    A star below 0.05 after Holm's correction, an equals sign below 0.05 of equivalence, in every table.
    """
    plan = attrs.evolve(PLAN, margins={"miniterm": 2.0, "functions": 0.31})
    text, _ = page_of(tmp_path, 20, plan)
    analysis = Analysis.of(Store.read(tmp_path / "results"))
    wanted, levels = [], []
    for law in (None, *plan.laws):
        for rate in plan.rates:
            rows = analysis.table("sphere-100", rate, "area", law)[1:]
            levels += [row.difference.equivalence for row in rows]
            wanted.append(
                [(row.corrected < 0.05, row.difference.equivalence < 0.05) for row in rows]
            )
    told = [line.split("|")[3:-1] for line in text.splitlines() if line.startswith("| sphere-100")]

    assert wanted == [[("*" in cell, "=" in cell) for cell in cells] for cells in told]
    assert any(0.05 < level < 0.5 for level in levels)


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [(-0.8, 0.46, "consistent with it"), (-0.8, 0.44, "outside of the interval")],
)
def test_a_verdict_is_of_the_interval_that_is_shown(low, high, told):
    """
    A published +0.5 is not outside of an interval that is shown to end at +0.5.
    """
    found = Difference(count=20, mean=-0.1, deviation=1.0, low=low, high=high, p=0.5)

    assert told == _verdict(CLAIMS[0], found)
    assert (told == "consistent with it") == interval(found).endswith("+0.5]")


def test_checks_that_differ_are_counted(tmp_path):
    """
    The page tells how many led to another theta.
    """
    store = filled(tmp_path, 1)
    analysis = Analysis.of(store)
    one = next(done for unit, done in analysis.results.items() if unit.checked)
    store.add(attrs.evolve(one, digest="another"))

    assert (10, 10) == analysis.checks()
    assert (10, 9) == Analysis.of(store).checks()


def test_a_page_of_nothing(tmp_path):
    """
    It can be made before any seed is whole.
    """
    text, _ = page_of(tmp_path, 0)

    assert "No seed of MiniTerm is complete yet." in text
    assert "## Functions" not in text


def test_equal_results_give_equal_files(tmp_path):
    """
    The page and both figures, byte by byte.
    """
    first, page = page_of(tmp_path / "one", 3)
    second, other = page_of(tmp_path / "two", 3)

    assert first == second
    for name in ("async-es-updates.svg", "async-es-time.svg"):
        paths = [p.parent.parent / "figures" / name for p in (page, other)]
        assert 1 == len({path.read_bytes() for path in paths})


def test_tables_are_whole(tmp_path):
    """
    Every row has as many cells as its head.
    """
    text, _ = page_of(tmp_path, 12)
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        rows = [row.count("|") for row in table.splitlines()]

        assert 1 == len(set(rows)), table


def test_prose_has_a_sentence_a_line(tmp_path):
    """
    As all pages of the documentation have.
    """
    text, _ = page_of(tmp_path, 12)
    lines = [line for line in text.splitlines() if not line.startswith(("|", "#", "    ", "!"))]

    assert [] == [line for line in lines if re.search(r"[a-z]\. +[A-Z]", line)]
