"""cdevice.hpp: what its classes own, what they throw, and what their ranges give."""

import pathlib
import re

import pytest
from embedding import EXAMPLES, build, example_env, find_compiler, installed, run

import cdevice
from cdevice import config

HEADERS = pathlib.Path(config.get_include()) / "cdevice"
STRICT = ["-Wpedantic", "-Wshadow", "-Wconversion", "-O1"]
HEAD = """
#include <cdevice/cdevice.hpp>
#include <cstdio>
#include <thread>
#include <utility>
using namespace cdevice;
static int line; // of the first expectation that did not hold
#define EXPECT(x) do { if (!(x) && !line) line = __LINE__, std::fprintf(stderr, "line %d: %s\\n", __LINE__, #x); } while (0)
// The error of a call: its code, and its text has `part`.
template <class F> bool throws(int code, const char *part, F f) {
  try { f(); } catch (const error &e) {
    if (e.code() == code && std::strstr(e.what(), part)) return true;
    std::fprintf(stderr, "%d %s\\n", e.code(), e.what());
  }
  return false;
}
inline array three(const char *name = "x") { return make_numbers<std::int64_t>(name, {1, 2, 3}); }
template <class T> T first(const array &a) { return *a.as<T>().at(0); }
"""


def program(directory, text, **kwargs):
    """The program of a text: the body of main, behind a line "//// main" where something stands before it."""
    before, _, inside = text.rpartition("//// main\n")
    body = f"""
int main() {{
  try {{
{inside}
  }} catch (const error &e) {{ return std::fprintf(stderr, "%d %s\\n", e.code(), e.what()), 2; }}
  return line != 0;
}}
"""
    return build(directory, HEAD + before + body, **{"compiler": "g++", "standard": "c++17", "extra": STRICT, **kwargs})


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_the_header_compiles_without_a_warning_and_its_ranges_are_ranges(compiler, standard, tmp_path):
    done = program(
        tmp_path,
        """
        #if __cplusplus >= 202002L && defined(__cpp_lib_ranges)
        #include <ranges>
        static_assert(std::random_access_iterator<values<double>::iterator>);
        static_assert(std::ranges::random_access_range<values<std::string_view>>);
        static_assert(std::input_iterator<stream::iterator> && std::ranges::input_range<stream>);
        static_assert(std::ranges::input_range<consumer>);
        #endif
        static_assert(std::is_nothrow_copy_constructible_v<array> && std::is_nothrow_move_constructible_v<array>);
        static_assert(std::is_nothrow_copy_constructible_v<schema> && std::is_nothrow_move_assignable_v<schema>);
        template <class T> constexpr bool moves_only = std::is_nothrow_move_constructible_v<T> &&
            std::is_nothrow_move_assignable_v<T> && !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;
        static_assert(moves_only<stream> && moves_only<producer> && moves_only<consumer> && moves_only<tensor>);
        static_assert(moves_only<c_schema> && moves_only<c_array> && moves_only<c_stream> && moves_only<c_cpu_stream>);
        static_assert(sizeof(array) == sizeof(void *) && sizeof(stream) == sizeof(void *));
        //// main
        EXPECT(first<std::int64_t>(call("sum", three())) == 6 && scalars(1, 2.5, "x", nullptr).size() == 32);
        """,
        compiler=find_compiler(compiler),
        standard=standard,
    )
    run(done)


@pytest.mark.parametrize(
    ("flag", "standard", "reason"),
    [("-fno-exceptions", "c++17", "reports errors by exceptions"), ("-O0", "c++14", "needs C++17")],
)
def test_a_compiler_that_cannot_is_refused_with_a_reason(flag, standard, reason, tmp_path):
    text = '#include "cdevice/cdevice.hpp"\nint main() {}\n'
    assert f'#error "cdevice.hpp {reason}' in build(
        tmp_path, text, compiler="g++", standard=standard, extra=[flag], ok=False
    )


def test_every_function_of_the_c_header_is_reached():
    declared = set(re.findall(r"^[a-z][\w *]*?\b(cdevice_\w+)\(", (HEADERS / "cdevice.h").read_text(), re.M))
    used = set(re.findall(r"\b(cdevice_\w+)\(", (HEADERS / "cdevice.hpp").read_text()))
    assert declared - used == set() and len(declared) > 60


