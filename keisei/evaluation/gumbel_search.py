"""Gumbel search with a network: stronger play than the policy alone, many games and many leaves in one batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from keisei.core.inference import Inference
from keisei.errors import NonFiniteOutputError
from keisei.shogi import Move, ShogiGame
from keisei.shogi.gumbel_forest import DEFAULT_SETTINGS, GumbelForest, GumbelSettings, RootMove

DEFAULT_SIMULATIONS = 64
#: Positions in one forward pass: enough for any device to work at its full speed.
BATCH_SIZE = 256


class GumbelSearch:
    """The search of one or many games, advanced batch by batch: `add_simulations`, then `step` until it returns 0.

    It can be left at any time: `best` and `root_moves` tell what is known so far.
    """

    def __init__(
        self,
        inference: Inference,
        games: Sequence[ShogiGame],
        settings: GumbelSettings = DEFAULT_SETTINGS,
        *,
        only: Sequence[Move] = (),
    ) -> None:
        self._inference = inference
        self._forest = GumbelForest(
            games, inference.num_actions, settings, only=only, num_threads=torch.get_num_threads()
        )

    def add_simulations(self, simulations: int) -> None:
        self._forest.add_simulations(simulations)

    @torch.no_grad()
    def step(self, max_batch: int = BATCH_SIZE) -> int:
        """Judges one batch of leaves; returns how many, 0 when the search is finished."""
        records = self._forest.select(max(1, max_batch // len(self._forest)))
        if len(records) == 0:
            return 0
        output = self._inference.forward(self._inference.planes(records), with_auxiliary=False)
        logits, values = output.policy_logits.float().cpu(), output.value.cpu()
        if not torch.isfinite(values.sum() + logits.sum()):  # one of them would show in the sum
            raise NonFiniteOutputError(
                f"the network's answers to {len(records)} positions are not all finite numbers; "
                f"use another checkpoint, or fp32 instead of {self._inference.dtype}"
            )
        self._forest.expand(logits.numpy(), values.numpy())
        return len(records)

    def run(self, simulations: int, should_stop: Callable[[], bool] = lambda: False) -> None:
        """Searches every game with this many simulations."""
        self.add_simulations(simulations)
        while not should_stop() and self.step():
            pass

    def is_finished(self, game: int = 0) -> bool:
        """All simulations are spent, or the outcome is proven."""
        return self._forest.is_finished(game)

    def simulations(self, game: int = 0) -> int:
        """How often the game's root was visited; its own judgement counts as the first visit."""
        return self._forest.visits(game)

    def root_moves(self, game: int = 0) -> list[RootMove]:
        """The game's moves, best first; empty before the first `step`, and where there is no legal move."""
        return self._forest.root_moves(game)

    def line(self, move: Move, game: int = 0) -> list[Move]:
        """The expected continuation that begins with a move of the root."""
        return self._forest.line(game, move)

    @property
    def bytes(self) -> int:
        """Memory of the trees."""
        return self._forest.bytes


class SearchPlayer:
    """Gumbel search with a fixed number of simulations; any seed but 0 adds noise at the root."""

    def __init__(
        self, name: str, inference: Inference, simulations: int = DEFAULT_SIMULATIONS, seed: int = 0
    ) -> None:
        self.name = name
        self._inference = inference
        self._simulations = simulations
        self._settings = GumbelSettings(seed=seed)

    def choose(self, games: Sequence[ShogiGame]) -> list[Move]:
        search = GumbelSearch(self._inference, games, self._settings)
        search.run(self._simulations)
        return [search.root_moves(index)[0].move for index in range(len(games))]
