#include "reader/event_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace refrain::reader {
namespace {

constexpr unsigned char kEndOfChunk = 0, kEndOfFile = 2, kChunkHeader = 3, kTimeStamp = 5;
constexpr unsigned char kFirstEvent = 10, kLongOrUndefined = 255;
constexpr std::size_t kHeaderBytes = 18, kNumberBytes = 8;
constexpr std::uint64_t kMaxChunk = std::uint64_t{1} << 28;

std::uint64_t number_at(std::string_view bytes, std::size_t at) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Bytes after the kind of a record, or more than there are.
std::size_t record_bytes(std::string_view rest) {
  if (rest.empty()) return 1;
  const auto length = static_cast<unsigned char>(rest[0]);
  if (length != kLongOrUndefined) return std::size_t{1} + length;
  if (rest.size() < 1 + kNumberBytes) return 1;
  const std::uint64_t bytes = number_at(rest, 1);
  const std::size_t all = rest.size() - 1 - kNumberBytes;
  return bytes >= kLongOrUndefined && bytes <= all ? 1 + kNumberBytes + bytes : 1;
}

struct Walked {
  std::uint64_t events = 0;  // whole ones
  bool ended = false;        // by the file's end mark
};

// Over the records of a chunk, after its header.
Walked walk(std::string_view bytes, bool events) {
  Walked out;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto kind = static_cast<unsigned char>(bytes[at++]);
    out.ended = kind == kEndOfFile;
    if (kind == kEndOfChunk || kind == kEndOfFile) break;
    const std::size_t length =
        events && kind == kTimeStamp ? kNumberBytes : record_bytes(bytes.substr(at));
    if (length > bytes.size() - at) break;
    at += length;
    if (kind >= kFirstEvent) ++out.events;
  }
  return out;
}

// With its header. Nothing: the file cannot be read, or is none of libotf2; empty: it is shorter than a header.
std::optional<std::string> last_chunk(const std::string& file, std::uint64_t chunk_bytes,
                                      bool& cut_in_header) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = in.tellg();
  if (!in || size < 0 || chunk_bytes < kHeaderBytes || chunk_bytes > kMaxChunk)
    return std::nullopt;
  cut_in_header = size == 0;
  if (cut_in_header) return std::string();
  const auto bytes = static_cast<std::uint64_t>(size);
  std::uint64_t at = (bytes - 1) / chunk_bytes * chunk_bytes;
  cut_in_header = bytes - at < kHeaderBytes;
  if (cut_in_header && at == 0) return std::string();
  // What comes before it is whole.
  if (cut_in_header) at -= chunk_bytes;
  std::string chunk(std::min(chunk_bytes, bytes - at), '\0');
  in.seekg(static_cast<std::streamoff>(at));
  if (!in.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) ||
      static_cast<unsigned char>(chunk[0]) != kChunkHeader || chunk[1] != 'B')
    return std::nullopt;
  return chunk;
}

}  // namespace

std::optional<EventFile> count_events(const std::string& file, std::uint64_t chunk_bytes) {
  bool cut_in_header = false;
  const auto chunk = last_chunk(file, chunk_bytes, cut_in_header);
  if (!chunk) return std::nullopt;
  if (chunk->empty()) return EventFile{};
  const std::uint64_t first = number_at(*chunk, 2);
  const std::uint64_t last = number_at(*chunk, 2 + kNumberBytes);
  std::error_code none;
  // Each event takes two bytes or more.
  if (first == 0 || first - 1 > last || last > std::filesystem::file_size(file, none))
    return std::nullopt;
  const std::uint64_t whole =
      first - 1 + walk(std::string_view(*chunk).substr(kHeaderBytes), true).events;
  return EventFile{std::min(whole, last), last};
}

bool is_cut(const std::string& file, std::uint64_t chunk_bytes) {
  bool cut_in_header = false;
  const auto chunk = last_chunk(file, chunk_bytes, cut_in_header);
  if (!chunk) return false;
  return cut_in_header || !walk(std::string_view(*chunk).substr(kHeaderBytes), false).ended;
}

}  // namespace refrain::reader
