"""Weights as a stream of bytes, for links on which memory is not shared (another machine).

Inside one machine nothing uses it: a copy through shared memory is faster than any compressor. Of a float32 only the
sign and the exponent are worth compressing, the rest is noise to the last bit; so the topmost bytes of all numbers are
put together and Huffman-coded, and the others are sent as they are. Where even that gains nothing, all are.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import numpy as np
from torch import Tensor

from keisei.errors import WorkerFailedError
from keisei.training.parallel.weights_layout import WeightsLayout

PLAIN, COMPRESSED = b"P", b"C"
#: The bytes of a float32, and how many of them are sent as they are.
BYTES_PER_NUMBER, NOISE_BYTES = 4, 3


def pack_weights(weights: Mapping[str, Tensor], layout: WeightsLayout, *, compress: bool = True) -> bytes:
    """The weights as one stream: smaller than the weights, or a byte larger."""
    plain = bytearray(layout.nbytes)
    layout.write(weights, memoryview(plain))
    if compress:
        numbers = np.frombuffer(plain, np.uint8).reshape(-1, BYTES_PER_NUMBER)
        coder = zlib.compressobj(strategy=zlib.Z_HUFFMAN_ONLY)
        coded = coder.compress(numbers[:, NOISE_BYTES:].tobytes()) + coder.flush()
        if len(coded) < len(numbers):
            return COMPRESSED + numbers[:, :NOISE_BYTES].tobytes() + coded
    return PLAIN + plain


def unpack_weights(stream: bytes, layout: WeightsLayout) -> dict[str, Tensor]:
    """The weights that `pack_weights` was given, to the last bit."""
    kind, content = stream[:1], stream[1:]
    if kind == COMPRESSED:
        content = _joined(content, layout.nbytes // BYTES_PER_NUMBER)
    elif kind != PLAIN:
        raise WorkerFailedError(f"expected a stream of weights, got one that begins with {kind!r}")
    if len(content) != layout.nbytes:
        raise WorkerFailedError(
            f"expected a stream of {layout.nbytes} bytes of weights, got {len(content)}; "
            "both ends must have the same network"
        )
    return layout.tensors(memoryview(bytearray(content)))


def _joined(content: bytes, count: int) -> bytes:
    """The numbers from their noise and their coded topmost bytes; nothing when they are not `count`."""
    noise, coded = content[: count * NOISE_BYTES], content[count * NOISE_BYTES :]
    try:
        top = zlib.decompress(coded)
    except zlib.error as error:
        raise WorkerFailedError(f"a damaged stream of weights: {error}; send it again") from error
    if len(top) != count:
        return b""
    numbers = np.empty((count, BYTES_PER_NUMBER), np.uint8)
    numbers[:, :NOISE_BYTES] = np.frombuffer(noise, np.uint8).reshape(count, NOISE_BYTES)
    numbers[:, NOISE_BYTES:] = np.frombuffer(top, np.uint8).reshape(count, 1)
    return numbers.tobytes()
