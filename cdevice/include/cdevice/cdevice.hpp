/* cdevice.hpp - cdevice.h for C++17: owners, exceptions, ranges. Header only; link libcdevice as for C.
 *
 * Conventions
 *   errors:  a call that fails throws cdevice::error with the errno-compatible code, the text and the vendor's code.
 *            Without exceptions (-fno-exceptions) this header refuses to compile: use cdevice.h there.
 *   owns:    schema and array share what they name: a copy is another reference. stream, producer, consumer, tensor and
 *            c_struct have one owner: they move and cannot be copied. A destructor gives back what it holds.
 *   empty:   an object that was moved from or made without arguments is empty: false as a bool. Functions that need
 *            an object throw EINVAL for an empty one.
 *   memory:  nothing is allocated but by the functions of cdevice.h, and where a comment names another allocation.
 *   threads: as in cdevice.h: schema and array by several threads at once, the others by one thread at a time. One
 *            object, as a shared_ptr, is not assigned in one thread while another reads it.
 *   blocks:  as the function of cdevice.h that a comment or the name refers to.
 */
#ifndef CDEVICE_HPP
#define CDEVICE_HPP

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "cdevice.hpp needs C++17: compile with -std=c++17, or include cdevice/cdevice.h"
#endif
#if !defined(__cpp_exceptions)
#error "cdevice.hpp reports errors by exceptions: compile with -fexceptions, or include cdevice/cdevice.h"
#endif

#include "cdevice/cdevice.h"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace cdevice {

/* ---- errors ---- */

/* The error of a call. what(): function, argument and reason. code(): errno-compatible; ENOSYS: the start failed.
 * vendor_code(): CUresult, hipError_t, cl_int; 0: none. */
class error : public std::runtime_error {
public:
  error(int code, int vendor_code, const char *text)
      : std::runtime_error(text), code_(code), vendor_code_(vendor_code) {}
  int code() const noexcept { return code_; }
  int vendor_code() const noexcept { return vendor_code_; }
  std::error_code error_code() const noexcept { return {code_, std::generic_category()}; }

private:
  int code_, vendor_code_;
};

namespace detail {
[[noreturn]] inline void raise(int code) { throw error(code, cdevice_error_vendor_code(), cdevice_error_text()); }
inline void check(int code) {
  if (code) raise(code);
}
[[noreturn]] inline void refuse(const char *text) { throw error(EINVAL, 0, text); }
} // namespace detail

/* Starts Python where it does not run, as every first call does. The thread that starts it becomes its main thread.
 * Blocks for some milliseconds. Throws ENOSYS. */
inline void start() {
  if (cdevice_start()) throw error(ENOSYS, 0, cdevice_start_error());
}

/* The version of the package: major << 16 | minor << 8 | patch. Throws ENOSYS. */
inline std::uint32_t version() {
  std::uint32_t v = cdevice_version();
  if (!v) throw error(ENOSYS, 0, cdevice_start_error());
  return v;
}

/* A text that ends in a zero byte: of a literal, or of a std::string that lives during the call. */
struct c_text {
  const char *text;
  c_text(const char *t) noexcept : text(t) {}
  c_text(const std::string &t) noexcept : text(t.c_str()) {}
  c_text(std::nullptr_t) noexcept : text(nullptr) {}
};

/* How much of a struct is checked on import: CDEVICE_CHECK_*. full reads the contents, and blocks for the event. */
enum class checks : int { none = CDEVICE_CHECK_NONE, structure = CDEVICE_CHECK_STRUCTURE, full = CDEVICE_CHECK_FULL };

/* ---- devices ---- */

/* A device by type (ARROW_DEVICE_*) and number. It names a device and owns nothing. */
struct device {
  std::int32_t type = ARROW_DEVICE_CPU;
  std::int64_t id = -1;

  /* "cuda:1", "opencl", "12:3". Reads the name and starts no backend. Throws EINVAL for an unknown name. */
  static device find(c_text name) {
    device d;
    detail::check(cdevice_find_device(name.text, &d.type, &d.id));
    return d;
  }
  /* Name, driver and memory. Starts the backend, which may block. Throws ENODEV. */
  cdevice_device_info info() const {
    cdevice_device_info i = {};
    detail::check(cdevice_get_device_info(type, id, &i));
    return i;
  }
  friend bool operator==(const device &a, const device &b) noexcept { return a.type == b.type && a.id == b.id; }
  friend bool operator!=(const device &a, const device &b) noexcept { return !(a == b); }
};

/* The device types that have a backend. Allocates the vector. */
inline std::vector<std::int32_t> device_types() {
  std::vector<std::int32_t> types;
  std::int64_t n = 0;
  detail::check(cdevice_device_types(nullptr, 0, &n));
  while (static_cast<std::int64_t>(types.size()) != n) { /* a backend may enter in between */
    types.resize(static_cast<std::size_t>(n));
    detail::check(cdevice_device_types(types.data(), static_cast<std::int64_t>(types.size()), &n));
  }
  return types;
}

/* The number of devices of a type. Starts the backend, which may block. Throws ENODEV. */
inline std::int64_t device_count(std::int32_t type) {
  std::int64_t n = 0;
  detail::check(cdevice_device_count(type, &n));
  return n;
}

