#include "code/elf_image.h"

#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace refrain::code {
namespace {

// Calls with (section, header) of all sections of a type.
template <typename Each>
void for_sections(Elf* elf, unsigned type, Each each) {
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr && header.sh_type == type)
      each(section, header);
  }
}

// `begin` before `address`, in sorted ranges.
template <typename Range>
const Range* last_before(const std::vector<Range>& ranges, std::uint64_t address) {
  auto at = std::upper_bound(ranges.begin(), ranges.end(), address,
                             [](std::uint64_t a, const Range& b) { return a < b.begin; });
  return at == ranges.begin() ? nullptr : &*std::prev(at);
}

template <typename Range>
const Range* range_at(const std::vector<Range>& ranges, std::uint64_t address) {
  const Range* const range = last_before(ranges, address);
  return range != nullptr && address < range->end ? range : nullptr;
}

constexpr std::uint32_t kNoSymbol = ~std::uint32_t{0};

// What the loader writes: the image's place and a number, or the address of a symbol.
enum class RelocationKind : std::uint8_t { kOther, kRelative, kSymbol };

RelocationKind kind_of(std::uint16_t machine, unsigned type) {
  if (type == (machine == EM_X86_64 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE))
    return RelocationKind::kRelative;
  const bool symbol =
      machine == EM_X86_64
          ? type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64
          : type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ||
                type == R_AARCH64_ABS64;
  return symbol ? RelocationKind::kSymbol : RelocationKind::kOther;
}

}  // namespace

std::unique_ptr<ElfImage> ElfImage::open(const std::string& path) {
  elf_version(EV_CURRENT);  // libelf refuses all calls before this
  std::unique_ptr<ElfImage> image(new ElfImage);
  image->file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (image->file_ < 0) return nullptr;
  image->elf_ = elf_begin(image->file_, ELF_C_READ_MMAP, nullptr);
  return image->read() ? std::move(image) : nullptr;
}

std::unique_ptr<ElfImage> ElfImage::from_memory(std::span<std::uint8_t> file) {
  elf_version(EV_CURRENT);
  std::unique_ptr<ElfImage> image(new ElfImage);
  image->elf_ = elf_memory(reinterpret_cast<char*>(file.data()), file.size());
  return image->read() ? std::move(image) : nullptr;
}

ElfImage::~ElfImage() {
  if (elf_ != nullptr) elf_end(elf_);
  if (file_ >= 0) ::close(file_);
}

bool ElfImage::read() {
  GElf_Ehdr header;
  std::size_t size = 0;
  const char* const raw = elf_ == nullptr ? nullptr : elf_rawfile(elf_, &size);
  if (raw == nullptr || gelf_getehdr(elf_, &header) == nullptr ||
      (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64) ||
      gelf_getclass(elf_) != ELFCLASS64)
    return false;
  machine_ = header.e_machine;
  std::size_t count = 0;
  if (elf_getphdrnum(elf_, &count) != 0) count = 0;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf_, static_cast<int>(i), &segment) == nullptr) break;
    if (segment.p_type != PT_LOAD || segment.p_offset >= size) continue;
    const std::uint64_t bytes = std::min<std::uint64_t>(
        {segment.p_filesz, size - segment.p_offset, ~segment.p_vaddr});
    segments_.push_back(
        {segment.p_vaddr,
         {reinterpret_cast<const std::uint8_t*>(raw) + segment.p_offset, bytes},
         segment.p_offset,
         (segment.p_flags & PF_X) != 0});
  }
  std::sort(segments_.begin(), segments_.end(),
            [](const Segment& a, const Segment& b) { return a.begin < b.begin; });
  read_frames();
  read_symbols(elf_, SHT_SYMTAB);
  if (symbols_.empty()) read_symbols(elf_, SHT_DYNSYM);
  settle_functions();
  return true;
}

void ElfImage::add_symbols(Elf* elf) {
  read_symbols(elf, SHT_SYMTAB);
  settle_functions();
}

