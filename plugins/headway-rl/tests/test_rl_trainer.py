"""
The trainer in numpy, and the network that it trains.
"""

from __future__ import annotations

import random
from itertools import permutations

import attrs
import numpy as np
import pytest

from headway.contracts import content_digest
from headway.errors import LedgerCorrupt, OptionError
from headway_rl import (
    Adam,
    DirectoryStore,
    Groupwise,
    MemoryStore,
    Network,
    NetworkPolicy,
    NumpyTrainer,
    Policy,
    Published,
    Segment,
    Trainer,
    Trajectory,
    TrajectoryGroup,
    weigh,
)

NETWORK = Network(features=3, hidden=5, actions=4)


def group(number, seed, members=4, turns=3, version=0, logprob=-1.4):
    rng = np.random.default_rng([seed, number])
    made = tuple(
        Trajectory(
            segments=tuple(
                Segment(
                    version=version + turn // 2,
                    actions=[int(rng.integers(4))],
                    logprobs=[logprob],
                    observation=rng.normal(size=3).tolist(),
                )
                for turn in range(turns)
            ),
            reward=float(rng.random()),
        )
        for _ in range(members)
    )
    return TrajectoryGroup(number=number, task="t", members=made)


def batch(seed=0, count=4, oldest=None, **more):
    groups = [group(number, seed, **more) for number in range(count)]
    return weigh(groups, Groupwise(), oldest)


def surrogate(theta, groups, ratios=None):
    """
    What the gradient is the gradient of, written the long way.
    """
    total, place = 0.0, 0
    for weighted in groups:
        for trajectory, advantage in weighted.sequences:
            for part in trajectory.segments:
                if weighted.oldest is not None and part.version < weighted.oldest:
                    continue
                seen = np.array([part.observation])
                logs = NETWORK.log_probabilities(theta, seen)[0]
                weight = advantage if ratios is None else advantage * ratios[place]
                total += weight * logs[part.actions[0]]
                place += 1
    return total


def differences(function, theta, step=1e-6):
    found = np.zeros_like(theta)
    for place in range(len(theta)):
        for sign in (1, -1):
            moved = theta.copy()
            moved[place] += sign * step
            found[place] += sign * function(moved) / (2 * step)
    return found


def whole_gradient(trainer):
    return sum(trainer._gradients.values(), np.zeros(trainer.network.size))


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_that_of_finite_differences(seed):
    """
    Of the sum of advantage times log-probability.
    """
    trainer, groups = NumpyTrainer(network=NETWORK, seed=seed), batch(seed)
    trainer.forward_backward(groups, reset=True)

    expected = differences(lambda theta: surrogate(theta, groups), trainer.theta)
    assert np.allclose(expected, whole_gradient(trainer), rtol=1e-6, atol=1e-8)


def test_masked_segments_have_no_gradient():
    """
    They are left out; the advantages of their trajectories are not.
    """
    trainer, groups = NumpyTrainer(network=NETWORK), batch(oldest=1)
    trainer.forward_backward(groups, reset=True)

    expected = differences(lambda theta: surrogate(theta, groups), trainer.theta)
    assert np.allclose(expected, whole_gradient(trainer), rtol=1e-6, atol=1e-8)
    assert not np.allclose(
        expected, differences(lambda theta: surrogate(theta, batch()), trainer.theta), rtol=1e-3
    )


@pytest.mark.parametrize("cap", [0.9, 100.0])
def test_a_ratio_corrects_for_age_and_is_cut(cap):
    """
    Weights are the probability now over that at sampling, at most the cap, and are not differentiated.
    """
    trainer, groups = NumpyTrainer(network=NETWORK, max_ratio=cap), batch()
    trainer.forward_backward(groups, reset=True)

    ratios = []
    for weighted in groups:
        for trajectory, _ in weighted.sequences:
            for part in trajectory.segments:
                seen = np.array([part.observation])
                now = NETWORK.log_probabilities(trainer.theta, seen)[0][part.actions[0]]
                ratios.append(min(np.exp(now - part.logprobs[0]), cap))
    expected = differences(lambda theta: surrogate(theta, groups, ratios), trainer.theta)
    assert np.allclose(expected, whole_gradient(trainer), rtol=1e-6, atol=1e-8)
    assert (cap in ratios) == (cap < 1)


