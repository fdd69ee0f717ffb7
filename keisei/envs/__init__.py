"""The game under the interfaces that reinforcement-learning libraries expect.

`keisei.envs.shogi_v0` is a PettingZoo AEC environment with two agents, `keisei.envs.vector` a Gymnasium vector
environment over many games. Both need the packages of the extra ``keisei[envs]``.
"""

from importlib.util import find_spec

for _package in ("gymnasium", "pettingzoo"):
    if find_spec(_package) is None:
        raise ModuleNotFoundError(
            f"keisei.envs needs the package {_package!r}, which is not installed; run: pip install 'keisei[envs]'",
            name=_package,
        )
