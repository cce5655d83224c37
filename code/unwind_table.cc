#include "code/unwind_table.h"

#include <dwarf.h>

#include <cstring>
#include <string_view>
#include <unordered_map>

namespace refrain::code {
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

UnwindEntry read_unwind_entry(std::span<const std::uint8_t> bytes, std::uint64_t address,
                              std::uint64_t entry) {
  // What is behind the length of an entry; empty if it is damaged.
  const auto content = [&](std::size_t at) {
    Reader in(bytes, address);
    in.move_to(at);
    std::uint64_t length = in.number<std::uint32_t>();
    if (length == 0xffffffff) length = in.number<std::uint64_t>();
    const std::size_t begin = in.at();
    const bool fine = in.fine() && length <= bytes.size() - begin;
    Reader out(bytes.first(fine ? begin + length : 0), address);
    out.move_to(begin);
    return out;
  };
  if (entry < address || entry - address >= bytes.size()) return {};
  Reader in = content(entry - address);
  const std::size_t here = in.at();
  const auto back = in.number<std::uint32_t>();
  if (!in.fine() || back == 0 || back > here) return {};
  Reader common_in = content(here - back);
  Common common;
  if (common_in.number<std::uint32_t>() != 0 || !read_common(common_in, common)) return {};
  const UnwindEntry out = read_entry(in, common);
  return in.fine() && out.begin < out.end ? out : UnwindEntry{};
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