def stepped(chunks, **more):
    trainer = NumpyTrainer(network=NETWORK, **more)
    for place, chunk in enumerate(chunks):
        trainer.forward_backward(chunk, reset=place == 0)
    trainer.optim_step("1", 0.25)
    return trainer


def test_neither_chunks_nor_their_order_show_in_the_weights():
    """
    To the last bit, whatever groups went together and in whatever order they came.
    """
    groups = batch()
    ways = [[groups], [groups[:1], groups[1:]], [groups[2:], groups[:2]]]
    ways += [[[g] for g in order] for order in permutations(groups)]

    assert 1 == len({stepped(way).theta.tobytes() for way in ways})


def test_a_reset_throws_the_gradient_away():
    """
    Of a batch that failed half-way nothing is left.
    """
    spoilt = NumpyTrainer(network=NETWORK)
    spoilt.forward_backward(batch(seed=9), reset=True)
    spoilt.forward_backward(batch(), reset=True)
    spoilt.optim_step("1", 0.25)

    assert stepped([batch()]).theta.tobytes() == spoilt.theta.tobytes()


def test_adam_is_adam():
    """
    Two steps against the formulas written out.
    """
    adam = Adam(learning_rate=0.1, beta1=0.8, beta2=0.9, epsilon=1e-6)
    trainer = NumpyTrainer(network=NETWORK, optimizer=adam)
    theta, mean, square = trainer.theta.copy(), 0.0, 0.0
    for step in (1, 2):
        trainer.forward_backward(batch(step), reset=True)
        gradient = 0.5 * whole_gradient(trainer)
        trainer.optim_step(str(step), 0.5)
        mean = 0.8 * mean + 0.2 * gradient
        square = 0.9 * square + 0.1 * gradient**2
        root = np.sqrt(square / (1 - 0.9**step)) + 1e-6
        theta = theta + 0.1 * (mean / (1 - 0.8**step)) / root

    assert np.allclose(theta, trainer.theta, rtol=1e-12)


def test_a_long_gradient_is_cut():
    """
    To the norm that was given, in its direction.
    """
    gradient = np.array([3.0, 4.0])

    assert [0.6, 0.8] == pytest.approx(Adam(max_norm=1.0).cut(gradient).tolist())
    assert [3.0, 4.0] == Adam(max_norm=5.0).cut(gradient).tolist()


def test_an_optimizer_step_is_made_once():
    """
    The same id again changes nothing and reports the same.
    """
    trainer = NumpyTrainer(network=NETWORK)
    trainer.forward_backward(batch(), reset=True)
    told = trainer.optim_step("1", 0.25)
    theta = trainer.theta.copy()

    assert told == trainer.optim_step("1", 0.25)
    assert theta.tobytes() == trainer.theta.tobytes()


def test_a_step_without_a_gradient_is_refused():
    """
    It was consumed by the step before.
    """
    trainer = stepped([batch()])

    with pytest.raises(ValueError, match="no gradient"):
        trainer.optim_step("2", 0.25)


@pytest.mark.parametrize("kind", ["inline", "memory", "directory"])
def test_a_trainer_that_was_loaded_goes_on_alike(tmp_path, kind):
    """
    Weights, Adam's means and their count: the next step gives the same to the last bit.
    """
    stores = {"memory": MemoryStore(), "directory": DirectoryStore(tmp_path)}
    more = {"store": stores[kind]} if kind in stores else {}
    first = stepped([batch()], **more)
    published, state = first.publish(), first.state_dict()
    second = NumpyTrainer(network=NETWORK, seed=5, **more)
    second.load(published, state)
    for trainer in (first, second):
        trainer.forward_backward(batch(seed=1), reset=True)
        trainer.optim_step("2", 0.25)

    assert first.theta.tobytes() == second.theta.tobytes()
    assert first.publish() == second.publish()