/* The table that serves a type, or nullptr; borrowed. Starts no backend. */
inline const cdevice_backend *backend_for(std::int32_t type) { return cdevice_backend_for(type); }
/* The table is borrowed: it must live as long as the process. Throws EEXIST. */
inline void register_backend(const cdevice_backend &backend, bool replace = false) {
  detail::check(cdevice_register_backend(&backend, replace));
}
/* Throws EBUSY where arrays use the backend. */
inline void unregister_backend(std::int32_t type) { detail::check(cdevice_unregister_backend(type)); }
/* Copies to devices of the type allocate from it; nullptr: from the backend again. The struct is copied. */
inline void set_allocator(std::int32_t type, const cdevice_allocator *allocator) {
  detail::check(cdevice_set_allocator(type, allocator));
}
/* Loads a shared library that exports cdevice_backend_init. */
inline void load_plugin(c_text path, bool replace = false) { detail::check(cdevice_load_plugin(path.text, replace)); }

/* ---- structs of the Arrow interfaces ---- */

namespace detail {
inline bool is_live(const ArrowSchema &s) { return s.release; }
inline bool is_live(const ArrowDeviceArray &a) { return a.array.release; }
inline bool is_live(const ArrowArrayStream &s) { return s.release; }
inline bool is_live(const ArrowDeviceArrayStream &s) { return s.release; }
inline void release(ArrowSchema &s) { s.release(&s); }
inline void release(ArrowDeviceArray &a) { a.array.release(&a.array); }
inline void release(ArrowArrayStream &s) { s.release(&s); }
inline void release(ArrowDeviceArrayStream &s) { s.release(&s); }
} // namespace detail

/* Owns a struct of the interfaces, and calls its release. get(): for a function that reads it or moves it out; put():
 * for one that fills it in, after what was there is released. */
template <class T> class c_struct {
public:
  c_struct() noexcept = default;
  c_struct(c_struct &&other) noexcept : value_(other.value_) { other.forget(); }
  c_struct &operator=(c_struct &&other) noexcept {
    if (this != &other) {
      reset();
      value_ = other.value_;
      other.forget();
    }
    return *this;
  }
  ~c_struct() { reset(); }
  explicit operator bool() const noexcept { return detail::is_live(value_); }
  T *get() noexcept { return &value_; }
  const T *get() const noexcept { return &value_; }
  T *operator->() noexcept { return &value_; }
  const T *operator->() const noexcept { return &value_; }
  T *put() noexcept {
    reset();
    return &value_;
  }
  void reset() noexcept {
    if (detail::is_live(value_)) detail::release(value_);
    forget();
  }
  /* Gives the struct to the caller, who calls its release. */
  T release() noexcept {
    T out = value_;
    forget();
    return out;
  }

private:
  void forget() noexcept { value_ = T{}; }
  T value_ = {};
};

using c_schema = c_struct<ArrowSchema>;
using c_array = c_struct<ArrowDeviceArray>;
using c_stream = c_struct<ArrowDeviceArrayStream>;
using c_cpu_stream = c_struct<ArrowArrayStream>;

/* ---- schemas ---- */

