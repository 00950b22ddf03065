"""
Somebody else's optimizers, driven.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest

from headway import run
from headway.durations import parse_law
from headway.errors import OptionError
from headway_es import AskTell, Cma, ESDomain, Nevergrad, schedule, theta_of


class Search:
    """
    An optimizer of five lines: it keeps the best of what it was told, and asks around it.
    """

    def __init__(self, theta, seed):
        self.best, self.loss = theta, np.inf
        self.rng = np.random.default_rng(seed)
        self.told = []


class Driven:
    max_lag = 2

    def start(self, theta, *, population, seed):
        return Search(theta, seed)

    def ask(self, optimizer, count):
        return [optimizer.best + 0.3 * z for z in optimizer.rng.normal(size=(count, 3))]

    def value(self, candidate):
        return candidate

    def tell(self, optimizer, candidates, losses):
        optimizer.told.append(len(candidates))
        for candidate, loss in zip(candidates, losses, strict=True):
            assert loss == pytest.approx(float(candidate @ candidate))
            if loss < optimizer.loss:
                optimizer.best, optimizer.loss = candidate, loss

    def centre(self, optimizer):
        return optimizer.best


def ran(driven, name="sync", *, dim=3, population=6, law="lognormal:1,1.5", **options):
    aggregator = AskTell(driven=driven, population=population)
    given = {"updates": 20, "driver": "simulated", "durations": {"rollout": parse_law(law)}}
    domain = ESDomain(dim=dim)
    return run(domain, aggregator=aggregator, **{**given, **schedule(name), **options})


def best(driven, name="sync", **options):
    return theta_of(ran(driven, name, **options).state).tobytes()


@pytest.mark.parametrize("name", ["sync", "pipeline-1", "pipeline-2"])
def test_workers_and_durations_do_not_show(name):
    """
    One theta for any number of workers, any durations, and real threads.
    """
    found = {
        best(Driven(), name, n_workers=count, law=law)
        for count, law in [(1, "constant:1"), (7, "pareto:1,1.5"), (64, "lognormal:1,1.5")]
    }
    found.add(best(Driven(), name, driver="threads", durations=None))

    assert 1 == len(found)


@pytest.mark.parametrize("name", ["sync", "wait-1", "wait-2", "pipeline-2", "drop-1"])
def test_each_score_is_told_with_its_own_candidate(name):
    """
    Also of a candidate that was asked for updates ago; the optimizer's own assertion says so.
    """
    result = ran(Driven(), name, n_workers=30)

    assert () == result.failures
    assert result.final_reward > 0.2 * result.baseline_reward


def test_no_two_jobs_share_a_candidate():
    """
    Also where three batches begin on one version.
    """
    seen = []

    class Watched(ESDomain):
        def rollout(self, state, task, *, payload=None, rng, ticket=None):
            if payload is not None:
                seen.append((ticket.base, payload["theta"]["data"]))
            return super().rollout(state, task, payload=payload, rng=rng)

    run(
        Watched(dim=3),
        aggregator=AskTell(driven=Driven(), population=4),
        updates=8,
        driver="simulated",
        n_workers=64,
        **schedule("wait-2"),
    )

    assert len(seen) > 30
    assert len(seen) == len(set(seen))


def test_jobs_unpickle_nothing(monkeypatch):
    """
    Only a step does, once: some optimizers hold all that they were ever told.
    """
    loads = []

    def restore(self, state):
        loads.append(self)
        self.__dict__.update(state)

    monkeypatch.setattr(Search, "__setstate__", restore, raising=False)
    result = ran(Driven(), "wait-2", n_workers=9)

    assert () == result.failures
    assert result.version == len(loads)


def test_a_run_that_lets_cards_grow_older_is_refused():
    """
    At the start, with both numbers.
    """
    with pytest.raises(OptionError, match="max_staleness=3: The aggregator bears at most 2"):
        ran(Driven(), "wait-3")
    with pytest.raises(OptionError, match="bears at most 0"):
        run(ESDomain(dim=3), aggregator=AskTell(), updates=2)
    with pytest.raises(ValueError, match="max_lag"):
        Cma(max_lag=2)


@pytest.mark.parametrize(
    ("package", "driven"),
    [
        ("cma", Cma(max_lag=1)),
        ("nevergrad", Nevergrad(max_lag=1)),
        ("nevergrad", Nevergrad(name="OnePlusOne", max_lag=1)),
    ],
)
@pytest.mark.parametrize("name", ["sync", "pipeline-1"])
@pytest.mark.filterwarnings("ignore")
def test_real_ones_are_driven(package, driven, name):
    """
    They climb, they repeat, and they leave numpy's global numbers alone.
    """
    pytest.importorskip(package, reason=f"needs {package}")
    before = np.random.get_state()[1].tolist()  # noqa: NPY002 - it is what must not change
    result = ran(driven, name, n_workers=3)
    again = best(driven, name, n_workers=17)

    assert before == np.random.get_state()[1].tolist()  # noqa: NPY002 - as above
    assert theta_of(result.state).tobytes() == again
    assert result.final_reward > 0.5 * result.baseline_reward
    assert () == result.failures


@pytest.mark.parametrize(("package", "driven"), [("cma", Cma()), ("nevergrad", Nevergrad())])
def test_without_its_package_the_remedy_is_told(monkeypatch, package, driven):
    """
    The extra, by name.
    """
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(OptionError, match=rf"headway-es\[{package}\]"):
        driven.start(np.zeros(3), population=4, seed=0)


@pytest.mark.filterwarnings("ignore")
def test_a_name_that_nevergrad_has_not_is_told():
    """
    With the nearest one that it has.
    """
    pytest.importorskip("nevergrad", reason="needs nevergrad")
    with pytest.raises(OptionError, match=r"name='OnePlusOn': .*Did you mean 'OnePlusOne'"):
        Nevergrad(name="OnePlusOn").start(np.zeros(3), population=4, seed=0)


@pytest.mark.parametrize(("package", "driven"), [("cma", Cma()), ("nevergrad", Nevergrad())])
def test_a_run_without_the_package_says_how_to_get_it(monkeypatch, package, driven):
    """
    It ends at once, and its warning and its failure name the extra.
    """
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.warns(RuntimeWarning, match=rf"headway-es\[{package}\]"):
        result = ran(driven)

    assert "error" == result.stop_reason
    assert f"headway-es[{package}]" in result.failures[0].fault.message


def test_what_is_kept_goes_on_after_a_crash(tmp_path):
    """
    Another object is told everything anew, and asks for the same.
    """

    class Stop:
        left = 60

        def __call__(self, notice):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

    more = {"driver": "threads", "durations": None, "run_dir": tmp_path / "r"}
    with pytest.raises(KeyboardInterrupt):
        ran(Driven(), "pipeline-1", observers=[Stop()], **more)

    assert best(Driven(), "pipeline-1") == best(Driven(), "pipeline-1", **more)