def test_copies_share_moves_empty_and_destructors_give_back(tmp_path):
    done = program(tmp_path, """
    static int released;
    static const std::int32_t numbers[2] = {7, 8};
    static array counted() {
      const void *buffers[2] = {nullptr, numbers};
      cdevice_array_parts p = {};
      p.device_type = ARROW_DEVICE_CPU, p.device_id = -1, p.length = 2, p.n_buffers = 2, p.buffers = buffers;
      p.release = [](void *n) { ++*static_cast<int *>(n); }, p.owner = &released;
      return array::build(schema("i", "x"), p);
    }
    //// main
    {
      array a = counted(), b = a, c;
      EXPECT(a.get() == b.get() && !c);
      c = std::move(a);
      EXPECT(!a && c && c.length() == 2 && a.length() == -1);
      b = c;
      array &self = c;
      c = self;
      EXPECT(c && c.length() == 2 && released == 0);
      c = array();
      EXPECT(released == 0 && b);
    }
    EXPECT(released == 1);
    {
      c_array out = counted().to_c(), moved = std::move(out);
      EXPECT(!out && moved && moved->array.length == 2 && released == 1);
      moved = c_array();
      EXPECT(!moved && released == 2);
      ArrowDeviceArray raw = counted().to_c().release(); // the caller's now
      EXPECT(released == 2);
      raw.array.release(&raw.array);
      EXPECT(released == 3);
    }
    schema s("i", "kept"), t = s, gone = std::move(s);
    EXPECT(!s && t.get() == gone.get());
    gone = schema();
    EXPECT(!std::strcmp(t.to_c()->name, "kept"));
    cdevice_array *handle = counted().release();
    array again = array::take(handle);
    EXPECT(again.length() == 2 && released == 3);
    try {
      array held = counted();
      call("no_such_function", held);
    } catch (const error &) {
    }
    EXPECT(released == 4); // an exception passes destructors
    """)  # fmt: skip
    run(done)


def test_an_error_has_code_text_and_the_vendors_code(tmp_path):
    done = program(tmp_path, """
    array a = three();
    try {
      call("add", {a, a}, "{");
      EXPECT(false);
    } catch (const std::runtime_error &e) { // as every program catches it
      const error &ours = dynamic_cast<const error &>(e);
      EXPECT(ours.code() == EINVAL && ours.error_code() == std::errc::invalid_argument && ours.vendor_code() == 0);
      EXPECT(std::strstr(ours.what(), "cdevice_call(): add: the options are not JSON"));
    }
    EXPECT(error(5, 719, "x").vendor_code() == 719);
    EXPECT(throws(EINVAL, "nothing_like_it", [] { device::find("nothing_like_it"); }));
    EXPECT(throws(ENODEV, "", [] { device_count(6150); }));
    EXPECT(throws(EINVAL, "slice", [&] { a.slice(2, 9); }));
    EXPECT(throws(EINVAL, "cdevice_array_slice(): array is NULL", [] { array().slice(0, 1); }));
    EXPECT(throws(EINVAL, "empty", [] { array().where(); }));
    EXPECT(throws(EINVAL, "an argument is an empty array", [&] { call("add", {a, array()}); }));
    EXPECT(throws(EINVAL, "no column is named \\"y\\"", [] { make_batch({three("x")}).column("y"); }));
    EXPECT(throws(EINVAL, "two columns are named \\"x\\"", [] { make_batch({three(), three()}).column("x"); }));
    EXPECT(throws(EINVAL, "\\"l\\", and \\"g\\" is asked for", [&] { a.as<double>(); }));
    EXPECT(throws(EINVAL, "no such row", [&] { a.as<std::int64_t>().at(3); }));
    EXPECT(throws(EINVAL, "queue_size", [] { consumer(-1); }));
    EXPECT(throws(EINVAL, "cdevice_stream_next(): stream is NULL", [] { stream().next(); }));
    EXPECT(throws(EINVAL, "", [] { schema("no such format"); }));
    EXPECT(throws(EIO, "ModuleNotFoundError", [] { call_python("no_such_module", "f"); }));
    EXPECT(throws(EINVAL, "path is NULL", [] { load_plugin(nullptr); }));
    EXPECT(throws(EINVAL, "UTF-8", [] { make_strings("s", {"\\xff"}); }));
    EXPECT(a.length() == 3 && version() == (CDEVICE_VERSION_MAJOR << 16 | CDEVICE_VERSION_MINOR << 8 | CDEVICE_VERSION_PATCH));
    """)  # fmt: skip
    run(done)


