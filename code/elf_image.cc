#include "code/elf_image.h"

#include <dwarf.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>
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
    if (data == nullptr) return;
    const std::size_t count = data->d_size / header.sh_entsize;
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Rela one;
      if (gelf_getrela(data, static_cast<int>(i), &one) == nullptr) break;
      Relocation out{one.r_offset, static_cast<std::uint64_t>(one.r_addend), {}};
      const unsigned type = GELF_R_TYPE(one.r_info);
      GElf_Sym symbol;
      const RelocationKind kind = kind_of(machine_, type);
      if (kind == RelocationKind::kOther) continue;
      if (kind == RelocationKind::kSymbol) {
        if (table == nullptr || gelf_getsym(table, static_cast<int>(GELF_R_SYM(one.r_info)),
                                            &symbol) == nullptr)
          continue;
        const char* const name = elf_strptr(elf_, names.sh_link, symbol.st_name);
        if (name != nullptr) out.name = name;
        out.value += symbol.st_value;
      }
      relocations_.push_back(out);
    }
  });
  std::sort(relocations_.begin(), relocations_.end(),
            [](const Relocation& a, const Relocation& b) { return a.address < b.address; });
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
    return known->value;
  const auto there = bytes(address);
  std::uint64_t value = 0;
  if (there.size() < sizeof value) return {};
  std::memcpy(&value, there.data(), sizeof value);
  return value;
}

std::string_view ElfImage::imported(std::uint64_t address) {
  const Relocation* const known = relocation(address);
  return known == nullptr ? std::string_view() : known->name;
}

namespace {

// Reads numbers; after the end, or after what it does not know, all are 0 and fine() is false.
class Reader {
 public:
  Reader(std::span<const std::uint8_t> bytes, std::uint64_t address)
      : bytes_(bytes), address_(address) {}

  bool fine() const { return fine_; }
  bool at_end() const { return !fine_ || at_ >= bytes_.size(); }
  std::size_t at() const { return at_; }
  std::uint64_t address() const { return address_ + at_; }
  void move_to(std::size_t at) {
    fine_ = fine_ && at <= bytes_.size();
    at_ = at;
  }

  template <typename T>
  T number() {
    T value{};
    if (!fine_ || bytes_.size() - at_ < sizeof value) {
      fine_ = false;
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; fine_; shift += 7) {
      const auto byte = number<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) break;
    }
    return value;
  }

