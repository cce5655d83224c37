#include "code/debug_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace refrain::code {
namespace {

// As gdb computes it (the polynomial of Ethernet, reflected). Not by zlib: a traced program would have to load that.
constexpr std::array<std::uint32_t, 256> kSums = [] {
  std::array<std::uint32_t, 256> sums{};
  for (std::uint32_t i = 0; i != 256; ++i) {
    std::uint32_t sum = i;
    for (int bit = 0; bit != 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320u : 0);
    sums[i] = sum;
  }
  return sums;
}();

bool has_checksum(int file, GElf_Word wanted) {
  std::vector<unsigned char> block(1 << 16);
  std::uint32_t sum = ~0u;
  off_t at = 0;
  for (ssize_t got; (got = ::pread(file, block.data(), block.size(), at)) > 0; at += got)
    for (ssize_t i = 0; i != got; ++i)
      sum = sum >> 8 ^ kSums[(sum ^ block[static_cast<std::size_t>(i)]) & 0xff];
  return ~sum == wanted;
}

std::string cache_of(Dwfl_Module* module) {
  const unsigned char* bits = nullptr;
  GElf_Addr where = 0;
  const int bytes = dwfl_module_build_id(module, &bits, &where);
  if (bytes <= 0) return {};
  std::string id;
  for (int i = 0; i != bytes; ++i) {
    std::array<char, 3> hex;
    std::snprintf(hex.data(), hex.size(), "%02x", bits[i]);
    id += hex.data();
  }
  const auto set = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  std::string cache = set("DEBUGINFOD_CACHE_PATH");
  if (cache.empty()) {
    cache = set("XDG_CACHE_HOME");
    if (cache.empty() && !set("HOME").empty()) cache = set("HOME") + "/.cache";
    if (cache.empty()) return {};
    cache += "/debuginfod_client";
  }
  return cache + "/" + id + "/debuginfo";
}

int find(Dwfl_Module* module, const char* file, const char* link, GElf_Word checksum,
         char** found) {
  const auto take = [&](const std::string& path, bool linked) {
    const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (opened < 0) return -1;
    if (!linked || has_checksum(opened, checksum)) {
      *found = ::strdup(path.c_str());
      if (*found != nullptr) return opened;
    }
    ::close(opened);
    return -1;
  };
  if (link != nullptr && file != nullptr) {
    std::error_code failed;
    const std::string folder =
        std::filesystem::weakly_canonical(file, failed).parent_path().string();
    for (const std::string& at :
         {folder + "/", folder + "/.debug/", "/usr/lib/debug" + folder + "/"}) {
      if (at + link == file) continue;
      if (const int opened = take(at + link, true); opened >= 0) return opened;
    }
  }
  const std::string cached = cache_of(module);
  return cached.empty() ? -1 : take(cached, false);
}

}  // namespace

int find_debug_file(Dwfl_Module* module, void** user, const char* name, Dwarf_Addr base,
                    const char* file, const char* link, GElf_Word checksum,
                    char** found) noexcept {
  const int by_id =
      dwfl_build_id_find_debuginfo(module, user, name, base, file, link, checksum, found);
  if (by_id >= 0) return by_id;
  try {
    return find(module, file, link, checksum, found);
  } catch (...) {  // no memory
    return -1;
  }
}

}  // namespace refrain::code