def test_a_failed_start_is_an_exception_with_its_reason(tmp_path):
    done = program(tmp_path, """
    EXPECT(throws(ENOSYS, "/nowhere/python", [] { start(); }));
    EXPECT(throws(ENOSYS, "/nowhere/python", [] { version(); }));
    EXPECT(throws(ENOSYS, "/nowhere/python", [] { schema("i"); }));
    """)  # fmt: skip
    run(done, env={**example_env(), "CDEVICE_PYTHON": "/nowhere/python"})


def test_structs_come_in_and_go_out(tmp_path):
    done = program(tmp_path, """
    array a = make_batch({three("n"), make_strings("s", {"a", "", "ä"})});
    c_schema s = a.type().to_c();
    EXPECT(!std::strcmp(s->format, "+s") && s->n_children == 2 && !std::strcmp(s->children[1]->name, "s"));
    c_array c = a.to_c();
    array back = array::import_from(s.get(), c.get(), checks::full);
    EXPECT(!s && !c && back.equals(a) && !back.equals(three()));
    s = a.type().to_c();
    c = a.to_c();
    ArrowArray plain = c.release().array; // of the CPU, as the C data interface has it
    back = array::import_from(s.get(), &plain);
    EXPECT(!plain.release && back.equals(a));
    s = three().type().to_c();
    c = a.to_c();
    EXPECT(throws(EINVAL, "", [&] { array::import_from(s.get(), c.get()); })); // a batch is no int64
    EXPECT(s && c);
    plain = c.release().array;
    EXPECT(throws(EINVAL, "", [&] { array::import_from(s.get(), &plain); }));
    EXPECT(plain.release);
    plain.release(&plain);
    c_schema fields = schema("+s", "top", 0, {schema("i", "a"), schema("u", "b", 0)}).to_c();
    EXPECT(fields->n_children == 2 && fields->children[0]->flags == ARROW_FLAG_NULLABLE && !fields->children[1]->flags);
    c_schema words = schema("i", "d", 0, schema("u")).to_c();
    EXPECT(words->dictionary && !std::strcmp(words->dictionary->format, "u"));
    schema in = schema::import_from(words.get());
    EXPECT(!words && !std::strcmp(in.to_c()->name, "d"));
    const report kept = check_rules(a.type().to_c().get(), a.to_c().get());
    EXPECT(kept.broken == 0 && kept.text.find("MUST") != std::string::npos);
    """)  # fmt: skip
    run(done)


def test_rows_are_values_nulls_are_nullopt(tmp_path):
    done = program(tmp_path, """
    #include <algorithm>
    #include <vector>
    //// main
    array a = make_numbers<double>("x", {4.0, 0.0, 9.0, 1.0});
    array bits = call("greater", {a, nullptr}, std::string("{\\"scalars\\": [0]}"));
    array some = call("if_else", {bits, a, nullptr}, "{\\"scalars\\": [null]}");
    values<double> rows = some.as<double>();
    EXPECT(rows.size() == 4 && !rows.empty() && rows.is_null(1) && !rows.is_null(0) && rows[2] == 9.0 && *rows.at(3) == 1.0);
    double sum = 0;
    int nulls = 0;
    for (std::optional<double> x : some.slice(1, 3).as<double>())
      if (x) sum += *x; else nulls++;
    EXPECT(sum == 10.0 && nulls == 1);
    values<bool> truth = bits.as<bool>();
    EXPECT(truth[0] && !truth[1] && std::count(truth.begin(), truth.end(), true) == 3);
    EXPECT(a.slice(2, 2).as<double>().data()[0] == 9.0);
    array words = make_strings("w", {"Oslo", "", "Bodø"});
    values<std::string_view> w = words.slice(1, 2).as<std::string_view>();
    EXPECT(w[0].empty() && w[1] == "Bodø" && w.size() == 2);
    EXPECT(call("cast", words, "{\\"target_type\\": \\"large_string\\"}").as<std::string_view>()[0] == "Oslo");
    EXPECT(make_strings("none", {}).as<std::string_view>().empty());
    array day = call("cast", three(), "{\\"target_type\\": \\"timestamp[s]\\"}");
    EXPECT(first<std::int64_t>(day) == 1);
    auto it = rows.begin();
    EXPECT(rows.end() - it == 4 && *it[2] == 9.0 && *(it + 3) == 1.0 && it < rows.end() && *--(it += 3) == 9.0);
    static const std::int32_t offsets[3] = {0, 1, 3};
    EXPECT(borrow_strings("b", offsets, "abc", 2).as<std::string_view>()[1] == "bc");
    static const std::uint16_t few[2] = {65535, 1};
    EXPECT(first<std::uint16_t>(borrow_numbers("f", few, 2)) == 65535);
    """)  # fmt: skip
    run(done)