  std::int64_t sleb() {
    std::uint64_t value = 0;
    unsigned shift = 0;
    std::uint8_t byte = 0x80;
    while (fine_ && (byte & 0x80) != 0) {
      byte = number<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      shift += 7;
    }
    if (shift < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
    return static_cast<std::int64_t>(value);
  }

  std::string_view text() {
    const char* const begin = reinterpret_cast<const char*>(bytes_.data()) + at_;
    const std::size_t length = fine_ ? ::strnlen(begin, bytes_.size() - at_) : 0;
    move_to(at_ + length + 1);
    return fine_ ? std::string_view(begin, length) : std::string_view();
  }

  // A pointer as `encoding` says; 0 stays 0.
  std::uint64_t pointer(std::uint8_t encoding) {
    const std::uint64_t here = address();
    std::uint64_t value = 0;
    switch (encoding & 0x0f) {
      case DW_EH_PE_absptr:
      case DW_EH_PE_udata8:
      case DW_EH_PE_sdata8:
        value = number<std::uint64_t>();
        break;
      case DW_EH_PE_udata4:
        value = number<std::uint32_t>();
        break;
      case DW_EH_PE_sdata4:
        value = static_cast<std::uint64_t>(std::int64_t{number<std::int32_t>()});
        break;
      case DW_EH_PE_udata2:
        value = number<std::uint16_t>();
        break;
      case DW_EH_PE_sdata2:
        value = static_cast<std::uint64_t>(std::int64_t{number<std::int16_t>()});
        break;
      case DW_EH_PE_uleb128:
        value = uleb();
        break;
      case DW_EH_PE_sleb128:
        value = static_cast<std::uint64_t>(sleb());
        break;
      default:
        fine_ = false;
    }
    if (value != 0 && (encoding & 0x70) == DW_EH_PE_pcrel)
      value += here;
    else if (value != 0 && (encoding & 0x70) != 0)
      fine_ = false;
    return value;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::uint64_t address_;
  std::size_t at_ = 0;
  bool fine_ = true;
};

// What entries have in common.
struct Common {
  bool sized = false;  // entries say how long their further data are
  std::uint8_t pointers = DW_EH_PE_absptr;
  std::uint8_t handlers = DW_EH_PE_omit;
};

bool read_common(Reader& in, Common& out) {
  const auto version = in.number<std::uint8_t>();
  const std::string_view further = in.text();
  in.uleb();
  in.sleb();
  if (version == 1)
    in.number<std::uint8_t>();
  else
    in.uleb();
  if (further.empty()) return in.fine();
  if (further.front() != 'z') return false;
  out.sized = true;
  in.uleb();
  for (const char each : further.substr(1)) {
    if (each == 'R') out.pointers = in.number<std::uint8_t>();
    if (each == 'L') out.handlers = in.number<std::uint8_t>();
    if (each == 'P') in.pointer(in.number<std::uint8_t>());
  }
  return in.fine();
}

UnwindEntry read_entry(Reader& in, const Common& common) {
  UnwindEntry out;
  out.begin = in.pointer(common.pointers);
  out.end = out.begin + in.pointer(common.pointers & 0x0f);
  if (!common.sized) return out;
  in.uleb();
  if (common.handlers != DW_EH_PE_omit) out.handlers = in.pointer(common.handlers);
  return out;
}

}  // namespace

std::vector<UnwindEntry> read_unwind_table(std::span<const std::uint8_t> bytes,
                                           std::uint64_t address) {
  std::vector<UnwindEntry> out;
  std::unordered_map<std::size_t, Common> commons;
  Reader in(bytes, address);
  while (!in.at_end()) {
    const std::size_t start = in.at();
    std::uint64_t length = in.number<std::uint32_t>();
    if (length == 0xffffffff) length = in.number<std::uint64_t>();
    const std::size_t begin = in.at();
    if (!in.fine() || length == 0 || length > bytes.size() - begin) break;
    const std::size_t end = begin + length;
    const auto back = in.number<std::uint32_t>();
    Reader one(bytes.first(end), address);
    one.move_to(in.at());
    if (back == 0) {
      Common common;
      if (read_common(one, common)) commons[start] = common;
    } else if (const auto common = commons.find(begin - back); common != commons.end()) {
      const UnwindEntry entry = read_entry(one, common->second);
      if (one.fine() && entry.begin < entry.end) out.push_back(entry);
    }
    in.move_to(end);
  }
  return out;
}

std::vector<HandlerEntry> read_handlers(std::span<const std::uint8_t> bytes,
                                        std::uint64_t address, std::uint64_t function) {
  std::vector<HandlerEntry> out;
  Reader in(bytes, address);
  const auto base_encoding = in.number<std::uint8_t>();
  const std::uint64_t base =
      base_encoding == DW_EH_PE_omit ? function : in.pointer(base_encoding);
  if (in.number<std::uint8_t>() != DW_EH_PE_omit) in.uleb();
  const auto encoding = in.number<std::uint8_t>();
  const std::uint64_t length = in.uleb();
  if (!in.fine() || length > bytes.size() - in.at()) return out;
  const std::size_t end = in.at() + length;
  while (in.fine() && in.at() < end) {
    HandlerEntry entry;
    entry.begin = function + in.pointer(encoding);
    entry.end = entry.begin + in.pointer(encoding);
    entry.handler = in.pointer(encoding);
    in.uleb();
    if (!in.fine()) break;
    if (entry.handler == 0 || entry.begin >= entry.end) continue;
    entry.handler += base;
    out.push_back(entry);
  }
  return out;
}

}  // namespace refrain::code
