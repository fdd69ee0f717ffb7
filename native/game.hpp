// One game: a position with its history, repetition and outcome.
#pragma once

#include <array>
#include <vector>

#include "record.hpp"
#include "rules.hpp"

namespace keisei {

class Game {
public:
    explicit Game(const Rules& rules) : rules_(rules) {}

    // Begins at a position; then settle() must be called.
    void reset(const Position& start);

    // Makes a legal move; then settle() must be called.
    void play(Move move);

    // Judges the current position, given whether the mover is in check and has a legal move.
    void settle(bool in_check, bool has_moves);
    // The same, finding both out.
    void settle();

    // Takes back the last move, with its outcome. There must be one.
    void undo();

    void finish(Outcome outcome) { outcome_ = outcome; }

    const Position& position() const { return position_; }
    const Position& start() const { return start_; }
    const Rules& rules() const { return rules_; }
    const Outcome& outcome() const { return outcome_; }
    bool mover_in_check() const { return entries_.back().in_check; }
    // How often the current position has occurred, itself included.
    int occurrences() const { return entries_.back().occurrences; }
    int plies_played() const { return static_cast<int>(entries_.size()) - 1; }
    // The move that led to the i-th position after the start.
    Move move_at(int i) const { return entries_[static_cast<std::size_t>(i)].move; }

    // The keys of all positions before the current one.
    std::vector<std::uint64_t> earlier_keys() const { return {keys_.begin(), keys_.end() - 1}; }

    RecordContext record_context() const;

    // A position of this game, i plies after the start.
    Position position_at(int i) const;

private:
    struct Entry {
        Move move = NO_MOVE;  // that led here
        Piece captured = NO_PIECE;
        bool in_check = false;
        std::uint8_t occurrences = 1;
        std::uint16_t check_run = 0;   // consecutive checks by the side that moved here
        std::uint32_t first_seen = 0;  // index of the first occurrence of this position
    };

    // Counts positions by a few bits of their key, so that most positions are known to be new without a search.
    // A full counter stays full.
    static constexpr std::size_t FILTER_SIZE = 1024;
    static constexpr std::uint8_t FILTER_FULL = 255;

    std::uint8_t& filter_slot(std::uint64_t key) { return filter_[key % FILTER_SIZE]; }
    void find_earlier(Entry& entry);
    bool recurs_exactly(std::size_t earlier) const;
    Outcome judge_repetition() const;

    Rules rules_;
    Position start_;
    Position position_;
    Outcome outcome_;
    std::vector<Entry> entries_;       // one a position, the start included
    std::vector<std::uint64_t> keys_;  // parallel to entries_
    std::array<std::uint8_t, FILTER_SIZE> filter_{};
};

}  // namespace keisei
