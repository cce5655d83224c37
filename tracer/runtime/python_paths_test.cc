// Paths through Python code: of an interpreter that is made up here, with the structures of CPython 3.11.
#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tracer/runtime/paths.h"
#include "tracer/runtime/program_facts.h"
#include "tracer/sampler/unwind_lookup.h"

namespace refrain::runtime::python_paths_test {
namespace {

using sampler::PythonFrames;
using Places = std::vector<std::uint64_t>;

template <typename To>
std::uint64_t address(const To* to) {
  return reinterpret_cast<std::uint64_t>(to);
}

int g_code_type;

// An object: bytes at offsets.
class Object {
 public:
  explicit Object(std::size_t bytes) : words_(bytes / 8 + 1) {}
  template <typename Value>
  void put(std::size_t at, Value value) {
    std::memcpy(reinterpret_cast<char*>(words_.data()) + at, &value, sizeof value);
  }
  void put_all(std::size_t at, const std::string& bytes) {
    std::memcpy(reinterpret_cast<char*>(words_.data()) + at, bytes.data(), bytes.size());
  }
  std::uint64_t at(std::size_t offset = 0) const { return address(words_.data()) + offset; }

 private:
  std::vector<std::uint64_t> words_;
};

Object text(const std::string& value) {
  Object made(48 + value.size());
  made.put(16, value.size());
  made.put(32, 1 << 2 | 1 << 5 | 1 << 6);  // bytes, compact, ASCII
  made.put_all(48, value);
  return made;
}
Object bytes(const std::string& value) {
  Object made(32 + value.size());
  made.put(16, value.size());
  made.put_all(32, value);
  return made;
}

// for ...:
//     one()
//     two()
const std::string kUnits(
    "\x5d\x10"
    "\xa6\0\0\0\xab\0\0\0\0\0\0\0\0\0"
    "\xa6\0\0\0\xab\0\0\0\0\0\0\0\0\0"
    "\1\0\x8c\x11"
    "\x53\0",
    36);
constexpr int kOne = 1, kTwo = 8, kReturn = 17;

struct Code {
  explicit Code(const std::string& called)
      : name(text(called)),
        file(text("/a/made.py")),
        lines(bytes(std::string("\x80\0\xbf\0\xbf\0\x80\0", 8))),
        none(bytes("")),
        object(184 + kUnits.size()) {
    object.put(8, &g_code_type);
    object.put(16, kUnits.size() / 2);
    object.put(40, none.at());
    object.put(68, 3);   // stack
    object.put(72, 70);  // first line
    object.put(76, 2);   // variables
    object.put(112, file.at());
    object.put(128, name.at());
    object.put(136, lines.at());
    object.put_all(184, kUnits);
  }
  std::uint64_t unit(int number) const {
    return object.at(184) + 2 * static_cast<std::uint64_t>(number);
  }
  Object name, file, lines, none, object;
};

struct Frame {
  std::uint64_t before[4];
  std::uint64_t code;
  std::uint64_t object;
  const Frame* previous;
  std::uint64_t instruction;
  int top;
  bool is_entry;
  char owner;
  std::uint64_t variables[5];  // those of Code

