// Paths compared with libgcc's unwinder: one number exactly where the rows of return addresses are the same.
#include "tracer/runtime/paths.h"

#include <alloca.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tracer/sampler/walked_functions.h"

namespace refrain::runtime::paths_test {
namespace {

using Places = std::vector<std::uint64_t>;

// libgcc's frames from the call on, outermost first.
struct Truth {
  CallSite site;
  Places places;
  Places bases;
  static _Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
    auto& truth = *static_cast<Truth*>(data);
    const std::uint64_t place = _Unwind_GetIP(context);
    const std::uint64_t stack = _Unwind_GetCFA(context);
    if (truth.places.empty() &&
        (place != reinterpret_cast<std::uint64_t>(truth.site.returns_to) ||
         stack != reinterpret_cast<std::uint64_t>(truth.site.stack)))
      return _URC_NO_REASON;
    if (place == 0) return _URC_END_OF_STACK;
    // Of the frame before: its stack pointer is its caller's.
    if (!truth.places.empty()) truth.bases.back() = stack - sizeof(std::uint64_t);
    if (truth.places.size() == Paths::kMaxFrames) return _URC_END_OF_STACK;
    truth.places.push_back(place);
    truth.bases.push_back(0);
    return _URC_NO_REASON;
  }
};
Truth truth_of(CallSite site) {
  Truth truth{site, {}, {}};
  _Unwind_Backtrace(Truth::visit, &truth);
  std::reverse(truth.places.begin(), truth.places.end());
  std::reverse(truth.bases.begin(), truth.bases.end());
  return truth;
}

Places places_of(const Paths& paths, std::uint32_t path) {
  Places places;
  for (const Paths::Frame& frame : paths.frames(path)) places.push_back(frame.place);
  return places;
}

// Numbers and rows are each other's.
class Checked {
 public:
  explicit Checked(Paths::Hidden hidden = nullptr)
      : paths(std::make_unique<Paths>(hidden)), all_shown(hidden == nullptr) {}

  std::uint32_t find(CallSite site, std::uint64_t callee = 1) {
    const auto [none, truth, bases] = truth_of(site);
    const std::uint32_t path = paths->find(site, callee);
    ++calls;
    if (path == 0) {
      ++unknown;
      return 0;
    }
    // (What lies above a frame that nothing can be walked beyond is a stack of its own.)
    const std::uint64_t stack = paths->stack(path);
    const auto [known, fresh] = numbers.try_emplace({truth, callee | stack << 32}, path);
    good &= known->second == path && path <= paths->size() && paths->callee(path) == callee;
    if (fresh) good &= places_of(*paths, path) == truth && path == numbers.size();
    const auto frames = paths->frames(path, paths->variant(path));
    const bool moving = paths->variant(path) == Paths::kMoving;
    for (std::size_t i = 0; all_shown && i != frames.size(); ++i)
      good &= frames[i].base == bases[i] || (moving && frames[i].base == 0);
    return path;
  }

