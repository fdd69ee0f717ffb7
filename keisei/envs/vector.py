"""Many games of shogi as one Gymnasium vector environment.

Self-play convention: in every game the two players move in turn through the same row. The observation of a row is the
view of the player who moves next, while its reward is that of the player who has just moved (1 win, -1 loss). A learner
that bootstraps therefore takes the value of the next observation with the opposite sign.

Games are reset in the step in which they end (``AutoresetMode.SAME_STEP``): the observation is then the first of a new
game, and ``info["final_obs"]`` holds the last one of the old game.
"""

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from keisei.shogi import OBSERVATION_SHAPE, REASONS, ImpasseRule, ShogiGame, ShogiVectorEnv, Starts
from keisei.shogi.positions import masks_from_lists, unpack_planes

Planes = npt.NDArray[np.float32]
Actions = npt.NDArray[np.integer[Any]]


class ShogiGymVectorEnv(VectorEnv[Planes, Actions, npt.NDArray[Any]]):
    """N games stepped together in native threads.

    Observations are float32 (N, 46, 9, 9). ``info["action_mask"]`` is bool (N, number of actions): legal actions for
    the observation returned with it. When games have ended, ``info["final_obs"]`` has their last observations (an
    object array, None elsewhere) and ``info["final_info"]["reason"]`` says why they ended. An illegal action raises
    ActionError, and no game is stepped.

    Args:
        num_envs: number of games.
        num_threads: native threads; None for one a core.
        actions: ``2187`` or ``13527``, the mapping between action indices and moves.
        starts: mixture of starting positions; the standard one by default.
        max_plies: ply at which a game is truncated.
        impasse_rule: ``csa27``, ``csa24``, ``try`` or ``off``.
        declare: end a game as soon as the mover may declare.
        render_mode: ``ansi`` or ``svg``; `render` returns one string a game.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (Gymnasium declares it so)
        "autoreset_mode": AutoresetMode.SAME_STEP,
        "render_modes": ["ansi", "svg"],
    }

    def __init__(
        self,
        num_envs: int,
        *,
        num_threads: int | None = None,
        actions: str | int = "2187",
        starts: Starts | None = None,
        max_plies: int = 512,
        impasse_rule: ImpasseRule | str = ImpasseRule.CSA27,
        declare: bool = True,
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode must be None, 'ansi' or 'svg', not {render_mode!r}")
        self._options: dict[str, Any] = {
            "num_games": num_envs,
            "num_threads": num_threads,
            "actions": actions,
            "starts": starts,
            "max_plies": max_plies,
            "impasse_rule": impasse_rule,
            "declare": declare,
        }
        self._games = ShogiVectorEnv(**self._options)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.single_observation_space = gymnasium.spaces.Box(0.0, 1.0, OBSERVATION_SHAPE, np.float32)
        self.single_action_space = gymnasium.spaces.Discrete(self._games.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Planes, dict[str, Any]]:
        """Begin every game anew. The same seed gives the same starts; without one, new ones are drawn."""
        if options:
            raise ValueError(
                f"reset takes no options, not {sorted(options)}; give `starts` to the environment"
            )
        super().reset(seed=seed)
        self._games = ShogiVectorEnv(**self._options, seed=int(self.np_random.integers(2**63)))
        return self._observations(self._games.records), self._info()

    def step(
        self, actions: Actions
    ) -> tuple[Planes, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Play one action in every game."""
        games = self._games.step(actions)
        info = self._info()
        ended = games.terminated | games.truncated
        if ended.any():
            info |= self._final_info(ended)
        return (
            self._observations(games.records),
            games.rewards.copy(),
            games.terminated.copy(),
            games.truncated.copy(),
            info,
        )

    def render(self) -> tuple[str, ...]:
        """The board of every game."""
        if self.render_mode is None:
            raise ValueError("render() needs an environment made with render_mode='ansi' or 'svg'")
        draw = str if self.render_mode == "ansi" else ShogiGame._repr_svg_
        return tuple(draw(self._games.game(index)) for index in range(self.num_envs))

    def _observations(self, records: npt.NDArray[np.uint8]) -> Planes:
        return unpack_planes(records, num_threads=self._games.num_threads)

    def _info(self) -> dict[str, Any]:
        games = self._games
        masks = masks_from_lists(games.legal, games.num_actions, num_threads=games.num_threads)
        return {"action_mask": masks, "_action_mask": np.ones(self.num_envs, np.bool_)}

    def _final_info(self, ended: npt.NDArray[np.bool_]) -> dict[str, Any]:
        """Gymnasium's layout: arrays over all games, each with a mask ``_name`` of the games it speaks of."""
        last = np.full(self.num_envs, None, object)
        reasons = np.full(self.num_envs, None, object)
        planes = self._observations(self._games.final_records[ended])
        for row, index in enumerate(np.flatnonzero(ended)):
            last[index] = planes[row]
            reasons[index] = str(REASONS[self._games.reasons[index]])
        return {
            "final_obs": last,
            "_final_obs": ended,
            "final_info": {"reason": reasons, "_reason": ended},
            "_final_info": ended,
        }
