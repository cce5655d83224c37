#include "code/mapped_image.h"

#include <dwarf.h>
#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace refrain::code {
namespace {

// Relocations of slots, of the processor that this runs on.
#if defined(__aarch64__)
constexpr std::array<std::uint64_t, 3> kSlots{R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT,
                                              R_AARCH64_ABS64};
#else
constexpr std::array<std::uint64_t, 3> kSlots{R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT,
                                              R_X86_64_64};
#endif

}  // namespace

MappedImage::MappedImage(const dl_phdr_info& object)
    : base_(object.dlpi_addr), headers_(object.dlpi_phdr), path_(object.dlpi_name) {
  for (unsigned i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    const std::uint64_t begin = base_ + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) frame_index_ = begin;
    if (segment.p_type == PT_DYNAMIC) dynamic_ = begin;
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_R) == 0) continue;
    segments_.push_back(
        {begin, {reinterpret_cast<const std::uint8_t*>(begin), segment.p_memsz}});
    if ((segment.p_flags & PF_X) != 0) code_.emplace_back(begin, begin + segment.p_memsz);
  }
}

bool MappedImage::is(const dl_phdr_info& object) const {
  return base_ == object.dlpi_addr && headers_ == object.dlpi_phdr &&
         path_ == object.dlpi_name;
}

std::span<const std::uint8_t> MappedImage::bytes(std::uint64_t address) const {
  for (const auto& [begin, bytes] : segments_)
    if (address >= begin && address - begin < bytes.size())
      return bytes.subspan(address - begin);
  return {};
}

bool MappedImage::executable(std::uint64_t address) const {
  return std::any_of(code_.begin(), code_.end(), [address](const auto& range) {
    return address >= range.first && address < range.second;
  });
}

template <typename T>
std::optional<T> MappedImage::read(std::uint64_t address) const {
  const auto there = bytes(address);
  T value{};
  if (there.size() < sizeof value) return {};
  std::memcpy(&value, there.data(), sizeof value);
  return value;
}

// The entry of the last function that begins at the address or before, if it is of that function.
UnwindEntry MappedImage::frame_at(std::uint64_t address) const {
  struct IndexEntry {
    std::int32_t function;  // both from the start of the index
    std::int32_t entry;
  };
  struct Index {
    std::array<std::uint8_t, 4> form;  // version, then three encodings
    std::int32_t frames;
    std::uint32_t count;
  };
  constexpr std::uint8_t kFourBytes = DW_EH_PE_pcrel | DW_EH_PE_sdata4;
  const auto index = read<Index>(frame_index_);
  if (!index || index->form[0] != 1 || index->form[1] != kFourBytes ||
      index->form[2] != DW_EH_PE_udata4 ||
      index->form[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4) || !executable(address))
    return {};
  const auto table = bytes(frame_index_ + sizeof(Index));
  const auto entry_at = [&](std::size_t number) {
    IndexEntry entry;
    std::memcpy(&entry, table.data() + number * sizeof entry, sizeof entry);
    return entry;
  };
  std::size_t low = 0;
  std::size_t high = std::min<std::size_t>(index->count, table.size() / sizeof(IndexEntry));
  const auto distance = static_cast<std::int64_t>(address - frame_index_);
  if (high == 0 || entry_at(0).function > distance) return {};
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (entry_at(middle).function <= distance ? low : high) = middle;
  }
  const std::uint64_t entry =
      frame_index_ + static_cast<std::uint64_t>(std::int64_t{entry_at(low).entry});
  for (const auto& [begin, bytes] : segments_) {
    if (entry < begin || entry - begin >= bytes.size()) continue;
    const UnwindEntry out = read_unwind_entry(bytes, begin, entry);
    return address >= out.begin && address < out.end ? out : UnwindEntry{};
  }
  return {};
}

const FunctionRange* MappedImage::function_at(std::uint64_t address) const {
  if (last_ != nullptr && address >= last_->begin && address < last_->end) return last_;
  const UnwindEntry frame = frame_at(address);
  if (frame.end == 0) return nullptr;
  const FunctionRange range{frame.begin, frame.end, {}};
  return last_ = &functions_.try_emplace(frame.begin, range).first->second;
}

