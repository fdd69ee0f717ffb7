#include "sfen.hpp"

#include <vector>

namespace keisei {
namespace {

constexpr std::string_view LETTERS = "PLNSGBRK";
constexpr std::string_view HAND_ORDER_LETTERS = "RBGSNLP";
constexpr std::size_t LONGEST_QUOTE = 160;

constexpr const char* TYPE_NAMES[PIECE_TYPES] = {
    "pawn",          "lance",          "knight",          "silver",          "gold",  "bishop", "rook", "king",
    "promoted pawn", "promoted lance", "promoted knight", "promoted silver", "horse", "dragon"};

// Locale-free, and safe for any byte.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

int letter_type(char c) {
    const auto index = LETTERS.find(to_upper(c));
    return index == std::string_view::npos ? -1 : static_cast<int>(index);
}

std::vector<std::string_view> split_words(std::string_view text) {
    std::vector<std::string_view> words;
    constexpr std::string_view BLANKS = " \t\r\n";
    std::size_t begin = text.find_first_not_of(BLANKS);
    while (begin != std::string_view::npos) {
        const std::size_t end = text.find_first_of(BLANKS, begin);
        words.push_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
        begin = end == std::string_view::npos ? end : text.find_first_not_of(BLANKS, end);
    }
    return words;
}

class SfenReader {
public:
    explicit SfenReader(std::string_view text) : text_(text) {}

    Position read() {
        const auto words = split_words(text_);
        if (words.size() < 3 || words.size() > 4) {
            fail("expected 'BOARD TURN HANDS [MOVE-NUMBER]', found " + std::to_string(words.size()) + " words");
        }
        read_board(words[0]);
        read_turn(words[1]);
        read_hands(words[2]);
        if (words.size() == 4) read_move_number(words[3]);
        validate();
        position_.compute_key();
        return position_;
    }

private:
    [[noreturn]] void fail(const std::string& reason) const {
        throw SfenError("invalid SFEN: " + reason + "; in " + quoted(text_));
    }

    void read_board(std::string_view board) {
        int row = 0;
        int column = 0;
        bool promote = false;
        for (const char c : board) {
            if (promote && letter_type(c) < 0) fail("'+' before " + quoted({&c, 1}) + " instead of a piece");
            if (c == '/') {
                end_of_rank(row, column);
                if (++row == BOARD_SIDE) fail("the board has more than 9 ranks");
                column = 0;
            } else if (c == '+') {
                promote = true;
            } else if (c >= '1' && c <= '9') {
                column += c - '0';
            } else {
                read_piece(c, promote, row, column++);
                promote = false;
            }
            if (column > BOARD_SIDE) fail("rank " + rank_name(row) + " has more than 9 squares");
        }
        if (promote) fail("the board ends with '+'");
        end_of_rank(row, column);
        if (row != BOARD_SIDE - 1) fail("the board has " + std::to_string(row + 1) + " ranks instead of 9");
    }

    void end_of_rank(int row, int column) const {
        if (column != BOARD_SIDE) {
            fail("rank " + rank_name(row) + " has " + std::to_string(column) + " squares instead of 9");
        }
    }

    static std::string rank_name(int row) { return std::string(1, static_cast<char>('a' + row)); }

    void read_piece(char c, bool promote, int row, int column) {
        const int index = letter_type(c);
        if (index < 0) fail("unknown piece " + quoted({&c, 1}) + " on rank " + rank_name(row));
        if (column >= BOARD_SIDE) fail("rank " + rank_name(row) + " has more than 9 squares");
        auto type = static_cast<PieceType>(index);
        if (promote) {
            if (!can_promote(type)) fail(std::string("a ") + type_name(type) + " cannot be promoted");
            type = promoted(type);
        }
        const Color color = is_lower(c) ? WHITE : BLACK;
        const int square = row * BOARD_SIDE + column;
        if (type == KING && position_.king[color] != NO_SQUARE) {
            fail(std::string("two ") + color_name(color) + " kings, on " + square_name(position_.king[color]) +
                 " and " + square_name(square));
        }
        position_.put(color, type, square);
    }

