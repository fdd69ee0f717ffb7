// How games end: outcomes, and the rules for the impasse (both kings safe in the other's camp).
#pragma once

#include <cstdint>

#include "position.hpp"

namespace keisei {

enum class Reason : std::uint8_t {
    NONE,
    CHECKMATE,
    NO_LEGAL_MOVES,
    REPETITION,
    PERPETUAL_CHECK,
    IMPASSE,
    DECLARATION,
    MAX_PLIES,
    RESIGNATION,
};
constexpr int REASONS = 9;

enum class ImpasseRule : std::uint8_t { OFF, CSA27, CSA24, TRY };

struct Rules {
    std::uint16_t max_plies = 512;
    ImpasseRule impasse = ImpasseRule::CSA27;
};

constexpr int NO_WINNER = -1;

struct Outcome {
    Reason reason = Reason::NONE;
    std::int8_t winner = NO_WINNER;

    bool over() const { return reason != Reason::NONE; }
    bool operator==(const Outcome&) const = default;
};

constexpr Outcome win(Color color, Reason reason) { return {reason, static_cast<std::int8_t>(color)}; }
constexpr Outcome draw(Reason reason) { return {reason, NO_WINNER}; }

// Impasse points of a colour: its pieces in the far three rows and its hand, 5 for rook and bishop, 1 for others.
int impasse_points(const Position& position, Color color);

// What a declaration by the side to move would bring under the rule; reason NONE when it may not declare.
// 27-point rule: a win. 24-point rule: a win with 31 points or more, a draw with 24 to 30.
Outcome declaration(const Position& position, ImpasseRule rule);

// Try rule: the side that just moved has its king on the enemy king's original square.
bool try_succeeded(const Position& position);

}  // namespace keisei
