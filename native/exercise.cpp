#include "exercise.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "exchange.hpp"
#include "expand.hpp"
#include "legality.hpp"
#include "mate.hpp"
#include "observation.hpp"
#include "search.hpp"
#include "sfen.hpp"
#include "vector_env.hpp"

namespace keisei::exercise {
namespace {

constexpr int ENV_GAMES = 2;
constexpr int ENV_PLIES = 40;  // one cap for the environment that writes states and the one that reads them
constexpr std::size_t LONGEST_GAME = 64;
constexpr std::uint64_t MATE_NODES = 200;

// What damage starts from: the standard array, full hands, the most moves, a check, promoted pieces everywhere.
constexpr std::string_view SOUND_SFENS[] = {
    STANDARD_SFEN,
    "4k4/9/9/9/9/9/9/9/4K4 w 2R2B4G4S4N4L18P 9",
    "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1",
    "lnsgk1snl/1r4gb1/p1pppp2p/6pR1/1p7/2P6/PP1PPPP1P/1BG6/LNS1KGSNL w Pp 16",
    "+P+L+N+S+B+R3/8k/9/9/4K4/9/9/9/2+p+l+n+s+b+r1 b 4G2S2N2L16P 100",
};

std::string_view sound_sfen(Bytes rest) { return SOUND_SFENS[rest.empty() ? 0 : rest[0] % std::size(SOUND_SFENS)]; }

std::string_view as_text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Overwrites, deletes or inserts one byte for every four bytes of patches: where (two bytes), what, how.
void apply_patches(std::string& text, Bytes patches, bool keep_size) {
    constexpr std::size_t PATCH = 4;
    for (; patches.size() >= PATCH && !text.empty(); patches = patches.subspan(PATCH)) {
        const std::size_t where = (patches[0] | patches[1] << 8) % text.size();
        const char what = static_cast<char>(patches[2]);
        const int how = keep_size ? 0 : patches[3] % 3;
        if (how == 0) text[where] = what;
        if (how == 1) text.erase(where, 1);
        if (how == 2) text.insert(where, 1, what);
    }
}

void examine_numbering(const Position& position, const MoveList& list, ActionSpace space) {
    std::uint16_t actions[ACTION_LIST_SIZE];
    int count = 0;
    generate_actions(position, space, actions, count);
    expect(count == list.size, "as many legal actions as legal moves");
    std::vector<std::uint16_t> expected;
    for (const Move move : list) {
        const std::uint16_t action = action_of(space, move, position.turn);
        expect(action < action_count(space), "every legal move has an index in range");
        expect(move_of(space, action, position) == move, "an index names the move it was made from");
        const std::uint16_t image = mirrored_action(space, action);
        expect(mirrored_action(space, image) == action, "a mirror image mirrored is the original");
        expected.push_back(action);
    }
    std::sort(expected.begin(), expected.end());
    std::sort(actions, actions + count);
    expect(std::equal(expected.begin(), expected.end(), actions), "both generators give the same actions");
    expect(std::adjacent_find(expected.begin(), expected.end()) == expected.end(), "no two moves share an index");
}

void examine_moves(const Position& position, const MoveList& list) {
    MoveList checks;
    generate_checks(position, checks);
    const Move* next_check = checks.begin();
    Position after = position;
    Undo undo;
    for (const Move move : list) {
        expect(parse_usi(format_usi(move)) == move, "a move written as USI reads back");
        after.do_move(move, undo);
        expect(!in_check(after, position.turn), "no legal move leaves the mover's king attacked");
        if (in_check(after, after.turn)) {
            expect(next_check != checks.end() && *next_check++ == move, "all checks are generated, in their order");
        }
        Position fresh = after;
        fresh.compute_key();
        expect(fresh.key == after.key, "the incremental key is the key");
        after.undo_move(move, undo);
        expect(after.same_as(position) && after.key == position.key, "taking a move back restores the position");
        static_exchange(position, move);
    }
    expect(next_check == checks.end(), "nothing but checks is generated as such");
}

void examine_mate(const Position& position) {
    const Move mate = mate_in_one(position);
    const MateResult found = find_mate(position, 3, MATE_NODES);
    expect(mate == NO_MOVE || found.verdict == MateVerdict::MATE, "the search finds a mate in one");
    Position after = position;
    Undo undo;
    for (const Move move : found.line) {
        expect(is_legal(after, move), "a mating line is legal");
        after.do_move(move, undo);
    }
    if (found.verdict == MateVerdict::MATE) expect(!has_legal_move(after), "a mating line ends in mate");
}

void examine_search(const Position& position, const MoveList& list) {
    const SearchResult found = search(position, {.depth = 1, .seed = 1}, {});
    expect((found.best == NO_MOVE) == (list.size == 0), "the search finds a move where there is one");
    expect(found.best == NO_MOVE || is_legal(position, found.best), "the search finds a legal move");
}

void examine_packing(const Position& position) {
    std::uint8_t record[RECORD_BYTES];
    std::uint8_t again[RECORD_BYTES];
    RecordContext context{in_check(position, position.turn), 0, MAX_PLY};
    pack_record(position, context, record);
    const Position unpacked = unpack_record(record, context);
    expect(unpacked.same_as(position) && unpacked.ply == position.ply, "a record unpacks to its position");
    pack_record(unpacked, context, again);
    expect(std::equal(record, record + RECORD_BYTES, again), "an unpacked record packs to the same bytes");
    const Position read = parse_sfen(format_sfen(position));
    expect(read.same_as(position) && read.ply == position.ply, "a position written as SFEN reads back");
}

// The arrays of a small environment.
struct Arrays {
    std::array<std::uint8_t, ENV_GAMES * RECORD_BYTES> records{};
    std::array<std::uint16_t, ENV_GAMES * MAX_LEGAL_MOVES> legal_actions{};
    std::array<std::uint16_t, ENV_GAMES> legal_counts{};
    std::array<std::uint8_t, ENV_GAMES> repetitions{};
    std::array<std::uint16_t, ENV_GAMES> mate_in_one{};
    std::array<bool, ENV_GAMES> mirrored{};
    std::array<float, ENV_GAMES> rewards{};
    std::array<bool, ENV_GAMES> terminated{};
    std::array<bool, ENV_GAMES> truncated{};
    std::array<std::uint8_t, ENV_GAMES> reasons{};
    std::array<std::uint8_t, ENV_GAMES * RECORD_BYTES> final_records{};

