"""
Runs made of plug-ins: how an aggregator gets in, and what a broken plug-in does to a run.
"""

import pytest

from headway import Commit, Measure, Registry, run
from headway.cli import main
from headway.errors import ContractError, PluginConflictError, PluginLoadError, PluginWarning
from headway.testing import ToyDomain

GREEDY = """
    from headway.contracts import Commit, Measure
    from headway.registry import hookimpl

    class Greedy:
        batch = 1

        def step(self, cards, context):
            candidate = context.apply(cards[0].diff)
            before, after = yield Measure((context.head, candidate), context.held_out)
            if sum(after) > sum(before):
                yield Commit(candidate, cards[:1])

    @hookimpl
    def headway_aggregators():
        return {"greedy": Greedy}
"""

NOISY_HOOK = (
    GREEDY
    + """
    @hookimpl
    def headway_sweep_done(event):
        raise RuntimeError(f"no room for sweep {event.sweep % 2}")
"""
)


class Greedy:
    """The same aggregator as an object."""

    batch = 1

    def step(self, cards, context):
        candidate = context.apply(cards[0].diff)
        before, after = yield Measure((context.head, candidate), context.held_out)
        if sum(after) > sum(before):
            yield Commit(candidate, cards[:1])


def simulate(aggregator, registry=None):
    return run(
        ToyDomain(),
        aggregator=aggregator,
        registry=registry,
        driver="simulated",
        max_rollouts=60,
        validate=True,
    )


def test_one_aggregator_by_every_way(install):
    """An object, a registered name and an installed package give the same run."""
    install("headway-greedy", GREEDY)
    registry = Registry.discover()
    registry.add("aggregator", "mine", Greedy)
    ways = {
        "object": simulate(Greedy()),
        "registered": simulate("mine", registry),
        "installed": simulate("greedy"),
        "qualified": simulate("headway-greedy:greedy"),
    }

    assert 1 == len({result.digest for result in ways.values()})
    assert "greedy (headway-greedy 1.0)" == ways["installed"].choices["aggregator"]


def test_broken_plug_in_nobody_asked_for(install):
    """A plug-in that can't be imported is one warning; the run goes on."""
    install("headway-broken", "import nothing_of_this_name")
    with pytest.warns(PluginWarning, match="headway-broken") as caught:
        result = simulate("standard")

    assert 1 == len(caught)
    assert "max_iters" == result.stop_reason


def test_broken_plug_in_that_was_asked_for(install):
    """A plug-in that can't be imported ends the run that asks for it, by name and cause."""
    install("headway-broken", "import nothing_of_this_name")

    with pytest.warns(match="broken"), pytest.raises(PluginLoadError, match="nothing_of_this_name"):
        simulate("headway-broken:anything")


def test_misspelt_hook(install):
    """A misspelt hook is that plug-in's error, and names the hook."""
    install("headway-greedy", GREEDY.replace("headway_aggregators", "headway_agregators"))

    with (
        pytest.warns(match="agregators"),
        pytest.raises(PluginLoadError, match="headway_agregators"),
    ):
        simulate("headway-greedy:greedy")


def test_two_that_claim_one_name(install):
    """Two distributions with one name are an error only for who asks for that name."""
    install("headway-greedy", GREEDY)
    install("headway-greedier", GREEDY)

    with pytest.raises(PluginConflictError, match="headway-greedier:greedy"):
        simulate("greedy")
    assert simulate("standard").stop_reason == "max_iters"


def test_hook_that_raises(install):
    """A hook that raises is isolated; the result says which plug-in and how often."""
    install("headway-greedy", NOISY_HOOK)
    result = simulate("greedy")
    plain = simulate(Greedy())
    seen = [failure for failure in result.failures if failure.fault.where == "observer"]

    assert plain.digest == result.digest
    assert sum(failure.count for failure in seen) == len(result.history)
    assert all("headway-greedy 1.0" in failure.fault.traceback for failure in seen)


@pytest.mark.filterwarnings("default::headway.errors.PluginWarning")
def test_on_the_command_line(install, capsys, tmp_path, monkeypatch, letters):
    """The command line names a plug-in that can't be loaded, and exits with 1."""
    del letters
    monkeypatch.chdir(tmp_path)
    install("headway-broken", "import nothing_of_this_name")
    code = main(["run", "letters", "--aggregator", "headway-broken:x", "--max-rollouts", "5"])
    error = capsys.readouterr().err

    assert code == 1
    assert "headway-broken" in error
    assert "nothing_of_this_name" in error
    assert "Traceback" not in error


def test_domain_that_cannot_begin():
    """A domain that raises before anything ran is named, and so is what it raised."""

    class Lost(ToyDomain):
        def initial(self):
            raise OSError("no such file: words.txt")

    with pytest.raises(ContractError, match=r"'toy'.*words\.txt"):
        run(Lost(), driver="simulated", max_rollouts=5)


def test_state_that_is_no_json():
    """A state that is no JSON value is refused before anything runs."""

    class Odd(ToyDomain):
        def initial(self):
            return {"weights": {1, 2}}

    with pytest.raises(ContractError, match="not JSON serializable"):
        run(Odd(), driver="simulated", max_rollouts=5)
