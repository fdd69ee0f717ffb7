// The Python module: its constants, its errors and its parts.
#include "bindings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "exchange.hpp"
#include "search.hpp"

namespace keisei {
namespace {

void translate_errors(const std::exception_ptr& pointer, void*) {
    const auto raise = [](const char* name, const std::exception& error) {
        const nb::object type = nb::module_::import_("keisei.errors").attr(name);
        PyErr_SetString(type.ptr(), error.what());
    };
    try {
        std::rethrow_exception(pointer);
    } catch (const SfenError& error) {
        raise("SfenError", error);
    } catch (const IllegalMove& error) {
        raise("IllegalMoveError", error);
    } catch (const BadAction& error) {
        raise("ActionError", error);
    } catch (const BadRecord& error) {
        raise("RecordError", error);
    }
}

}  // namespace
}  // namespace keisei

NB_MODULE(_native, m) {
    using namespace keisei;
    nb::register_exception_translator(translate_errors);
    m.attr("RECORD_BYTES") = RECORD_BYTES;
    m.attr("MAX_LEGAL_MOVES") = MAX_LEGAL_MOVES;
    m.attr("MAX_PLY") = MAX_PLY;
    m.attr("NO_ACTION") = NO_ACTION;
    m.attr("MATE_SCORE") = MATE_SCORE;
    m.attr("PLANES") = PLANES;
    m.attr("STANDARD_SFEN") = std::string(STANDARD_SFEN);
    m.attr("PLANE_SCALE") = std::vector<float>(PLANE_SCALE, PLANE_SCALE + PLANES);
    m.attr("PIECE_VALUE") = std::vector<int>(PIECE_VALUE, PIECE_VALUE + PIECE_TYPES);
    bind_game(m);
    bind_many_games(m);
    bind_batches(m);
    bind_vector_env(m);
    bind_gumbel(m);
}
