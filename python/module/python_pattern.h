// A class of Python as a pattern of the analysis, through the same structures as one of a shared object.
//
// Place in the flow: private to python/; pattern_bindings.cc has what it gives to Python. Thread-safety: whoever calls it takes Python's
// lock. Ownership: it keeps the object of Python. Errors: an exception is kept, ends the analysis, and raise() raises it.
// Cost: a call into Python for each event that the class has a method for.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "waits/modules/pattern_modules.h"

namespace refrain::python {

namespace py = pybind11;

class __attribute__((visibility("hidden"))) PythonPattern
    : public std::enable_shared_from_this<PythonPattern> {
 public:
  struct Metric {
    std::string name, parent, title, description, cause;
  };
  // `methods`: those of waits' compound events that the object has, by name.
  PythonPattern(const py::object& object, Metric metric,
                const std::vector<std::string>& methods);
  ~PythonPattern();
  PythonPattern(const PythonPattern&) = delete;
  PythonPattern& operator=(const PythonPattern&) = delete;

  std::unique_ptr<waits::Pattern> make();
  void raise();

  // For the object, while it is called.
  void charge(std::uint32_t location, std::uint32_t path, std::uint64_t ticks);
  void charge(const refrain_call& call, std::uint64_t ticks);
  std::uint64_t take(const refrain_call& call, std::uint64_t sequence,
                     std::uint64_t wanted);
  refrain_region region(std::uint32_t process, std::uint32_t path);
  std::uint32_t parent(std::uint32_t process, std::uint32_t path);
  refrain_location location(std::uint32_t number);
  std::uint64_t sequence() const {
    return sequence_;
  }  // of the event that it is called for

 private:
  void event(std::uint32_t kind, const void* event) noexcept;
  void notify(std::uint32_t kind, const void* event);
  const refrain_host& host() const;

  std::optional<py::object> object_;
  Metric metric_;
  refrain_pattern_info info_{};
  const refrain_host* host_ = nullptr;
  std::uint64_t sequence_ = 0;
  bool running_ = false;
  std::exception_ptr raised_;
};

}  // namespace refrain::python
