#include "vector_env.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "legality.hpp"
#include "mate.hpp"
#include "movegen.hpp"
#include "sfen.hpp"

namespace keisei {
namespace {

constexpr int ARCHIVE_SIZE = 16;  // positions kept of each board's earlier games
constexpr int CHUNKS_PER_THREAD = 8;

void require(bool condition, const std::string& message) {
    if (!condition) throw std::invalid_argument(message);
}

void validate_starts(const VectorEnvConfig& config) {
    const StartMixture& starts = config.starts;
    for (const double weight :
         {starts.standard, starts.handicap, starts.listed, starts.random_prefix, starts.earlier}) {
        require(weight >= 0 && weight <= 1e9, "the weights of starts must lie in 0..1e9");
    }
    require(starts.total() > 0, "at least one weight of starts must be positive");
    require(starts.handicap == 0 || !starts.handicaps.empty(), "handicap starts need at least one position");
    require(starts.listed == 0 || !starts.positions.empty(), "starts from a list need at least one position");
    require(starts.random_prefix == 0 || (starts.prefix_plies >= 1 && starts.prefix_plies < config.rules.max_plies),
            "the random prefix must be at least 1 ply and shorter than max_plies");
    for (const Position& position : starts.positions) {
        require(has_legal_move(position), "a starting position has no legal move: '" + format_sfen(position) + "'");
        require(position.ply < config.rules.max_plies,
                "a starting position is at or past max_plies: '" + format_sfen(position) + "'");
    }
}

// Appends and reads plain numbers; the state is for the machine that wrote it, guarded by a checksum elsewhere.
class StateWriter {
public:
    template <class T>
    void number(T value) {
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void position(const Position& position) {
        std::uint8_t record[RECORD_BYTES];
        pack_record(position, {}, record);
        bytes_.append(reinterpret_cast<const char*>(record), RECORD_BYTES);
    }
    std::string take() { return std::move(bytes_); }

private:
    std::string bytes_;
};

class StateReader {
public:
    explicit StateReader(std::string_view bytes) : bytes_(bytes) {}

    template <class T>
    T number() {
        T value;
        std::memcpy(&value, take(sizeof value), sizeof value);
        return value;
    }
    Position position() {
        RecordContext context;
        try {
            return unpack_record(reinterpret_cast<const std::uint8_t*>(take(RECORD_BYTES)), context);
        } catch (const SfenError& error) {
            throw std::invalid_argument(std::string("the saved games are damaged: ") + error.what());
        }
    }
    bool at_end() const { return bytes_.empty(); }

private:
    const char* take(std::size_t n) {
        require(bytes_.size() >= n, "the saved games are damaged: they end too early");
        const char* data = bytes_.data();
        bytes_.remove_prefix(n);
        return data;
    }

