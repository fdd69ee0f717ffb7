// SFEN and USI text: positions, squares and moves as strings.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "position.hpp"

namespace keisei {

class SfenError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

constexpr std::string_view STANDARD_SFEN = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1";

// The highest ply that is ever reached: a move number, which is one more, still fits 16 bits.
constexpr int MAX_PLY = 65534;

// Reads an SFEN (the move number may be missing) and proves that the position is possible.
Position parse_sfen(std::string_view text);
std::string format_sfen(const Position& position);

// Reads a USI move; NO_MOVE when the text is not one.
Move parse_usi(std::string_view text);
std::string format_usi(Move move);

std::string square_name(int square);
// Name of a piece in messages: "black promoted pawn".
std::string piece_name(Color color, PieceType type);
const char* color_name(Color color);
const char* type_name(PieceType type);

// Shortened and quoted for an error message.
std::string quoted(std::string_view text);

}  // namespace keisei
