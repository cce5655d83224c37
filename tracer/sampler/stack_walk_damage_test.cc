// Registers, stacks and tables that make no sense: a walk reads nothing that is not mapped, and ends.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <random>
#include <vector>

#include "tracer/sampler/frame_rules.h"
#include "tracer/sampler/saved_registers.h"
#include "tracer/sampler/stack_walk.h"
#include "tracer/sampler/unwind_lookup.h"

using namespace refrain::sampler;

namespace {

constexpr unsigned kMax = 64;
constexpr std::size_t kPage = 4096;

std::uint64_t address_of(const void* memory) {
  return reinterpret_cast<std::uint64_t>(memory);
}

CodeObject object_of(std::uint64_t address) {
  CodeObject object;
  REQUIRE(find_object(address, object));
  return object;
}

// Values that registers and stacks might hold, sensible and not.
class Garbage {
 public:
  explicit Garbage(unsigned seed) : random_(seed) {
    ours_ = object_of(address_of(reinterpret_cast<const void*>(&object_of)));
    library_ = object_of(address_of(reinterpret_cast<const void*>(&std::qsort)));
    stack_ = bounds_of_this_thread();
    hole_ = static_cast<unsigned char*>(mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    munmap(hole_ + kPage, kPage);  // mapped pages with a hole between
  }
  ~Garbage() {
    munmap(hole_, kPage);
    munmap(hole_ + 2 * kPage, kPage);
  }
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  std::uint64_t code() {
    const CodeObject& object = below(2) == 0 ? ours_ : library_;
    return object.begin + below(object.end - object.begin);
  }
  std::uint64_t value() {
    switch (below(9)) {
      case 0:
        return random_();
      case 1:
        return below(3);
      case 2:
        return ~below(1000);
      case 3:
        return code();
      case 4:
        return address_of(hole_) + below(3 * kPage);
      case 5:
        return address_of(hole_) + kPage - below(24);
      case 6:
        return stack_.begin + below(stack_.end - stack_.begin);
      case 7:
        return stack_.end - below(10000);
      default:
        return place();
    }
  }
  // Of a stack that may be read.
  std::uint64_t place() { return address_of(words_.data()) + below(words_.size()) * 8; }
  void fill() {
    for (std::uint64_t& word : words_) word = value();
  }
  StackBounds bounds() { return below(3) == 0 ? StackBounds{} : stack_; }
  const CodeObject& ours() const { return ours_; }

 private:
  std::mt19937_64 random_;
  CodeObject ours_;
  CodeObject library_;
  StackBounds stack_;
  unsigned char* hole_;
  std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>(512);
};

}  // namespace

TEST_CASE("Stack walk: damage - registers and stacks of garbage") {
  Garbage garbage(1);
  unsigned walks[3] = {};
  unsigned long frames_found = 0;
  for (unsigned i = 0; i != 30000; ++i) {
    if (i % 100 == 0) garbage.fill();
    ucontext_t context{};
    for (greg_t& value : context.uc_mcontext.gregs)
      value = static_cast<greg_t>(garbage.value());
    if (i % 8 != 0)
      context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(garbage.code());
    if (i % 2 == 0)
      for (const int number : {REG_RSP, REG_RBP})
        context.uc_mcontext.gregs[number] = static_cast<greg_t>(garbage.place());
    std::array<std::uint64_t, kMax> frames;
    const Walk walk = walk_stack(context, garbage.bounds(), frames.data(), kMax);
    if (walk.count == 0 || walk.count > kMax) FAIL(walk.count << " frames");
    if (frames[0] != static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP]))
      FAIL("not what was interrupted");
    ++walks[static_cast<unsigned>(walk.end)];
    frames_found += walk.count;
  }
  // There were walks that ended at once and some that went on.
  CHECK(walks[static_cast<unsigned>(WalkEnd::kUnknownCaller)] > 10000);
  CHECK(frames_found > 30300);
}