def test_loading_throws_the_gradient_away():
    """
    It was another head's.
    """
    trainer = NumpyTrainer(network=NETWORK)
    published, state = trainer.publish(), trainer.state_dict()
    trainer.forward_backward(batch(), reset=True)
    trainer.load(published, state)

    with pytest.raises(ValueError, match="no gradient"):
        trainer.optim_step("1", 1.0)


def test_what_is_published_is_named_by_its_content():
    """
    The same weights have the same fingerprint, others another one.
    """
    first, again = NumpyTrainer(network=NETWORK), NumpyTrainer(network=NETWORK)

    assert first.publish() == again.publish() == first.publish()
    assert (
        first.publish().fingerprint != NumpyTrainer(network=NETWORK, seed=1).publish().fingerprint
    )
    assert 64 == len(content_digest(first.publish().reference))


def test_weights_with_another_fingerprint_are_refused():
    """
    Both by the trainer and where episodes are sampled.
    """
    trainer = NumpyTrainer(network=NETWORK)
    wrong = attrs.evolve(trainer.publish(), fingerprint="0" * 64)

    with pytest.raises(LedgerCorrupt, match="another fingerprint"):
        trainer.policy(wrong, 0)
    with pytest.raises(LedgerCorrupt, match="another fingerprint"):
        trainer.load(wrong, None)


def test_a_policy_keeps_the_weights_that_it_was_made_of():
    """
    The trainer moves on; an episode that is under way does not notice.
    """
    trainer = NumpyTrainer(network=NETWORK)
    policy = trainer.policy(trainer.publish(), 7)
    before = policy.sample([1.0, 0.0, 0.0], random.Random(1))
    trainer.forward_backward(batch(), reset=True)
    trainer.optim_step("1", 100.0)

    assert before == policy.sample([1.0, 0.0, 0.0], random.Random(1))
    assert 7 == before.version
    assert trainer.theta.tobytes() != policy.theta.tobytes()


def test_few_versions_are_remembered():
    """
    However many are sampled with.
    """
    trainer = NumpyTrainer(network=NETWORK)
    for seed in range(40):
        other = NumpyTrainer(network=NETWORK, seed=seed)
        assert np.array_equal(other.theta, trainer.policy(other.publish(), seed).theta)

    assert len(trainer._policies) <= 16


def test_the_numpy_parts_keep_the_protocols():
    """
    As a torch module or a service would.
    """
    trainer = NumpyTrainer(network=NETWORK)

    assert isinstance(trainer, Trainer)
    assert isinstance(trainer.policy(trainer.publish(), 0), Policy)


def test_actions_are_drawn_as_often_as_they_are_likely():
    """
    Within five standard deviations, over 4,000 draws; and the log-probability is that of the action.
    """
    policy = NetworkPolicy(network=NETWORK, theta=NETWORK.initial(3) * 3)
    seen, rng = [0.5, -1.0, 2.0], random.Random(0)
    logs = NETWORK.log_probabilities(policy.theta, np.array([seen]))[0]
    drawn = [policy.sample(seen, rng) for _ in range(4_000)]

    for action in range(4):
        chance = float(np.exp(logs[action]))
        count = sum(sample.action == action for sample in drawn)
        assert abs(count - 4_000 * chance) <= 5 * (4_000 * chance * (1 - chance)) ** 0.5
    assert all(s.logprobs == (pytest.approx(logs[s.action], rel=1e-12),) for s in drawn)


