"""
Episodes: what is played, under which weights, and how many requests are open at once.
"""

from __future__ import annotations

import asyncio
import random
import threading

import attrs
import pytest
from rl_worlds import AsyncEcho, Echo, numpy_trainer

from headway import run
from headway.contracts import Artifact, HeadCommitted, Snapshot, Splits, Task, Ticket
from headway.errors import ContractError, OptionError
from headway_envs import Step
from headway_rl import RL, AsyncRL, Network, NetworkPolicy, Published, Sample, Trajectory
from headway_rl._asking import Ask, RequestLimit, run_async, run_plain
from headway_rl._episodes import play
from headway_rl._newest import Heads

SPLITS = Splits(train=[Task(id="a"), Task(id="b")], held_out=[Task(id="c"), Task(id="d")])


class Right:
    """
    A policy that does what is shown.
    """

    def __init__(self, version=0):
        self.version = version

    def sample(self, observation, rng):
        action = observation.index(1.0)
        return Sample(actions=(action,), logprobs=(0.0,), version=self.version)


def rl(kind=RL, environment=Echo, **more):
    return kind(environment=environment, trainer=numpy_trainer(), splits=SPLITS, **more)


def ticket(**more):
    return Ticket(**{"number": 0, "base": 0, "worker": 0, "seed": 0, "group": 0, **more})


def test_an_episode_is_played_to_its_end():
    """
    One segment a request, with what was seen and done; the reward is the sum.
    """
    found = run_plain(play(Echo(), 0, Right(3), random.Random(0), None), RequestLimit())

    assert 1.0 == found.reward
    assert [3] * 4 == [part.version for part in found.segments]
    assert [part.observation.index(1.0) for part in found.segments] == [
        part.actions[0] for part in found.segments
    ]
    assert {"turn": 4} == found.info


def test_turns_may_be_bounded():
    """
    What was earned until then counts.
    """
    found = run_plain(play(Echo(), 0, Right(), random.Random(0), 3), RequestLimit())

    assert (3, 0.75) == (found.tokens, found.reward)


def test_an_async_episode_is_the_same():
    """
    Loop and chance are shared.
    """
    plain = run_plain(play(Echo(), 0, Right(), random.Random(5), None), RequestLimit())
    awaited = asyncio.run(
        run_async(play(AsyncEcho(), 0, Right(), random.Random(5), None), RequestLimit(1))
    )

    assert plain == awaited


def test_what_the_environment_is_given_may_differ_from_the_tokens():
    """
    As a text does from its tokens.
    """

    class Words:
        def reset(self, task, rng):
            return "say yes"

        def step(self, action):
            return Step("", float(action == "yes"), True, {})

    class Says:
        def sample(self, observation, rng):
            return Sample(actions=(9, 4), logprobs=(-1.0, -2.0), version=2, context=7, given="yes")

    found = run_plain(play(Words(), 0, Says(), random.Random(0), None), RequestLimit())

    assert (1.0, 2, 9) == (found.reward, found.tokens, found.input_tokens)
    assert found == Trajectory.from_json(found.to_json())


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("sample", "a policy's sample gives a Sample, not 3"),
        ("step", "gives (observation, reward, done, info), not None"),
    ],
)
def test_a_part_that_breaks_its_contract_is_named(broken, told):
    """
    With what it gave instead.
    """

    class Bad(Echo):
        def step(self, action):
            return None

    class Worse:
        def sample(self, observation, rng):
            return 3

    world, policy = (Echo(), Worse()) if broken == "sample" else (Bad(), Right())
    with pytest.raises(ContractError) as caught:
        run_plain(play(world, 0, policy, random.Random(0), None), RequestLimit())

    assert told in str(caught.value)


def test_what_must_be_awaited_is_refused_plainly():
    """
    With the remedy, and no coroutine left behind.
    """
    with pytest.raises(ContractError, match="AsyncRL instead of RL"):
        run_plain(play(AsyncEcho(), 0, Right(), random.Random(0), None), RequestLimit())


