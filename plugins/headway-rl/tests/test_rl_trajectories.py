"""
Trajectories as JSON values, and the stores of weights.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from headway.contracts import canonical_json
from headway.errors import LedgerCorrupt, OptionError, StorageError
from headway_rl import (
    DirectoryStore,
    InlineStore,
    MemoryStore,
    Segment,
    Trajectory,
    WeightStore,
    fingerprint,
    pack,
    unpack,
)

WEIGHTS = {"theta": np.array([0.1, -1e-300, 3.0]), "count": np.array([[7]], np.int64)}


def through_json(value):
    return json.loads(canonical_json(value))


@pytest.mark.parametrize("observation", [[0.5, 1 / 3], [3, 4, 5], "text", None, []])
def test_a_trajectory_goes_to_json_and_back(observation):
    """
    Without loss, whatever the policy was shown.
    """
    parts = (
        Segment(version=3, actions=[1, 2], logprobs=[-0.1, -1 / 3], observation=observation),
        Segment(version=4, actions=[0], logprobs=[-2.0], observation=observation, context=9),
        Segment(version=4, actions=[], logprobs=[], observation=observation, kv_version=3),
    )
    whole = Trajectory(segments=parts, reward=0.25, info={"tests": [1, 0]})

    assert whole == Trajectory.from_json(through_json(whole.to_json()))
    assert (3, 12) == (whole.tokens, whole.input_tokens)


def test_observations_of_other_lengths_stay_as_they_are():
    """
    Only what makes one array is packed as one.
    """
    parts = tuple(
        Segment(version=0, actions=[0], logprobs=[0.0], observation=[1.0] * n) for n in (1, 2)
    )
    whole = Trajectory(segments=parts)

    assert whole == Trajectory.from_json(through_json(whole.to_json()))


def test_an_empty_trajectory_has_no_version():
    """
    An episode that ended before anything was sampled.
    """
    empty = Trajectory(segments=(), reward=1.0)

    assert empty == Trajectory.from_json(through_json(empty.to_json()))
    assert empty.version is None


def test_versions_never_fall():
    """
    A later turn is not sampled with older weights.
    """
    parts = tuple(Segment(version=v, actions=[0], logprobs=[0.0]) for v in (4, 3))

    with pytest.raises(ValueError, match=r"never fall, but here are \[4, 3\]"):
        Trajectory(segments=parts)


@pytest.mark.parametrize("value", [{}, {"versions": 3}, [], None])
def test_what_is_no_trajectory_is_named(value):
    """
    A ledger of something else.
    """
    with pytest.raises(ValueError, match="no trajectory"):
        Trajectory.from_json(value)


@pytest.mark.parametrize("kind", ["float64", "float32", "int64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_an_array_is_packed_without_loss(kind, shape):
    """
    Every bit, and in one byte order.
    """
    array = np.arange(np.prod(shape), dtype=kind).reshape(shape) / np.array(7, kind)
    array = array.astype(kind)

    found = unpack(through_json(pack(array)))

    assert (array.dtype, array.shape) == (found.dtype, found.shape)
    assert array.tobytes() == found.tobytes()
    assert pack(array) == pack(array.astype(array.dtype.newbyteorder(">")))


def test_what_is_no_array_is_refused():
    """
    In both directions.
    """
    with pytest.raises(TypeError, match="array of bool"):
        pack(np.array([True]))
    for value in (
        {"dtype": "object", "shape": [1], "data": ""},
        3,
        {**pack(np.ones(2)), "shape": [3]},
    ):
        with pytest.raises(ValueError, match="no packed array"):
            unpack(value)


def test_a_fingerprint_is_of_names_shapes_and_numbers():
    """
    And of nothing else: neither the order of names nor that of memory.
    """
    same = dict(reversed(list(WEIGHTS.items())))
    others = [
        {**WEIGHTS, "theta": WEIGHTS["theta"] + 1e-12},
        {**WEIGHTS, "theta": WEIGHTS["theta"].reshape(3, 1)},
        {"psi": WEIGHTS["theta"], "count": WEIGHTS["count"]},
        {**WEIGHTS, "theta": WEIGHTS["theta"].astype(np.float32)},
    ]

    assert fingerprint(WEIGHTS) == fingerprint(same)
    assert 5 == len({fingerprint(weights) for weights in [WEIGHTS, *others]})
    assert fingerprint({"a": np.ones((2, 3)).T}) == fingerprint({"a": np.ones((3, 2))})


@pytest.fixture(params=["inline", "memory", "directory"])
def store(request, tmp_path):
    kinds = {"inline": InlineStore, "memory": MemoryStore, "directory": None}
    make = kinds[request.param]
    return make() if make else DirectoryStore(tmp_path / "weights")


def test_a_store_gives_back_what_was_put(store):
    """
    By a JSON reference, and the same one for the same content.
    """
    reference = through_json(store.put(WEIGHTS))
    again = store.put({name: array.copy() for name, array in WEIGHTS.items()})
    found = store.get(reference)

    assert isinstance(store, WeightStore)
    assert reference == again
    assert fingerprint(WEIGHTS) == fingerprint(found)


def test_what_a_reference_names_never_changes(store):
    """
    Not through the arrays that went in, nor through those that came out.
    """
    weights = {"theta": np.zeros(3)}
    reference = store.put(weights)
    weights["theta"] += 1
    store.get(reference)["theta"][:] = 2

    assert [0, 0, 0] == store.get(reference)["theta"].tolist()


def test_an_unknown_reference_is_a_lookup_error(store):
    """
    Of another store's making, or of another process's.
    """
    for reference in (3, None):
        with pytest.raises(LookupError):
            store.get(reference)
    if not isinstance(store, InlineStore):
        with pytest.raises(LookupError):
            store.get("0" * 64)


def test_an_inline_store_holds_small_policies_only():
    """
    A large one belongs into a folder.
    """
    with pytest.raises(OptionError, match="DirectoryStore"):
        InlineStore(most=100).put({"theta": np.zeros(13)})


def test_a_folder_is_not_left_by_a_reference(tmp_path):
    """
    A name with a path in it names nothing.
    """
    DirectoryStore(tmp_path).put(WEIGHTS)

    with pytest.raises(LookupError, match="another store"):
        DirectoryStore(tmp_path / "inner").get("../" + fingerprint(WEIGHTS))


@pytest.mark.parametrize("damage", ["cut", "other", "noise"])
def test_damaged_weights_are_found_out(tmp_path, damage):
    """
    A fingerprint is checked on loading; nobody trains on something else.
    """
    store = DirectoryStore(tmp_path)
    reference = store.put(WEIGHTS)
    (path,) = tmp_path.iterdir()
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:100])
    elif damage == "noise":
        path.write_bytes(b"\x00" * 300)
    else:
        other = store.put({"theta": np.zeros(3)})
        (tmp_path / f"{other}.npz").replace(path)

    with pytest.raises(LedgerCorrupt):
        store.get(reference)


def test_nothing_half_written_is_left(tmp_path, monkeypatch):
    """
    A disk that is full while weights are written leaves no file behind.
    """

    def full(*_, **__):
        raise OSError(28, "no space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(StorageError, match="no space left"):
        DirectoryStore(tmp_path).put(WEIGHTS)

    assert [] == list(tmp_path.iterdir())


def test_a_folder_that_is_a_file_is_told(tmp_path):
    """
    As a failure of storage, with the path.
    """
    place = tmp_path / "weights"
    place.write_text("")

    with pytest.raises(StorageError, match="weights"):
        DirectoryStore(place).put(WEIGHTS)