  void set(const Code& of, int unit, const Frame* caller, bool first) {
    code = of.object.at();
    previous = caller;
    instruction = of.unit(unit);
    is_entry = first;
  }
};
static_assert(sizeof(Frame) == 72 + 8 * 5);

struct Record {
  std::uint64_t tracing;
  const Frame* frame;
  Record* previous;
};
struct State {
  std::uint64_t before[7];
  Record* record;
  std::uint64_t between[29];
  const Frame* part;
  const Frame* used;
} g_state;
static_assert(offsetof(State, record) == 56 && offsetof(State, part) == 296);

Paths* g_paths = nullptr;
using Body = std::function<std::uint32_t()>;

#if defined(__clang__)
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

APART std::uint32_t call() {
  const std::uint32_t path = g_paths->find(REFRAIN_CALL_SITE, 1);
  asm volatile("" ::: "memory");
  return path;
}
// The interpreter.
APART std::uint32_t evaluate(const Frame* frame, const Body& body) {
  Record record{0, frame, g_state.record};
  g_state.record = &record;
  asm volatile("" : : "r"(&record) : "memory");
  const std::uint32_t path = body();
  g_state.record = record.previous;
  asm volatile("" : : "r"(&record) : "memory");
  return path;
}
struct Made {
  Made() : paths(std::make_unique<Paths>()) {
    paths->begin_on_this_thread();  // which forgets what was known
    sampler::CodeObject object;
    REQUIRE(
        sampler::find_object(address(reinterpret_cast<const void*>(&evaluate)), object));
    paths->python().set({object.begin, object.end, []() -> void* { return &g_state; },
                         address(&g_code_type)});
    g_paths = paths.get();
    g_state = {};
    g_state.part = frames;
    g_state.used = frames + 8;
  }
  std::uint32_t in(const Frame* frame) {
    return evaluate(frame, [] { return call(); });
  }
  Places places(std::uint32_t path) const {
    Places found;
    for (const Paths::Frame& frame : paths->frames(path))
      if (PythonFrames::is_place(frame.place)) found.push_back(frame.place);
    return found;
  }
  // Its bases, too.
  std::vector<std::uint64_t> bases(std::uint32_t path) const {
    std::vector<std::uint64_t> found;
    for (const Paths::Frame& frame : paths->frames(path, paths->variant(path)))
      if (PythonFrames::is_place(frame.place)) found.push_back(frame.base);
    return found;
  }

