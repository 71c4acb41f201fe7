from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from vigie.sources.core import netlink
from vigie.sources.core.netlink import Qdisc, messages, parse_qdisc, qdiscs


def _attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("=HH", len(data) + 4, kind) + data + bytes(-len(data) % 4)


def _qdisc(parent: int) -> bytes:
    basic = _attribute(netlink.BASIC, struct.pack("=QI", 5000, 40))
    queue = _attribute(netlink.QUEUE, struct.pack("=IIIII", 1, 60, 2, 3, 4))
    many = _attribute(netlink.PACKETS64, struct.pack("=Q", 1 << 33))
    stats = _attribute(netlink.STATS2, basic + queue + many)
    return netlink.TRAFFIC.pack(0, 1, 0, parent, 0) + _attribute(netlink.KIND, b"fq_codel\0") + stats


def test_a_root_queue_is_read() -> None:
    assert parse_qdisc(_qdisc(netlink.ROOT)) == Qdisc("lo", "fq_codel", 5000, 1 << 33, 1, 60, 2, 3, 4)


def test_a_queue_below_another_is_left_out() -> None:
    assert parse_qdisc(_qdisc(1)) is None


def test_the_kernel_here_answers() -> None:
    assert all(queue.device and queue.kind for queue in qdiscs())


@given(st.binary(max_size=300))
def test_any_bytes_give_a_queue_or_none(data: bytes) -> None:
    for _, body in messages(data):
        parse_qdisc(body)
    parse_qdisc(netlink.TRAFFIC.pack(0, 1, 0, netlink.ROOT, 0) + data)
