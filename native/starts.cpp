#include "starts.hpp"

#include "movegen.hpp"
#include "sfen.hpp"

namespace keisei {
namespace {

const Position& standard_position() {
    static const Position position = parse_sfen(STANDARD_SFEN);
    return position;
}

const Position& any_of(const std::vector<Position>& positions, Random& random) {
    return positions[random.below(static_cast<std::uint32_t>(positions.size()))];
}

// False when the game ended on the way.
bool play_random_prefix(Game& game, int plies, Random& random) {
    MoveList list;
    for (int i = 0; i < plies; ++i) {
        generate_moves(game.position(), list);
        game.play(list.moves[random.below(static_cast<std::uint32_t>(list.size))]);
        game.settle();
        if (game.outcome().over()) return false;
    }
    return true;
}

void begin_after_prefix(Game& game, int most_plies, Random& random) {
    bool usable = false;
    while (!usable) {
        game.reset(standard_position());
        game.settle();
        const int plies = 1 + static_cast<int>(random.below(static_cast<std::uint32_t>(most_plies)));
        usable = play_random_prefix(game, plies, random);
    }
}

}  // namespace

void begin_game(Game& game, const StartMixture& mixture, const std::vector<Position>& archive, Random& random) {
    double ticket = random.unit() * mixture.total();
    if ((ticket -= mixture.random_prefix) < 0) return begin_after_prefix(game, mixture.prefix_plies, random);
    const Position* start = &standard_position();
    if ((ticket -= mixture.handicap) < 0) {
        start = &any_of(mixture.handicaps, random);
    } else if ((ticket -= mixture.listed) < 0) {
        start = &any_of(mixture.positions, random);
    } else if ((ticket -= mixture.earlier) < 0 && !archive.empty()) {
        start = &any_of(archive, random);
    }
    game.reset(*start);
    game.settle();
}

}  // namespace keisei