def test_values_become_options(tmp_path):
    done = program(tmp_path, r"""
    #include <limits>
    //// main
    EXPECT(scalars(5, -2.5, true, nullptr, "a\"b\\\n", std::string("ü")) == R"({"scalars": [5, -2.5, true, null, "a\"b\\\u000a", "ü"]})");
    EXPECT(scalars() == "{\"scalars\": []}" && quoted("") == "\"\"" && scalars(std::uint64_t(-1)) == "{\"scalars\": [18446744073709551615]}");
    EXPECT(scalars(0.1f, std::numeric_limits<double>::infinity()) == "{\"scalars\": [0.10000000149011612, Infinity]}");
    array s = make_strings("s", {"a\"b\\\n", "c"});
    EXPECT(call("equal", {s, nullptr}, scalars("a\"b\\\n")).as<bool>()[0]);
    array x = make_numbers<double>("x", {0.1, 2.0});
    EXPECT(call("equal", {x, nullptr}, scalars(0.1)).as<bool>()[0] && call("less", {x, nullptr}, scalars(std::nan(""))).as<bool>()[1] == false);
    """)  # fmt: skip
    run(done)


def test_streams_are_loops(tmp_path):
    done = program(tmp_path, """
    #include <vector>
    //// main
    array a = three(), b = a.slice(1, 2);
    stream s = stream::of(a.type(), {a, b});
    EXPECT(s && s.device_type() == ARROW_DEVICE_CPU && !std::strcmp(s.type().to_c()->format, "l"));
    std::int64_t rows = 0, n = 0;
    std::vector<array> kept;
    for (array &batch : s) {
      rows += batch.length();
      n++;
      kept.push_back(std::move(batch)); // the loop's own until the next one
    }
    EXPECT(rows == 5 && n == 2 && kept[0].equals(a) && kept[1].equals(b) && !s.next());
    for (array &batch : stream::of(a.type(), std::vector<array>{})) EXPECT(!batch);
    c_stream out;
    s = stream::of(a.type(), kept);
    s.export_to(out.get());
    EXPECT(!s && out);
    s = stream::import_from(out.get(), checks::full);
    EXPECT(!out && s);
    c_cpu_stream plain;
    s.export_to(plain.get());
    EXPECT(plain && check_rules(plain.get()).broken == 0);
    s = stream::import_from(plain.get());
    stream copied = std::move(s).copy_to({}, 2);
    EXPECT(!s && copied && copied.next().equals(a));
    copied.close();
    EXPECT(!copied && copied.device_type() == -1);
    EXPECT(throws(EINVAL, "cdevice_stream_copy(): stream is NULL", [] { stream().copy_to({}); }));
    stream kept_after = stream::of(a.type(), {a});
    EXPECT(throws(EINVAL, "", [&] { std::move(kept_after).copy_to({-3, 0}); }));
    EXPECT(kept_after.next().equals(a)); // after an error it is still the caller's
    """)  # fmt: skip
    run(done)