/* The type of an array, or of a record batch ("+s"). Immutable. */
class schema {
public:
  schema() noexcept = default;
  /* format, name, flags (ARROW_FLAG_*): the strings are copied. */
  explicit schema(c_text format, c_text name = "", std::int64_t flags = ARROW_FLAG_NULLABLE) {
    detail::check(cdevice_schema_new(format.text, name.text, flags, 0, nullptr, nullptr, &handle_));
  }
  /* With children: a struct, a list, a union. */
  template <std::size_t N> schema(c_text format, c_text name, std::int64_t flags, const schema (&children)[N]) {
    cdevice_schema *list[N];
    for (std::size_t i = 0; i < N; i++) list[i] = children[i].handle_;
    detail::check(
        cdevice_schema_new(format.text, name.text, flags, static_cast<std::int64_t>(N), list, nullptr, &handle_));
  }
  /* Of a dictionary: format is that of the indices. */
  schema(c_text format, c_text name, std::int64_t flags, const schema &dictionary) {
    detail::check(cdevice_schema_new(format.text, name.text, flags, 0, nullptr, dictionary.handle_, &handle_));
  }
  schema(const schema &other) noexcept : handle_(other.handle_ ? cdevice_schema_ref(other.handle_) : nullptr) {}
  schema(schema &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  schema &operator=(schema other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~schema() {
    if (handle_) cdevice_schema_unref(handle_);
  }

  /* owns: *from is moved in. */
  static schema import_from(ArrowSchema *from) {
    schema out;
    detail::check(cdevice_schema_import(from, &out.handle_));
    return out;
  }
  /* owns: the caller calls out->release. */
  void export_to(ArrowSchema *out) const { detail::check(cdevice_schema_export(handle_, out)); }
  /* The struct with format, name, children. */
  c_schema to_c() const {
    c_schema out;
    export_to(out.get());
    return out;
  }

  explicit operator bool() const noexcept { return handle_; }
  cdevice_schema *get() const noexcept { return handle_; } /* borrowed */
  cdevice_schema *release() noexcept { return std::exchange(handle_, nullptr); }
  /* owns: takes the caller's reference. */
  static schema take(cdevice_schema *handle) noexcept {
    schema out;
    out.handle_ = handle;
    return out;
  }
  /* A reference beside the one of the owner. */
  static schema borrow(cdevice_schema *handle) { return take(handle ? cdevice_schema_ref(handle) : nullptr); }

private:
  cdevice_schema *handle_ = nullptr;
};

/* ---- DLPack ---- */

/* Owns a tensor, and calls its deleter. */
struct tensor_deleter {
  void operator()(DLManagedTensorVersioned *t) const noexcept {
    if (t->deleter) t->deleter(t);
  }
};
using tensor = std::unique_ptr<DLManagedTensorVersioned, tensor_deleter>;

/* ---- arrays ---- */

template <class T> class values;

/* An array or a record batch (a struct array) on one device. Immutable. */
class array {
public:
  array() noexcept = default;
  array(const array &other) noexcept : handle_(other.handle_ ? cdevice_array_ref(other.handle_) : nullptr) {}
  array(array &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  array &operator=(array other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~array() {
    if (handle_) cdevice_array_unref(handle_);
  }

  /* owns: both structs are moved in; after an error both are untouched. */
  static array import_from(ArrowSchema *schema, ArrowDeviceArray *from, checks check = checks::structure) {
    array out;
    detail::check(cdevice_array_import(schema, from, static_cast<int>(check), &out.handle_));
    return out;
  }
  /* The same of an array of the CPU. */
  static array import_from(ArrowSchema *schema, ArrowArray *from, checks check = checks::structure) {
    ArrowDeviceArray on_cpu = {};
    array out;
    on_cpu.array = *from;
    on_cpu.device_id = -1;
    on_cpu.device_type = ARROW_DEVICE_CPU;
    detail::check(cdevice_array_import(schema, &on_cpu, static_cast<int>(check), &out.handle_));
    from->release = nullptr;
    return out;
  }
  /* Over memory that exists; cdevice_array_parts has the rules. owns: on success the array calls parts.release. */
  static array build(const cdevice::schema &type, const cdevice_array_parts &parts, checks check = checks::structure) {
    array out;
    detail::check(cdevice_array_build(type.get(), &parts, static_cast<int>(check), &out.handle_));
    return out;
  }
  /* owns: on success the array calls the tensor's deleter; after an error `from` still owns it. sync_event: a recorded
   * event in memory that the tensor keeps. */
  static array from_dlpack(tensor &&from, void *sync_event = nullptr, checks check = checks::structure) {
    array out;
    detail::check(cdevice_dlpack_import(from.get(), sync_event, static_cast<int>(check), &out.handle_));
    (void)from.release();
    return out;
  }

  /* owns: the caller calls out->array.release. */
  void export_to(ArrowDeviceArray *out) const { detail::check(cdevice_array_export(handle_, out)); }
  c_array to_c() const {
    c_array out;
    export_to(out.get());
    return out;
  }
  /* Read-only. Throws ENOTSUP for what DLPack cannot represent. */
  tensor to_dlpack() const {
    DLManagedTensorVersioned *out = nullptr;
    detail::check(cdevice_dlpack_export(handle_, &out));
    return tensor(out);
  }

  /* In rows; -1: empty object. */
  std::int64_t length() const noexcept { return handle_ ? cdevice_array_length(handle_) : -1; }
  /* -1: unknown, the data is on a device or not ready. Never blocks. */
  std::int64_t null_count() const noexcept { return handle_ ? cdevice_array_null_count(handle_) : -1; }
  /* -1: unknown. Never blocks. */
  std::int64_t nbytes() const noexcept { return handle_ ? cdevice_array_nbytes(handle_) : -1; }
  cdevice::device where() const {
    if (!handle_)
      detail::refuse("cdevice::array::where(): the array is empty: it was moved from, or nothing was put in");
    cdevice::device d;
    cdevice_array_device(handle_, &d.type, &d.id);
    return d;
  }
  cdevice::schema type() const { return cdevice::schema::borrow(handle_ ? cdevice_array_schema(handle_) : nullptr); }

  /* Rows [offset, offset + length), without a copy. */
  array slice(std::int64_t offset, std::int64_t length) const {
    array out;
    detail::check(cdevice_array_slice(handle_, offset, length, &out.handle_));
    return out;
  }
  /* Child i, limited to the rows of the array; -1: the dictionary. Without a copy. */
  array child(std::int64_t i) const {
    array out;
    detail::check(cdevice_array_child(handle_, i, &out.handle_));
    return out;
  }
  /* The child with a name: a column of a batch. Throws EINVAL where there is none, or two. */
  array column(std::string_view name) const {
    c_schema s = type().to_c();
    std::int64_t found = -1;
    for (std::int64_t i = 0; i < s->n_children; i++)
      if (name == (s->children[i]->name ? s->children[i]->name : "")) {
        if (found >= 0) throw error(EINVAL, 0, text_of("two columns are named ", name).c_str());
        found = i;
      }
    if (found < 0) throw error(EINVAL, 0, text_of("no column is named ", name).c_str());
    return child(found);
  }
  /* On a device; queue: a stream of the target. Shared where it lies there, unless `always`. Blocks for a CPU target. */
  array copy_to(cdevice::device to, void *queue = nullptr, bool always = false) const {
    array out;
    detail::check(cdevice_array_copy(handle_, to.type, to.id, queue, always, &out.handle_));
    return out;
  }
  /* Blocks for the event with checks::full. Throws the fault that it finds. */
  void check(checks level) const { detail::check(cdevice_array_check(handle_, static_cast<int>(level))); }
  /* Same type and same values. Blocks for the events. */
  bool equals(const array &other, bool nans_equal = false) const {
    int same = 0;
    detail::check(cdevice_array_equal(handle_, other.handle_, nans_equal, &same));
    return same != 0;
  }

  /* Has the event completed? Never blocks. */
  bool ready() const {
    int done = 0;
    detail::check(cdevice_array_ready(handle_, &done));
    return done != 0;
  }
  /* Blocks until the event has completed. */
  void wait() const { detail::check(cdevice_array_wait(handle_)); }
  /* Later work on a stream of that device waits for the event. */
  void wait_on(cdevice::device on, void *queue) const {
    detail::check(cdevice_array_wait_stream(handle_, on.type, on.id, queue));
  }
  /* Keeps the memory until all work enqueued so far on `queue`, of the array's device, is done. */
  void record_use(void *queue) const { detail::check(cdevice_array_record_use(handle_, queue)); }

  /* The rows as values of C++; see `values`. Blocks for the event. */
  template <class T> values<T> as() const;

  explicit operator bool() const noexcept { return handle_; }
  cdevice_array *get() const noexcept { return handle_; } /* borrowed */
  cdevice_array *release() noexcept { return std::exchange(handle_, nullptr); }
  /* owns: takes the caller's reference. */
  static array take(cdevice_array *handle) noexcept {
    array out;
    out.handle_ = handle;
    return out;
  }

private:
  static std::string text_of(const char *problem, std::string_view name) {
    return std::string("cdevice::array::column(): ") + problem + '"' + std::string(name) + '"';
  }
  cdevice_array *handle_ = nullptr;
};

/* ---- values ---- */

namespace detail {
template <class T> constexpr const char *format_of() {
  if constexpr (std::is_same_v<T, std::int8_t>)
    return "c";
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return "C";
  else if constexpr (std::is_same_v<T, std::int16_t>)
    return "s";
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    return "S";
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return "i";
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return "I";
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return "l";
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return "L";
  else if constexpr (std::is_same_v<T, float>)
    return "f";
  else if constexpr (std::is_same_v<T, double>)
    return "g";
  else if constexpr (std::is_same_v<T, bool>)
    return "b";
  else if constexpr (std::is_same_v<T, std::string_view>)
    return "u";
  else {
    static_assert(sizeof(T) == 0, "values of std::int8_t to std::uint64_t, float, double, bool and std::string_view");
    return "";
  }
}
inline bool starts(const char *text, const char *with) { return !std::strncmp(text, with, std::strlen(with)); }
/* Does an array of this format have T in its rows? Times are the integers that hold them. */
template <class T> bool fits(const char *format) {
  if (!std::strcmp(format, format_of<T>())) return true;
  if constexpr (std::is_same_v<T, std::int32_t>)
    return !std::strcmp(format, "tdD") || !std::strcmp(format, "tts") || !std::strcmp(format, "ttm") ||
           !std::strcmp(format, "tiM");
  if constexpr (std::is_same_v<T, std::int64_t>)
    return !std::strcmp(format, "tdm") || !std::strcmp(format, "ttu") || !std::strcmp(format, "ttn") ||
           starts(format, "ts") || starts(format, "tD");
  if constexpr (std::is_same_v<T, std::string_view>)
    return !std::strcmp(format, "U") || !std::strcmp(format, "z") || !std::strcmp(format, "Z");
  return false;
}
inline bool bit(const void *bits, std::int64_t i) {
  return (static_cast<const std::uint8_t *>(bits)[i >> 3] >> (i & 7) & 1) != 0;
}
} // namespace detail

/* The rows of an array that the CPU can read, as a range of std::optional<T>; nullopt: null. T: the integers, float,
 * double, bool, or std::string_view for strings and binary. It keeps the memory, so views into it live as long. Random
 * access; under C++20 a range of <ranges>. */
template <class T> class values {
public:
  class iterator {
  public:
    using iterator_category = std::input_iterator_tag; /* a row is made when it is read, so there is no reference */
#if defined(__cpp_lib_ranges)
    using iterator_concept = std::random_access_iterator_tag;
#endif
    using value_type = std::optional<T>;
    using difference_type = std::ptrdiff_t;
    using reference = value_type;
    using pointer = void;

    iterator() noexcept = default;
    iterator(const values *of, difference_type i) noexcept : of_(of), i_(i) {}
    reference operator*() const { return of_->at(i_); }
    reference operator[](difference_type n) const { return of_->at(i_ + n); }
    iterator &operator++() noexcept { return *this += 1; }
    iterator &operator--() noexcept { return *this -= 1; }
    iterator operator++(int) noexcept { return iterator(of_, i_++); }
    iterator operator--(int) noexcept { return iterator(of_, i_--); }
    iterator &operator+=(difference_type n) noexcept {
      i_ += n;
      return *this;
    }
    iterator &operator-=(difference_type n) noexcept { return *this += -n; }
    friend iterator operator+(iterator a, difference_type n) noexcept { return a += n; }
    friend iterator operator+(difference_type n, iterator a) noexcept { return a += n; }
    friend iterator operator-(iterator a, difference_type n) noexcept { return a -= n; }
    friend difference_type operator-(const iterator &a, const iterator &b) noexcept { return a.i_ - b.i_; }
    friend bool operator==(const iterator &a, const iterator &b) noexcept { return a.i_ == b.i_; }
    friend bool operator!=(const iterator &a, const iterator &b) noexcept { return a.i_ != b.i_; }
    friend bool operator<(const iterator &a, const iterator &b) noexcept { return a.i_ < b.i_; }
    friend bool operator>(const iterator &a, const iterator &b) noexcept { return a.i_ > b.i_; }
    friend bool operator<=(const iterator &a, const iterator &b) noexcept { return a.i_ <= b.i_; }
    friend bool operator>=(const iterator &a, const iterator &b) noexcept { return a.i_ >= b.i_; }

  private:
    const values *of_ = nullptr;
    difference_type i_ = 0;
  };

  /* Blocks for the event. Throws EINVAL for rows of another type, or memory that the CPU does not read: copy_to({})
   * brings them to the CPU. */
  explicit values(const array &from) {
    c_schema type = from.type().to_c();
    if (type->dictionary || !detail::fits<T>(type->format))
      throw error(EINVAL, 0,
                  (std::string("cdevice::values: the rows have the format \"") + type->format +
                   (type->dictionary ? "\" with a dictionary" : "\"") + ", and \"" + detail::format_of<T>() +
                   "\" is asked for: cdevice::call(\"cast\", ...) gives another type")
                      .c_str());
    const std::int32_t on = from.where().type;
    if (on != ARROW_DEVICE_CPU && on != ARROW_DEVICE_CUDA_HOST && on != ARROW_DEVICE_ROCM_HOST)
      detail::refuse("cdevice::values: the CPU does not read memory of this device: array.copy_to({}) brings it there");
    from.wait();
    c_ = from.to_c();
    wide_ = *type->format == 'U' || *type->format == 'Z';
    bits_ = c_->array.null_count ? c_->array.buffers[0] : nullptr;
  }

  std::size_t size() const noexcept { return static_cast<std::size_t>(c_->array.length); }
  bool empty() const noexcept { return !c_->array.length; }
  iterator begin() const noexcept { return iterator(this, 0); }
  iterator end() const noexcept { return iterator(this, c_->array.length); }
  bool is_null(std::int64_t i) const noexcept { return bits_ && !detail::bit(bits_, c_->array.offset + i); }
  /* Row i, which must be there; of a null row an unspecified value. */
  T operator[](std::int64_t i) const noexcept {
    const std::int64_t k = c_->array.offset + i;
    const void *const *buffers = c_->array.buffers;
    if constexpr (std::is_same_v<T, bool>) {
      return detail::bit(buffers[1], k);
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      const std::int64_t from = offset(k), to = offset(k + 1);
      return {static_cast<const char *>(buffers[2]) + from, static_cast<std::size_t>(to - from)};
    } else {
      return static_cast<const T *>(buffers[1])[k];
    }
  }
  /* Row i, or nullopt for a null. Throws EINVAL where there is no such row. */
  std::optional<T> at(std::int64_t i) const {
    if (i < 0 || i >= c_->array.length) detail::refuse("cdevice::values: no such row");
    if (is_null(i)) return std::nullopt;
    return (*this)[i];
  }
  /* The first row's place, for numbers. */
  const T *data() const noexcept {
    static_assert(!std::is_same_v<T, bool> && !std::is_same_v<T, std::string_view>, "numbers have a place in memory");
    return static_cast<const T *>(c_->array.buffers[1]) + c_->array.offset;
  }

private:
  std::int64_t offset(std::int64_t k) const noexcept {
    const void *offsets = c_->array.buffers[1];
    return wide_ ? static_cast<const std::int64_t *>(offsets)[k] : static_cast<const std::int32_t *>(offsets)[k];
  }
  c_array c_;
  const void *bits_ = nullptr;
  bool wide_ = false;
};

template <class T> values<T> array::as() const { return values<T>(*this); }

/* ---- arrays of memory of a program ---- */

namespace detail {
inline array numbers(const char *format, c_text name, std::int64_t n, const void *data, void (*release)(void *),
                     void *owner) {
  const void *buffers[2] = {nullptr, data};
  cdevice_array_parts p = {};
  p.device_type = ARROW_DEVICE_CPU;
  p.device_id = -1;
  p.length = n;
  p.n_buffers = 2;
  p.buffers = buffers;
  p.release = release;
  p.owner = owner;
  return array::build(schema(format, name), p);
}
} // namespace detail

/* Numbers without nulls over memory of the caller, which must stay, unchanged, while the array or a part of it lives. */
template <class T> array borrow_numbers(c_text name, const T *data, std::int64_t n) {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>, "integers, float or double");
  return detail::numbers(detail::format_of<T>(), name, n, data, nullptr, nullptr);
}

/* Numbers without nulls; the vector moves in. Allocates the place of the vector. */
template <class T> array make_numbers(c_text name, std::vector<T> data) {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>, "integers, float or double");
  auto kept = std::make_unique<std::vector<T>>(std::move(data));
  array out = detail::numbers(
      detail::format_of<T>(), name, static_cast<std::int64_t>(kept->size()), kept->data(),
      [](void *p) { delete static_cast<std::vector<T> *>(p); }, kept.get());
  (void)kept.release();
  return out;
}

/* Strings ("u") without nulls over memory of the caller, which must stay: n + 1 offsets into UTF-8. */
inline array borrow_strings(c_text name, const std::int32_t *offsets, const char *bytes, std::int64_t n) {
  const void *buffers[3] = {nullptr, offsets, bytes};
  cdevice_array_parts p = {};
  p.device_type = ARROW_DEVICE_CPU;
  p.device_id = -1;
  p.length = n;
  p.n_buffers = 3;
  p.buffers = buffers;
  return array::build(schema("u", name), p);
}

/* Strings without nulls, copied. Allocates their offsets and bytes. */
inline array make_strings(c_text name, const std::vector<std::string_view> &rows) {
  struct memory {
    std::vector<std::int32_t> offsets;
    std::string bytes;
  };
  auto kept = std::make_unique<memory>();
  kept->offsets.reserve(rows.size() + 1);
  kept->offsets.push_back(0);
  for (std::string_view row : rows) {
    if (row.size() > static_cast<std::size_t>(INT32_MAX) - kept->bytes.size())
      detail::refuse("cdevice::make_strings(): 2 GiB of bytes are more than an offset of 32 bits counts");
    kept->bytes += row;
    kept->offsets.push_back(static_cast<std::int32_t>(kept->bytes.size()));
  }
  const void *buffers[3] = {nullptr, kept->offsets.data(), kept->bytes.data()};
  cdevice_array_parts p = {};
  p.device_type = ARROW_DEVICE_CPU;
  p.device_id = -1;
  p.length = static_cast<std::int64_t>(rows.size());
  p.n_buffers = 3;
  p.buffers = buffers;
  p.release = [](void *m) { delete static_cast<memory *>(m); };
  p.owner = kept.get();
  array out = array::build(schema("u", name), p, checks::full);
  (void)kept.release();
  return out;
}

/* A record batch of columns of one length on one device; each has the name of its schema. */
template <std::size_t N> array make_batch(const array (&columns)[N]) {
  schema types[N];
  cdevice_array *list[N];
  const void *buffers[1] = {nullptr};
  for (std::size_t i = 0; i < N; i++) {
    types[i] = columns[i].type();
    list[i] = columns[i].get();
  }
  const device on = columns[0].where();
  cdevice_array_parts p = {};
  p.device_type = on.type;
  p.device_id = on.id;
  p.length = columns[0].length();
  p.n_buffers = 1;
  p.buffers = buffers;
  p.n_children = static_cast<std::int64_t>(N);
  p.children = list;
  return array::build(schema("+s", "", 0, types), p);
}

/* ---- functions ---- */

/* An argument of call(): an array, or nullptr for the next value of the option "scalars". */
struct argument {
  cdevice_array *handle; /* borrowed */
  argument(const array &a) noexcept : handle(a.get()), empty(!a) {}
  argument(std::nullptr_t) noexcept : handle(nullptr), empty(false) {}
  bool empty;
};

/* A function by its name, as cdevice_call has it: call("add", {a, b}), call("greater", {a, nullptr},
 * R"({"scalars": [5]})"), call("filter", batch, R"({"where": "price > 5"})"). options: a JSON object. Blocks as the
 * function does. Throws EINVAL for names, options and arguments that do not fit, EDOM for values that do not, ENOTSUP
 * where no kernel takes these types. */
template <std::size_t N> array call(c_text name, const argument (&arguments)[N], c_text options = nullptr) {
  cdevice_array *list[N], *out = nullptr;
  for (std::size_t i = 0; i < N; i++) {
    if (arguments[i].empty) detail::refuse("cdevice::call(): an argument is an empty array; a scalar is nullptr");
    list[i] = arguments[i].handle;
  }
  detail::check(cdevice_call(name.text, list, static_cast<std::int64_t>(N), options.text, &out));
  return array::take(out);
}
/* The same with one argument. */
inline array call(c_text name, const array &of, c_text options = nullptr) {
  return call(name, {argument(of)}, options);
}

/* A text as a string of JSON, with its quotes: "keys of a user" are safe in options so. Allocates the string. */
inline std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out += '"';
}

namespace detail {
template <class T> std::string json(const T &value) {
  if constexpr (std::is_same_v<T, std::nullptr_t>)
    return "null";
  else if constexpr (std::is_same_v<T, bool>)
    return value ? "true" : "false";
  else if constexpr (std::is_integral_v<T>)
    return std::to_string(value);
  else if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return "NaN"; /* as Python writes and reads them */
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", static_cast<double>(value));
    for (char &c : text)
      if (c == ',') c = '.'; /* of a locale */
    return text;
  } else {
    return quoted(value);
  }
}
} // namespace detail

