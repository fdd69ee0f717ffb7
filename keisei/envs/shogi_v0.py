"""Shogi as a PettingZoo AEC environment: agents ``black`` and ``white`` move in turn.

Both observation and actions are in the acting agent's view, so one policy can play both sides. The observation is a
dictionary: ``observation`` float32 (46, 9, 9) and ``action_mask`` int8 (number of actions), which is all zeros for the
agent that does not move. The winner gets reward 1 and the loser -1; draws and games stopped at ``max_plies`` give 0,
and the latter are truncations.
"""

from typing import Any, ClassVar, Final

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.utils import EzPickle
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from keisei.errors import ActionError
from keisei.shogi import (
    OBSERVATION_SHAPE,
    Color,
    ImpasseRule,
    PolicyOutputMapper,
    Reason,
    ShogiGame,
)
from keisei.shogi.board_svg import board_svg
from keisei.shogi.board_text import board_text

AGENTS: Final = ("black", "white")
"""In the order of `Color`."""

ILLEGAL_REWARD: Final = -1.0

Observation = dict[str, npt.NDArray[Any]]

_HALF: Final = 14
_HANDS: Final = 28
_HAND_KINDS: Final = 7
# The same position from the other side: own and enemy pieces change places, own and enemy hands too.
_OTHER_SIDE: Final = np.r_[
    _HALF:_HANDS,
    0:_HALF,
    _HANDS + _HAND_KINDS : _HANDS + 2 * _HAND_KINDS,
    _HANDS : _HANDS + _HAND_KINDS,
    _HANDS + 2 * _HAND_KINDS : OBSERVATION_SHAPE[0],
]


def env(**options: Any) -> AECEnv[str, Observation, int]:
    """The environment with PettingZoo's usual guards; an illegal move ends the game with -1 for who made it."""
    guarded: AECEnv[str, Observation, int] = raw_env(**options)
    guarded = wrappers.TerminateIllegalWrapper(guarded, illegal_reward=ILLEGAL_REWARD)
    guarded = wrappers.AssertOutOfBoundsWrapper(guarded)
    return wrappers.OrderEnforcingWrapper(guarded)


class ShogiEnv(AECEnv[str, Observation, int], EzPickle):  # type: ignore[misc]  # PettingZoo is untyped
    """One game of shogi, without guards.

    Args:
        render_mode: ``ansi`` (text) or ``svg``; `render` returns the board as a string.
        actions: ``2187`` or ``13527``, the mapping between policy indices and moves.
        sfen: start position; ``reset(options={"sfen": …})`` overrides it for one game.
        max_plies: ply at which a game is truncated.
        impasse_rule: ``csa27``, ``csa24``, ``try`` or ``off``.
        declare: end the game as soon as the mover may declare a win under a point rule.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "shogi_v0",
        "render_modes": ["ansi", "svg"],
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        render_mode: str | None = None,
        *,
        actions: str | int = "2187",
        sfen: str | None = None,
        max_plies: int = 512,
        impasse_rule: ImpasseRule | str = ImpasseRule.CSA27,
        declare: bool = True,
    ) -> None:
        EzPickle.__init__(
            self,
            render_mode,
            actions=actions,
            sfen=sfen,
            max_plies=max_plies,
            impasse_rule=impasse_rule,
            declare=declare,
        )
        super().__init__()
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode must be None, 'ansi' or 'svg', not {render_mode!r}")
        self.render_mode = render_mode
        self._start_sfen = sfen
        self._game = ShogiGame(sfen, max_plies=max_plies, impasse_rule=impasse_rule)
        self._mapper = PolicyOutputMapper(actions)
        self._declare = declare and self._game.impasse_rule in (ImpasseRule.CSA27, ImpasseRule.CSA24)
        self.possible_agents = list(AGENTS)
        self.agents = list(AGENTS)
        size = self._mapper.num_actions
        self.action_spaces = {agent: gymnasium.spaces.Discrete(size) for agent in AGENTS}
        self.observation_spaces = {agent: _observation_space(size) for agent in AGENTS}

    @property
    def game(self) -> ShogiGame:
        """A copy of the game being played."""
        return self._game.copy()

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:  # noqa: ARG002
        """Begin a new game; ``seed`` is accepted for the interface, shogi has no chance in it."""
        self._game.reset((options or {}).get("sfen", self._start_sfen))
        self.agents = list(AGENTS)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in AGENTS}
        self.agent_selection = AGENTS[self._game.turn]

    def observe(self, agent: str) -> Observation:
        """What ``agent`` sees, from its own side of the board."""
        planes = self._game.get_observation()
        mask = np.zeros(self._mapper.num_actions, np.int8)
        if agent != AGENTS[self._game.turn]:
            planes = np.ascontiguousarray(planes[_OTHER_SIDE, ::-1, ::-1])
        elif self._game.outcome is None:
            mask[self._mapper.legal_indices(self._game)] = 1
        return {"observation": planes, "action_mask": mask}

    def step(self, action: int | None) -> None:
        """Play ``action`` for the selected agent; raises ActionError when it is not legal."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if action is None:
            raise ActionError(
                f"{agent} is to move and needs an action, not None; None is for agents whose game is over"
            )
        self._game.make_move(self._mapper.index_to_move(action, self._game))
        if self._declare and self._game.outcome is None and self._game.can_declare_win():
            self._game.declare_win()
        # What an agent has earned since its last move is its own until it moves again.
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._judge()
        self._accumulate_rewards()
        self.agent_selection = AGENTS[self._game.turn]

    def _judge(self) -> None:
        """Set rewards, ends and infos when the game is over."""
        outcome = self._game.outcome
        if outcome is None:
            return
        if outcome.winner is not None:
            self.rewards[AGENTS[outcome.winner]] = 1.0
            self.rewards[AGENTS[outcome.winner.opponent]] = -1.0
        over = self.truncations if outcome.reason is Reason.MAX_PLIES else self.terminations
        over.update(dict.fromkeys(AGENTS, True))
        self.infos = {agent: {"reason": outcome.reason.value} for agent in AGENTS}

    def render(self) -> str | None:
        """The board as text or SVG, by the ``render_mode`` of the environment."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs an environment made with render_mode='ansi' or 'svg'")
            return None
        game = self._game
        pieces = [game.piece_at(square) for square in range(81)]
        hands = (game.hand(Color.BLACK), game.hand(Color.WHITE))
        if self.render_mode == "ansi":
            return board_text(pieces, hands, game.turn)
        last = game.last_move
        return board_svg(
            pieces, hands, game.turn, last_move=(last.from_square, last.to_square) if last else None
        )

    def close(self) -> None:
        """There is nothing to release; PettingZoo asks for the method wherever there is `render`."""


def _observation_space(num_actions: int) -> gymnasium.spaces.Dict:
    return gymnasium.spaces.Dict(
        {
            "observation": gymnasium.spaces.Box(0.0, 1.0, OBSERVATION_SHAPE, np.float32),
            "action_mask": gymnasium.spaces.Box(0, 1, (num_actions,), np.int8),
        }
    )


raw_env = ShogiEnv
