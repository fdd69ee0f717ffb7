"""Networks without training whose answers can be reasoned about."""

import torch
from torch import Tensor

from keisei.core.inference import Inference
from keisei.core.networks import ActorCritic, NetworkOutput
from keisei.shogi.types import PIECE_VALUE

PIECE_TYPES = 14
HAND_TYPES = 7
PIECES_IN_SET = (18, 4, 4, 4, 4, 2, 2)
SURE_OF_NO_DRAW = -30.0


class MaterialNetwork(ActorCritic):
    """Knows material and nothing else: every move is equally likely, a rook more is about 80 % of the points."""

    CENTIPAWNS_PER_UNIT = 1_500.0

    def __init__(self, num_actions: int = 2187) -> None:
        super().__init__(num_actions)
        pieces = torch.tensor(PIECE_VALUE, dtype=torch.float32)
        held = pieces[:HAND_TYPES] * torch.tensor(PIECES_IN_SET)
        self.register_buffer("on_board", torch.cat((pieces, -pieces)))
        self.register_buffer("in_hand", torch.cat((held, -held)))

    def forward(self, planes: Tensor, with_auxiliary: bool = True) -> NetworkOutput:
        board = planes[:, : 2 * PIECE_TYPES].sum(dim=(2, 3)) @ self.get_buffer("on_board")
        hands = planes[:, 2 * PIECE_TYPES : 2 * PIECE_TYPES + 2 * HAND_TYPES, 0, 0] @ self.get_buffer(
            "in_hand"
        )
        units = (board + hands) / self.CENTIPAWNS_PER_UNIT
        no_draw = torch.full_like(units, SURE_OF_NO_DRAW)
        logits = torch.zeros(len(planes), self.num_actions)
        return NetworkOutput(logits, torch.stack((units, no_draw, -units), dim=1), {})


class UndefinedNetwork(ActorCritic):
    """Answers with what is not a number."""

    def forward(self, planes: Tensor, with_auxiliary: bool = True) -> NetworkOutput:
        nothing = torch.full((len(planes), 1), torch.nan)
        return NetworkOutput(nothing.expand(-1, self.num_actions), nothing.expand(-1, 3), {})


def inference(network: ActorCritic) -> Inference:
    return Inference(network, device=torch.device("cpu"), precision="fp32")
