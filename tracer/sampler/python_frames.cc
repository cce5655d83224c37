#include "tracer/sampler/python_frames.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/loaded_symbols.h"
#include "code/bytecode.h"
#include "tracer/recorder/memory_reserve.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/sampler/stack_memory.h"
#include "tracer/sampler/unwind_lookup.h"

namespace refrain::sampler {
namespace {

using namespace python;

constexpr unsigned kMaxRecords = 4096;
constexpr std::size_t kMaxFunctions = 1 << 16;
constexpr std::size_t kMaxCodes = 1 << 14;

std::uint64_t mixed_with(std::uint64_t hash, std::string_view text) {
  return (hash ^ std::hash<std::string_view>{}(text)) * 0x9e3779b97f4a7c15;
}

}  // namespace

struct PythonFrames::Function {
  std::string name;
  std::string file;
  std::vector<std::uint8_t> lines;
  std::uint32_t first_line = 0;
  code::Bytecode bytecode;
  // Of each unit that has been asked about, the places of the headers of loops around it.
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> loops;
};

struct PythonFrames::Known {
  static constexpr std::size_t kPlaces = 4096;
  struct Place {
    std::uint64_t instruction, name, lines, place;
  };
  struct Code {
    std::uint64_t name, lines, size;
    std::uint32_t first_line, number;
  };

