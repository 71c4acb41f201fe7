"""The flight recorders of several ranks name the one that has not called a collective."""

import json
import os
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.trace.stacks.flight_recorder import FlightRecorderError, decode_dump, describe_collectives


def dump(enqueued: int, *, name: str = "gloo:all_reduce", sizes: object = ((85002,),)) -> dict[str, Any]:
    entries = [
        {"pg_id": 0, "collective_seq_id": n, "profiling_name": name, "state": "scheduled",
         "input_sizes": sizes, "retired": n < enqueued, "is_p2p": False}
        for n in range(max(1, enqueued - 3), enqueued + 1)
    ]  # fmt: skip
    status = {
        "0": {"last_enqueued_collective": str(enqueued), "last_completed_collective": str(enqueued - 1)}
    }
    return {"version": "2.10", "pg_config": {}, "pg_status": status, "entries": entries}


def as_json(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode()


def as_pickle(record: dict[str, Any]) -> bytes:
    return pickle.dumps(record, protocol=2)


@pytest.mark.parametrize("encode", [as_json, as_pickle])
def test_rank_that_has_not_called_is_named_with_the_collective(encode: Any) -> None:
    ranks = {rank: decode_dump(encode(dump(44 if rank == 2 else 45))) for rank in range(4)}
    sentence = describe_collectives(ranks)
    assert sentence == "Rank 2 has not called gloo:all_reduce (collective 45); the others wait for it."


def test_ranks_that_call_different_things_are_told() -> None:
    ranks = {rank: decode_dump(as_json(dump(45))) for rank in range(3)}
    ranks[1] = decode_dump(as_json(dump(45, name="gloo:broadcast")))
    assert "rank 1 called gloo:broadcast" in describe_collectives(ranks)


def test_equal_ranks_are_nothing_to_tell() -> None:
    assert describe_collectives({rank: decode_dump(as_json(dump(45))) for rank in range(3)}) == ""


class Attack:
    """What a forged dump would run."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.system, ("false",)


def test_pickle_that_names_code_is_refused() -> None:
    with pytest.raises(FlightRecorderError, match="not PyTorch's"):
        decode_dump(pickle.dumps({"entries": [Attack()]}))


@given(st.binary(max_size=200))
def test_garbage_is_an_error_or_nothing(data: bytes) -> None:
    try:
        decode_dump(data)
    except FlightRecorderError:
        return
