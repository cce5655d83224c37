// The one way to standard output, for all subcommands.
//
// What is printed may hold names of any archive: no escape sequence reaches the terminal, and all is UTF-8. A disk that is
// full or an output that is closed is no success: finish_output() says so.
// Thread-safety: none. Cost: a copy of the text.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace refrain::tools {

void print(std::string_view text);
// Lines of a screen, whatever the names in them contain.
void print_lines(const std::vector<std::string>& lines);

template <typename... Values>
void print(fmt::format_string<Values...> format,
           Values&&... values) requires(sizeof...(Values) != 0) {
  print(std::string_view(fmt::format(format, std::forward<Values>(values)...)));
}

// Before the end of the command: fails if something was not written.
base::Result<> finish_output();

// Texts in CSV, as RFC 4180 has them.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Pure.

inline std::string csv_quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

// Writes a JSON text part by part, so that what was written needs no memory.
//
// Place in the flow: ARCHITECTURE.md, stage 7. The text is what nlohmann's dump(indent) makes of the same value; what is no UTF-8
// is replaced, for a name must not cost the rest. Thread-safety: none. Memory: some 64 kB, and one value at a time.

// Takes a text in parts.
using PutText = std::function<void(std::string_view)>;

class JsonStream {
 public:
  JsonStream(PutText put, int indent) : put_(std::move(put)), indent_(indent) {}

  void begin_object() { begin('{'); }
  void begin_array() { begin('['); }
  // Of the innermost one that was begun.
  void end() {
    const Level level = levels_.back();
    levels_.pop_back();
    if (level.any) new_line();
    add(level.array ? "]" : "}");
  }
  // In an object: the next value's.
  void key(std::string_view name) {
    separate();
    add(dumped(nlohmann::json(name)) + ": ");
    after_key_ = true;
  }
  template <typename Json>
  void value(const Json& value) {
    before_value();
    const std::string text = dumped(value);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t line = std::min(text.find('\n', at), text.size());
      add(std::string_view(text).substr(at, line - at));
      if (line < text.size()) new_line();
      at = line + 1;
    }
  }
  // Keys and values of an object, into the one that was begun.
  template <typename Json>
  void members(const Json& object) {
    for (const auto& [name, member] : object.items()) {
      key(name);
      value(member);
    }
  }
  // All is ended.
  void finish() {
    add("\n");
    put_(std::exchange(text_, {}));
  }

 private:
  struct Level {
    bool array = false;
    bool any = false;
  };

  template <typename Json>
  std::string dumped(const Json& value) const {
    return value.dump(indent_, ' ', false, Json::error_handler_t::replace);
  }
  void begin(char bracket) {
    before_value();
    add(std::string_view(&bracket, 1));
    levels_.push_back({bracket == '[', false});
  }
  void before_value() {
    if (!std::exchange(after_key_, false) && !levels_.empty()) separate();
  }
  void separate() {
    if (std::exchange(levels_.back().any, true)) add(",");
    new_line();
  }
  void new_line() {
    add("\n");
    text_.append(levels_.size() * static_cast<std::size_t>(indent_), ' ');
  }
  void add(std::string_view text) {
    constexpr std::size_t kAtOnce = 1 << 16;
    text_ += text;
    if (text_.size() < kAtOnce) return;
    put_(text_);
    text_.clear();
  }

  PutText put_;
  int indent_;
  std::vector<Level> levels_;
  std::string text_;
  bool after_key_ = false;
};

}  // namespace refrain::tools
