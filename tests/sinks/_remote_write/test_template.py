from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vigie.model.nan import float_from_bits, float_to_bits
from vigie.sinks._remote_write.template import SeriesTemplate
from vigie.wire.remote_write.labels import LabelCache, encode_labels
from vigie.wire.remote_write.write_request import decode, encode_series

SECTIONS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200), unique=True, max_size=8
).map(lambda names: [encode_labels({"__name__": "m", "n": name}) for name in names])
TIMES = st.integers(-(2**62), 2**62) | st.integers(1_600_000_000_000, 1_900_000_000_000)


@given(SECTIONS, TIMES, st.data())
def test_template_writes_what_the_encoder_writes(
    sections: list[bytes], time: int, data: st.DataObject
) -> None:
    template = SeriesTemplate(sections, time)
    places = range(len(sections))
    assert list(template.sections()) == sections
    assert template.fits(time)
    for _ in range(2):
        values = [float_from_bits(data.draw(st.integers(0, 2**64 - 1))) for _ in places]
        without = sorted(data.draw(st.sets(st.sampled_from(places)))) if sections else []
        expected = [encode_series(sections[i], (time,), (values[i],)) for i in places if i not in without]
        assert template.filled(time, values, without) == b"".join(expected)


def test_labels_of_any_length_are_read_back() -> None:
    sections = [encode_labels({"__name__": "m" * length}) for length in range(1, 300)]
    assert list(SeriesTemplate(sections, 1_700_000_000_000).sections()) == sections


def test_values_keep_their_bits() -> None:
    words = [0x7FF8_0000_0000_0001, 0x7FF0_0000_0000_0002, 0x8000_0000_0000_0000]
    sections = [encode_labels({"__name__": f"m{i}"}) for i in range(3)]
    body = SeriesTemplate(sections, 1_700_000_000_000).filled(
        1_700_000_000_000, [float_from_bits(each) for each in words]
    )
    assert [float_to_bits(values[0]) for _, _, values in decode(body, LabelCache()).series] == words


def test_labels_of_every_length_come_back_whole() -> None:
    sections = [b"x" * length for length in [*range(300), *range(16_300, 16_400)]]
    assert list(SeriesTemplate(sections, 1_700_000_000_000).sections()) == sections
