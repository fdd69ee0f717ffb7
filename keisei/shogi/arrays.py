"""What native code asks of arrays, checked with words that help. Native code converts nothing by itself."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from keisei.shogi import _native

Scalar = TypeVar("Scalar", bound=np.generic)


def as_records(records: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Packed positions uint8 [B, 96] in one piece; a copy where they are scattered."""
    array = np.asarray(records)
    if array.dtype != np.uint8 or array.ndim != 2 or array.shape[1] != _native.RECORD_BYTES:
        raise ValueError(
            f"packed positions are uint8 [B, {_native.RECORD_BYTES}], not {array.dtype.name} {list(array.shape)}"
        )
    return np.ascontiguousarray(array)


def output(
    shape: tuple[int, ...], dtype: type[Scalar], out: npt.NDArray[Any] | None = None, *, name: str = "out"
) -> npt.NDArray[Scalar]:
    """A new array, or the caller's own if it can be written in place."""
    if out is None:
        return np.empty(shape, dtype)
    if out.shape != shape or out.dtype != dtype or not out.flags.c_contiguous or not out.flags.writeable:
        raise ValueError(
            f"array {name!r} must be a writable C-contiguous {np.dtype(dtype).name} array of shape {shape}, "
            f"not {out.dtype.name} {out.shape}"
        )
    return out


def as_actions(actions: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """Whole numbers as int32, none of them cut or wrapped."""
    array = np.asarray(actions)
    if array.dtype.kind not in "iu":
        raise ValueError(f"actions are whole numbers, not {array.dtype.name}")
    narrow = array.astype(np.int32)
    if not np.array_equal(narrow, array):
        raise ValueError("an action does not fit 32 bits; actions are indices below the size of the mapping")
    return np.ascontiguousarray(narrow)