    std::string_view bytes_;
};

constexpr std::uint32_t STATE_FORMAT = 2;

}  // namespace

VectorEnv::VectorEnv(const VectorEnvConfig& config, const VectorEnvArrays& arrays) : config_(config), arrays_(arrays) {
    require(config.num_games >= 1, "num_games must be at least 1");
    require(config.num_threads >= 1, "num_threads must be at least 1");
    require(config.rules.max_plies >= 1, "max_plies must be at least 1");
    validate_starts(config);
    slots_.reserve(static_cast<std::size_t>(config.num_games));
    for (int i = 0; i < config.num_games; ++i) slots_.emplace_back(config.rules);
    pool_ = std::make_unique<ThreadPool>(std::min(config.num_threads, config.num_games));
    if (config.mirror) {
        for (int action = 0; action < action_count(config.actions); ++action) {
            mirror_table_.push_back(mirrored_action(config.actions, action));
        }
    }
    reset();
}

bool VectorEnv::Slot::is_legal(int action) const {
    if (action < 0 || action >= NO_ACTION) return false;
    const std::uint16_t* end = legal + count;
    return std::find(&legal[0], end, static_cast<std::uint16_t>(action)) != end;
}

template <class Body>
void VectorEnv::for_each_game(Body body) {
    const int games = config_.num_games;
    const int chunk = std::max(1, games / (pool_->num_threads() * CHUNKS_PER_THREAD));
    pool_->for_chunks(games, chunk, [&](int begin, int end) {
        for (int i = begin; i < end; ++i) body(i);
    });
}

void VectorEnv::reset() {
    std::uint64_t seeds = config_.seed;
    for (Slot& slot : slots_) {
        slot.start_random = Random(split_mix(seeds));
        slot.action_random = Random(split_mix(seeds));
        slot.archive.clear();
        slot.archive_next = 0;
        slot.finished.finish({});
    }
    for_each_game([this](int i) {
        restart(slots_[static_cast<std::size_t>(i)]);
        arrays_.rewards[i] = 0;
        arrays_.terminated[i] = false;
        arrays_.truncated[i] = false;
        arrays_.reasons[i] = static_cast<std::uint8_t>(Reason::NONE);
        publish(i);
    });
}

void VectorEnv::restart(Slot& slot) {
    begin_game(slot.game, config_.starts, slot.archive, slot.start_random);
    slot.mirrored = config_.mirror && slot.start_random.below(2) == 1;
    refresh(slot);
}

// Generates the legal actions of the current position and judges it.
void VectorEnv::refresh(Slot& slot) {
    const Bitboard checkers = generate_actions(slot.game.position(), config_.actions, slot.legal, slot.count);
    slot.game.settle(static_cast<bool>(checkers), slot.count > 0);
}

void VectorEnv::play(Slot& slot, int action) {
    slot.game.play(move_of(config_.actions, action, slot.game.position()));
    refresh(slot);
    if (config_.declare && !slot.game.outcome().over()) {
        const Outcome declared = declaration(slot.game.position(), config_.rules.impasse);
        if (declared.over()) slot.game.finish(declared);
    }
}

void VectorEnv::archive_position(Slot& slot) {
    if (config_.starts.earlier == 0) return;
    // Not the last position, which is over, and nothing so late that the ply cap would end the new game at once.
    const int room = config_.rules.max_plies / 2 - slot.game.start().ply;
    const int candidates = std::min(slot.game.plies_played(), room);
    if (candidates < 1) return;
    const int chosen = static_cast<int>(slot.start_random.below(static_cast<std::uint32_t>(candidates)));
    if (slot.archive.size() < ARCHIVE_SIZE) {
        slot.archive.push_back(slot.game.position_at(chosen));
    } else {
        slot.archive[slot.archive_next] = slot.game.position_at(chosen);
    }
    slot.archive_next = (slot.archive_next + 1) % ARCHIVE_SIZE;
}

int VectorEnv::first_illegal(const std::int32_t* actions) {
    std::atomic<int> first{config_.num_games};
    for_each_game([&](int i) {
        const Slot& slot = slots_[static_cast<std::size_t>(i)];
        if (slot.is_legal(in_frame(slot, actions[i]))) return;
        int seen = first.load();
        while (i < seen && !first.compare_exchange_weak(seen, i)) {
        }
    });
    return first == config_.num_games ? -1 : first.load();
}

void VectorEnv::step(const std::int32_t* actions) {
    for_each_game([&](int i) { step_game(i, in_frame(slots_[static_cast<std::size_t>(i)], actions[i])); });
}

// `action` as the engine numbers it, not mirrored.
void VectorEnv::step_game(int i, int action) {
    Slot& slot = slots_[static_cast<std::size_t>(i)];
    const Color mover = slot.game.position().turn;
    play(slot, action);
    const Outcome outcome = slot.game.outcome();
    float reward = 0;
    if (outcome.winner != NO_WINNER) reward = outcome.winner == mover ? 1.0F : -1.0F;
    arrays_.rewards[i] = reward;
    arrays_.truncated[i] = outcome.reason == Reason::MAX_PLIES;
    arrays_.terminated[i] = outcome.over() && outcome.reason != Reason::MAX_PLIES;
    arrays_.reasons[i] = static_cast<std::uint8_t>(outcome.reason);
    if (outcome.over()) {
        write_record(slot, arrays_.final_records + i * RECORD_BYTES);
        archive_position(slot);
        std::swap(slot.game, slot.finished);
        restart(slot);
    }
    publish(i);
}

// Writes the "after" arrays of one game.
void VectorEnv::publish(int i) {
    const Slot& slot = slots_[static_cast<std::size_t>(i)];
    write_record(slot, arrays_.records + i * RECORD_BYTES);
    std::uint16_t* list = arrays_.legal_actions + i * MAX_LEGAL_MOVES;
    if (slot.mirrored) {
        for (int k = 0; k < slot.count; ++k) list[k] = mirror_table_[slot.legal[k]];
    } else {
        std::memcpy(list, slot.legal, static_cast<std::size_t>(slot.count) * sizeof(std::uint16_t));
    }
    arrays_.mirrored[i] = slot.mirrored;
    arrays_.legal_counts[i] = static_cast<std::uint16_t>(slot.count);
    arrays_.repetitions[i] = static_cast<std::uint8_t>(slot.game.occurrences() - 1);
    if (!config_.mate_in_one) return;
    const Move mate = mate_in_one(slot.game.position());
    const int action = mate == NO_MOVE ? NO_ACTION : action_of(config_.actions, mate, slot.game.position().turn);
    arrays_.mate_in_one[i] = static_cast<std::uint16_t>(in_frame(slot, action));
}

// The position of a game in its frame.
void VectorEnv::write_record(const Slot& slot, std::uint8_t* out) const {
    if (!slot.mirrored) {
        pack_record(slot.game.position(), slot.game.record_context(), out);
        return;
    }
    std::uint8_t record[RECORD_BYTES];
    pack_record(slot.game.position(), slot.game.record_context(), record);
    mirror_record(record, out);
}

std::int32_t VectorEnv::in_frame(const Slot& slot, std::int32_t action) const {
    const bool is_action = action >= 0 && action < action_count(config_.actions);
    return slot.mirrored && is_action ? mirror_table_[static_cast<std::size_t>(action)] : action;
}

void VectorEnv::random_actions(std::int32_t* out) {
    for_each_game([&](int i) {
        Slot& slot = slots_[static_cast<std::size_t>(i)];
        out[i] = in_frame(slot, slot.legal[slot.action_random.below(static_cast<std::uint32_t>(slot.count))]);
    });
}

RandomPlayStats VectorEnv::play_random(int plies) {
    std::vector<RandomPlayStats> stats(slots_.size());
    for_each_game([&](int i) {
        Slot& slot = slots_[static_cast<std::size_t>(i)];
        RandomPlayStats& mine = stats[static_cast<std::size_t>(i)];
        for (int ply = 0; ply < plies; ++ply) {
            step_game(i, slot.legal[slot.action_random.below(static_cast<std::uint32_t>(slot.count))]);
            ++mine.plies;
            if (!arrays_.terminated[i] && !arrays_.truncated[i]) continue;
            ++mine.games;
            ++mine.by_reason[arrays_.reasons[i]];
            if (arrays_.rewards[i] == 0) continue;
            const bool white_moves_last = (arrays_.final_records[i * RECORD_BYTES + RECORD_FLAGS] & 1) == 0;
            ++mine.wins[static_cast<std::size_t>(white_moves_last == (arrays_.rewards[i] > 0) ? WHITE : BLACK)];
        }
    });
    RandomPlayStats total;
    for (const RandomPlayStats& one : stats) {
        total.plies += one.plies;
        total.games += one.games;
        for (std::size_t r = 0; r < REASONS; ++r) total.by_reason[r] += one.by_reason[r];
        for (std::size_t c = 0; c < 2; ++c) total.wins[c] += one.wins[c];
    }
    return total;
}

std::string VectorEnv::save_state() const {
    StateWriter out;
    out.number(STATE_FORMAT);
    out.number(static_cast<std::uint32_t>(slots_.size()));
    for (const Slot& slot : slots_) {
        out.number(slot.start_random.state());
        out.number(slot.action_random.state());
        out.number(static_cast<std::uint32_t>(slot.archive.size()));
        for (const Position& position : slot.archive) out.position(position);
        out.number(static_cast<std::uint32_t>(slot.archive_next));
        out.number(static_cast<std::uint8_t>(slot.mirrored));
        out.position(slot.game.start());
        out.number(static_cast<std::uint32_t>(slot.game.plies_played()));
        for (int i = 1; i <= slot.game.plies_played(); ++i) out.number(slot.game.move_at(i));
    }
    return out.take();
}

void VectorEnv::load_state(std::string_view state) {
    StateReader in(state);
    require(in.number<std::uint32_t>() == STATE_FORMAT, "the saved games have another format");
    const auto games = in.number<std::uint32_t>();
    require(games == slots_.size(), "the saved state has " + std::to_string(games) + " games, this environment " +
                                        std::to_string(slots_.size()));
    std::vector<Slot> slots;
    slots.reserve(slots_.size());
    for (std::uint32_t i = 0; i < games; ++i) {
        Slot& slot = slots.emplace_back(config_.rules);
        slot.start_random.set_state(in.number<std::uint64_t>());
        slot.action_random.set_state(in.number<std::uint64_t>());
        const auto archived = in.number<std::uint32_t>();
        require(archived <= ARCHIVE_SIZE, "the saved games are damaged: the archive is too large");
        for (std::uint32_t n = 0; n < archived; ++n) {
            slot.archive.push_back(in.position());
            require(has_legal_move(slot.archive.back()) && slot.archive.back().ply < config_.rules.max_plies,
                    "the saved games are damaged: an archived position is over");
        }
        slot.archive_next = in.number<std::uint32_t>() % ARCHIVE_SIZE;
        // A state of a run that mirrors goes on in one that does not, and the other way round, with plain games.
        slot.mirrored = in.number<std::uint8_t>() == 1 && config_.mirror;
        slot.game.reset(in.position());
        refresh(slot);
        const auto plies = in.number<std::uint32_t>();
        for (std::uint32_t n = 0; n < plies; ++n) {
            const auto move = in.number<Move>();
            require(!slot.game.outcome().over() && is_legal(slot.game.position(), move),
                    "the saved games are damaged: a move is not legal");
            slot.game.play(move);
            refresh(slot);
        }
        require(!slot.game.outcome().over(), "the saved games are damaged: a game is over");
    }
    require(in.at_end(), "the saved games are damaged: they go on past the end");
    slots_ = std::move(slots);
    for (int i = 0; i < config_.num_games; ++i) publish(i);
}

}  // namespace keisei