def test_a_greedy_policy_takes_the_likeliest():
    """
    Whatever the chance.
    """
    policy = NetworkPolicy(network=NETWORK, theta=NETWORK.initial(3), greedy=True)
    logs = NETWORK.log_probabilities(policy.theta, np.array([[1.0, 2.0, 3.0]]))[0]
    found = {policy.sample([1.0, 2.0, 3.0], random.Random(seed)).action for seed in range(20)}

    assert {int(logs.argmax())} == found


@pytest.mark.parametrize("unit", [0.0, 1.0 - 2**-53])
def test_the_ends_of_chance_are_actions(unit):
    """
    Also where the probabilities add up to a little less than 1.
    """

    class Fixed(random.Random):
        def random(self):
            return unit

    policy = NetworkPolicy(network=NETWORK, theta=NETWORK.initial(3))

    assert policy.sample([1.0, 2.0, 3.0], Fixed()).action in range(4)


def test_log_probabilities_stand_large_logits():
    """
    No overflow, and they add up to 1.
    """
    logs = NETWORK.log_probabilities(NETWORK.initial(0) * 1e6, np.ones((2, 3)))

    assert np.isfinite(np.exp(logs)).all()
    assert np.allclose(1.0, np.exp(logs).sum(1))


def test_an_observation_that_does_not_fit_is_named():
    """
    With what would.
    """
    policy = NetworkPolicy(network=NETWORK, theta=NETWORK.initial(0))

    with pytest.raises(ValueError, match=r"shape \(2,\).*takes \(3,\)"):
        policy.sample([1.0, 2.0], random.Random(0))


def test_what_it_cannot_train_is_named():
    """
    Several actions in a segment, or numbers that are none.
    """
    trainer = NumpyTrainer(network=NETWORK)
    whole = group(0, 0)
    long = attrs.evolve(whole.members[0].segments[0], actions=[1, 2], logprobs=[-1.0, -1.0])
    first = attrs.evolve(whole.members[0], segments=(long,))
    wide = attrs.evolve(whole, members=(first, *whole.members[1:]))
    with pytest.raises(ValueError, match="one action a segment, and here are 2"):
        trainer.forward_backward(weigh([wide], Groupwise()), reset=True)

    trainer.theta[0] = float("nan")
    with pytest.raises(ValueError, match="group 0 is not finite"):
        trainer.forward_backward(batch(count=1), reset=True)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Network(features=0, hidden=1, actions=1), "features=0"),
        (lambda: NumpyTrainer(network=NETWORK, theta=np.zeros(3)), "theta="),
        (lambda: NumpyTrainer(network=NETWORK, max_ratio=0), "max_ratio=0"),
        (lambda: Adam(learning_rate=0.0), "learning_rate=0.0"),
        (lambda: Adam(beta1=1.0), "beta1=1.0"),
        (lambda: Adam(beta2=-0.1), "beta2=-0.1"),
        (lambda: Adam(epsilon=0.0), "epsilon=0.0"),
        (lambda: Adam(max_norm=0.0), "max_norm=0.0"),
    ],
)
def test_options_out_of_their_range_are_refused(make, told):
    """
    Where they are given.
    """
    with pytest.raises(OptionError) as caught:
        make()

    assert told in str(caught.value)


def test_theta_given_is_copied():
    """
    Nobody else's array is trained.
    """
    theta = np.zeros(NETWORK.size)
    trainer = NumpyTrainer(network=NETWORK, theta=theta)
    trainer.forward_backward(batch(), reset=True)
    trainer.optim_step("1", 1.0)

    assert not theta.any()
    assert trainer.theta.any()


def test_an_unknown_reference_is_a_lookup_error():
    """
    Of a store in memory that another process had.
    """
    trainer = NumpyTrainer(network=NETWORK, store=MemoryStore())
    gone = Published(reference="a" * 64, fingerprint="a" * 64)

    with pytest.raises(LookupError, match="publish them again"):
        trainer.policy(gone, 0)