void ElfImage::read_symbols(Elf* elf, unsigned type) {
  for_sections(elf, type, [&](Elf_Scn* section, const GElf_Shdr& header) {
    Elf_Data* const data = elf_getdata(section, nullptr);
    if (data == nullptr || header.sh_entsize == 0) return;
    const std::size_t count = data->d_size / header.sh_entsize;
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
      const unsigned kind = GELF_ST_TYPE(symbol.st_info);
      if ((kind != STT_FUNC && kind != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF ||
          !executable(symbol.st_value) || symbol.st_size > ~symbol.st_value)
        continue;
      const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
      symbols_.push_back({symbol.st_value, symbol.st_value + symbol.st_size,
                          name == nullptr ? std::string_view() : std::string_view(name)});
    }
  });
}

void ElfImage::read_frames() {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf_, &names) != 0) return;
  const auto read_from = [&](Elf_Scn*, const GElf_Shdr& header) {
    const char* const name = elf_strptr(elf_, names, header.sh_name);
    if (name == nullptr || std::strcmp(name, ".eh_frame") != 0) return;
    const auto there = bytes(header.sh_addr);
    for (const UnwindEntry& entry : read_unwind_table(
             there.first(std::min<std::uint64_t>(there.size(), header.sh_size)),
             header.sh_addr))
      if (executable(entry.begin)) frames_.push_back(entry);
  };
  // GNU's linker and LLVM's do not agree on what kind of section it is.
  for_sections(elf_, SHT_PROGBITS, read_from);
  if (machine_ == EM_X86_64) for_sections(elf_, SHT_X86_64_UNWIND, read_from);
  std::sort(frames_.begin(), frames_.end(),
            [](const UnwindEntry& a, const UnwindEntry& b) { return a.begin < b.begin; });
}

// Functions do not overlap. Of several symbols at one place one is kept: with a size, if there is
// one. Those inside of another function (labels of assembler) go.
void ElfImage::settle_functions() {
  std::stable_sort(symbols_.begin(), symbols_.end(),
                   [](const FunctionRange& a, const FunctionRange& b) {
                     return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
                   });
  std::vector<FunctionRange> named;
  for (const FunctionRange& symbol : symbols_) {
    if (!named.empty() &&
        (symbol.begin == named.back().begin || symbol.begin < named.back().end))
      continue;
    named.push_back(symbol);
  }
  for (std::size_t i = 0; i < named.size(); ++i) {
    FunctionRange& one = named[i];
    const std::uint64_t next =
        i + 1 < named.size() ? named[i + 1].begin : ~std::uint64_t{0};
    if (one.end == one.begin) {
      const UnwindEntry* const frame = range_at(frames_, one.begin);
      one.end = frame != nullptr ? frame->end : one.begin + bytes(one.begin).size();
    }
    one.end = std::min({one.end, next, one.begin + bytes(one.begin).size()});
  }
  functions_.clear();
  std::size_t i = 0;
  const auto add_frames = [&](std::uint64_t until) {
    for (; i < frames_.size() && frames_[i].begin < until; ++i) {
      const std::uint64_t after = functions_.empty() ? 0 : functions_.back().end;
      if (frames_[i].begin < after) continue;
      const std::uint64_t end = std::min(
          {frames_[i].end, until, frames_[i].begin + bytes(frames_[i].begin).size()});
      functions_.push_back({frames_[i].begin, end, {}});
    }
  };
  for (const FunctionRange& one : named) {
    add_frames(one.begin);
    functions_.push_back(one);
  }
  add_frames(~std::uint64_t{0});
}

std::span<const std::uint8_t> ElfImage::bytes(std::uint64_t address) const {
  for (const Segment& segment : segments_)
    if (address >= segment.begin && address - segment.begin < segment.bytes.size())
      return segment.bytes.subspan(address - segment.begin);
  return {};
}

bool ElfImage::executable(std::uint64_t address) const {
  for (const Segment& segment : segments_)
    if (segment.executable && address >= segment.begin &&
        address - segment.begin < segment.bytes.size())
      return true;
  return false;
}

std::optional<std::uint64_t> ElfImage::address_of(std::uint64_t file_offset) const {
  for (const Segment& segment : segments_)
    if (segment.executable && file_offset >= segment.offset &&
        file_offset - segment.offset < segment.bytes.size())
      return segment.begin + (file_offset - segment.offset);
  return {};
}

