"""
What a run gives back: complete, immutable, the same after a file.
"""

from __future__ import annotations

import copy
import json
import pickle
from collections import Counter, defaultdict

import attrs
import pytest

from headway import Commit, Consume, Work, run
from headway.contracts import CardDecided, HeadCommitted, SweepDone, Ticket
from headway.durations import LogNormal, Uniform
from headway.errors import HeadwayError, OptionError
from headway.journal import Journal
from headway.result import Result
from headway.testing import ToyDomain

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

LAWS = {
    "rollout": LogNormal(1.0, 1.0),
    "propose": Uniform(0.5, 3.0),
    "measure": Uniform(0.2, 1.0),
    "commit": Uniform(0.1, 0.3),
}


class TwoFiles(ToyDomain):
    """
    Renders two files.
    """

    def render(self, state):
        return {"a.txt": "one\n", "b/c.txt": "two\n"}


class Broken(ToyDomain):
    """
    Nothing works.
    """

    def rollout(self, state, task, *, rng):
        message = "the backend is down"
        raise ConnectionError(message)


def some(domain=None, **options):
    options = {"driver": "simulated", "max_rollouts": 60, "durations": LAWS} | options
    return run(domain or ToyDomain(noise=0.1, tokens=50), **options)


# ---------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("domain", "options"),
    [
        (ToyDomain(), {}),
        (ToyDomain(noise=0.2, tokens=90), {"mode": "sync", "round_size": 5}),
        (TwoFiles(), {"max_cost": 1.0}),
        (Broken(), {}),
        (ToyDomain(), {"max_calls": 14}),
    ],
)
def test_a_saved_result_comes_back_equal(domain, options, tmp_path):
    """
    Also that of a run that failed, with its faults, and one whose final state was not scored.
    """
    result = some(domain, **options)
    result.save(tmp_path / "result.headway")
    again = Result.load(str(tmp_path / "result.headway"))

    assert result == again
    assert result.to_json() == again.to_json()
    assert result.state == again.state
    assert ["result.headway"] == [path.name for path in tmp_path.iterdir()]


