#include "game.hpp"

#include <algorithm>

#include "movegen.hpp"

namespace keisei {
namespace {

constexpr int REPETITION_LIMIT = 4;

}  // namespace

void Game::reset(const Position& start) {
    start_ = start;
    position_ = start;
    outcome_ = {};
    entries_.assign(1, Entry{});
    keys_.assign(1, start.key);
    filter_.fill(0);
    filter_slot(start.key) = 1;
}

void Game::play(Move move) {
    Undo undo;
    position_.do_move(move, undo);
    Entry entry;
    entry.move = move;
    entry.captured = undo.captured;
    entry.first_seen = static_cast<std::uint32_t>(entries_.size());
    std::uint8_t& slot = filter_slot(position_.key);
    entries_.push_back(entry);
    if (slot != 0) find_earlier(entries_.back());
    if (slot != FILTER_FULL) ++slot;
    keys_.push_back(position_.key);
}

void Game::find_earlier(Entry& entry) {
    // Only every second position has the same side to move.
    for (std::size_t i = keys_.size(); i >= 2;) {
        i -= 2;
        if (keys_[i] != position_.key || !recurs_exactly(i)) continue;
        entry.occurrences = static_cast<std::uint8_t>(std::min(255, entries_[i].occurrences + 1));
        entry.first_seen = entries_[i].first_seen;
        return;
    }
}

// Equal keys are only a hint: play back to the earlier position and compare.
bool Game::recurs_exactly(std::size_t earlier) const {
    return position_at(static_cast<int>(earlier)).same_as(position_);
}

Position Game::position_at(int i) const {
    Position position = position_;
    for (auto n = entries_.size() - 1; n > static_cast<std::size_t>(i); --n) {
        position.undo_move(entries_[n].move, {keys_[n - 1], entries_[n].captured});
    }
    return position;
}

void Game::undo() {
    std::uint8_t& slot = filter_slot(position_.key);
    if (slot != FILTER_FULL) --slot;
    const Entry last = entries_.back();
    entries_.pop_back();
    keys_.pop_back();
    position_.undo_move(last.move, {keys_.back(), last.captured});
    outcome_ = {};
}

void Game::settle(bool in_check, bool has_moves) {
    const std::size_t last = entries_.size() - 1;
    Entry& entry = entries_.back();
    entry.in_check = in_check;
    if (in_check && last > 0) {
        entry.check_run = static_cast<std::uint16_t>(1 + (last >= 2 ? entries_[last - 2].check_run : 0));
    }
    const Color mover = position_.turn;
    if (rules_.impasse == ImpasseRule::TRY && last > 0 && try_succeeded(position_)) {
        outcome_ = win(~mover, Reason::IMPASSE);
    } else if (!has_moves) {
        outcome_ = win(~mover, in_check ? Reason::CHECKMATE : Reason::NO_LEGAL_MOVES);
    } else if (entry.occurrences >= REPETITION_LIMIT) {
        outcome_ = judge_repetition();
    } else if (position_.ply >= rules_.max_plies) {
        outcome_ = draw(Reason::MAX_PLIES);
    }
}

void Game::settle() { settle(keisei::in_check(position_, position_.turn), has_legal_move(position_)); }

// A side that gave check with every move since the first occurrence loses; if both did, it is a draw.
Outcome Game::judge_repetition() const {
    const std::size_t last = entries_.size() - 1;
    const auto moves_each = (last - entries_[last].first_seen) / 2;
    const bool last_mover_checked = entries_[last].check_run >= moves_each;
    const bool other_side_checked = entries_[last - 1].check_run >= moves_each;
    if (last_mover_checked == other_side_checked) return draw(Reason::REPETITION);
    return win(last_mover_checked ? position_.turn : ~position_.turn, Reason::PERPETUAL_CHECK);
}

RecordContext Game::record_context() const {
    return {entries_.back().in_check, entries_.back().occurrences - 1, rules_.max_plies};
}

}  // namespace keisei