    VectorEnvArrays pointers() {
        return {records.data(),     legal_actions.data(), legal_counts.data(), repetitions.data(),
                mate_in_one.data(), mirrored.data(),      rewards.data(),      terminated.data(),
                truncated.data(),   reasons.data(),       final_records.data()};
    }
};

VectorEnvConfig small_config() {
    VectorEnvConfig config;
    config.num_games = ENV_GAMES;
    config.rules.max_plies = ENV_PLIES;
    config.starts.standard = 0;
    config.starts.earlier = 1;  // so that a damaged archive is used
    config.mate_in_one = true;
    config.mirror = true;
    return config;
}

// A state with games in flight and with archives, as a run would save it.
const std::string& sound_state() {
    static const std::string state = [] {
        Arrays arrays;
        VectorEnv env(small_config(), arrays.pointers());
        env.play_random(5 * ENV_PLIES / 2);
        return env.save_state();
    }();
    return state;
}

std::string sound_record(Bytes rest) {
    std::uint8_t record[RECORD_BYTES];
    pack_record(parse_sfen(sound_sfen(rest)), {}, record);
    return {reinterpret_cast<const char*>(record), RECORD_BYTES};
}

}  // namespace

void expect(bool condition, const char* message) {
    if (condition) return;
    std::fprintf(stderr, "expectation failed: %s\n", message);
    std::abort();
}

void examine_position(const Position& position) {
    MoveList list;
    generate_moves(position, list);
    expect(list.size <= MAX_LEGAL_MOVES, "at most 593 legal moves");
    expect(count_moves(position) == list.size, "counting agrees with generating");
    expect(material(position, BLACK) == -material(position, WHITE), "material is what the other side lacks");
    examine_numbering(position, list, ActionSpace::COMPACT);
    examine_numbering(position, list, ActionSpace::FULL);
    examine_moves(position, list);
    examine_mate(position);
    examine_search(position, list);
    examine_packing(position);
}

void examine_sfen(std::string_view text) {
    try {
        examine_position(parse_sfen(text));
    } catch (const SfenError& error) {
        expect(error.what()[0] != '\0', "a refusal says why");
    }
}

void examine_game(std::string_view text) {
    const std::size_t line_end = std::min(text.find('\n'), text.size());
    Position start;
    try {
        start = parse_sfen(text.substr(0, line_end));
    } catch (const SfenError&) {
        start = parse_sfen(STANDARD_SFEN);
    }
    Game game(Rules{});
    game.reset(start);
    game.settle();
    std::string_view moves = text.substr(line_end);
    for (std::size_t n = 0; n < LONGEST_GAME && !moves.empty(); ++n) {
        moves.remove_prefix(1);  // the separator, whatever it is
        const std::size_t end = std::min(moves.find(' '), moves.size());
        const Move move = parse_usi(moves.substr(0, end));
        moves.remove_prefix(end);
        if (game.outcome().over()) break;
        if (!is_legal(game.position(), move)) {
            expect(!illegality(game.position(), move).empty(), "an illegal move breaks a rule that has a name");
            continue;
        }
        game.play(move);
        game.settle();
    }
    examine_position(game.position());
    while (game.plies_played() > 0) game.undo();
    expect(game.position().same_as(start) && game.position().key == start.key, "a game taken back is at its start");
}

void examine_record(const std::uint8_t* record) {
    std::uint8_t planes[PLANES * SQUARES];
    float float_planes[PLANES * SQUARES];
    std::uint64_t bits[PIECE_PLANES * 2];
    float scalars[SCALAR_PLANES];
    unpack_planes(record, planes);
    unpack_planes(record, float_planes);
    unpack_bits(record, bits, scalars);
    std::uint8_t image[RECORD_BYTES];
    std::uint8_t again[RECORD_BYTES];
    mirror_record(record, image);
    mirror_record(image, again);
    expect(std::equal(record, record + RECORD_BYTES, again), "a mirrored record mirrored is the original");

    Position trusted;
    if (read_trusted_record(record, trusted)) {
        std::uint16_t actions[ACTION_LIST_SIZE];
        int count = 0;
        for (const ActionSpace space : {ActionSpace::COMPACT, ActionSpace::FULL}) {
            generate_actions(trusted, space, actions, count);
            expect(count <= ACTION_LIST_SIZE - EXPAND_SLACK, "the actions of any readable record fit the list");
        }
    }
    try {
        RecordContext context;
        examine_position(unpack_record(record, context));
    } catch (const SfenError& error) {
        expect(error.what()[0] != '\0', "a refusal says why");
    }
}

void examine_state(std::string_view state) {
    static Arrays arrays;
    static VectorEnv env(small_config(), arrays.pointers());
    const std::string before = env.save_state();
    try {
        env.load_state(state);
    } catch (const std::invalid_argument&) {
        expect(env.save_state() == before, "a refused state changes nothing");
        return;
    }
    const std::string loaded = env.save_state();
    env.load_state(loaded);
    expect(env.save_state() == loaded, "a state saved and loaded is the same state");
    std::int32_t actions[ENV_GAMES];
    for (int ply = 0; ply <= ENV_PLIES; ++ply) {
        for (int i = 0; i < ENV_GAMES; ++i) {
            expect(!env.game(i).outcome().over(), "a game in flight is not over");
            expect(arrays.legal_counts[static_cast<std::size_t>(i)] > 0, "a game in flight has a legal action");
        }
        env.random_actions(actions);
        expect(env.first_illegal(actions) == -1, "random actions are legal");
        env.step(actions);
    }
}

void examine_input(Bytes input) {
    if (input.empty()) return;
    const auto kind = static_cast<InputKind>(input[0] % INPUT_KINDS);
    const Bytes rest = input.subspan(1);
    std::string text;
    switch (kind) {
        case InputKind::SFEN:
            return examine_sfen(as_text(rest));
        case InputKind::DAMAGED_SFEN:
            text = sound_sfen(rest);
            apply_patches(text, rest, false);
            return examine_sfen(text);
        case InputKind::GAME:
            return examine_game(as_text(rest));
        case InputKind::RECORD:
            text = std::string(RECORD_BYTES, '\0');
            std::copy_n(rest.begin(), std::min(rest.size(), text.size()), text.begin());
            return examine_record(reinterpret_cast<const std::uint8_t*>(text.data()));
        case InputKind::DAMAGED_RECORD:
            text = sound_record(rest);
            apply_patches(text, rest, true);
            return examine_record(reinterpret_cast<const std::uint8_t*>(text.data()));
        case InputKind::STATE:
            return examine_state(as_text(rest));
        case InputKind::DAMAGED_STATE:
            text = sound_state();
            apply_patches(text, rest, false);
            return examine_state(text);
    }
}

}  // namespace keisei::exercise