const FunctionRange* ElfImage::function_at(std::uint64_t address) const {
  return range_at(functions_, address);
}

std::vector<HandlerEntry> ElfImage::handlers(std::uint64_t address) const {
  const UnwindEntry* const frame = range_at(frames_, address);
  if (frame == nullptr || frame->handlers == 0) return {};
  return read_handlers(bytes(frame->handlers), frame->handlers, frame->begin);
}

void ElfImage::read_relocations() {
  relocations_read_ = true;
  for_sections(elf_, SHT_RELA, [&](Elf_Scn* section, const GElf_Shdr& header) {
    if ((header.sh_flags & SHF_ALLOC) == 0 || header.sh_entsize == 0) return;
    Elf_Data* const data = elf_getdata(section, nullptr);
    Elf_Scn* const symbols = elf_getscn(elf_, header.sh_link);
    GElf_Shdr names;
    Elf_Data* const table = symbols == nullptr || gelf_getshdr(symbols, &names) == nullptr
                                ? nullptr
                                : elf_getdata(symbols, nullptr);
    if (data == nullptr || data->d_type != ELF_T_RELA) return;
    const auto number = static_cast<std::uint32_t>(relocation_symbols_.size());
    relocation_symbols_.push_back({table, table == nullptr ? 0 : names.sh_link});
    // All files here are of 64 bits, and so are their relocations in memory.
    const std::span all(static_cast<const Elf64_Rela*>(data->d_buf),
                        data->d_buf == nullptr ? 0 : data->d_size / sizeof(Elf64_Rela));
    for (const Elf64_Rela& one : all) {
      const RelocationKind kind =
          kind_of(machine_, static_cast<unsigned>(ELF64_R_TYPE(one.r_info)));
      if (kind == RelocationKind::kOther ||
          (kind == RelocationKind::kSymbol && table == nullptr))
        continue;
      relocations_.push_back({one.r_offset, static_cast<std::uint64_t>(one.r_addend),
                              kind == RelocationKind::kSymbol
                                  ? static_cast<std::uint32_t>(ELF64_R_SYM(one.r_info))
                                  : kNoSymbol,
                              number});
    }
  });
  if (!std::ranges::is_sorted(relocations_, {}, &Relocation::address))
    std::ranges::sort(relocations_, {}, &Relocation::address);
}

std::optional<std::pair<std::uint64_t, std::string_view>> ElfImage::symbol_of(
    const Relocation& relocation) const {
  if (relocation.symbol == kNoSymbol) return std::pair<std::uint64_t, std::string_view>();
  const SymbolTable& table = relocation_symbols_[relocation.table];
  GElf_Sym symbol;
  if (gelf_getsym(static_cast<Elf_Data*>(table.data), static_cast<int>(relocation.symbol),
                  &symbol) == nullptr)
    return {};
  const char* const name = elf_strptr(elf_, table.names, symbol.st_name);
  return std::pair(symbol.st_value,
                   name == nullptr ? std::string_view() : std::string_view(name));
}

const ElfImage::Relocation* ElfImage::relocation(std::uint64_t address) {
  if (!relocations_read_) read_relocations();
  const auto at =
      std::lower_bound(relocations_.begin(), relocations_.end(), address,
                       [](const Relocation& a, std::uint64_t b) { return a.address < b; });
  return at == relocations_.end() || at->address != address ? nullptr : &*at;
}

std::optional<std::uint64_t> ElfImage::word(std::uint64_t address) {
  if (const Relocation* const known = relocation(address); known != nullptr)
    if (const auto symbol = symbol_of(*known)) return known->value + symbol->first;
  const auto there = bytes(address);
  std::uint64_t value = 0;
  if (there.size() < sizeof value) return {};
  std::memcpy(&value, there.data(), sizeof value);
  return value;
}

std::string_view ElfImage::imported(std::uint64_t address) {
  const Relocation* const known = relocation(address);
  if (known == nullptr) return {};
  const auto symbol = symbol_of(*known);
  return symbol ? symbol->second : std::string_view();
}

}  // namespace refrain::code