/* The options {"scalars": [...]} of values, one for each argument that is nullptr: numbers, bools, texts, nullptr for
 * null. call("greater", {a, nullptr}, scalars(5)). Allocates the string. */
template <class... T> std::string scalars(const T &...values) {
  std::string out;
  ((out += out.empty() ? "" : ", ", out += detail::json(values)), ...);
  return "{\"scalars\": [" + out + "]}";
}

/* Calls module.function(address) in Python and gives the int that it returns. Throws EIO with the text of an
 * exception. */
inline std::int64_t call_python(c_text module, c_text function, void *address = nullptr) {
  std::int64_t result = 0;
  detail::check(cdevice_call_python(module.text, function.text, address, &result));
  return result;
}

/* ---- streams ---- */

/* An input iterator over what has next(): a stream or a consumer. *it is the array, which may be moved out. */
template <class Source> class array_iterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = array;
  using difference_type = std::ptrdiff_t;
  using reference = array &;
  using pointer = array *;

  array_iterator() noexcept = default;
  explicit array_iterator(Source &from) : from_(&from), now_(from.next()), more_(static_cast<bool>(now_)) {}
  array &operator*() const noexcept { return now_; }
  array *operator->() const noexcept { return &now_; }
  array_iterator &operator++() {
    now_ = from_->next();
    more_ = static_cast<bool>(now_);
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const array_iterator &a, const array_iterator &b) noexcept { return a.more_ == b.more_; }
  friend bool operator!=(const array_iterator &a, const array_iterator &b) noexcept { return a.more_ != b.more_; }

