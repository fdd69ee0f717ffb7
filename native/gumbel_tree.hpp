// Gumbel search, one tree: sequential halving at the root, completed Q-values below, a network as the judge of leaves.
//
// After Danihelka, Guez, Schrittwieser, Silver: "Policy improvement by planning with Gumbel" (ICLR 2022). What the
// rules decide is exact and outranks every estimate: mates (a mate in one is seen without playing it), repetition,
// perpetual check, declarations and the ply cap are proven values, and proofs climb the tree.
#pragma once

#include <cstdint>
#include <vector>

#include "action.hpp"
#include "game.hpp"
#include "movegen.hpp"

namespace keisei {

struct GumbelSettings {
    ActionSpace actions = ActionSpace::COMPACT;
    int max_considered = 16;  // root moves that sequential halving begins with
    // Leaves that may wait for the network below one root move. With 1 a batch of leaves changes nothing: the moves
    // considered at the root have separate subtrees, and the root compares them only when all have come back.
    int leaves_per_move = 1;
    double value_scale = 1.0;  // weight of values against the policy, the paper's c_scale for values in 0..1
    bool noise = false;        // Gumbel noise on the root's policy
    std::uint64_t seed = 0;
    bool declare = true;  // a mover who may declare a win has won
};

enum class Verdict : std::uint8_t { OPEN, WIN, DRAW, LOSS };  // of the side to move

// A move at the root and what the search knows of it, from the root mover's side.
struct RootMove {
    Move move = NO_MOVE;
    int visits = 0;
    double value = 0;  // where the move was not visited, what its visited siblings and the network suggest
    double prior = 0;
    Verdict verdict = Verdict::OPEN;
    int plies = 0;  // to the end of the game, when it is proven
};

class GumbelTree {
public:
    // Searches from the game's position. `only` restricts the root to these moves unless it is empty.
    GumbelTree(const Game& game, const GumbelSettings& settings, const std::vector<Move>& only);

    // Grants more simulations, which sequential halving spends as one budget.
    void add_simulations(int simulations);

    // Runs simulations until one needs the network; writes that position's record. False when the budget is spent,
    // the root is proven, or all that can be selected now waits for the network already.
    bool select(std::uint8_t* record);

    // The network's answer to the positions selected, in the order of selection: the logits of all actions, and the
    // value in -1..1 in the mover's view.
    void expand(const float* logits, float value);

    // Nothing is left to do: the budget is spent or the root is proven.
    bool finished() const;

    // Best first. Empty until the network has answered for the root, or when there is no legal move.
    std::vector<RootMove> root_moves() const;

    // The expected continuation that begins with a root move.
    std::vector<Move> line(Move first) const;

    int visits() const { return nodes_[ROOT].visits; }
    std::size_t bytes() const { return nodes_.size() * sizeof(Node) + edges_.size() * sizeof(Edge); }

private:
    static constexpr std::int32_t ROOT = 0;
    static constexpr std::int32_t NONE = -1;

    // A legal move that may not have been played yet. The edges of a node lie together, likeliest first; since all
    // unvisited ones share one completed value, they are visited in this order, and the children are a prefix.
    struct Edge {
        float log_prior;
        Move move;
    };

    struct Node {
        std::int32_t parent = NONE;
        std::int32_t first_child = NONE;
        std::int32_t last_child = NONE;
        std::int32_t next_sibling = NONE;
        std::uint32_t first_edge = 0;
        std::uint16_t edge_count = 0;
        std::uint16_t child_count = 0;
        std::uint16_t open_edges = 0;  // moves that are not proven
        Move move = NO_MOVE;           // that led here
        float log_prior = 0;           // of that move
        float value = 0;               // by the network, in the mover's view
        std::int32_t visits = 0;
        std::int32_t in_flight = 0;  // simulations that wait for the network below here
        double value_sum = 0;
        Verdict verdict = Verdict::OPEN;
        bool in_check = false;
        bool has_draw = false;  // among the proven moves
        std::uint16_t plies = 0;

        double mean() const;
    };

    // A root move; the root's children are not a prefix of its edges, since noise reorders them.
    struct Candidate {
        Move move = NO_MOVE;
        float log_prior = 0;
        float noise = 0;
        std::int32_t node = NONE;
        int phase_visits = 0;  // begun in the current phase
    };

    // A leaf and its legal moves, until the network has answered.
    struct Waiting {
        std::int32_t node = NONE;
        std::vector<Move> moves;
        std::vector<std::uint16_t> actions;
    };

    // What the children of a node add up to.
    struct Summary {
        int visits = 0;
        int begun = 0;  // visits and simulations in flight
        int max_visits = 0;
        double mass = 0;           // prior of the visited ones
        double mass_of_begun = 0;  // and of those in flight too
        double weighted_value = 0;

        void add(const Node& child);
        // The value of an unvisited move: the network's own, mixed with what the visited moves have shown.
        double unvisited_value(double own_value) const;
    };

    enum class Descent { NEEDS_NETWORK, SETTLED, BLOCKED };

    Node& node(std::int32_t index) { return nodes_[static_cast<std::size_t>(index)]; }
    const Node& node(std::int32_t index) const { return nodes_[static_cast<std::size_t>(index)]; }

    // Calls body(index, child) for each child.
    template <class Body>
    void for_each_child(const Node& parent, Body body) const;
    Summary summarize(const Node& parent) const;
    double value_weight(const Summary& summary) const;

    // ---- sequential halving
    Candidate* next_candidate();
    void begin_schedule();
    void begin_phase();
    void halve();
    void replace_lost();
    bool is_lost(const Candidate& candidate) const;
    double score(const Candidate& candidate, const Summary& summary) const;
    std::vector<std::int32_t> ranked(std::vector<std::int32_t> candidates) const;
    std::vector<std::int32_t> not_lost() const;

    // ---- simulations
    Descent simulate(std::uint8_t* record);
    Descent descend(std::int32_t from, int& depth, std::uint8_t* record);
    Descent arrive(std::int32_t leaf, std::uint8_t* record);
    Descent arrive_at_root(const MoveList& moves, std::uint8_t* record);
    Descent wait_for_network(std::int32_t leaf, const MoveList& moves, std::uint8_t* record);
    bool settle(std::int32_t leaf, const MoveList& moves);
    std::int32_t choose_child(std::int32_t parent);
    std::int32_t add_child(std::int32_t parent, Move move, float log_prior);
    void abandon(std::int32_t from);
    void back_up(std::int32_t leaf, double value);
    void prove(std::int32_t index, Verdict verdict, int plies);
    void note_proof(std::int32_t parent, std::int32_t child);
    void prove_root_by(Move mate);

    // ---- answers and results
    void add_edges(const Waiting& waiting, const float* logits);
    void make_candidates();
    bool is_allowed(Move move) const;
    RootMove describe(const Candidate& candidate, double unvisited_value) const;
    std::int32_t expected_child(const Node& parent) const;

    Game game_;
    GumbelSettings settings_;
    std::vector<Move> only_;
    std::vector<Node> nodes_;
    std::vector<Edge> edges_;
    std::vector<Candidate> candidates_;     // by noise and policy, best first
    std::vector<std::int32_t> considered_;  // of candidates_, in the current phase
    std::vector<Waiting> waiting_;
    std::size_t waiting_count_ = 0;
    std::size_t answered_ = 0;
    int budget_ = 0;  // of the current schedule
    int left_ = 0;    // simulations of it that have not begun
    int phase_visits_ = 0;
    int phases_ = 0;  // in which a schedule halves the moves down to two
};

}  // namespace keisei
