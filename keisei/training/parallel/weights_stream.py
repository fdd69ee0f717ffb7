"""Weights as a stream of bytes, for links on which memory is not shared (another machine).

Inside one machine nothing uses it: a copy through shared memory is faster than any compressor. The exponents of
neighbouring weights are alike and their other bits are noise, so each byte position is stored on its own before zlib
sees it. The sender finds out whether that pays: a stream that would not become smaller is sent as it is.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import numpy as np
from torch import Tensor

from keisei.errors import WorkerFailedError
from keisei.training.parallel.weights_layout import WeightsLayout

#: zlib's fastest; higher levels take several times as long for one or two per cent.
COMPRESSION_LEVEL = 1
#: The byte positions of a float32.
BYTES_PER_NUMBER = 4
PLAIN, COMPRESSED = b"P", b"C"


def pack_weights(weights: Mapping[str, Tensor], layout: WeightsLayout, *, compress: bool = True) -> bytes:
    """The weights as one stream; smaller than the weights, or at most a byte larger."""
    plain = bytearray(layout.nbytes)
    layout.write(weights, memoryview(plain))
    if compress:
        by_position = np.frombuffer(plain, np.uint8).reshape(-1, BYTES_PER_NUMBER).T
        packed = zlib.compress(by_position.tobytes(), COMPRESSION_LEVEL)
        if len(packed) < len(plain):
            return COMPRESSED + packed
    return PLAIN + plain


def unpack_weights(stream: bytes, layout: WeightsLayout) -> dict[str, Tensor]:
    """The weights that `pack_weights` was given, to the last bit."""
    kind, content = stream[:1], stream[1:]
    if kind == COMPRESSED:
        try:
            content = zlib.decompress(content)
        except zlib.error as error:
            raise WorkerFailedError(f"a damaged stream of weights: {error}; send it again") from error
    elif kind != PLAIN:
        raise WorkerFailedError(f"expected a stream of weights, got one that begins with {kind!r}")
    if len(content) != layout.nbytes:
        raise WorkerFailedError(
            f"expected a stream of {layout.nbytes} bytes of weights, got {len(content)}; "
            "both ends must have the same network"
        )
    if kind == COMPRESSED:
        by_position = np.frombuffer(content, np.uint8).reshape(BYTES_PER_NUMBER, -1)
        content = by_position.T.tobytes()
    return layout.tensors(memoryview(bytearray(content)))