@pytest.mark.parametrize("most", [1, 3])
def test_threads_have_at_most_so_many_requests_open(most):
    """
    Any number of episodes are under way; the others wait.
    """
    limit, lock = RequestLimit(most), threading.Lock()
    full = threading.Barrier(most)
    seen = {"open": 0, "peak": 0}

    def request():
        with lock:
            seen["open"] += 1
            seen["peak"] = max(seen["peak"], seen["open"])
        full.wait(timeout=20)  # so that the limit is reached, or the test fails
        with lock:
            seen["open"] -= 1

    def episode():
        yield Ask(request, samples=True)

    threads = [threading.Thread(target=run_plain, args=(episode(), limit)) for _ in range(3 * most)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {"open": 0, "peak": most} == seen


def test_coroutines_have_at_most_so_many_requests_open():
    """
    While any number of tools run beside them.
    """
    seen = {"samples": 0, "tools": 0, "peak of samples": 0, "peak of tools": 0}

    async def main():
        limit, all_in_tools = RequestLimit(2), asyncio.Event()

        async def count(kind):
            seen[kind] += 1
            seen[f"peak of {kind}"] = max(seen[f"peak of {kind}"], seen[kind])
            if kind == "tools":
                if seen["tools"] == 6:
                    all_in_tools.set()
                await all_in_tools.wait()
            else:
                await asyncio.sleep(0)
            seen[kind] -= 1

        def episode():
            yield Ask(lambda: count("tools"))
            yield Ask(lambda: count("samples"), samples=True)

        await asyncio.gather(*(run_async(episode(), limit) for _ in range(6)))

    asyncio.run(asyncio.wait_for(main(), 20))

    assert 2 == seen["peak of samples"]
    assert 6 == seen["peak of tools"]


def test_a_limit_serves_one_loop_after_the_other():
    """
    A run after a run, each with a loop of its own.
    """
    limit = RequestLimit(1)

    def episode():
        yield Ask(lambda: 1, samples=True)
        return 5

    assert [5, 5] == [asyncio.run(run_async(episode(), limit)) for _ in range(2)]


def test_a_failed_request_gives_its_place_back():
    """
    Else the next one would wait for ever.
    """
    limit = RequestLimit(1)

    def episode(call):
        yield Ask(call, samples=True)

    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            run_plain(episode(lambda: 1 / 0), limit)

    assert run_plain(episode(lambda: 1), limit) is None


def test_a_rollout_is_an_episode_under_its_ticket_s_weights():
    """
    Its version is the ticket's base, and its output a trajectory.
    """
    domain = rl()
    outcome = domain.rollout(
        domain.initial(), Task(id="a"), rng=random.Random(1), ticket=ticket(base=7, group=3)
    )
    found = Trajectory.from_json(outcome.output)

    assert found.reward == outcome.reward
    assert {7} == {part.version for part in found.segments}
    (bar,) = domain.recorder.bars
    assert ("sampling", 3, 7, 4) == (bar.kind, bar.group, bar.version, bar.tokens)


def test_an_async_domain_plays_the_same_episode():
    """
    Of the same chance.
    """
    first, second = rl(), rl(AsyncRL, AsyncEcho)
    plain = first.rollout(first.initial(), Task(id="a"), rng=random.Random(1), ticket=ticket())
    awaited = asyncio.run(
        second.rollout(second.initial(), Task(id="a"), rng=random.Random(1), ticket=ticket())
    )

    assert plain == awaited
    assert first.measure(first.initial(), Task(id="c"), rng=random.Random(2)) == asyncio.run(
        second.measure(second.initial(), Task(id="c"), rng=random.Random(2))
    )


def test_evaluation_is_recorded_apart():
    """
    It makes no bar, and nothing of it reaches the account.
    """
    domain = rl()
    domain.measure(domain.initial(), Task(id="c"), rng=random.Random(2))

    assert () == domain.recorder.bars
    assert [] == domain.recorder.take()


def test_an_episode_that_fails_has_ended():
    """
    Its bar has an end, and what was generated before.
    """

    class Breaks(Echo):
        def step(self, action):
            raise OSError("the tool is gone")

    domain = rl(environment=Breaks)
    with pytest.raises(OSError, match="tool is gone"):
        domain.rollout(domain.initial(), Task(id="a"), rng=random.Random(1), ticket=ticket())

    (bar,) = domain.recorder.bars
    assert bar.ended is not None
    assert (1, True) == (bar.tokens, bar.failed)


def test_a_reward_that_is_no_number_is_refused():
    """
    Before it gets anywhere.
    """

    class Infinite(Echo):
        def step(self, action):
            return Step([0.0] * 4, float("inf"), True, {})

    domain = rl(environment=Infinite)
    with pytest.raises(ContractError, match="reward is inf"):
        domain.rollout(domain.initial(), Task(id="a"), rng=random.Random(1), ticket=ticket())


def head_of(trainer, version):
    domain = RL(environment=Echo, trainer=trainer, splits=SPLITS)
    state = domain.initial()
    return HeadCommitted(now=0.0, head=Snapshot(version, Artifact(state)), cards=())


def episode_that_commits(sampling_policy):
    """
    The versions of an episode during whose second turn versions 3 and then 2 are committed.
    """

    class Commits(Echo):
        def step(self, action):
            if self.turn == 1:
                for version in (3, 2):  # told late, the older one says nothing
                    domain.heads(head_of(numpy_trainer(seed=version), version))
            return super().step(action)

    domain = rl(environment=Commits, sampling_policy=sampling_policy)
    outcome = domain.rollout(
        domain.initial(), Task(id="a"), rng=random.Random(1), ticket=ticket(base=1)
    )
    return [part.version for part in Trajectory.from_json(outcome.output).segments]


def test_a_trajectory_keeps_its_weights():
    """
    Though newer ones are committed meanwhile.
    """
    assert [1, 1, 1, 1] == episode_that_commits("trajectory")


def test_segments_take_the_newest_weights():
    """
    From the next request on, and never older ones again.
    """
    assert [1, 1, 3, 3] == episode_that_commits("segment")


class History:
    """
    Six turns, each of which shows all earlier ones; a version is committed in each.
    """

    def reset(self, task, rng):
        self.seen = [0.0]
        return list(self.seen)

    def step(self, action):
        self.seen.append(0.0)
        version = len(self.seen)
        snapshot = Snapshot(version, Artifact(head(version)))
        self.commit(HeadCommitted(now=0.0, head=snapshot, cards=()))
        return Step(list(self.seen), 0.0, version == 7, {})


def head(version):
    return {"weights": version, "fingerprint": str(version), "trainer": None, "update": version}


class Engine:
    """
    Samples on a cache of what was seen: which version has computed each part of it.
    """

    def __init__(self, version, computed, cache=()):
        self.version, self.computed, self.cache = version, computed, list(cache)

    def sample(self, observation, rng):
        missing = len(observation) - len(self.cache)
        self.computed.append(missing)
        self.cache += [self.version] * missing
        oldest = min(self.cache)
        return Sample(
            actions=(1,),
            logprobs=(0.0,),
            version=self.version,
            kv_version=oldest if oldest < self.version else None,
        )

    def continuing(self, earlier):
        return Engine(self.version, self.computed, earlier.cache)


class AwaitedEngine(Engine):
    async def sample(self, observation, rng):
        return super().sample(observation, rng)

    def continuing(self, earlier):
        return AwaitedEngine(self.version, self.computed, earlier.cache)


class Deaf(Engine):
    """
    Keeps the cache of an episode, whatever it is told.
    """

    kept = ()

    def sample(self, observation, rng):
        self.cache = list(Deaf.kept)
        found = super().sample(observation, rng)
        Deaf.kept = self.cache
        return found


class Engines:
    """
    A trainer whose weights are their version.
    """

    def __init__(self, kind=Engine):
        self.kind, self.computed = kind, []

    def publish(self):
        return Published(reference=1, fingerprint="1")

    def state_dict(self):
        return None

    def policy(self, published, version):
        return self.kind(version, self.computed)


def episode_of_history(trainer, kind=RL, **options):
    """
    The trajectory of an episode in which versions 2, 3, ... 7 are committed, one a turn.
    """
    domain = rl(kind, History, sampling_policy="segment", **options)
    domain.trainer = trainer
    History.commit = staticmethod(domain.heads)
    more = {"rng": random.Random(1), "ticket": ticket(base=1)}
    outcome = domain.rollout(head(1), Task(id="a"), **more)
    outcome = asyncio.run(outcome) if kind is AsyncRL else outcome
    return Trajectory.from_json(outcome.output)


CACHES = [
    ({}, [1, 2, 3, 4, 5, 6], [None, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]),
    ({"max_kv_age": 1, "kv_policy": "hold"}, [1, 2, 2, 2, 2, 2], [None, 1, 1, 1, 1, 1], [1] * 6),
    ({"max_kv_age": 0, "kv_policy": "hold"}, [1] * 6, [None] * 6, [1] * 6),
    (
        {"max_kv_age": 1, "kv_policy": "refill"},
        [1, 2, 3, 4, 5, 6],
        [None, 1, None, 3, None, 5],
        [1, 1, 3, 1, 5, 1],
    ),
    ({"max_kv_age": 0, "kv_policy": "refill"}, [*range(1, 7)], [None] * 6, [*range(1, 7)]),
    ({"max_kv_age": 9, "kv_policy": "refill"}, [*range(1, 7)], [None, 1, 1, 1, 1, 1], [1] * 6),
]


@pytest.mark.parametrize("kind", [Engine, AwaitedEngine])
@pytest.mark.parametrize(("options", "versions", "prefixes", "computed"), CACHES)
def test_no_prefix_is_older_than_it_may_be(options, versions, prefixes, computed, kind):
    """
    ``hold`` keeps the weights and the cache, ``refill`` has the newest compute it anew; without a bound
    the cache is kept whatever its age.
    """
    trainer = Engines(kind)
    found = episode_of_history(trainer, AsyncRL if kind is AwaitedEngine else RL, **options)

    assert versions == [part.version for part in found.segments]
    assert prefixes == [part.kv_version for part in found.segments]
    assert computed == trainer.computed
    assert sum(more > 1 for more in computed) == found.refills


@pytest.mark.parametrize(("options", "versions", "prefixes", "computed"), CACHES)
def test_the_numpy_trainer_s_policies_say_the_same(options, versions, prefixes, computed):
    """
    Though a network that looks at one observation has nothing to cache.
    """
    network = Network(features=1, hidden=2, actions=2)

    class Networks(Engines):
        def policy(self, published, version):
            return NetworkPolicy(network=network, theta=network.initial(0), version=version)

    class Last(History):
        def reset(self, task, rng):
            return super().reset(task, rng)[-1:]

        def step(self, action):
            step = super().step(action)
            return Step(step.observation[-1:], *step[1:])

    domain = rl(environment=Last, sampling_policy="segment", **options)
    domain.trainer = Networks()
    History.commit = staticmethod(domain.heads)
    outcome = domain.rollout(head(1), Task(id="a"), rng=random.Random(1), ticket=ticket(base=1))
    found = Trajectory.from_json(outcome.output)

    assert versions == [part.version for part in found.segments]
    assert prefixes == [part.kv_version for part in found.segments]
    assert sum(more > 1 for more in computed) == found.refills


def test_a_policy_that_keeps_too_old_a_prefix_is_named():
    """
    It was to compute its own.
    """
    Deaf.kept = ()
    with pytest.raises(
        ContractError, match="version 3 on a prefix of version 1, above max_kv_age=1"
    ):
        episode_of_history(Engines(Deaf), max_kv_age=1, kv_policy="refill")


def test_a_trainer_whose_policies_keep_no_prefix_is_refused():
    """
    Before anything runs: nobody could keep the bound, or break it.
    """

    class Plain:
        def sample(self, observation, rng):
            raise NotImplementedError

    class Uncached(Engines):
        def policy(self, published, version):
            return Plain()

    domain = rl(sampling_policy="segment", max_kv_age=1, kv_policy="refill")
    domain = attrs.evolve(domain, trainer=Uncached())
    with pytest.raises(OptionError, match=r"max_kv_age=1: Plain keeps no prefix; .*continuing"):
        domain.initial()


def test_heads_begin_at_what_an_episode_begins_on():
    """
    Where no newer one is known.
    """
    heads = Heads()

    assert (4, "state") == heads.newest(4, "state")
    heads.moved(3, "older")
    assert (4, "state") == heads.newest(4, "state")
    heads.moved(5, "newer")
    assert (5, "newer") == heads.newest(4, "state")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"max_turns": 0}, "max_turns=0"),
        ({"max_sample_requests": 0}, "max_sample_requests=0"),
        ({"sampling_policy": "turn"}, "sampling_policy='turn'"),
        ({"max_kv_age": 1}, "max_kv_age=1"),
        ({"max_kv_age": 1, "kv_policy": "hold"}, "sampling_policy='segment'"),
    ],
)
def test_a_domain_out_of_its_range_is_refused(given, told):
    """
    When it is made.
    """
    with pytest.raises(OptionError) as caught:
        rl(**given)

    assert told in str(caught.value)


def test_a_domain_of_outcomes_proposes_nothing():
    """
    So an optimizer that learns from proposals is refused before the run.
    """
    domain = rl()
    with pytest.raises(OptionError, match="domain='rl': It has no method propose"):
        run(domain, aggregator="standard", max_rollouts=8)

    assert SPLITS == domain.tasks()
    assert domain.initial() is domain.initial()