def test_a_result_can_be_copied_and_pickled():
    """
    Read-only mappings are no obstacle.
    """
    result = some()

    assert result == copy.deepcopy(result)
    assert result == pickle.loads(pickle.dumps(result))


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    """
    What was there before stays when writing fails, and no draft is left.
    """
    path = tmp_path / "result"
    path.write_text("before")
    monkeypatch.setattr(Result, "_saved", lambda _: {"a": object()})

    with pytest.raises(TypeError):
        some().save(path)
    assert "before" == path.read_text()
    assert [path] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"3",
        b"{}",
        b'{"headway_result": 1}',
        b"[" * 100_000,
        b'{"headway_result": 1, "fields": {}}',
        b'{"headway_result": 1, "fields": {"seed": {"value": 0}}}',
        b'{"headway_result": 99, "fields": {}}',
        b'{"headway_result": 1, "fields": {"seed": {"value": {"$": "Nobody"}}}}',
        b"\xff\xfe\x00",
        None,
    ],
)
def test_a_file_that_is_no_result(content, tmp_path):
    """
    Empty, cut, of another kind, of another version or missing: the error names the file.
    """
    path = tmp_path / "some-file"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(OptionError, match="some-file"):
        Result.load(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut(share, tmp_path):
    """
    Wherever it was cut.
    """
    path = tmp_path / "cut"
    some().save(path)
    text = path.read_text()
    path.write_text(text[: int(len(text) * share)])

    with pytest.raises(OptionError, match="cut"):
        Result.load(path)


# ---------------------------------------------------------------------------- immutable


def test_nothing_of_a_result_can_be_changed():
    """
    Neither its fields nor what they hold; what ``state`` gives is the caller's own.
    """
    result = some()
    before = result.to_json()
    for field in attrs.fields(Result):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(result, field.name, None)
        held = getattr(result, field.name)
        if hasattr(held, "items"):
            assert field.name in ("_state", "_stable_state", "_memory") or not hasattr(
                held, "__setitem__"
            )
    result.state["a"] = 77
    result.stable_state["a"] = 77
    result.to_json()["state"]["b"] = 77

    assert before == result.to_json()


def test_what_a_domain_keeps_is_not_what_the_result_shows():
    """
    A domain that goes on writing to what it rendered changes no result.
    """

    kept = {"a.txt": "one\n"}

    class Keeping(ToyDomain):
        def render(self, state):
            return kept

    domain = Keeping()
    result = some(domain)
    kept["a.txt"] = kept["b.txt"] = "changed"

    assert {"a.txt": "one\n"} == result.files


def test_rendered():
    """
    The text of the only file; the mapping where there are several.
    """
    one, two = some(), some(TwoFiles())

    assert one.files["state.json"] == one.rendered
    assert {"a.txt": "one\n", "b/c.txt": "two\n"} == two.rendered


@pytest.mark.parametrize(("mode", "word"), [("sync", "rounds"), ("async", "sweeps")])
def test_what_the_history_is_of(mode, word):
    """
    In sync mode a sweep ends a round.
    """
    assert word == some(mode=mode).history_of


# ---------------------------------------------------------------------------- where time goes


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("seed", range(4))
def test_slot_seconds_are_the_whole_run(mode, seed):
    """
    Every slot's every second is counted once, and idle where it was.
    """
    result = some(mode=mode, seed=seed, n_workers=5, slots=7, policy="reflective", bind="early")
    used = result.slot_seconds

    assert {"rollout", "measure", "reverify", "idle_waiting", "idle"} == set(used)
    assert sum(used.values()) == pytest.approx(7 * result.wallclock, rel=1e-9)
    paid = used["rollout"] + used["measure"] + used["reverify"]
    assert result.usage.seconds == pytest.approx(paid)  # rebases take no time here
    assert min(used.values()) >= 0


def test_a_barrier_leaves_slots_idle_while_work_waits():
    """
    In rounds, whoever is done early waits for the slowest; without a barrier hardly anybody does.
    """
    options = {"n_workers": 8, "slots": 8, "max_rollouts": 200, "async_ratio": 16}
    rounds, free = (some(ToyDomain(), mode=mode, **options) for mode in ("sync", "async"))
    shares = [r.slot_seconds["idle_waiting"] / (8 * r.wallclock) for r in (rounds, free)]

    assert shares[0] > 3 * shares[1]
    assert rounds.worker_starved_seconds > free.worker_starved_seconds


def test_commits_and_steps_are_timed():
    """
    Commits by their law; steps' own code takes no virtual time, and some of the real one.
    """
    virtual = some(ToyDomain(), durations={**LAWS, "commit": Uniform(0.25, 0.25)})
    real = run(ToyDomain(), driver="serial", mode="sync", max_rollouts=60)

    assert virtual.ledger_seconds == pytest.approx(0.25 * virtual.version)
    assert 0 == virtual.merge_seconds
    assert real.merge_seconds > 0
    assert real.ledger_seconds > 0


# ---------------------------------------------------------------------------- what became of cards


class Takes:
    """
    An optimizer of one's own: commits every other card without measuring, drops the rest.

    It notes which worker starts from which version.
    """

    batch = 1

    def __init__(self, log):
        self.log = log

    def select(self, ticket, head, memory, rng):
        self.log.append(ticket)
        return Work()

    def step(self, cards, context):
        for card in cards:
            if card.number % 2:
                yield Consume((card,), "worse")
            else:
                yield Commit(context.apply(card.diff), (card,))
                return


class Boundaries(Journal):
    """
    Notes where one event ends: tickets that it admitted stand before, what it tells behind.
    """

    def __init__(self, log):
        super().__init__()
        self.log = log

    def append(self, event, answers, witness):
        self.log.append(None)


class Counts:
    """
    Counts for itself, from notices and from the tickets that an optimizer saw.
    """

    def __init__(self, log, workers):
        self.fates = defaultdict(list)
        self.sweeps = Counter()
        self.refreshed, self.head, self.held = 0, 0, [0] * workers
        admitted, tickets, notices = [], [], []
        for thing in [*log, None]:
            if thing is None:  # of one event, sweeps come before the tickets that it admits
                for notice in notices:
                    self.hear(notice)
                for ticket in admitted:
                    self.held[ticket.worker] = ticket.base
                admitted, tickets, notices = tickets, [], []
            elif isinstance(thing, Ticket):
                tickets.append(thing)
            else:
                notices.append(thing)

    def hear(self, notice):
        if isinstance(notice, HeadCommitted):
            self.head = notice.head.version
        elif isinstance(notice, CardDecided):
            decision = notice.decision
            self.fates[decision.card].append((decision.kind, decision.reason, notice.eta))
        elif isinstance(notice, SweepDone):
            self.sweeps[notice.outcome] += 1
            if notice.stale and not notice.committed:  # with a patience of 1
                self.refreshed += sum(held < self.head for held in self.held)
                self.held = [self.head] * len(self.held)


@pytest.mark.parametrize("policy", ["full", "guarded", "reflective"])
@pytest.mark.parametrize("resync", ["lag", "commit"])
@pytest.mark.parametrize("seed", range(4))
def test_a_custom_aggregator_s_staleness_is_counted_exactly(policy, resync, seed):
    """
    The result's figures are the ones that a test counts for itself, whoever decides the cards.
    """
    log = []
    result = some(
        ToyDomain(right=0.3, n_values=9),
        aggregator=Takes(log),
        policy=policy,
        resync=resync,
        bind="early",
        seed=seed,
        alpha=0,
        n_workers=8,
        async_ratio=6,
        stall_patience=1,
        max_rollouts=150,
        deterministic=False,
        observers=[log.append],
        journal=Boundaries(log),
    )
    counts = Counts(log, 8)
    fates = [fate for card in counts.fates.values() for fate in card]
    etas = Counter(eta for _, _, eta in fates)
    committed = Counter(eta for kind, _, eta in fates if kind == "committed")
    stale = sum(reason == "stale" for _, reason, _ in fates)

    assert all(len(card) == 1 for card in counts.fates.values())
    assert len(fates) == sum(result.decisions.values()) == result.stale_considered
    assert (stale, stale / len(fates)) == (result.stale_discarded, result.stale_rate())
    assert (etas, committed) == (result.eta_histogram, result.committed_by_eta)
    assert {eta: committed[eta] / n for eta, n in etas.items()} == result.acceptance_by_eta
    assert counts.sweeps == result.outcomes()
    assert counts.refreshed == result.forced_refreshes
    assert (stale > 0, counts.refreshed > 0) == (policy == "guarded",) * 2


# ---------------------------------------------------------------------------- in words


@pytest.mark.parametrize(
    ("domain", "options", "said"),
    [
        (ToyDomain(noise=0.1, tokens=50), {}, ["95 % interval", "charged", "tokens", "commits"]),
        (ToyDomain(), {"mode": "sync"}, ["held-out reward", "stopped because"]),
        (Broken(), {}, ["failures", "(ConnectionError)", "the run failed: ", "backend is down"]),
        (ToyDomain(), {"max_rollouts": None, "max_calls": 14}, ["paid calls were used up"]),
    ],
)
def test_a_printed_result_is_a_few_lines(domain, options, said):
    """
    Whatever it came to; what was not charged and what did not fail have no line.
    """
    result = some(domain, **options)
    text = str(result)

    assert len(text.splitlines()) <= 10
    assert len(text) < 1000
    assert [] == [words for words in said if words not in text]
    assert bool(result.usage.tokens) == ("charged" in text)
    assert bool(result.failures) == ("failures" in text)


def test_a_result_is_not_saved_into_a_folder_that_does_not_exist(tmp_path):
    """
    The error names the folder, and no draft of the file.
    """
    with pytest.raises(OptionError) as caught:
        some().save(tmp_path / "missing" / "result.saved")

    assert f"There is no folder {tmp_path / 'missing'}: make it first." == caught.value.remedy


@pytest.mark.parametrize("name", ["taken", "n" * 300])
def test_a_result_that_cannot_be_written_is_named(name, tmp_path):
    """
    By the file that was asked for; nothing is left of the attempt.
    """
    (tmp_path / "taken").mkdir()
    with pytest.raises(HeadwayError) as caught:
        some().save(tmp_path / name)

    assert str(caught.value).startswith(f"cannot write {tmp_path / name}: ")
    assert ["taken"] == [path.name for path in tmp_path.iterdir()]


def test_a_result_for_reading_is_told_from_a_saved_one(tmp_path):
    """
    With the name of the file that can be loaded.
    """
    place = tmp_path / "result.json"
    place.write_text(json.dumps(some().to_json()))

    with pytest.raises(OptionError, match=r"it is for reading.*saved\.json beside it"):
        Result.load(place)
