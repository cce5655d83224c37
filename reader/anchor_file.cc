#include "reader/anchor_file.h"

#include <cstdint>
#include <fstream>
#include <string_view>

namespace refrain::reader {
namespace {

constexpr std::string_view kMagic = "OTF2";
constexpr std::size_t kMagicAt = 2;
constexpr char kLittleEndian = 'B';
constexpr std::size_t kMachineAt = 46;  // after versions, sizes of chunks, and counts
constexpr int kTexts = 3;               // machine, creator, description
constexpr std::size_t kMostBytes = 1 << 20;

}  // namespace

base::Result<> check_anchor_file(const std::string& anchor_file) {
  std::string bytes(kMostBytes, '\0');
  std::ifstream file(anchor_file, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (static_cast<std::size_t>(file.gcount()) == kMostBytes) return {};
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  const std::string_view all = bytes;
  if (all.substr(0, kMachineAt).size() < kMachineAt || all[1] != kLittleEndian ||
      all.substr(kMagicAt, kMagic.size()) != kMagic)
    return {};  // libotf2 reports that
  std::size_t at = kMachineAt;
  for (int i = 0; i < kTexts; ++i) {
    const std::size_t end = all.find('\0', at);
    if (end == std::string_view::npos) return base::Failure{"damaged anchor file"};
    at = end + 1;
  }
  std::uint32_t properties = 0;
  if (all.size() - at < sizeof properties) return base::Failure{"damaged anchor file"};
  for (std::size_t i = 0; i < sizeof properties; ++i)
    properties |= std::uint32_t{static_cast<unsigned char>(all[at + i])} << 8 * i;
  // Each is a name and a value, both ending with a zero.
  if (properties > (all.size() - at) / 2) return base::Failure{"damaged anchor file"};
  return {};
}

}  // namespace refrain::reader