  std::array<Place, kPlaces> places{};                       // by instruction
  std::unordered_map<std::uint64_t, Code> codes;             // by address
  std::deque<Function> functions;                            // by their numbers, less one
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;  // by what is in them
};

PythonFrames::PythonFrames() noexcept = default;
PythonFrames::~PythonFrames() = default;

void PythonFrames::set(const Interpreter& interpreter) noexcept {
  if (recorder::attempted([this] {
        if (known_ == nullptr) known_ = std::make_unique<Known>();
      }))
    interpreter_ = interpreter;
}

void PythonFrames::forget() noexcept {
  interpreter_ = {};
  record_below_ = 0;
  trusted_ = false;
  not_ones_ = 0;
  if (known_ == nullptr) return;
  known_->places.fill({});
  known_->codes.clear();
}

PythonFrames::Runs PythonFrames::at(std::uint64_t place) noexcept {
  if (interpreter_.begin != 0)
    return place - interpreter_.begin <= interpreter_.end - interpreter_.begin
               ? Runs::kMaybe
               : Runs::kNothing;
  CodeObject object;
  if (!find_object(place - 1, object) || object.file == nullptr) return Runs::kNothing;
  const auto* const name = std::strrchr(object.file, '/');
  if (*object.file != '\0' &&
      std::strstr(name == nullptr ? object.file : name, "python") == nullptr)
    return Runs::kNothing;
  if (std::find(not_one_, not_one_ + not_ones_, object.identity) != not_one_ + not_ones_)
    return Runs::kNothing;
  const recorder::SlowPath slow_path;
  if (const PythonInterpreter found = interpreter_in(object.begin, object.end);
      found.begin != 0)
    set(found);
  if (interpreter_.begin != 0) return Runs::kMaybe;
  not_one_[not_ones_] = object.identity;
  not_ones_ = std::min(not_ones_ + 1, 3u);
  return Runs::kNothing;
}

bool PythonFrames::copy(std::uint64_t from, void* to, std::size_t bytes) const noexcept {
  if (!trusted_ && StackMemory::may_check() && StackMemory::read_checked(from, to, bytes))
    return true;
  if (!trusted_ && StackMemory::may_check()) return false;
  auto* out = static_cast<unsigned char*>(to);
  for (; bytes >= sizeof(std::uint64_t); bytes -= sizeof(std::uint64_t)) {
    const std::uint64_t word = StackMemory::loaded(from);
    std::memcpy(out, &word, sizeof word);
    from += sizeof word;
    out += sizeof word;
  }
  // What is left is in objects with more behind it, but for texts, which end with a zero.
  for (; bytes != 0; --bytes)
    *out++ = *reinterpret_cast<const volatile unsigned char*>(from++);
  return true;
}

// In this part of the stack; 0: there is none. `known`: whether the thread's records could be read. A thread without a state
// runs no Python code.
std::uint64_t PythonFrames::record_in(std::uint64_t state, std::uint64_t stack,
                                      std::uint64_t cfa, bool& known) const noexcept {
  std::uint64_t record = 0;
  known = copy(state + kStateRecord, &record, sizeof record);
  // Who runs no Python code may be about to: in a sub-interpreter, with another state.
  if (record == state + kStateFirst) known = false;
  for (unsigned i = 0;
       known && record != 0 && record != state + kStateFirst && i != kMaxRecords; ++i) {
    if (record >= stack && record < cfa) return record;
    known = record % 8 == 0 && copy(record + kRecordPrevious, &record, sizeof record);
  }
  return 0;
}

// The frame behind one that is not linked to it: of a function that returns. 0: there is none.
std::uint64_t PythonFrames::left_behind(std::uint64_t frame,
                                        std::uint64_t entry) const noexcept {
  const auto state = reinterpret_cast<std::uint64_t>(interpreter_.state());
  std::uint64_t part[2];  // of the stack of frames: begin, and end of what is used
  FrameWords words;
  std::uint32_t sizes[3];
  if (state == 0 || !copy(state + kStatePart, part, sizeof part) ||
      frame - part[0] >= part[1] - part[0] ||
      !copy(frame + kFrameCode, &words, sizeof words) || words.owner != 0 ||
      !copy(words.code + kCodeStack, sizes, sizeof sizes))
    return 0;
  const std::uint64_t behind =
      frame + kFrameBytes + 8 * (std::uint64_t{sizes[0]} + sizes[2]);
  std::uint64_t type = 0;
  if (behind == entry || behind >= part[1] || part[1] - behind < kFrameBytes ||
      !copy(behind + kFrameCode, &words, sizeof words) || words.previous != frame ||
      !StackMemory::read_checked(words.code + sizeof type, &type, sizeof type) ||
      type != interpreter_.code_type)
    return 0;
  return behind;
}

unsigned PythonFrames::read(Runs& runs, std::uint64_t stack, std::uint64_t cfa,
                            CallFrame* out, unsigned room, StackWord*& word,
                            Walk& walk) noexcept {
  if (runs == Runs::kMaybe) {
    const auto state = reinterpret_cast<std::uint64_t>(interpreter_.state());
    if (state == 0) return 0;  // now
    bool known = false;
    const std::uint64_t record = record_in(state, stack, cfa, known);
    walk.settled &= known;
    if (!known) return 0;
    runs = Runs::kNothing;
    if (record == 0 || (record_below_ != 0 && record_below_ != cfa - record)) return 0;
    record_below_ = cfa - record;
    runs = Runs::kPython;
  }
  const bool settled = walk.settled;
  walk.settled = false;  // until all frames are read
  const std::uint64_t record = cfa - record_below_;
  StackWord* next = word;
  std::uint64_t frame = StackMemory::loaded(record + kRecordFrame);
  *next++ = {record + kRecordFrame, 0, frame};
  if (frame == 0 || frame % 8 != 0) return 0;
  if (const std::uint64_t behind = left_behind(frame, walk.entry); behind != 0)
    frame = behind;
  for (unsigned count = 0; count != room;) {
    FrameWords words;
    std::uint64_t of_code[2];
    if (frame == 0 || frame % 8 != 0 || !copy(frame + kFrameCode, &words, sizeof words) ||
        words.code == 0 || words.code % 8 != 0 ||
        !copy(words.code + kCodeName, of_code, sizeof of_code))
      return 0;
    const std::uint64_t place =
        place_of(words.code, words.instruction, of_code[0], of_code[1]);
    if (place == 0) return 0;
    out[count++] = {place, frame};
    *next++ = {(frame + kFrameInstruction) | StackWord::kBelow, words.previous,
               words.instruction};
    *next++ = {(words.code + kCodeLines) | StackWord::kBelow, of_code[0], of_code[1]};
    if (words.is_entry || count == room) {
      trusted_ = trusted_ || words.is_entry;
      word = next;
      walk = {frame, settled};
      return count;
    }
    frame = words.previous;
  }
  return 0;
}

std::uint64_t PythonFrames::place_of(std::uint64_t code, std::uint64_t instruction,
                                     std::uint64_t name, std::uint64_t lines) noexcept {
  auto& slot = known_->places[(instruction >> 1) * 0x9e3779b97f4a7c15 >> 52];
  if (slot.instruction == instruction && slot.name == name && slot.lines == lines)
      [[likely]]
    return slot.place;
  const recorder::SlowPath slow_path;
  std::uint64_t place = 0;
  recorder::attempted([&] { place = learn(code, instruction); });
  if (place != 0) slot = {instruction, name, lines, place};
  return place;
}

std::uint64_t PythonFrames::learn(std::uint64_t code, std::uint64_t instruction) {
  ObjectHead head;
  if (!copy(code, &head, sizeof head) || head.type != interpreter_.code_type ||
      head.size == 0 || head.size > kMaxBytes)
    return 0;
  // A frame that has just begun is before its first unit.
  const std::uint64_t begin = code + kCodeUnits;
  const std::uint64_t unit = instruction < begin ? 0 : (instruction - begin) / 2;
  if (unit >= head.size || instruction + 2 < begin) return 0;
  const std::uint32_t number = number_of(code);
  if (number == 0) return 0;
  Function& function = known_->functions[number - 1];
  const std::uint32_t call = function.bytecode.call(static_cast<std::uint32_t>(unit));
  const std::uint64_t in = kPlace | std::uint64_t{number} << kUnitBits;
  if (const auto [at, is_new] = function.loops.try_emplace(call); is_new)
    for (const std::uint32_t header : function.bytecode.loops(call))
      at->second.push_back(in | header);
  return in | call;
}

// The function's, from 1; 0: none.
std::uint32_t PythonFrames::number_of(std::uint64_t code) {
  const Reader reader([this](std::uint64_t from, void* to, std::size_t bytes) {
    return copy(from, to, bytes);
  });
  Known& known = *known_;
  const auto first_line = static_cast<std::uint32_t>(reader.word(code + kCodeFirstLine));
  const Known::Code now{reader.word(code + kCodeName), reader.word(code + kCodeLines),
                        reader.word(code + 16), first_line, 0};
  if (const auto at = known.codes.find(code);
      at != known.codes.end() && at->second.name == now.name &&
      at->second.lines == now.lines && at->second.size == now.size &&
      at->second.first_line == first_line)
    return at->second.number;
  const std::vector<std::uint8_t> units = reader.bytes_at(code + kCodeUnits, 2 * now.size);
  const std::vector<std::uint8_t> lines = reader.bytes_of(now.lines);
  const std::vector<std::uint8_t> exceptions =
      reader.bytes_of(reader.word(code + kCodeExceptions));
  Function made{reader.text_of(now.name),
                reader.text_of(reader.word(code + kCodeFile)),
                lines,
                first_line,
                code::Bytecode({units, lines, exceptions, first_line}),
                {}};
  const auto as_text = [](const std::vector<std::uint8_t>& of) {
    return std::string_view(reinterpret_cast<const char*>(of.data()), of.size());
  };
  std::uint64_t hash = made.bytecode.hash() + first_line;
  for (const std::string_view part :
       {std::string_view(made.name), std::string_view(made.file), as_text(lines),
        as_text(exceptions)})
    hash = mixed_with(hash, part);
  std::uint32_t& number = known.numbers[hash];
  if (number == 0) {
    if (known.functions.size() == kMaxFunctions) return 0;
    known.functions.push_back(std::move(made));
    number = static_cast<std::uint32_t>(known.functions.size());
  }
  if (known.codes.size() == kMaxCodes) known.codes.clear();
  Known::Code& kept = known.codes[code];
  kept = now;
  kept.number = number;
  return number;
}

const PythonFrames::Function* PythonFrames::function_at(
    std::uint64_t place) const noexcept {
  const std::uint64_t number = (place & ~kPlace) >> kUnitBits;
  if (known_ == nullptr || number == 0 || number > known_->functions.size()) return nullptr;
  return &known_->functions[number - 1];
}

std::span<const std::uint64_t> PythonFrames::loops(std::uint64_t place) const noexcept {
  const Function* const function = function_at(place);
  if (function == nullptr) return {};
  const auto found = function->loops.find(static_cast<std::uint32_t>(place & kUnit));
  return found == function->loops.end() ? std::span<const std::uint64_t>() : found->second;
}

bool PythonFrames::forward(std::uint64_t from, std::uint64_t to) const noexcept {
  if (PythonFrames::function(from) != PythonFrames::function(to)) return false;
  bool forward = true;
  const Function* const function = function_at(from);
  recorder::attempted([&] {
    forward = function == nullptr ||
              function->bytecode.forward(static_cast<std::uint32_t>(from & kUnit),
                                         static_cast<std::uint32_t>(to & kUnit));
  });
  return forward;
}

PythonFrames::Source PythonFrames::source_of_call(std::uint64_t place) const noexcept {
  const Function* const function = function_at(place);
  if (function == nullptr) return {};
  const auto unit = static_cast<std::uint32_t>(place & kUnit);
  const std::uint32_t line =
      code::bytecode_line(function->lines, function->first_line, unit);
  return {function->name, function->file, unit, line, line};
}

PythonFrames::Source PythonFrames::source(std::uint64_t header) const noexcept {
  const Function* const function = function_at(header);
  if (function == nullptr) return {};
  const auto offset = static_cast<std::uint32_t>(header & kUnit);
  const code::Bytecode::Lines lines = function->bytecode.lines(offset);
  return {function->name, function->file, offset, lines.first, lines.last};
}

}  // namespace refrain::sampler

