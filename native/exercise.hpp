// What any input must survive, shared by the self-test and the fuzzer: the engine answers or refuses cleanly, and
// every answer agrees with itself. A violated expectation aborts the process with a message.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "position.hpp"

namespace keisei::exercise {

using Bytes = std::span<const std::uint8_t>;

// Aborts with the message unless the condition holds.
void expect(bool condition, const char* message);

// Generators, both numberings, text, packed record, moves there and back, mate, search and exchange of a position.
void examine_position(const Position& position);

// Any text as SFEN.
void examine_sfen(std::string_view text);

// "SFEN\nMOVES": plays the USI moves that are legal and skips the rest, then takes all of them back.
void examine_game(std::string_view text);

// Any RECORD_BYTES bytes as a packed position, first as one of ours, then as one to be proven.
void examine_record(const std::uint8_t* record);

// Any bytes as the saved state of a vector environment, which then plays on.
void examine_state(std::string_view state);

// The kinds of damaged input, chosen by the first byte of an input.
enum class InputKind : std::uint8_t {
    SFEN,
    DAMAGED_SFEN,
    GAME,
    RECORD,
    DAMAGED_RECORD,
    STATE,
    DAMAGED_STATE,
};
constexpr int INPUT_KINDS = 7;

// Examines one input. DAMAGED kinds take the rest of the input as patches to a sound SFEN, record or state.
void examine_input(Bytes input);

}  // namespace keisei::exercise