  std::unique_ptr<Paths> paths;
  std::map<std::pair<Places, std::uint64_t>, std::uint32_t> numbers;
  std::uint64_t calls = 0;
  std::uint64_t unknown = 0;
  bool good = true;
  const bool all_shown;  // no hidden frames
};

Checked* g_checked = nullptr;
volatile int g_after = 0;
volatile int g_two =
    2;  // not to be known to the compiler, which would make two calls of a loop's one
CallSite g_site;

// The library, as a wrapper would use it: of the function that calls this.
#define HERE                                                   \
  CallSite {                                                   \
    __builtin_return_address(0), __builtin_dwarf_cfa(),        \
        *static_cast<void* const*>(__builtin_frame_address(0)) \
  }
#define NOINLINE __attribute__((noinline))
#if !defined(__clang__)
#undef NOINLINE
#define NOINLINE __attribute__((noinline, noclone))
#endif

NOINLINE std::uint32_t call(std::uint64_t callee = 1) {
  g_site = HERE;
  const std::uint32_t path = g_checked->find(g_site, callee);
  asm volatile("" ::: "memory");
  return path;
}

int call_at_end(int number) {
  g_site = HERE;
  g_after = static_cast<int>(g_checked->find(g_site));
  return number;
}

NOINLINE std::uint32_t deep(int depth) {
  const std::uint32_t path = depth == 0 ? call() : deep(depth - 1);
  g_after = 1;
  return path;
}

NOINLINE std::uint32_t with_room(std::size_t bytes) {
  auto* const room = static_cast<volatile char*>(alloca(bytes));  // not written
  asm volatile("" : : "r"(room) : "memory");
  const std::uint32_t path = call();
  g_after = 2;
  return path;
}
NOINLINE std::uint32_t calls_plainly() {
  const std::uint32_t path = call();
  g_after = 3;
  return path;
}
NOINLINE std::uint32_t room_in_the_middle(std::size_t bytes) {
  auto* const room = static_cast<volatile char*>(alloca(bytes));
  asm volatile("" : : "r"(room) : "memory");
  const std::uint32_t path = calls_plainly();
  g_after = 4;
  return path;
}
NOINLINE std::uint32_t calls_aligned() {
  alignas(64) volatile int numbers[16];
  numbers[3] = 1;
  // Has gcc keep the canonical frame address in memory.
  auto* const room = static_cast<volatile char*>(alloca(static_cast<std::size_t>(g_two)));
  asm volatile("" : : "r"(room) : "memory");
  const std::uint32_t path = call();
  g_after = numbers[3];
  return path;
}
NOINLINE std::uint32_t room_before_aligned(std::size_t bytes) {
  auto* const room = static_cast<volatile char*>(alloca(bytes));
  asm volatile("" : : "r"(room) : "memory");
  const std::uint32_t path = calls_aligned();
  g_after = 10;
  return path;
}
NOINLINE std::uint32_t one_more(std::size_t bytes) {
  const std::uint32_t path = room_in_the_middle(bytes);
  g_after = 5;
  return path;
}

}  // namespace

TEST_CASE(
    "Paths: functions - of all kinds, as libgcc unwinds them, and known when they come again") {
  using namespace sampler::testing;
  for (const WalkedFunctions* functions : {&kWithFramePointer, &kWithoutFramePointer,
                                           &kUnoptimized, &kOnlyFramePointer, &kNothing}) {
    Checked checked;
    g_checked = &checked;
    const auto walk_all = [&] {
      for (const auto function :
           {functions->recursion, functions->variable_length, functions->aligned_locals,
            functions->many_registers, functions->many_arguments, functions->sorting})
        for (const int depth : {0, 1, 2, 7, 20, 80}) function(depth, call_at_end);
    };
    INFO(functions->name);
    std::uint64_t walks = 0;
    std::uint32_t size = 0;
    for (int round = 0; round < 2 * g_two; ++round) {
      walk_all();
      if (round != 0) continue;
      walks = checked.paths->walks();
      size = checked.paths->size();
    }
    CHECK(checked.good);
    CHECK(checked.unknown == 0);
    CHECK(checked.paths->size() == size);
#if defined(__x86_64__)
    const bool all_tables = functions != &kOnlyFramePointer && functions != &kNothing;
    if (all_tables) CHECK(checked.paths->unwinds() == 0);
    CHECK(checked.paths->walks() == walks);
#endif
  }
}

TEST_CASE("Paths: recursion - of several depths from one site") {
  Checked checked;
  g_checked = &checked;
  std::mt19937 random(3);
  std::vector<std::uint32_t> paths(50);
  for (int i = 0; i < 3000; ++i) {
    const std::size_t depth = random() % paths.size();
    std::uint32_t& path = paths[depth];
    const std::uint32_t found = deep(static_cast<int>(depth));
    if (path == 0) path = found;
    CHECK(path == found);
  }
  CHECK(checked.good);
  CHECK(checked.paths->size() == paths.size());
  CHECK(checked.paths->walks() <= paths.size());
}