namespace refrain::sampler {

PythonInterpreter interpreter_in(std::uint64_t begin, std::uint64_t end) {
  PythonInterpreter found;
  const auto symbol = [begin](const char* of) {
    return const_cast<void*>(base::symbol_in(reinterpret_cast<const void*>(begin), of));
  };
  const auto* const version = static_cast<const unsigned long*>(symbol("Py_Version"));
  // 3.11, and released. In a build that traces references all objects have two words more.
  if (version != nullptr && *version >> 16 == 0x030b && (*version >> 4 & 15) == 15 &&
      symbol("_Py_AddToAllObjects") == nullptr) {
    void* const state = symbol("PyGILState_GetThisThreadState");
    void* const type = symbol("PyCode_Type");
    const auto evaluates =
        reinterpret_cast<std::uint64_t>(symbol("_PyEval_EvalFrameDefault"));
    if (state != nullptr && type != nullptr && evaluates >= begin && evaluates < end)
      found = {begin, end, reinterpret_cast<void* (*)()>(state),
               reinterpret_cast<std::uint64_t>(type)};
  }
  return found;
}

namespace python {

void put_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 63));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 63));
    put(0x80 | (code & 63));
  } else {
    put(0xf0 | (code >> 18 & 7));
    put(0x80 | (code >> 12 & 63));
    put(0x80 | (code >> 6 & 63));
    put(0x80 | (code & 63));
  }
}

}  // namespace python

}  // namespace refrain::sampler