  std::unique_ptr<Paths> paths;
  Frame frames[8]{};
};

TEST_CASE("functions of Python are frames in place of the interpreter's function") {
  Made made;
  const Code outer("outer"), inner("inner");
  made.frames[0].set(outer, kOne, nullptr, true);
  made.frames[1].set(inner, kTwo, &made.frames[0], false);
  std::uint32_t found[4];
  for (std::uint32_t& path : found) path = made.in(&made.frames[1]);
  REQUIRE(found[0] != 0);
  for (const std::uint32_t path : found) CHECK(path == found[0]);
  CHECK(made.paths->walks() == 1);
  const Places places = made.places(found[0]);
  REQUIRE(places.size() == 2);
  CHECK(made.bases(found[0]) ==
        std::vector<std::uint64_t>{address(&made.frames[0]), address(&made.frames[1])});
  CHECK(PythonFrames::function(places[0]) != PythonFrames::function(places[1]));
  const PythonFrames& python = made.paths->python();
  REQUIRE(python.loops(places[0]).size() == 1);
  const PythonFrames::Source source = python.source(python.loops(places[0])[0]);
  CHECK(source.function == "outer");
  CHECK(source.file == "/a/made.py");
  CHECK(source.first_line == 70);

  // From one place of this function: another instruction, one of the same call, the first again.
  std::uint32_t path[4];
  const int units[] = {kOne, kTwo, kTwo + 6, kOne};
  for (int i = 0; i != 4; ++i) {
    made.frames[0].instruction = outer.unit(units[i]);
    path[i] = made.in(&made.frames[1]);
  }
  CHECK(path[1] != path[0]);
  CHECK(path[2] == path[1]);
  CHECK(path[3] == path[0]);
  CHECK(made.places(path[0]) == places);
  const Places later = made.places(path[1]);
  CHECK(later[1] == places[1]);
  CHECK(PythonFrames::function(later[0]) == PythonFrames::function(places[0]));
  CHECK(python.forward(places[0], later[0]));
  CHECK_FALSE(python.forward(later[0], places[0]));
  CHECK_FALSE(python.forward(places[0], places[1]));
  made.frames[1].is_entry = true;
  CHECK(made.places(made.in(&made.frames[1])) == Places{places[1]});
}

TEST_CASE(
    "code at the address of other code is other code, and the same code elsewhere the same") {
  Made made;
  Code code("one");
  made.frames[0].set(code, kOne, nullptr, true);
  const Object other = text("other");
  const Code copy("one");
  std::uint32_t path[4];
  for (int i = 0; i != 4; ++i) {
    if (i == 1) code.object.put(128, other.at());
    if (i == 2) made.frames[0].set(copy, kOne, nullptr, true);
    path[i] = made.in(&made.frames[0]);
  }
  REQUIRE(made.places(path[0]).size() == 1);
  CHECK(path[1] != path[0]);
  CHECK(PythonFrames::function(made.places(path[1]).at(0)) !=
        PythonFrames::function(made.places(path[0]).at(0)));
  CHECK(path[2] == path[0]);
  CHECK(path[3] == path[0]);
}

TEST_CASE("an interpreter that calls itself, by way of other functions") {
  Made made;
  const Code outer("outer"), inner("inner");
  made.frames[0].set(outer, kOne, nullptr, true);
  made.frames[1].set(inner, kOne, &made.frames[0], true);
  const auto both = [&] {
    return evaluate(&made.frames[0], [&] { return made.in(&made.frames[1]); });
  };
  std::uint32_t path[4];
  for (int i = 0; i != 4; ++i) {
    if (i == 3) made.frames[0].instruction = outer.unit(kTwo);
    path[i] = both();
  }
  CHECK(made.places(path[0]).size() == 2);
  CHECK(path[1] == path[0]);
  CHECK(path[2] == path[0]);
  CHECK(path[3] != path[0]);
  CHECK(made.paths->walks() == 2);
}

TEST_CASE("frames of a stack that is not mapped any more are not read") {
  Made made;
  const Code code("code");
  const std::size_t bytes = 4096;
  void* const room =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(room != MAP_FAILED);
  auto* const gone = new (room) Frame{};
  gone->set(code, kOne, nullptr, true);
  made.frames[0].set(code, kTwo, nullptr, true);
  std::uint32_t path[3];
  for (int i = 0; i != 3; ++i) {
    if (i == 1) munmap(room, bytes);
    path[i] = made.in(i == 0 ? gone : &made.frames[0]);
  }
  CHECK(made.places(path[0]).size() == 1);
  CHECK(made.places(path[1]).size() == 1);
  CHECK(path[1] != path[0]);
  CHECK(path[2] == path[1]);
}

TEST_CASE("a function that returns while what it had is destroyed is in the path") {
  Made made;
  const Code outer("outer"), inner("inner");
  made.frames[0].set(outer, kOne, nullptr, true);
  made.frames[1].set(inner, kReturn, &made.frames[0], false);
  made.frames[2].set(inner, kTwo, &made.frames[0], true);  // the destructor
  const auto destroy = [&] {
    return evaluate(&made.frames[0], [&] { return made.in(&made.frames[2]); });
  };
  CHECK(made.places(destroy()).size() == 3);
  // The destructor's own frame lies there: nothing was left behind.
  Made other;
  other.frames[0].set(outer, kOne, nullptr, true);
  other.frames[1].set(inner, kTwo, &other.frames[0], true);
  CHECK(other.places(evaluate(&other.frames[0], [&] { return other.in(&other.frames[1]); }))
            .size() == 2);
}

TEST_CASE("what is no frame is not believed") {
  Made made;
  const Code code("code");
  made.frames[0].set(code, kOne, nullptr, true);
  made.frames[0].code = address(&g_state);  // no code object
  CHECK(made.places(made.in(&made.frames[0])).empty());
  CHECK(made.places(made.in(nullptr)).empty());
  made.frames[0].set(code, kOne, nullptr, false);  // a chain without an end
  CHECK(made.places(made.in(&made.frames[0])).empty());
  made.frames[0].set(code, 5000, nullptr, true);  // outside of its code
  CHECK(made.places(made.in(&made.frames[0])).empty());
  made.frames[0].set(code, kOne, nullptr, true);
  CHECK(made.places(made.in(&made.frames[0])).size() == 1);
}

}  // namespace
}  // namespace refrain::runtime::python_paths_test