// The words of the longer way lie unchanged in the memory that the other one has not written.
TEST_CASE("Paths: stale words - where a frame of variable size lies over old ones") {
  Checked checked;
  g_checked = &checked;
  std::size_t bytes = 16;
  [[maybe_unused]] int alike = 0;
  std::vector<std::uint32_t> longer;
  std::vector<std::uint32_t> shorter;
  const void* stack = nullptr;
  for (int round = 0; round < 20; ++round) {
    longer.push_back(one_more(16));
    stack = g_site.stack;
    do {
      shorter.push_back(room_in_the_middle(bytes));
    } while (g_site.stack > stack && (bytes += 16) != 0);
    alike += g_site.stack == stack ? 1 : 0;
  }
  // Sanitizers and clang put more than is asked for between frames.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
  CHECK(alike == 20);
#endif
  CHECK(longer[0] != shorter[0]);
  CHECK(std::count(longer.begin(), longer.end(), longer[0]) ==
        static_cast<long>(longer.size()));
  CHECK(std::count(shorter.begin(), shorter.end(), shorter[0]) ==
        static_cast<long>(shorter.size()));
  CHECK(checked.good);
}

// The aligned frame is where it was, and its caller's is not.
TEST_CASE(
    "Paths: stale words - where a frame that aligns itself lies under one of variable size") {
  Checked checked;
  g_checked = &checked;
  std::vector<std::uint32_t> paths;
  for (std::size_t i = 0; i < 40; ++i)
    paths.push_back(room_before_aligned(16 + 16 * (i % 2)));
  for (std::size_t i = 0; i < 40; ++i)
    paths.push_back(room_before_aligned(48 - 16 * (i % 2)));
  CHECK(std::count(paths.begin(), paths.begin() + 40, paths[0]) == 40);
  CHECK(std::count(paths.begin() + 40, paths.end(), paths[40]) == 40);
  CHECK(checked.good);
}

TEST_CASE("Paths: variable sizes - one number; the bases that vary are not known") {
  Checked checked;
  g_checked = &checked;
  std::vector<std::uint32_t> direct;
  std::vector<std::uint32_t> middle;
  std::uint64_t walks = 0;
  for (std::size_t i = 0; i < 300; ++i) {
    direct.push_back(with_room(16 + 64 * (i * 7 % 100)));
    if (i == 0) walks = checked.paths->walks();
  }
  CHECK(std::count(direct.begin(), direct.end(), direct[0]) == 300);
#if defined(__x86_64__)
  CHECK(checked.paths->walks() == walks);  // by the frame pointer
#endif
  CHECK(checked.paths->variant(direct[0]) == 0);
  for (std::size_t i = 0; i < 300; ++i) {
    middle.push_back(room_in_the_middle(16 + 64 * (i * 7 % 100)));
    CHECK(checked.paths->variant(middle[0]) == std::min<std::size_t>(i, Paths::kMoving));
  }
  CHECK(std::count(middle.begin(), middle.end(), middle[0]) == 300);
  CHECK(checked.good);
  const auto frames = checked.paths->frames(middle[0], Paths::kMoving);
  REQUIRE(frames.size() > 3);
  CHECK(frames.back().base == 0);
  CHECK(frames[frames.size() - 2].base != 0);
  CHECK(frames[frames.size() - 3].base != 0);
  CHECK(frames.front().base == 0);
}

TEST_CASE("Paths: callees - one site that calls several") {
  Checked checked;
  g_checked = &checked;
  std::vector<std::uint32_t> paths;
  for (int i = 0; i < 2 * g_two; ++i)
    paths.push_back(call(static_cast<std::uint64_t>(i % 2)));
  CHECK(paths[0] != paths[1]);
  CHECK(paths[0] == paths[2]);
  CHECK(paths[1] == paths[3]);
  CHECK(checked.good);
}