private:
  Source *from_ = nullptr;
  mutable array now_;
  bool more_ = false;
};

/* A sequence of arrays of one type: for (cdevice::array &batch : stream). */
class stream {
public:
  using iterator = array_iterator<stream>;

  stream() noexcept = default;
  stream(stream &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  stream &operator=(stream &&other) noexcept {
    stream gone(std::move(other));
    std::swap(handle_, gone.handle_);
    return *this;
  }
  ~stream() { close(); }

  /* A stream of arrays, of which it takes references. device_type: ARROW_DEVICE_*. */
  template <std::size_t N>
  static stream of(const cdevice::schema &type, const array (&arrays)[N], std::int32_t device_type = ARROW_DEVICE_CPU) {
    cdevice_array *list[N];
    for (std::size_t i = 0; i < N; i++) list[i] = arrays[i].get();
    return of(type, list, static_cast<std::int64_t>(N), device_type);
  }
  /* The same of a vector. Allocates the list of handles. */
  static stream of(const cdevice::schema &type, const std::vector<array> &arrays,
                   std::int32_t device_type = ARROW_DEVICE_CPU) {
    std::vector<cdevice_array *> list;
    list.reserve(arrays.size());
    for (const array &a : arrays) list.push_back(a.get());
    return of(type, list.data(), static_cast<std::int64_t>(list.size()), device_type);
  }
  static stream of(const cdevice::schema &type, cdevice_array *const *arrays, std::int64_t n,
                   std::int32_t device_type) {
    stream out;
    detail::check(cdevice_stream_new(type.get(), device_type, arrays, n, &out.handle_));
    return out;
  }
  /* owns: *from is moved in; after an error it has been released. May block for the schema. */
  static stream import_from(ArrowDeviceArrayStream *from, checks check = checks::structure) {
    stream out;
    detail::check(cdevice_stream_import(from, static_cast<int>(check), &out.handle_));
    return out;
  }
  static stream import_from(ArrowArrayStream *from, checks check = checks::structure) {
    stream out;
    detail::check(cdevice_stream_import_cpu(from, static_cast<int>(check), &out.handle_));
    return out;
  }

  /* owns: the stream is moved into *out, and this object is empty; after an error it still owns it. */
  void export_to(ArrowDeviceArrayStream *out) {
    detail::check(cdevice_stream_export(handle_, out));
    handle_ = nullptr;
  }
  void export_to(ArrowArrayStream *out) {
    detail::check(cdevice_stream_export_cpu(handle_, out));
    handle_ = nullptr;
  }

  /* The next array; an empty one at the end. Blocks as long as its source. */
  array next() {
    cdevice_array *out = nullptr;
    detail::check(cdevice_stream_next(handle_, &out));
    return array::take(out);
  }
  iterator begin() { return iterator(*this); }
  iterator end() noexcept { return iterator(); }

  /* A stream that copies each array to a device, `prefetch` ahead by a thread of its own. This object is empty then. */
  stream copy_to(device to, std::int64_t prefetch = 0, void *queue = nullptr) && {
    stream out;
    detail::check(cdevice_stream_copy(handle_, to.type, to.id, queue, prefetch, &out.handle_));
    handle_ = nullptr;
    return out;
  }
  cdevice::schema type() const { return cdevice::schema::borrow(handle_ ? cdevice_stream_schema(handle_) : nullptr); }
  /* ARROW_DEVICE_*; -1: empty object. */
  std::int32_t device_type() const noexcept { return handle_ ? cdevice_stream_device_type(handle_) : -1; }
  void close() noexcept {
    if (handle_) cdevice_stream_close(std::exchange(handle_, nullptr));
  }

  explicit operator bool() const noexcept { return handle_; }
  cdevice_stream *get() const noexcept { return handle_; } /* borrowed */
  cdevice_stream *release() noexcept { return std::exchange(handle_, nullptr); }
  /* owns: takes the stream. */
  static stream take(cdevice_stream *handle) noexcept {
    stream out;
    out.handle_ = handle;
    return out;
  }

private:
  cdevice_stream *handle_ = nullptr;
};

/* ---- asynchronous streams ---- */

/* Sends a stream to a handler from a thread of its own. The destructor gives the reference back; the sending goes on. */
class producer {
public:
  /* state: CDEVICE_RUNNING, _FINISHED, _CANCELLED, _REFUSED, _FAILED or _STOPPED. code: of the error, or 0. */
  struct outcome_t {
    int state, code;
  };

