"""What schemathesis cannot know by itself: how questions, times and remote write look, good and bad."""

from __future__ import annotations

import schemathesis
from hypothesis import strategies as st

from vigie.wire.remote_write.write_request import compress, encode

SELECTORS = ("up", '{job="node"}', 'up{instance=~"n.*"}', '{__name__=~".+"}', "{}", '{a=""}', 'up{a=~"("}')
QUERIES = (
    *SELECTORS,
    "1 + 1",
    "sum by (job) (up)",
    "rate(vigie_server_requests_total[5m])",
    "topk(3, up) or vector(1)",
    "histogram_quantile(0.9, up)",
    'label_replace(up, "a", "$1", "job", "(.*)")',
    "up[1h:1m]",
    "up @ end() offset -1d",
    "((((",
    '"text"',
    "1e308 * 10 ^ 400",
    "absent(nothing[1y])",
)
MOMENTS = ("0", "1700000000.5", "-1", "1e20", "NaN", "2026-01-02T03:04:05Z", "2026-13-02T00:00:00Z", "now")
SPANS = ("15s", "1", "0", "-1", "1h30m", "1e-9", "300y", "5", "s", "1_0")

for name, words in (
    ("promql", QUERIES),
    ("promql-selector", SELECTORS),
    ("moment", MOMENTS),
    ("span", SPANS),
):
    schemathesis.openapi.format(name, st.sampled_from(words) | st.text(max_size=20))

_written = [compress(encode([({"__name__": "a", "job": "j"}, [time], [1.0])])) for time in (0, 1 << 62)]
schemathesis.openapi.media_type(
    "application/x-protobuf", st.sampled_from(_written) | st.binary(max_size=200).map(bytes)
)
