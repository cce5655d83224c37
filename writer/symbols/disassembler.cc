#include "writer/symbols/disassembler.h"

#include <capstone/capstone.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

namespace refrain::writer {
namespace {

// The functions of the library that are used; types and numbers are those of the header.
struct Library {
  decltype(&cs_open) open = nullptr;
  decltype(&cs_close) close = nullptr;
  decltype(&cs_option) option = nullptr;
  decltype(&cs_malloc) allocate = nullptr;
  decltype(&cs_free) free = nullptr;
  decltype(&cs_disasm_iter) next = nullptr;
  decltype(&cs_insn_group) in_group = nullptr;
  bool whole = false;

  Library() {
    void* const library = dlopen("libcapstone.so.4", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto find = [library](const char* name, auto& function) {
      void* const found = dlsym(library, name);
      std::memcpy(&function, &found, sizeof function);
      return found != nullptr;
    };
    whole = find("cs_open", open) && find("cs_close", close) && find("cs_option", option) &&
            find("cs_malloc", allocate) && find("cs_free", free) &&
            find("cs_disasm_iter", next) && find("cs_insn_group", in_group);
  }
};

const Library& library() {
  static const Library kLibrary;
  return kLibrary;
}

}  // namespace

struct Disassembler::State {
  csh handle = 0;
  cs_insn* instruction = nullptr;
};

Disassembler::Disassembler() {
  const Library& capstone = library();
  if (!capstone.whole) return;
  csh handle = 0;
  if (capstone.open(CS_ARCH_X86, CS_MODE_64, &handle) != CS_ERR_OK) return;
  capstone.option(handle, CS_OPT_DETAIL, CS_OPT_ON);
  state_ = std::make_unique<State>(State{handle, capstone.allocate(handle)});
}

Disassembler::~Disassembler() {
  if (state_ == nullptr) return;
  if (state_->instruction != nullptr) library().free(state_->instruction, 1);
  library().close(&state_->handle);
}

Instruction Disassembler::decode(std::span<const std::uint8_t> code) const {
  using Flow = Instruction::Flow;
  if (state_ == nullptr || state_->instruction == nullptr) return {};
  const std::uint8_t* at = code.data();
  std::size_t left = code.size();
  std::uint64_t address = 0;
  const cs_insn& one = *state_->instruction;
  if (!library().next(state_->handle, &at, &left, &address, state_->instruction)) return {};
  const auto in = [&](unsigned group) {
    return library().in_group(state_->handle, &one, group);
  };
  Instruction out{.bytes = one.size};
  if (in(CS_GRP_JUMP)) {
    const cs_x86& x86 = one.detail->x86;
    if (x86.op_count == 1 && x86.operands[0].type == X86_OP_IMM) {
      out.flow =
          one.id == X86_INS_JMP || one.id == X86_INS_LJMP ? Flow::kJump : Flow::kBranch;
      out.target = x86.operands[0].imm;
    } else {
      out.flow = Flow::kUnknown;
    }
  } else if (in(CS_GRP_RET) || in(CS_GRP_IRET) || one.id == X86_INS_HLT ||
             one.id == X86_INS_UD2) {
    out.flow = Flow::kEnd;
  } else if (one.id == X86_INS_LOOP || one.id == X86_INS_LOOPE ||
             one.id == X86_INS_LOOPNE) {
    out.flow = Flow::kBranch;
    out.target = one.detail->x86.operands[0].imm;
  }
  return out;
}

}  // namespace refrain::writer