  producer() noexcept = default;
  /* owns: the stream is moved in; after an error `from` still owns it. The handler must live until its release is
   * called. metadata: encoded as ArrowSchema.metadata. */
  producer(stream &&from, ArrowAsyncDeviceStreamHandler *handler, const char *metadata = nullptr) {
    detail::check(cdevice_produce(from.get(), handler, metadata, &handle_));
    (void)from.release();
  }
  producer(producer &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  producer &operator=(producer &&other) noexcept {
    producer gone(std::move(other));
    std::swap(handle_, gone.handle_);
    return *this;
  }
  ~producer() {
    if (handle_) cdevice_producer_unref(handle_);
  }

  /* Blocks until the handler is released. */
  void wait() const { cdevice_producer_wait(handle_, -1); }
  /* The same for at most a time; was it released? */
  bool wait_for(std::chrono::nanoseconds time) const {
    return cdevice_producer_wait(handle_, time.count() < 0 ? 0 : time.count()) != 0;
  }
  outcome_t outcome() const {
    outcome_t out = {CDEVICE_RUNNING, 0};
    out.state = cdevice_producer_outcome(handle_, &out.code);
    return out;
  }
  /* Ends it from this side. Does not wait for it. */
  void stop() noexcept { cdevice_producer_stop(handle_); }

  explicit operator bool() const noexcept { return handle_; }
  cdevice_producer *get() const noexcept { return handle_; } /* borrowed */

private:
  cdevice_producer *handle_ = nullptr;
};

/* Receives what one producer sends: for (cdevice::array &batch : consumer). */
class consumer {
public:
  using iterator = array_iterator<consumer>;