namespace {

NOINLINE std::uint32_t hidden_frame(bool left) {
  const std::uint32_t path = left ? calls_plainly() : calls_plainly();
  g_after = 6;
  return path;
}
NOINLINE std::uint32_t through_hidden(bool left) {
  const std::uint32_t path = hidden_frame(left);
  g_after = 7;
  return path;
}
unsigned g_asked = 0;
bool in_hidden_frame(std::uint64_t place) {
  ++g_asked;
  return _Unwind_FindEnclosingFunction(reinterpret_cast<void*>(place)) ==
         reinterpret_cast<void*>(&hidden_frame);
}

}  // namespace

TEST_CASE("Paths: hidden frames - those in a row are one, which is no place") {
  Checked all;
  g_checked = &all;
  const Places with = places_of(*all.paths, through_hidden(true));
  Checked hiding(in_hidden_frame);
  g_checked = &hiding;
  std::vector<std::uint32_t> paths;
  for (int i = 0; i < 2 * g_two; ++i) paths.push_back(through_hidden(i % 2 == 0));
  CHECK(paths[0] != 0);
  CHECK(std::count(paths.begin(), paths.end(), paths[0]) == 4);
  const Places without = places_of(*hiding.paths, paths[0]);
  REQUIRE(without.size() == with.size());
  CHECK(without.back() == with.back());
  CHECK(without[without.size() - 2] == sampler::CallWalk::kHiddenPlace);
  CHECK(without[without.size() - 3] == with[with.size() - 3]);
  CHECK(g_asked >= without.size() - 1);
  CHECK(g_asked < 2 * without.size());
}

namespace {

ucontext_t g_main;
ucontext_t g_coroutine;
std::vector<std::uint32_t> g_paths;

void in_coroutine() {
  for (int i = 0; i < g_two; ++i) {
    g_paths.push_back(calls_plainly());
    swapcontext(&g_coroutine, &g_main);
  }
  asm volatile("");
}

void start_coroutine(char* stack, std::size_t bytes, void (*function)()) {
  getcontext(&g_coroutine);
  g_coroutine.uc_stack.ss_sp = stack;
  g_coroutine.uc_stack.ss_size = bytes;
  g_coroutine.uc_link = &g_main;
  makecontext(&g_coroutine, function, 0);
}

}  // namespace

TEST_CASE("Paths: coroutines - on stacks of their own, between the thread's calls") {
  Checked checked;
  g_checked = &checked;
  g_paths.clear();
  std::vector<char> memory(1 << 18);
  std::vector<std::uint32_t> own;
  const auto rounds = static_cast<std::size_t>(6 * g_two);
  // Later ones on other stacks.
  for (std::size_t i = 0; i < rounds; ++i) {
    start_coroutine(memory.data(), memory.size() - i / 2 * 4096, in_coroutine);
    for (int j = 0; j < 3; ++j) {
      own.push_back(calls_plainly());
      swapcontext(&g_main, &g_coroutine);
    }
  }
  CHECK(checked.good);
  CHECK(checked.unknown == 0);
  CHECK(std::count(own.begin(), own.end(), own[0]) == static_cast<long>(own.size()));
  REQUIRE(g_paths.size() == 2 * rounds);
  // One for each of the stacks.
  for (std::size_t i = 0; i != g_paths.size(); ++i) CHECK(g_paths[i] == g_paths[i / 4 * 4]);
  CHECK(checked.paths->size() == 1 + rounds / 2);
}

namespace {

int g_depth = 0;
const void* g_deep_stack = nullptr;

void deep_in_coroutine() {
  g_paths.push_back(deep(g_depth));
  g_deep_stack = g_site.stack;
  asm volatile("");
}

}  // namespace

