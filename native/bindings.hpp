// What the binding files share: array types, errors and small checks.
//
// The bind_*.cpp files are the seam to Python: they convert arguments and errors, nothing else.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <string>

#include "action.hpp"
#include "game.hpp"
#include "movegen.hpp"
#include "observation.hpp"
#include "record.hpp"
#include "sfen.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace keisei {

template <class T, class Shape>
using Array = nb::ndarray<T, Shape, nb::c_contig, nb::device::cpu>;

template <class T>
using Vector = Array<T, nb::ndim<1>>;
using Records = Array<const std::uint8_t, nb::shape<-1, RECORD_BYTES>>;
using RecordsOut = Array<std::uint8_t, nb::shape<-1, RECORD_BYTES>>;
using LegalOut = Array<std::uint16_t, nb::shape<-1, MAX_LEGAL_MOVES>>;
template <class T>
using PlanesOut = Array<T, nb::shape<-1, PLANES, BOARD_SIDE, BOARD_SIDE>>;

class IllegalMove : public std::runtime_error {
    using std::runtime_error::runtime_error;
};
class BadAction : public std::runtime_error {
    using std::runtime_error::runtime_error;
};
class BadRecord : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Each adds its part to the module.
void bind_game(nb::module_& m);
void bind_many_games(nb::module_& m);
void bind_batches(nb::module_& m);
void bind_vector_env(nb::module_& m);
void bind_gumbel(nb::module_& m);

// Plays a move, settles the game; IllegalMove when it is none here.
void play_checked(Game& game, int move);
// The legal move that an index names here; BadAction when it names none.
Move checked_move_of(const Game& game, int actions, int action);

inline ActionSpace action_space(int actions) {
    if (actions != action_count(ActionSpace::COMPACT) && actions != action_count(ActionSpace::FULL)) {
        throw std::invalid_argument("actions must be 2187 or 13527");
    }
    return static_cast<ActionSpace>(actions);
}

inline void require_rows(std::size_t expected, std::size_t found, const char* name) {
    if (expected != found) {
        throw std::invalid_argument(std::string(name) + " has " + std::to_string(found) + " rows instead of " +
                                    std::to_string(expected));
    }
}

inline std::string move_in_words(int move) {
    return is_well_formed(static_cast<Move>(move)) ? quoted(format_usi(static_cast<Move>(move))) : std::to_string(move);
}

}  // namespace keisei