  consumer() noexcept = default;
  /* queue_size: the maximum number of arrays that were requested and not yet received. */
  explicit consumer(std::int64_t queue_size, checks check = checks::structure) {
    detail::check(cdevice_consumer_new(queue_size, static_cast<int>(check), &handle_));
  }
  consumer(consumer &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  consumer &operator=(consumer &&other) noexcept {
    consumer gone(std::move(other));
    std::swap(handle_, gone.handle_);
    return *this;
  }
  ~consumer() {
    if (handle_) cdevice_consumer_unref(handle_);
  }

  /* For one producer; borrowed until that producer releases it. */
  ArrowAsyncDeviceStreamHandler *handler() const {
    ArrowAsyncDeviceStreamHandler *h = cdevice_consumer_handler(handle_);
    if (!h) detail::raise(EINVAL);
    return h;
  }
  /* The next array; an empty one at the end. Blocks until it arrives. */
  array next() {
    cdevice_array *out = nullptr;
    detail::check(cdevice_consumer_next(handle_, -1, &out));
    return array::take(out);
  }
  /* The same for at most a time; nullopt: none arrived. */
  std::optional<array> next_for(std::chrono::nanoseconds time) {
    cdevice_array *out = nullptr;
    int r = cdevice_consumer_next(handle_, time.count() < 0 ? 0 : time.count(), &out);
    if (r == EAGAIN) return std::nullopt;
    detail::check(r);
    return array::take(out);
  }
  iterator begin() { return iterator(*this); }
  iterator end() noexcept { return iterator(); }
  /* Empty before the schema arrived. */
  cdevice::schema type() const { return cdevice::schema::borrow(handle_ ? cdevice_consumer_schema(handle_) : nullptr); }
  /* Cancels the producer and drops the arrays in the queue. Does not wait for the producer. */
  void close() noexcept {
    if (handle_) cdevice_consumer_close(handle_);
  }
  /* A stream of what arrives. This object is empty then; after an error it still owns the consumer. Blocks until the
   * schema arrives. */
  stream to_stream() && {
    cdevice_stream *out = nullptr;
    detail::check(cdevice_consumer_stream(handle_, &out));
    handle_ = nullptr;
    return stream::take(out);
  }

  explicit operator bool() const noexcept { return handle_; }
  cdevice_consumer *get() const noexcept { return handle_; } /* borrowed */

private:
  cdevice_consumer *handle_ = nullptr;
};

/* ---- rules of the interfaces ---- */

/* What a suite of cdevice.testing found. broken: the number of rules that are a MUST and were broken. */
struct report {
  std::int64_t broken = 0;
  std::string text;
};

namespace detail {
struct free_text {
  void operator()(char *p) const noexcept { std::free(p); }
};
inline report reported(int code, std::int64_t broken, char *text) {
  check(code);
  std::unique_ptr<char, free_text> kept(text);
  return {broken, text};
}
} // namespace detail

/* Holds structs against the rules of Arrow's interfaces, each in a copy of the process; they stay the caller's. format:
 * "text" or "json". Allocates the report. Blocks for at most a minute. */
inline report check_rules(const ArrowSchema *schema, const ArrowDeviceArray *array, c_text format = nullptr) {
  std::int64_t broken = 0;
  char *text = nullptr;
  const int r = cdevice_check_array(schema, array, format.text, &broken, &text);
  return detail::reported(r, broken, text);
}
inline report check_rules(const ArrowDeviceArrayStream *stream, c_text format = nullptr) {
  std::int64_t broken = 0;
  char *text = nullptr;
  const int r = cdevice_check_stream(stream, format.text, &broken, &text);
  return detail::reported(r, broken, text);
}
inline report check_rules(const ArrowArrayStream *stream, c_text format = nullptr) {
  std::int64_t broken = 0;
  char *text = nullptr;
  const int r = cdevice_check_stream_cpu(stream, format.text, &broken, &text);
  return detail::reported(r, broken, text);
}

} // namespace cdevice
#endif