TEST_CASE(
    "Paths: coroutines - a stack ends where a former one went on, and nothing is mapped behind it") {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kBytes = 32 * kPage;
  constexpr int kMore = 30;  // frames
  auto* const memory = static_cast<char*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(memory != MAP_FAILED);
  Checked checked;
  g_checked = &checked;
  g_paths.clear();
  char* const end = memory + kBytes - kPage;
  const auto run = [&](std::size_t bytes, int depth) {
    g_depth = depth;
    start_coroutine(memory, bytes, deep_in_coroutine);
    swapcontext(&g_main, &g_coroutine);
    return reinterpret_cast<std::uintptr_t>(g_deep_stack);
  };
  const auto whole = static_cast<std::size_t>(end - memory);
  const std::size_t frame = (run(whole, 4) - run(whole, 6)) / 2;
  if (kMore * frame < kPage) {
    const std::uintptr_t stack = run(whole + kMore * frame, 5 + kMore);
    REQUIRE(mprotect(end, kPage, PROT_NONE) == 0);
    CHECK(run(whole, 5) == stack);
    CHECK(g_paths[3] != 0);
    CHECK(g_paths[3] != g_paths[2]);
  }
  CHECK(checked.good);
  munmap(memory, kBytes);
}

namespace {

void on_signal(int) {
  g_paths.push_back(calls_plainly());
  asm volatile("");
}

}  // namespace

TEST_CASE("Paths: signals - in a handler, on the thread's stack and another") {
  Checked checked;
  g_checked = &checked;
  std::vector<char> memory(1 << 18);
  stack_t stack{};
  stack_t before;
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  sigaltstack(&stack, &before);
  for (const int flags : {0, SA_ONSTACK}) {
    g_paths.clear();
    struct sigaction action {};
    struct sigaction former;
    action.sa_handler = on_signal;
    action.sa_flags = flags;
    sigaction(SIGUSR1, &action, &former);
    for (int i = 0; i < 5; ++i) {
      raise(SIGUSR1);
      calls_plainly();
    }
    sigaction(SIGUSR1, &former, nullptr);
    REQUIRE(g_paths.size() == 5);
    CHECK(g_paths[0] != 0);
    CHECK(std::count(g_paths.begin(), g_paths.end(), g_paths[0]) == 5);
  }
  sigaltstack(&before, nullptr);
  CHECK(checked.good);
}

TEST_CASE("Paths: threads - one after the other") {
  Checked checked;
  g_checked = &checked;
  std::vector<std::uint32_t> paths;
  const auto run = [&] {
    for (int i = 0; i < 2 * g_two; ++i) paths.push_back(deep(i % g_two));
  };
  for (int i = 0; i < g_two; ++i) std::thread(run).join();
  run();
  CHECK(checked.good);
  CHECK(checked.unknown == 0);
  CHECK(std::equal(paths.begin(), paths.begin() + 4, paths.begin() + 4));
  CHECK(paths[0] != paths[8]);
#if defined(__x86_64__)
  CHECK(checked.paths->unwinds() == 0);
#endif
}

TEST_CASE("Paths: what is no call - has no number") {
  Paths paths;
  for (std::uintptr_t address = 0; address < 5000; address += 13)
    CHECK(
        paths.find({reinterpret_cast<const void*>(address), __builtin_dwarf_cfa(), nullptr},
                   1) == 0);
  CHECK(paths.size() == 0);
}

TEST_CASE("Paths: unloaded code - what was known is walked again, with the same numbers") {
  Checked checked;
  g_checked = &checked;
  std::vector<std::uint32_t> paths;
  for (int i = 0; i < 2 * g_two; ++i) {
    paths.push_back(calls_plainly());
    if (i == 2) checked.paths->code_unloaded();
  }
  CHECK(std::count(paths.begin(), paths.end(), 1) == 4);
  CHECK(checked.good);
  CHECK(checked.paths->walks() == 2);
}

// Random call trees of 20 functions.
namespace {

struct Tree {
  std::mt19937 random;
  std::uint64_t calls;  // left
  unsigned deepest;
  unsigned sizes;  // of frames that vary

