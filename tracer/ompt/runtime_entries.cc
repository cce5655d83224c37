#include "tracer/ompt/runtime_entries.h"

#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/loaded_symbols.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/notices.h"

constinit thread_local refrain::ompt::Entered refrain_entered[2]
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Where each goes on: the runtime's own, or what comes before that; null: not looked for yet.
extern "C" __attribute__((visibility("hidden"))) const void* refrain_entries[32];
constinit const void* refrain_entries[32] = {};

#define DECLARE(number, name, function, kind) extern "C" void name();
REFRAIN_RUNTIME_ENTRIES(DECLARE)
#undef DECLARE

static_assert(sizeof(refrain::ompt::Entered) == 24);

namespace refrain::ompt {
namespace {

struct EntryPoint {
  const char* name;
  void (*ours)();
};
#define ENTRY_POINT(number, name, function, kind) EntryPoint{#name, name},
constexpr std::array kEntryPoints{REFRAIN_RUNTIME_ENTRIES(ENTRY_POINT)};
#undef ENTRY_POINT
static_assert(kEntryPoints.size() <= std::size(refrain_entries));

#if defined(__x86_64__)
const void* slot_content(const unsigned char* behind, const unsigned char* offset_at) {
  std::int32_t offset = 0;
  std::memcpy(&offset, offset_at, sizeof offset);
  const void* content = nullptr;
  std::memcpy(&content, behind + offset, sizeof content);
  return content;
}

// Code that only jumps on, through a table of the loader's.
bool jumps_to(const unsigned char* code, const void* target) {
  constexpr unsigned char kEndBranch[] = {0xF3, 0x0F, 0x1E, 0xFA};
  if (std::memcmp(code, kEndBranch, sizeof kEndBranch) == 0) code += sizeof kEndBranch;
  if (*code == 0xF2) ++code;  // bnd
  return code[0] == 0xFF && code[1] == 0x25 && slot_content(code + 6, code + 2) == target;
}

bool calls(const unsigned char* behind, const void* target) {
  if (behind[-5] == 0xE8) {
    std::int32_t offset = 0;
    std::memcpy(&offset, behind - 4, sizeof offset);
    return behind + offset == target || jumps_to(behind + offset, target);
  }
  return behind[-6] == 0xFF && behind[-5] == 0x15 &&
         slot_content(behind, behind - 4) == target;
}
#else
std::uint32_t instruction(const unsigned char* at) {
  std::uint32_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// adrp x16, page; ldr x17, [x16, #offset]; ...; br x17
bool jumps_to(const unsigned char* code, const void* target) {
  constexpr std::uint32_t kBranchTarget = 0xD503245F;  // bti c
  if (instruction(code) == kBranchTarget) code += 4;
  const std::uint32_t page = instruction(code);
  const std::uint32_t load = instruction(code + 4);
  if ((page & 0x9F000000) != 0x90000000 || (load & 0xFFC00000) != 0xF9400000) return false;
  const std::int64_t high = static_cast<std::int32_t>(page << 8) >> 13;
  const std::int64_t pages = (high << 2 | (page >> 29 & 3));
  const auto here = reinterpret_cast<std::uintptr_t>(code) & ~std::uintptr_t{0xFFF};
  const std::uintptr_t slot =
      here + static_cast<std::uintptr_t>(pages << 12) + (load >> 10 & 0xFFF) * 8;
  return *reinterpret_cast<const void* const*>(slot) == target;
}

bool calls(const unsigned char* behind, const void* target) {
  const std::uint32_t call = instruction(behind - 4);
  if ((call & 0xFC000000) != 0x94000000) return false;
  const std::int64_t words = static_cast<std::int32_t>(call << 6) >> 6;
  const unsigned char* const to = behind - 4 + words * 4;
  return to == target || jumps_to(to, target);
}
#endif

constinit std::array<const void*, kEntryPoints.size()> g_runtimes_own{};

constexpr unsigned kTaskloop = 17;
constexpr unsigned kTaskloopUnsigned = 18;
static_assert(kEntryPoints[kTaskloop].name == std::string_view("GOMP_taskloop"));
static_assert(kEntryPoints[kTaskloopUnsigned].name ==
              std::string_view("GOMP_taskloop_ull"));

constexpr unsigned kLastRegion = 14;  // entries up to this one open regions

// libgomp has no interface for tools.
void note_runtime(const void* function) noexcept {
  const base::LoadedSymbol there = base::symbol_at(function);
  if (there.object == nullptr) return;
  const std::string_view path = there.file;
  if (path.substr(path.find_last_of('/') + 1).starts_with("libgomp"))
    runtime::note_untraced_runtime(there.file);
}

}  // namespace

const void* find_in_runtime(const char* name) noexcept {
  const recorder::KeepErrno keep_errno;
  // Also in a runtime that no other file can see: a library opened with RTLD_LOCAL has brought it.
  const void* const found =
      base::symbol_after(reinterpret_cast<const void*>(&find_in_runtime), name);
  if (found != nullptr) return found;
  std::fprintf(stderr, "refrain: no OpenMP runtime has %s\n", name);
  _exit(127);
}

// Of their size nothing is known; they are small.
bool is_in_entry(std::uint64_t number, const void* address) noexcept {
  constexpr std::uintptr_t kMax = 2048;
  if (number >= kEntryPoints.size()) return false;
  const void* const own = __atomic_load_n(&g_runtimes_own[number], __ATOMIC_RELAXED);
  return own != nullptr &&
         reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(own) <
             kMax;
}

bool is_taskloop(std::uint64_t number) noexcept {
  return number < kEntryPoints.size() &&
         std::string_view(kEntryPoints[number].name).find("taskloop") !=
             std::string_view::npos;
}

bool calls_entry(const void* returns_to, std::uint64_t number) noexcept {
  return number < kEntryPoints.size() &&
         calls(static_cast<const unsigned char*>(returns_to),
               reinterpret_cast<const void*>(kEntryPoints[number].ours));
}

}  // namespace refrain::ompt

// For find_entry below: a call has come here for the first time.
extern "C" __attribute__((visibility("hidden"), used)) const void* refrain_find_entry(
    unsigned number) {
  using namespace refrain::ompt;
  const void* found = find_in_runtime(kEntryPoints[number].name);
  __atomic_store_n(&g_runtimes_own[number], found, __ATOMIC_RELAXED);
  if (number <= kLastRegion) note_runtime(found);
  if (number == kTaskloop || number == kTaskloopUnsigned)
    found = before_taskloop(found, number == kTaskloopUnsigned);
  __atomic_store_n(&refrain_entries[number], found, __ATOMIC_RELAXED);
  return found;
}

// Scratch registers only.
#if defined(__x86_64__)
// The second of the two places is for gcc.
#define KIND_CLANG ""
#define KIND_GCC "addq $24, %r11\n"
#define FUNCTION_FIRST "movq %rdi, %fs:(%r11)\n"
#define FUNCTION_THIRD "movq %rdx, %fs:(%r11)\n"
#define FUNCTION_NONE "movq $0, %fs:(%r11)\n"
#define ENTRY(number, name, function, kind)                                             \
  __asm__(".text\n.globl " #name "\n.type " #name ", %function\n" #name                 \
          ":\n"                                                                         \
          "endbr64\n"                                                                   \
          "movq refrain_entered@gottpoff(%rip), %r11\n" KIND_##kind FUNCTION_##function \
          "movq (%rsp), %r10\n"                                                         \
          "movq %r10, %fs:8(%r11)\n"                                                    \
          "movq $" #number                                                              \
          ", %fs:16(%r11)\n"                                                            \
          "movq refrain_entries+8*" #number                                             \
          "(%rip), %r11\n"                                                              \
          "testq %r11, %r11\n"                                                          \
          "jz 1f\n"                                                                     \
          "jmp *%r11\n"                                                                 \
          "1: movl $" #number                                                           \
          ", %r11d\n"                                                                   \
          "jmp refrain_first_entry\n"                                                   \
          ".size " #name ", .-" #name "\n");
__asm__(
    ".text\n.type refrain_first_entry, %function\nrefrain_first_entry:\n.cfi_startproc\n"
    "pushq %rdi\n.cfi_adjust_cfa_offset 8\npushq %rsi\n.cfi_adjust_cfa_offset 8\n"
    "pushq %rdx\n.cfi_adjust_cfa_offset 8\npushq %rcx\n.cfi_adjust_cfa_offset 8\n"
    "pushq %r8\n.cfi_adjust_cfa_offset 8\npushq %r9\n.cfi_adjust_cfa_offset 8\n"
    "pushq %rax\n.cfi_adjust_cfa_offset 8\n"
    "movl %r11d, %edi\ncall refrain_find_entry\nmovq %rax, %r11\n"
    "popq %rax\n.cfi_adjust_cfa_offset -8\npopq %r9\n.cfi_adjust_cfa_offset -8\n"
    "popq %r8\n.cfi_adjust_cfa_offset -8\npopq %rcx\n.cfi_adjust_cfa_offset -8\n"
    "popq %rdx\n.cfi_adjust_cfa_offset -8\npopq %rsi\n.cfi_adjust_cfa_offset -8\n"
    "popq %rdi\n.cfi_adjust_cfa_offset -8\n"
    "jmp *%r11\n.cfi_endproc\n.size refrain_first_entry, .-refrain_first_entry\n");
#else
#define KIND_CLANG ""
#define KIND_GCC "add x16, x16, #24\n"
#define FUNCTION_FIRST "stp x0, x30, [x16]\n"
#define FUNCTION_THIRD "stp x2, x30, [x16]\n"
#define FUNCTION_NONE "stp xzr, x30, [x16]\n"
#define ENTRY(number, name, function, kind)                             \
  __asm__(".text\n.globl " #name "\n.type " #name ", %function\n" #name \
          ":\n"                                                         \
          "hint #34\n" /* bti c */                                      \
          "adrp x16, :gottprel:refrain_entered\n"                       \
          "ldr x16, [x16, :gottprel_lo12:refrain_entered]\n"            \
          "mrs x17, tpidr_el0\n"                                        \
          "add x16, x16, x17\n" KIND_##kind FUNCTION_##function         \
          "mov x17, #" #number                                          \
          "\n"                                                          \
          "str x17, [x16, #16]\n"                                       \
          "adrp x16, refrain_entries+8*" #number                        \
          "\n"                                                          \
          "ldr x16, [x16, :lo12:refrain_entries+8*" #number             \
          "]\n"                                                         \
          "cbz x16, refrain_first_entry\n"                              \
          "br x16\n"                                                    \
          ".size " #name ", .-" #name "\n");
__asm__(
    ".text\n.type refrain_first_entry, %function\nrefrain_first_entry:\n.cfi_startproc\n"
    "stp x29, x30, [sp, #-96]!\n.cfi_adjust_cfa_offset 96\n"
    ".cfi_offset x29, -96\n.cfi_offset x30, -88\n"
    "stp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\nstp x4, x5, [sp, #48]\n"
    "stp x6, x7, [sp, #64]\nstr x8, [sp, #80]\n"
    "mov x0, x17\nbl refrain_find_entry\nmov x16, x0\n"
    "ldp x0, x1, [sp, #16]\nldp x2, x3, [sp, #32]\nldp x4, x5, [sp, #48]\n"
    "ldp x6, x7, [sp, #64]\nldr x8, [sp, #80]\n"
    "ldp x29, x30, [sp], #96\n.cfi_adjust_cfa_offset -96\n"
    ".cfi_restore x29\n.cfi_restore x30\n"
    "br x16\n.cfi_endproc\n.size refrain_first_entry, .-refrain_first_entry\n");
#endif
REFRAIN_RUNTIME_ENTRIES(ENTRY)
#undef ENTRY
