"""What CUDA graphs refuse, found out on a CPU: copies from the host, and questions that the host waits for."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

aten = torch.ops.aten
#: The host reads a number, or a shape that depends on one.
WAITING = {
    aten._local_scalar_dense.default,
    aten.is_nonzero.default,
    aten.equal.default,
    aten.nonzero.default,
    aten.masked_select.default,
}


#: With a mask among their indices they count its places.
INDEXING = {aten.index.Tensor, aten.index_put.default, aten.index_put_.default}


class NothingFromTheHost(TorchDispatchMode):
    """Refuses every operation that reads a tensor which is neither one of ``given`` nor made of these on the device.

    Such a tensor was made by the host of Python numbers: `torch.tensor([1, 2])`, `mask[rows] = True`. Nor may the host
    wait for what the device computes.
    """

    def __init__(self, given: Iterable[Any]) -> None:
        super().__init__()
        # By identity, and kept: the number of an object that is gone would be given away again.
        self._known = _tensors(given)
        self._ids = {id(tensor) for tensor in self._known}
        self.operations = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        assert func not in WAITING, f"{func} waits for the device"
        assert func not in INDEXING or not _has_masks(args[1]), f"{func} waits for the number of places"
        for tensor in _tensors((args, kwargs)):
            assert id(tensor) in self._ids, f"{func} reads {tensor}, which the host has made"
        made = func(*args, **kwargs)
        self._known += _tensors(made)
        self._ids.update(map(id, _tensors(made)))
        self.operations += 1
        return made


def _tensors(tree: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def _has_masks(indices: Any) -> bool:
    return any(index.dtype in (torch.bool, torch.uint8) for index in _tensors(indices))
