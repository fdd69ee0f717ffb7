// Batches of packed positions.
#include <algorithm>
#include <atomic>

#include "bindings.hpp"
#include "exchange.hpp"
#include "thread_pool.hpp"

namespace keisei {
namespace {

constexpr int RECORD_CHUNK = 64;
// Fewer rows are done sooner than a thread has started; and on a CPU a thread that watches for work is in the way of
// the network's.
constexpr std::size_t ROWS_PER_THREAD = 512;

template <class Body>
void for_each_row(std::size_t rows, int num_threads, Body body) {
    const auto useful = static_cast<int>(rows / ROWS_PER_THREAD);
    ThreadPool pool(std::max(1, std::min(num_threads, useful)));
    pool.for_chunks(static_cast<int>(rows), RECORD_CHUNK, [&](int begin, int end) {
        for (int i = begin; i < end; ++i) body(static_cast<std::size_t>(i));
    });
}

template <class T>
void records_to_planes(Records records, PlanesOut<T> out, int num_threads) {
    require_rows(records.shape(0), out.shape(0), "out");
    const std::uint8_t* in = records.data();
    T* planes = out.data();
    for_each_row(records.shape(0), num_threads,
                 [=](std::size_t i) { unpack_planes(in + i * RECORD_BYTES, planes + i * PLANES * SQUARES); });
}

void records_to_bits(Records records, Array<std::uint64_t, nb::shape<-1, PIECE_PLANES, 2>> bits,
                     Array<float, nb::shape<-1, SCALAR_PLANES>> scalars, int num_threads) {
    require_rows(records.shape(0), bits.shape(0), "bits");
    require_rows(records.shape(0), scalars.shape(0), "scalars");
    const std::uint8_t* in = records.data();
    std::uint64_t* out = bits.data();
    float* numbers = scalars.data();
    for_each_row(records.shape(0), num_threads, [=](std::size_t i) {
        unpack_bits(in + i * RECORD_BYTES, out + i * PIECE_PLANES * 2, numbers + i * SCALAR_PLANES);
    });
}

// Calls body(i, actions, count) with the legal actions of each record.
template <class Body>
void for_each_legal_list(Records records, int actions, int num_threads, Body body) {
    const ActionSpace space = action_space(actions);
    const std::uint8_t* in = records.data();
    std::atomic<bool> damaged{false};
    for_each_row(records.shape(0), num_threads, [&](std::size_t i) {
        Position position;
        std::uint16_t buffer[ACTION_LIST_SIZE];
        int count = 0;
        const bool readable = read_trusted_record(in + i * RECORD_BYTES, position);
        if (readable) generate_actions(position, space, buffer, count);
        // With the waiting king in check, which no game reaches, there can be a few moves more than ever elsewhere.
        if (!readable || count > MAX_LEGAL_MOVES) {
            damaged = true;
            count = 0;
        }
        body(i, buffer, count);
    });
    if (damaged) throw BadRecord("a packed position is damaged: no game reaches such a board");
}

void records_to_legal(Records records, int actions, LegalOut legal, Vector<std::uint16_t> counts, int num_threads) {
    require_rows(records.shape(0), legal.shape(0), "legal");
    require_rows(records.shape(0), counts.shape(0), "counts");
    std::uint16_t* out = legal.data();
    std::uint16_t* sizes = counts.data();
    for_each_legal_list(records, actions, num_threads, [=](std::size_t i, const std::uint16_t* list, int count) {
        std::copy_n(list, count, out + i * MAX_LEGAL_MOVES);
        sizes[i] = static_cast<std::uint16_t>(count);
    });
}

// A row of the mask is `width` bytes: one an action, or one for eight actions (lowest bit first).
void write_mask(const std::uint16_t* list, int count, bool bits, std::uint8_t* row, std::size_t width) {
    std::fill_n(row, width, std::uint8_t{0});
    for (int k = 0; k < count; ++k) {
        const std::uint16_t action = list[k];
        if (bits) {
            row[action / 8] = static_cast<std::uint8_t>(row[action / 8] | 1 << action % 8);
        } else {
            row[action] = 1;
        }
    }
}

bool mask_is_packed(int actions, std::size_t width) {
    const auto count = static_cast<std::size_t>(action_count(action_space(actions)));
    if (width != count && width != (count + 7) / 8) throw std::invalid_argument("mask rows have the wrong width");
    return width != count;
}

void records_to_mask(Records records, int actions, Array<std::uint8_t, nb::ndim<2>> mask, int num_threads) {
    require_rows(records.shape(0), mask.shape(0), "mask");
    const std::size_t width = mask.shape(1);
    const bool bits = mask_is_packed(actions, width);
    std::uint8_t* out = mask.data();
    for_each_legal_list(records, actions, num_threads, [=](std::size_t i, const std::uint16_t* list, int count) {
        write_mask(list, count, bits, out + i * width, width);
    });
}

void legal_to_mask(Array<const std::uint16_t, nb::shape<-1, MAX_LEGAL_MOVES>> legal, Vector<const std::uint16_t> counts,
                   int actions, Array<std::uint8_t, nb::ndim<2>> mask, int num_threads) {
    require_rows(legal.shape(0), mask.shape(0), "mask");
    require_rows(legal.shape(0), counts.shape(0), "counts");
    const std::size_t width = mask.shape(1);
    const bool bits = mask_is_packed(actions, width);
    const std::uint16_t* lists = legal.data();
    const std::uint16_t* sizes = counts.data();
    std::uint8_t* out = mask.data();
    std::atomic<bool> out_of_range{false};
    for_each_row(legal.shape(0), num_threads, [&](std::size_t i) {
        const std::uint16_t* list = lists + i * MAX_LEGAL_MOVES;
        const int count = std::min<int>(sizes[i], MAX_LEGAL_MOVES);
        if (std::any_of(list, list + count, [=](std::uint16_t action) { return action >= actions; })) {
            out_of_range = true;
            return;
        }
        write_mask(list, count, bits, out + i * width, width);
    });
    if (out_of_range) throw BadAction("a legal list holds an action outside 0.." + std::to_string(actions - 1));
}

// Writes the lists one behind the other, and where each one ends.
void join_lists(Array<const std::uint16_t, nb::shape<-1, MAX_LEGAL_MOVES>> legal, Vector<const std::uint16_t> counts,
                Vector<std::uint16_t> joined, Vector<std::int32_t> ends) {
    require_rows(legal.shape(0), counts.shape(0), "counts");
    require_rows(legal.shape(0), ends.shape(0), "ends");
    std::size_t total = 0;
    for (std::size_t i = 0; i < legal.shape(0); ++i) {
        const std::size_t count = std::min<std::size_t>(counts.data()[i], MAX_LEGAL_MOVES);
        if (total + count > joined.shape(0)) throw std::invalid_argument("joined is too short for the lists");
        std::copy_n(legal.data() + i * MAX_LEGAL_MOVES, count, joined.data() + total);
        total += count;
        ends.data()[i] = static_cast<std::int32_t>(total);
    }
}

void records_material(Records records, Vector<std::int32_t> out, int num_threads) {
    require_rows(records.shape(0), out.shape(0), "out");
    const std::uint8_t* in = records.data();
    std::int32_t* balance = out.data();
    for_each_row(records.shape(0), num_threads,
                 [=](std::size_t i) { balance[i] = record_material(in + i * RECORD_BYTES); });
}

void mirror_records(Records records, RecordsOut out) {
    require_rows(records.shape(0), out.shape(0), "out");
    for (std::size_t i = 0; i < records.shape(0); ++i) {
        mirror_record(records.data() + i * RECORD_BYTES, out.data() + i * RECORD_BYTES);
    }
}

}  // namespace

void bind_batches(nb::module_& m) {
    const auto guard = nb::call_guard<nb::gil_scoped_release>();
    m.def("records_to_planes", &records_to_planes<std::uint8_t>, "records"_a.noconvert(), "out"_a.noconvert(),
          "num_threads"_a, guard);
    m.def("records_to_planes", &records_to_planes<float>, "records"_a.noconvert(), "out"_a.noconvert(), "num_threads"_a,
          guard);
    m.def("records_to_bits", &records_to_bits, "records"_a.noconvert(), "bits"_a.noconvert(), "scalars"_a.noconvert(),
          "num_threads"_a, guard);
    m.def("records_to_legal", &records_to_legal, "records"_a.noconvert(), "actions"_a, "legal"_a.noconvert(),
          "counts"_a.noconvert(), "num_threads"_a, guard);
    m.def("records_to_mask", &records_to_mask, "records"_a.noconvert(), "actions"_a, "mask"_a.noconvert(),
          "num_threads"_a, guard);
    m.def("legal_to_mask", &legal_to_mask, "legal"_a.noconvert(), "counts"_a.noconvert(), "actions"_a,
          "mask"_a.noconvert(), "num_threads"_a, guard);
    m.def("join_lists", &join_lists, "legal"_a.noconvert(), "counts"_a.noconvert(), "joined"_a.noconvert(),
          "ends"_a.noconvert(), guard);
    m.def("records_material", &records_material, "records"_a.noconvert(), "out"_a.noconvert(), "num_threads"_a, guard);
    m.def("mirror_records", &mirror_records, "records"_a.noconvert(), "out"_a.noconvert(), guard);
}

}  // namespace keisei
