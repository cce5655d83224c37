// What all bindings share: the exception, one reader at a time, texts, and arrays.
//
// Place in the flow: private to python/. Thread-safety: libotf2 is used by one thread at a time (reading_lock()). Python's own lock
// is given up while something is read, and never held while waiting for that of reading: a pattern of Python that is called
// while an archive is read takes Python's lock, too.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/notes.h"
#include "base/result.h"

// Ids are ints in Python.
template <class Tag>
struct pybind11::detail::type_caster<refrain::base::Id<Tag>> {
  PYBIND11_TYPE_CASTER(refrain::base::Id<Tag>, const_name("int"));
  bool load(handle from, bool convert) {
    make_caster<std::uint32_t> number;
    if (!number.load(from, convert)) return false;
    value = refrain::base::Id<Tag>(cast_op<std::uint32_t>(number));
    return true;
  }
  static handle cast(refrain::base::Id<Tag> id, return_value_policy, handle) {
    return PyLong_FromUnsignedLong(id);
  }
};

namespace refrain::python {

namespace py = pybind11;

// refrain.Error in Python: one line.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void require(const std::string& error) {
  if (!error.empty()) throw Error(error);
}
template <typename Value>
void require(const base::Result<Value>& result) {
  require(result.error());
}

// Of one thread several times: a pattern may read another archive.
inline std::recursive_mutex& reading_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

// Short, with Python's lock.
class ReadingLock {
 public:
  ReadingLock() : lock_(reading_mutex(), std::try_to_lock) {
    if (lock_.owns_lock()) return;
    const py::gil_scoped_release release;
    lock_.lock();
  }

 private:
  std::unique_lock<std::recursive_mutex> lock_;
};

// A warning of Python for each line about what an archive lacks. With Python's lock.
inline void warn_of_notes() {
  for (const std::string& line : base::take_notes())
    if (PyErr_WarnEx(PyExc_RuntimeWarning, line.c_str(), 2) != 0)
      throw py::error_already_set();
}

// Long, without Python's lock.
template <typename Read>
auto reading(Read read) {
  const auto unlocked = [&read] {
    const py::gil_scoped_release release;
    const std::lock_guard<std::recursive_mutex> lock(reading_mutex());
    return read();
  };
  if constexpr (std::is_void_v<decltype(read())>) {
    unlocked();
    warn_of_notes();
  } else {
    auto result = unlocked();
    warn_of_notes();
    return result;
  }
}

// Texts of an archive need not be UTF-8.
inline py::str text(const std::string& from) {
  PyObject* decoded =
      PyUnicode_DecodeUTF8(from.data(), static_cast<Py_ssize_t>(from.size()), "replace");
  if (decoded == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(decoded);
}

// The vector's memory becomes the array's.
template <typename T>
py::array array_of(std::vector<T>&& values, std::vector<py::ssize_t> shape = {}) {
  auto* kept = new std::vector<T>(std::move(values));
  const py::capsule owner(kept, [](void* it) { delete static_cast<std::vector<T>*>(it); });
  if (shape.empty()) shape = {static_cast<py::ssize_t>(kept->size())};
  return py::array_t<T>(shape, kept->data(), owner);
}

// A number that may be none, as an integer or as None.
inline py::object number(std::uint32_t value) {
  return value == 0xffffffff ? py::object(py::none()) : py::object(py::int_(value));
}

void bind_archive(py::module_& module);
void bind_trace(py::module_& module);
void bind_patterns(py::module_& module);
void bind_analysis(py::module_& module);
void bind_experiment(py::module_& module);
void bind_graph(py::module_& module);

}  // namespace refrain::python