  bool more() const { return calls != 0; }
  unsigned below(unsigned bound) { return static_cast<unsigned>(random() % bound); }
};
Tree* g_tree = nullptr;

using Function = void (*)(unsigned depth);
extern const Function kFunctions[20];

NOINLINE void leaf(unsigned callee) {
  g_site = HERE;
  if (g_tree->calls != 0) --g_tree->calls;
  g_checked->find(g_site, callee);
  g_after = 8;
}

template <unsigned kNumber>
__attribute__((always_inline)) inline void body(unsigned depth) {
  Tree& tree = *g_tree;
  for (unsigned i = 0, count = 1 + tree.below(3); i != count && tree.more(); ++i) {
    const unsigned what = tree.below(4);
    if (what == 0 || depth >= tree.deepest)
      leaf(tree.below(8) == 0);
    else if (what == 1)
      kFunctions[(kNumber * 7 + 1) % 20](depth + 1);
    else if (what == 2)
      kFunctions[(kNumber * 3 + 2) % 20](depth + 1);
    else
      kFunctions[kNumber](depth + 1);
  }
  g_after = static_cast<int>(kNumber);
}
template <unsigned kNumber>
NOINLINE void varying(unsigned depth) {
  auto* const room =
      static_cast<volatile char*>(alloca(16 + 16 * g_tree->below(g_tree->sizes)));
  asm volatile("" : : "r"(room) : "memory");
  body<kNumber>(depth);
}
template <unsigned kNumber>
NOINLINE void aligned(unsigned depth) {
  alignas(64) volatile int numbers[16];
  numbers[depth % 16] = 1;
  auto* const room = static_cast<volatile char*>(alloca(static_cast<std::size_t>(g_two)));
  asm volatile("" : : "r"(room) : "memory");
  asm volatile("" : : "r"(numbers) : "memory");
  body<kNumber>(depth);
  g_after = numbers[depth % 16];
}
template <unsigned kNumber>
NOINLINE void plain(unsigned depth) {
  body<kNumber>(depth);
}
thread_local unsigned t_depth = 0;
template <unsigned kNumber>
int compared(const void* left, const void* right) {
  if (t_depth != 0) {
    const unsigned depth = t_depth;
    t_depth = 0;
    body<kNumber>(depth);
  }
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}
template <unsigned kNumber>
NOINLINE void sorting(unsigned depth) {
  int numbers[5] = {3, 2, 5, 1, 4};
  t_depth = depth;
  std::qsort(numbers, 5, sizeof numbers[0], compared<kNumber>);
  t_depth = 0;
  g_after = numbers[0];
}
NOINLINE void last(unsigned depth) { kFunctions[5](depth); }
NOINLINE void jumping(unsigned depth) {  // a tail call, and the one in last()
  g_after = 9;
  if (depth % 2 == 0) return last(depth);
  return kFunctions[6](depth);
}

const Function kFunctions[20] = {
    plain<0>,    varying<1>, aligned<2>, sorting<3>, plain<4>,    plain<5>,    plain<6>,
    varying<7>,  aligned<8>, jumping,    plain<10>,  plain<11>,   varying<12>, plain<13>,
    sorting<14>, plain<15>,  jumping,    plain<17>,  aligned<18>, varying<19>};

}  // namespace

TEST_CASE("Paths: fuzz - random call trees, beside libgcc") {
  struct Kind {
    std::uint32_t seed;
    std::uint64_t calls;
    unsigned deepest;
    unsigned sizes;
  };
  for (const Kind& kind :
       {Kind{1, 30000, 4, 1}, Kind{2, 30000, 4, 3}, Kind{3, 20000, 3, 200},
        Kind{4, 10000, 40, 2}, Kind{5, 10000, 90, 1}}) {
    INFO("seed " << kind.seed);
    Checked checked;
    Tree tree{std::mt19937(kind.seed), kind.calls, kind.deepest, kind.sizes};
    g_checked = &checked;
    g_tree = &tree;
    while (tree.more()) kFunctions[tree.below(20)](1);
    CHECK(checked.good);
    CHECK(checked.calls >= kind.calls);
    if (kind.deepest < 40) CHECK(checked.unknown == 0);
    if (kind.deepest < 40) CHECK(checked.paths->walks() < kind.calls / 2);
    if (checked.unknown != 0) CHECK(checked.paths->size() == Paths::kMax);
#if defined(__x86_64__)
    CHECK(checked.paths->unwinds() == 0);
#endif
  }
}

}  // namespace refrain::runtime::paths_test
