"""Tables of arrays in private and in borrowed memory."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from keisei.core.columns import COLUMN_ALIGNMENT, Bools, Column, ColumnTable, Float32s, PerRow

Triples = Annotated[NDArray[np.int16], PerRow(np.dtype(np.int16), (3,))]


@dataclass(frozen=True, slots=True, eq=False)
class Sample(ColumnTable):
    flag: Bools
    triple: Triples
    number: Float32s


def filled(*leading: int) -> Sample:
    sample = Sample.allocate(*leading)
    rows = int(np.prod(leading))
    sample.flag[:] = (np.arange(rows) % 3 == 0).reshape(leading)
    sample.triple[:] = np.arange(3 * rows).reshape(*leading, 3)
    sample.number[:] = np.linspace(0, 1, rows).reshape(leading)
    return sample


def assert_equal(one: Sample, other: Sample) -> None:
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(array, other.arrays()[name], err_msg=name)


def test_columns_are_declared_once_by_the_annotations() -> None:
    assert Sample.columns() == (
        Column("flag", np.dtype(bool), ()),
        Column("triple", np.dtype(np.int16), (3,)),
        Column("number", np.dtype(np.float32), ()),
    )
    assert Sample.bytes_per_row() == 1 + 6 + 4


@given(st.integers(1, 40), st.integers(1, 40))
def test_from_buffer_lays_columns_out_aligned_and_apart(plies: int, games: int) -> None:
    memory = bytearray(Sample.nbytes(plies, games))
    table = Sample.from_buffer(memoryview(memory), plies, games)
    base = np.frombuffer(memory, np.uint8).ctypes.data
    spans = []
    for name, array in table.arrays().items():
        offset = array.ctypes.data - base
        assert offset % COLUMN_ALIGNMENT == 0, name
        assert array.flags.c_contiguous and array.flags.writeable, name
        spans.append((offset, offset + array.nbytes))
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert spans[-1][1] <= len(memory)


def test_two_tables_over_one_buffer_share_their_rows() -> None:
    memory = bytearray(Sample.nbytes(4, 5))
    writer, reader = (Sample.from_buffer(memoryview(memory), 4, 5) for _ in range(2))
    writer[:] = filled(4, 5)
    assert_equal(reader, filled(4, 5))


def test_a_read_only_buffer_gives_a_read_only_table() -> None:
    table = Sample.from_buffer(memoryview(bytes(Sample.nbytes(2, 2))), 2, 2)
    with pytest.raises(ValueError, match="read-only"):
        table.number[0, 0] = 1


def test_a_small_buffer_is_refused_with_both_sizes() -> None:
    needed = Sample.nbytes(2, 3)
    with pytest.raises(ValueError, match=rf"Sample \(2, 3\) needs {needed} bytes.*{needed - 1}"):
        Sample.from_buffer(memoryview(bytearray(needed - 1)), 2, 3)


def test_slices_are_views_and_index_arrays_are_gathers() -> None:
    table = filled(6)
    table[2:4].number[:] = 9
    assert table.number.tolist().count(9) == 2
    chosen = table[np.array([5, 0, 5])]
    assert chosen.triple.tolist() == [[15, 16, 17], [0, 1, 2], [15, 16, 17]]
    chosen.triple[:] = -1
    assert table.triple.min() == 0


def test_assignment_copies_every_column() -> None:
    table = Sample.allocate(6)
    source = filled(2)
    table[3:5] = source
    source.triple[:] = -1
    assert_equal(table[3:5], filled(2))
    assert not table.triple[:3].any() and not table.triple[5:].any()


def test_reshape_keeps_the_order_and_the_memory() -> None:
    table = filled(3, 4)
    flat = table.reshape(12)
    assert_equal(flat, filled(12))
    flat.number[11] = 7
    assert table.number[2, 3] == 7