    void read_turn(std::string_view turn) {
        if (turn != "b" && turn != "w") fail("the side to move must be 'b' or 'w', not " + quoted(turn));
        position_.turn = turn == "b" ? BLACK : WHITE;
    }

    void read_hands(std::string_view hands) {
        if (hands == "-") return;
        int count = 0;
        bool counted = false;
        for (const char c : hands) {
            if (is_digit(c)) {
                count = count * 10 + (c - '0');
                counted = true;
                if (count > MAX_IN_HAND) fail("more than 18 of one piece in hand in " + quoted(hands));
                continue;
            }
            const int type = letter_type(c);
            if (type < 0 || type == KING) fail("a hand cannot hold " + quoted({&c, 1}));
            if (counted && count == 0) fail("a count of 0 in hand in " + quoted(hands));
            const Color color = is_lower(c) ? WHITE : BLACK;
            if (position_.hand[color].has(type)) fail("piece " + quoted({&c, 1}) + " appears twice in the hands");
            position_.set_hand(color, type, counted ? count : 1);
            count = 0;
            counted = false;
        }
        if (counted) fail("the hands end with a count in " + quoted(hands));
    }

    void read_move_number(std::string_view number) {
        int value = 0;
        for (const char c : number) {
            if (!is_digit(c)) fail("the move number must be a positive whole number, not " + quoted(number));
            value = value * 10 + (c - '0');
            if (value > MAX_PLY + 1) fail("the move number exceeds " + std::to_string(MAX_PLY + 1));
        }
        if (value == 0) fail("the move number must be at least 1");
        position_.ply = static_cast<std::uint16_t>(value - 1);
    }

    void validate() const {
        for (const Color color : {BLACK, WHITE}) {
            if (position_.king[color] == NO_SQUARE) fail(std::string("there is no ") + color_name(color) + " king");
        }
        count_pieces();
        for (int square = 0; square < SQUARES; ++square) reject_dead_piece(square);
        reject_doubled_pawns();
        const Color waiting = ~position_.turn;
        if (in_check(position_, waiting)) {
            fail(std::string(color_name(waiting)) + ", who is not to move, is in check on " +
                 square_name(position_.king[waiting]));
        }
    }

    void count_pieces() const {
        int counts[HAND_TYPES] = {};
        for (int square = 0; square < SQUARES; ++square) {
            const Piece piece = position_.at(square);
            if (piece != NO_PIECE && type_of(piece) != KING) ++counts[unpromoted(type_of(piece))];
        }
        for (int type = 0; type < HAND_TYPES; ++type) {
            counts[type] += position_.hand[BLACK].count(type) + position_.hand[WHITE].count(type);
            if (counts[type] > PIECES_IN_SET[static_cast<std::size_t>(type)]) {
                fail(std::to_string(counts[type]) + " " + type_name(static_cast<PieceType>(type)) + "s; a set has " +
                     std::to_string(PIECES_IN_SET[static_cast<std::size_t>(type)]));
            }
        }
    }

    void reject_dead_piece(int square) const {
        const Piece piece = position_.at(square);
        if (piece == NO_PIECE) return;
        const PieceType type = type_of(piece);
        const Color color = color_of(piece);
        const int dead_rows = type == KNIGHT ? 2 : type == PAWN || type == LANCE ? 1 : 0;
        if (row_of(in_view(color, square)) < dead_rows) {
            fail("the " + piece_name(color, type) + " on " + square_name(square) + " could never move");
        }
    }