std::vector<HandlerEntry> MappedImage::handlers(std::uint64_t address) const {
  const UnwindEntry frame = frame_at(address);
  if (frame.handlers == 0) return {};
  return read_handlers(bytes(frame.handlers), frame.handlers, frame.begin);
}

void MappedImage::find_tables() {
  tables_found_ = true;
  std::array<std::uint64_t, 64> known{};
  std::uint64_t relative = 0;  // the first ones of DT_RELA, which have no names
  for (std::uint64_t at = dynamic_; at != 0; at += sizeof(ElfW(Dyn))) {
    const auto entry = read<ElfW(Dyn)>(at);
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag > 0 && entry->d_tag < std::int64_t{known.size()})
      known[static_cast<std::size_t>(entry->d_tag)] = entry->d_un.d_val;
    if (entry->d_tag == DT_RELACOUNT) relative = entry->d_un.d_val;
  }
  // The loader has added the object's place to these, where it may write.
  const auto place = [&](std::size_t tag) {
    return bytes(known[tag]).empty() ? base_ + known[tag] : known[tag];
  };
  symbols_ = bytes(place(DT_SYMTAB));
  texts_ = bytes(place(DT_STRTAB));
  texts_ = texts_.first(std::min<std::size_t>(texts_.size(), known[DT_STRSZ]));
  if (known[DT_PLTREL] == DT_RELA) {
    imports_[0].begin = place(DT_JMPREL);
    imports_[0].bytes = known[DT_PLTRELSZ];
  }
  const std::uint64_t skipped =
      std::min<std::uint64_t>(relative, known[DT_RELASZ] / sizeof(ElfW(Rela))) *
      sizeof(ElfW(Rela));
  imports_[1].begin = place(DT_RELA) + skipped;
  imports_[1].bytes = known[DT_RELASZ] - skipped;
}

const MappedImage::Import* MappedImage::import(std::uint64_t address) {
  if (!tables_found_) find_tables();
  for (Imports& table : imports_) {
    if (!std::exchange(table.read, true)) {
      auto all = bytes(table.begin);
      all = all.first(std::min<std::size_t>(all.size(), table.bytes));
      for (; all.size() >= sizeof(ElfW(Rela)); all = all.subspan(sizeof(ElfW(Rela)))) {
        ElfW(Rela) one;
        std::memcpy(&one, all.data(), sizeof one);
        if (std::ranges::find(kSlots, ELF64_R_TYPE(one.r_info)) != kSlots.end())
          table.all.push_back(
              {base_ + one.r_offset, static_cast<std::uint32_t>(ELF64_R_SYM(one.r_info))});
      }
      if (!std::ranges::is_sorted(table.all, {}, &Import::address))
        std::ranges::sort(table.all, {}, &Import::address);
    }
    const auto at = std::ranges::lower_bound(table.all, address, {}, &Import::address);
    if (at != table.all.end() && at->address == address) return &*at;
  }
  return nullptr;
}

std::optional<MappedImage::ImportedSymbol> MappedImage::imported_symbol(
    std::uint64_t address) {
  const Import* const known = import(address);
  if (known == nullptr) return {};
  ElfW(Sym) symbol;
  const std::uint64_t offset = std::uint64_t{known->symbol} * sizeof symbol;
  if (offset > symbols_.size() || symbols_.size() - offset < sizeof symbol) return {};
  std::memcpy(&symbol, symbols_.data() + offset, sizeof symbol);
  if (symbol.st_name >= texts_.size()) return {};
  const char* const name = reinterpret_cast<const char*>(texts_.data()) + symbol.st_name;
  return ImportedSymbol{symbol.st_shndx == SHN_UNDEF ? 0 : base_ + symbol.st_value,
                        {name, ::strnlen(name, texts_.size() - symbol.st_name)}};
}

std::optional<std::uint64_t> MappedImage::word(std::uint64_t address) {
  const auto value = read<std::uint64_t>(address);
  if (!value || !executable(*value)) return value;
  const auto known = imported_symbol(address);
  return !known || known->value == 0 ? value : known->value;
}

std::string_view MappedImage::imported(std::uint64_t address) {
  const auto known = imported_symbol(address);
  return known ? known->name : std::string_view();
}

}  // namespace refrain::code
