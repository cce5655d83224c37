// What a call gives, or in one line why it does not: the one way in which calls of this project fail. (What only the traced
// program could hear is counted instead and said at its end: tracer/runtime/notices.h.)
//
//   base::Result<Archive> open(const std::string& path);
//   base::Result<> write(std::string_view text);           // nothing to give
//
//   const auto archive = open(path);
//   if (!archive) return archive.failure();                // to whoever called; any Result takes it
//   archive->locations();
//
// Thread-safety: that of a value. Ownership: of the value or the line. Errors: an access to what is not there aborts.
// Cost: that of a variant; a failure allocates its line.
#pragma once

#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

namespace refrain::base {

// One line, without an end of line; says what was tried and what would work. Never empty.
struct Failure {
  std::string why;
};

template <class Value = void>
class [[nodiscard]] Result {
 public:
  Result(Value value) : held_(std::in_place_index<0>, std::move(value)) {}
  Result(Failure failure) : held_(std::in_place_index<1>, std::move(failure)) {}

  bool ok() const noexcept { return held_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  Value& operator*() & { return value(); }
  const Value& operator*() const& { return const_cast<Result*>(this)->value(); }
  // Not a reference: what a loop goes over must live as long as the loop.
  Value operator*() && { return std::move(value()); }
  Value* operator->() { return &value(); }
  const Value* operator->() const { return &**this; }

  // Empty: all is well.
  std::string error() const { return ok() ? std::string() : std::get_if<1>(&held_)->why; }
  Failure failure() const { return {error()}; }

 private:
  Value& value() {
    Value* const value = std::get_if<0>(&held_);
    if (value == nullptr) std::abort();
    return *value;
  }

  std::variant<Value, Failure> held_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Failure failure) : why_(std::move(failure.why)) {}

  bool ok() const noexcept { return why_.empty(); }
  explicit operator bool() const noexcept { return ok(); }
  const std::string& error() const noexcept { return why_; }
  Failure failure() const { return {why_}; }

 private:
  std::string why_;
};

}  // namespace refrain::base