    void reject_doubled_pawns() const {
        for (const Color color : {BLACK, WHITE}) {
            for (int column = 0; column < BOARD_SIDE; ++column) {
                Bitboard pawns = position_.of(color, PAWN) & column_mask(column);
                if (!pawns.more_than_one()) continue;
                const int first = pawns.pop();
                fail(std::string("two ") + color_name(color) + " pawns on file " + std::to_string(BOARD_SIDE - column) +
                     ", on " + square_name(first) + " and " + square_name(pawns.first()) + " (nifu)");
            }
        }
    }

    std::string_view text_;
    Position position_;
};

void append_board(std::string& out, const Position& position) {
    for (int square = 0; square < SQUARES; ++square) {
        if (square != 0 && column_of(square) == 0) out += '/';
        const Piece piece = position.at(square);
        if (piece == NO_PIECE) {
            const bool run_goes_on = !out.empty() && is_digit(out.back());
            if (run_goes_on) {
                ++out.back();
            } else {
                out += '1';
            }
            continue;
        }
        const PieceType type = type_of(piece);
        if (is_promoted(type)) out += '+';
        const char letter = LETTERS[unpromoted(type)];
        out += color_of(piece) == BLACK ? letter : static_cast<char>(letter - 'A' + 'a');
    }
}

void append_hands(std::string& out, const Position& position) {
    if (position.hand[BLACK].empty() && position.hand[WHITE].empty()) {
        out += '-';
        return;
    }
    for (const Color color : {BLACK, WHITE}) {
        for (const char letter : HAND_ORDER_LETTERS) {
            const int count = position.hand[color].count(letter_type(letter));
            if (count == 0) continue;
            if (count > 1) out += std::to_string(count);
            out += color == BLACK ? letter : static_cast<char>(letter - 'A' + 'a');
        }
    }
}

int parse_square(char file, char rank) {
    if (file < '1' || file > '9' || rank < 'a' || rank > 'i') return -1;
    return (rank - 'a') * BOARD_SIDE + ('9' - file);
}

}  // namespace

Position parse_sfen(std::string_view text) { return SfenReader(text).read(); }

std::string format_sfen(const Position& position) {
    std::string out;
    append_board(out, position);
    out += position.turn == BLACK ? " b " : " w ";
    append_hands(out, position);
    return out + ' ' + std::to_string(position.ply + 1);
}

Move parse_usi(std::string_view text) {
    if (text.size() < 4 || text.size() > 5) return NO_MOVE;
    const int to = parse_square(text[2], text[3]);
    if (to < 0) return NO_MOVE;
    if (text[1] == '*') {
        const auto type = LETTERS.find(text[0]);
        if (type == std::string_view::npos || type == KING || text.size() != 4) return NO_MOVE;
        return drop_move(static_cast<int>(type), to);
    }
    const int from = parse_square(text[0], text[1]);
    if (from < 0 || from == to) return NO_MOVE;
    const Move move = board_move(from, to);
    if (text.size() == 4) return move;
    return text[4] == '+' ? static_cast<Move>(move | PROMOTE_BIT) : NO_MOVE;
}

std::string format_usi(Move move) {
    if (is_drop(move)) return std::string{LETTERS[dropped_type(move)], '*'} + square_name(move_to(move));
    return square_name(move_from(move)) + square_name(move_to(move)) + (is_promotion(move) ? "+" : "");
}

std::string square_name(int square) {
    return {static_cast<char>('9' - column_of(square)), static_cast<char>('a' + row_of(square))};
}

const char* color_name(Color color) { return color == BLACK ? "black" : "white"; }

const char* type_name(PieceType type) { return TYPE_NAMES[type]; }

std::string piece_name(Color color, PieceType type) { return std::string(color_name(color)) + ' ' + type_name(type); }

std::string quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text.substr(0, LONGEST_QUOTE)) {
        const bool printable = c >= ' ' && c <= '~';
        out += printable ? c : '?';
    }
    if (text.size() > LONGEST_QUOTE) out += "...";
    return out + "'";
}

}  // namespace keisei
