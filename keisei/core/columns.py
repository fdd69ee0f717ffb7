"""Tables as structures of arrays: the columns are declared once and can lie in any memory.

A ``ColumnTable`` is a dataclass whose fields are numpy arrays that share their leading shape (``[T, N]`` for
a rollout, ``[rows]`` for a buffer). Rollout, experience buffer and shared-memory slots use the same
declaration, so none of them can disagree about a name, a type or an offset.
"""

from __future__ import annotations

import dataclasses
import math
from functools import cache
from typing import Annotated, Any, NamedTuple, Self, get_type_hints

import numpy as np
from numpy.typing import NDArray

# Columns in shared memory start on a cache line, so that two of them never share one.
COLUMN_ALIGNMENT = 64


class PerRow(NamedTuple):
    """What a column holds per row: a number type and a shape (empty for a single number)."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...] = ()


Bools = Annotated[NDArray[np.bool_], PerRow(np.dtype(np.bool_))]
Float32s = Annotated[NDArray[np.float32], PerRow(np.dtype(np.float32))]
Int32s = Annotated[NDArray[np.int32], PerRow(np.dtype(np.int32))]
Int64s = Annotated[NDArray[np.int64], PerRow(np.dtype(np.int64))]


class Column(NamedTuple):
    """One column of a table."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def bytes_per_row(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ColumnTable:
    """Base of the tables; the annotation of each field of a subclass carries its ``PerRow``."""

    @classmethod
    def columns(cls) -> tuple[Column, ...]:
        """The declared columns, in order."""
        return _columns(cls)  # type: ignore[arg-type]  # a class is hashable, whatever its instances are

    @classmethod
    def bytes_per_row(cls) -> int:
        """Bytes that one row takes, without alignment."""
        return sum(column.bytes_per_row for column in cls.columns())

    @classmethod
    def nbytes(cls, *leading: int) -> int:
        """Bytes that ``from_buffer`` needs for a table of this leading shape."""
        rows = math.prod(leading)
        return sum(_aligned(rows * column.bytes_per_row) for column in cls.columns())

    @classmethod
    def allocate(cls, *leading: int) -> Self:
        """A table of zeros in private memory."""
        return cls(**{name: np.zeros((*leading, *shape), dtype) for name, dtype, shape in cls.columns()})

    @classmethod
    def from_buffer(cls, buffer: memoryview, *leading: int) -> Self:
        """A table that lies in ``buffer`` (shared memory, say): no copy, writable if the buffer is."""
        needed = cls.nbytes(*leading)
        if buffer.nbytes < needed:
            raise ValueError(
                f"{cls.__name__} {leading} needs {needed} bytes, got a buffer of {buffer.nbytes!r}"
            )
        arrays: dict[str, NDArray[Any]] = {}
        offset = 0
        for name, dtype, shape in cls.columns():
            arrays[name] = np.ndarray((*leading, *shape), dtype, buffer, offset)
            offset += _aligned(arrays[name].nbytes)
        return cls(**arrays)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The columns by name, without a copy."""
        return {column.name: getattr(self, column.name) for column in self.columns()}

    def __getitem__(self, index: Any) -> Self:
        """The chosen rows: views for slices, one gather per column for an array of indices."""
        return type(self)(**{name: array[index] for name, array in self.arrays().items()})

    def __setitem__(self, index: Any, rows: Self) -> None:
        """Write rows, one copy per column."""
        for name, array in self.arrays().items():
            array[index] = getattr(rows, name)

    def reshape(self, *leading: int) -> Self:
        """The same rows under another leading shape; a view where the arrays are contiguous."""
        shapes = {column.name: (*leading, *column.shape) for column in self.columns()}
        return type(self)(**{name: array.reshape(shapes[name]) for name, array in self.arrays().items()})


@cache
def _columns(table: type[Any]) -> tuple[Column, ...]:
    hints = get_type_hints(table, include_extras=True)
    return tuple(
        Column(field.name, *hints[field.name].__metadata__[0]) for field in dataclasses.fields(table)
    )


def _aligned(nbytes: int) -> int:
    return -(-nbytes // COLUMN_ALIGNMENT) * COLUMN_ALIGNMENT