def test_asynchronous_streams_are_loops_too(tmp_path):
    done = program(tmp_path, """
    array a = three();
    consumer c(2);
    EXPECT(!c.type());
    EXPECT(!c.next_for(std::chrono::nanoseconds(0)));
    producer p(stream::of(a.type(), {a, a, a}), c.handler());
    int n = 0;
    for (array &batch : c) n += batch.equals(a);
    EXPECT(n == 3 && c.type());
    p.wait();
    EXPECT(p.wait_for(std::chrono::seconds(0)) && p.outcome().state == CDEVICE_FINISHED && p.outcome().code == 0);
    consumer closed(1);
    producer stopped(stream::of(a.type(), {a, a, a}), closed.handler());
    closed.close();
    stopped.wait();
    EXPECT(stopped.outcome().state == CDEVICE_CANCELLED);
    consumer bridge(2);
    p = producer(stream::of(a.type(), {a}), bridge.handler());
    stream s = std::move(bridge).to_stream();
    EXPECT(!bridge && s.next().equals(a) && !s.next());
    stream kept = stream::of(a.type(), {a});
    EXPECT(throws(EINVAL, "handler is NULL", [&] { producer(std::move(kept), nullptr); }));
    EXPECT(kept && kept.next());
    """)  # fmt: skip
    run(done)


def test_tensors_come_in_and_go_out(tmp_path):
    done = program(tmp_path, """
    array a = make_numbers<float>("x", {1.5F, 2.5F});
    tensor t = a.to_dlpack();
    EXPECT(t->dl_tensor.ndim == 1 && t->dl_tensor.shape[0] == 2 && static_cast<float *>(t->dl_tensor.data)[1] == 2.5F);
    array back = array::from_dlpack(std::move(t));
    EXPECT(!t && back.as<float>()[1] == 2.5F);
    EXPECT(throws(ENOTSUP, "", [] { make_strings("s", {"x"}).to_dlpack(); }));
    EXPECT(throws(EINVAL, "tensor is NULL", [] { array::from_dlpack(tensor()); }));
    """)  # fmt: skip
    run(done)


def test_devices_backends_and_events(tmp_path):
    done = program(tmp_path, """
    device cpu = device::find("cpu");
    EXPECT(cpu.type == ARROW_DEVICE_CPU && cpu == device::find(std::string("cpu")) && cpu != device::find("cuda:1"));
    EXPECT(device_count(ARROW_DEVICE_CPU) == 1 && cpu.info().alignment > 0 && backend_for(ARROW_DEVICE_CPU) && !backend_for(6150));
    bool found = false;
    for (std::int32_t type : device_types()) found |= type == ARROW_DEVICE_OPENCL;
    EXPECT(found);
    array a = three(), b = a.copy_to({}, nullptr, true);
    EXPECT(b.ready() && b.equals(a) && b.where().type == ARROW_DEVICE_CPU && b.nbytes() == 24 && b.null_count() == 0);
    b.wait();
    b.wait_on(cpu, nullptr);
    b.record_use(nullptr);
    b.check(checks::full);
    cdevice_backend copy = *backend_for(ARROW_DEVICE_CPU);
    copy.device_type = 6151;
    copy.name = "second";
    register_backend(copy);
    EXPECT(throws(EEXIST, "", [&] { register_backend(copy); }));
    set_allocator(6151, nullptr);
    unregister_backend(6151);
    EXPECT(!backend_for(6151));
    """)  # fmt: skip
    run(done)


def test_objects_are_used_by_several_threads(tmp_path):
    done = program(tmp_path, """
    #include <vector>
    //// main
    const array a = three();
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; t++)
      threads.emplace_back([a] { for (int i = 0; i < 200; i++) { array b = a, c = b.slice(0, 2); EXPECT(c.type().get() && c.length() == 2); } });
    for (std::thread &t : threads) t.join();
    """)  # fmt: skip
    run(done)


TRIPS = """\
city     trips      sum     mean
Bergen       2    20.00    10.00
Narvik       3    18.00     6.00
Oslo         1     3.25     3.25
"""


@installed
@pytest.mark.parametrize("name", ["cpu", "opencl:0"])
def test_trips_are_filtered_grouped_and_sorted(name, tmp_path):
    if not cdevice.device(name).is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    trips = build(tmp_path, EXAMPLES / "trips.cpp", "trips", "g++", "c++17", STRICT)
    assert run(trips, name).stdout == TRIPS
    assert "trips: " in run(trips, "nothing_like_it", ok=False).stderr