namespace {

// From now on the system call fails that reads memory with care.
bool forbid_checked_reads() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{4, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Exit status: 0, or what was wrong.
int walk_without_checked_reads() {
  if (!forbid_checked_reads()) return 1;
  ucontext_t context;
  if (getcontext(&context) != 0) return 2;
  std::array<std::uint64_t, kMax> frames;
  const Walk known = walk_stack(context, bounds_of_this_thread(), frames.data(), kMax);
  if (known.end != WalkEnd::kOutermost || known.count < 5) return 3;
  const Walk unknown = walk_stack(context, {}, frames.data(), kMax);
  if (unknown.end != WalkEnd::kUnknownCaller || unknown.count != 1) return 4;
#if defined(__x86_64__)
  std::array<SavedFrame, 8> saved;
  if (saved_registers(bounds_of_this_thread(), saved.data(), saved.size()) < 3) return 6;
#endif
  return StackMemory::may_check() ? 5 : 0;
}

}  // namespace

TEST_CASE(
    "Stack walk: damage - the checking system call is forbidden: only the stack is read") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(walk_without_checked_reads());
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

namespace {

// A copy of this program's tables that can be damaged: all that the first segment of its file holds.
class Tables {
 public:
  explicit Tables(const CodeObject& object)
      : original_(object), bytes_(object.end - object.begin) {
    readable_ = 0;
    while (readable_ < bytes_.size() &&
           StackMemory::read_checked(object.begin + readable_, bytes_.data() + readable_,
                                     std::min(kPage, bytes_.size() - readable_)))
      readable_ += kPage;
    good_ = bytes_;
  }
  bool hold_tables() const { return original_.index - original_.begin + 1000 < readable_; }
  CodeObject object() const {
    const std::uint64_t begin = address_of(bytes_.data());
    return {begin, begin + bytes_.size(), begin + (original_.index - original_.begin), 0};
  }
  // One byte of the entry of a function and what it has in common with others, or of the index.
  void damage(Garbage& garbage, std::uint64_t entry) {
    const std::uint64_t index = original_.index - original_.begin;
    const std::uint64_t at =
        garbage.below(4) == 0 ? index + garbage.below(64) : entry + garbage.below(80);
    changed_.push_back(at);
    bytes_[at] = static_cast<unsigned char>(garbage.below(256));
  }
  void repair() {
    for (const std::uint64_t at : changed_) bytes_[at] = good_[at];
    changed_.clear();
  }
  std::uint64_t offset_of(const std::uint8_t* place) const {
    return static_cast<std::uint64_t>(place - bytes_.data());
  }

 private:
  CodeObject original_;
  std::vector<unsigned char> bytes_;
  std::vector<unsigned char> good_;
  std::size_t readable_;
  std::vector<std::uint64_t> changed_;
};

}  // namespace

TEST_CASE("Stack walk: damage - unwind tables with wrong bytes") {
  Garbage garbage(2);
  Tables tables(garbage.ours());
  REQUIRE(tables.hold_tables());
  unsigned found = 0;
  unsigned undamaged = 0;
  for (unsigned i = 0; i != 20000; ++i) {
    const CodeObject object = tables.object();
    const std::uint64_t address =
        object.begin + garbage.below(garbage.ours().end - garbage.ours().begin);
    FrameProgram program;
    if (!find_frame_program(object, address, program)) continue;
    ++undamaged;
    const std::uint64_t entry = tables.offset_of(program.own.begin) - 20;
    for (std::uint64_t n = garbage.below(4) + 1; n != 0; --n) tables.damage(garbage, entry);
    FrameRules rules;
    if (find_frame_program(object, address, program) &&
        find_rules(program, address, rules)) {
      ++found;
      FrameRegisters registers;
      for (unsigned number = 0; number != kRegisters; ++number)
        registers.set(number, garbage.value());
      StackMemory memory({}, 0, 0);
      apply_rules(rules, memory, registers);
    }
    tables.repair();
  }
  CHECK(undamaged > 5000);
  CHECK(found > 1000);
}

TEST_CASE("Stack walk: damage - what call instructions look like") {
  const auto ends = [](std::initializer_list<unsigned char> code) {
    std::array<unsigned char, 8> before{};
    before.fill(0x90);
    std::copy(code.begin(), code.end(),
              before.end() - static_cast<std::ptrdiff_t>(code.size()));
    return ends_with_call(before.data());
  };
  CHECK(ends({0xe8, 1, 2, 3, 4}));              // call near
  CHECK(ends({0xff, 0xd0}));                    // call *%rax
  CHECK(ends({0x41, 0xff, 0xd4}));              // call *%r12
  CHECK(ends({0xff, 0x10}));                    // call *(%rax)
  CHECK(ends({0xff, 0x50, 0x18}));              // call *24(%rax)
  CHECK(ends({0x41, 0xff, 0x14, 0xdc}));        // call *(%r12,%rbx,8)
  CHECK(ends({0xff, 0x54, 0x24, 0x08}));        // call *8(%rsp)
  CHECK(ends({0xff, 0x15, 1, 2, 3, 4}));        // call *name(%rip)
  CHECK(ends({0xff, 0x90, 0, 1, 0, 0}));        // call *256(%rax)
  CHECK(ends({0xff, 0x94, 0x24, 0, 1, 0, 0}));  // call *256(%rsp)
  CHECK_FALSE(ends({0xff, 0xe0}));              // jmp *%rax
  CHECK_FALSE(ends({0xff, 0x25, 1, 2, 3, 4}));  // jmp *name(%rip)
  CHECK_FALSE(ends({0xc3}));                    // ret
  CHECK_FALSE(ends({0x48, 0x89, 0xe5}));        // mov %rsp,%rbp
  CHECK_FALSE(ends({0xff, 0x50}));              // half of a call
}
