#include "cube/cubex_file.h"

#include <array>
#include <cstring>
#include <string_view>

#include "base/new_file.h"
#include "cube/anchor_text.h"

namespace refrain::cube {
namespace {

constexpr std::uint64_t kBlockBytes = 512;
constexpr std::uint64_t kMemberBytes = std::uint64_t{1} << 33;  // tar has 11 octal digits

// Members of a tar file, one after the other.
class TarWriter {
 public:
  explicit TarWriter(const std::string& path) : file_(path) {}

  std::string open() { return file_.open().error(); }

  // As many bytes follow. Not a multiple of a block's.
  void begin(const std::string& name, std::uint64_t bytes) {
    too_large_ = too_large_ || bytes >= kMemberBytes;
    std::array<char, kBlockBytes> header{};
    put(header, 0, name);
    put(header, 100, "0000644");
    put(header, 108, "0000000");
    put(header, 116, "0000000");
    put(header, 124, octal(bytes % kMemberBytes, 11));
    put(header, 136, octal(0, 11));  // the same experiment is the same file
    put(header, 148, "        ");
    put(header, 156, "0");
    put(header, 257, "ustar");
    put(header, 263, "00");
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    put(header, 148, octal(sum, 6));
    header[154] = '\0';
    write(header.data(), header.size());
    left_ = kBlockBytes - bytes % kBlockBytes;
  }

  void write(const void* from, std::uint64_t bytes) {
    file_.write({static_cast<const char*>(from), bytes});
  }

  void end() {
    constexpr std::array<char, kBlockBytes> kZeros{};
    write(kZeros.data(), left_);
  }

  base::Result<> close() {
    left_ = kBlockBytes;
    end();
    end();
    if (too_large_) return base::Failure{"the values of a metric take 8 GiB or more"};
    return file_.put_in_place();
  }

 private:
  static void put(std::array<char, kBlockBytes>& header, std::size_t at,
                  std::string_view text) {
    std::memcpy(header.data() + at, text.data(), text.size());
  }

  static std::string octal(std::uint64_t value, int digits) {
    std::string text(static_cast<std::size_t>(digits), '0');
    for (std::size_t i = text.size(); i-- > 0; value /= 8)
      text[i] = static_cast<char>('0' + value % 8);
    return text;
  }

  base::NewFile file_;
  std::uint64_t left_ = 0;
  bool too_large_ = false;
};

template <typename T>
void append(std::string& out, T value) {
  std::array<char, sizeof value> bytes;
  std::memcpy(bytes.data(), &value, sizeof value);
  out.append(bytes.data(), bytes.size());
}

void write_anchor(TarWriter& tar, const Experiment& experiment) {
  std::string text = anchor_text(experiment);
  if (text.size() % kBlockBytes == 0) text += '\n';
  tar.begin("anchor.xml", text.size());
  tar.write(text.data(), text.size());
  tar.end();
}

// Neither file can be a multiple of 512 bytes: 22 and 10 bytes come before numbers of 4 and 8.
void write_metric(TarWriter& tar, const Experiment& experiment, std::uint32_t metric) {
  const Experiment::Values& values = experiment.values[metric];
  const std::vector<std::uint32_t> paths =
      rows_of(experiment, experiment.metrics[metric].inclusive);
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < paths.size(); ++row)
    if (paths[row] < values.size() && !values[paths[row]].empty()) rows.push_back(row);
  if (rows.empty()) return;
  std::string index = "CUBEX.INDEX";
  append(index, std::uint32_t{1});
  append(index, std::uint16_t{0});
  append(index, std::uint8_t{1});
  append(index, static_cast<std::uint32_t>(rows.size()));
  for (const std::uint32_t row : rows) append(index, row);
  const std::string number = std::to_string(metric);
  tar.begin(number + ".index", index.size());
  tar.write(index.data(), index.size());
  tar.end();
  constexpr std::string_view kMark = "CUBEX.DATA";
  const std::uint64_t row_bytes = experiment.locations.size() * sizeof(std::uint64_t);
  tar.begin(number + ".data", kMark.size() + rows.size() * row_bytes);
  tar.write(kMark.data(), kMark.size());
  for (const std::uint32_t row : rows) tar.write(values[paths[row]].data(), row_bytes);
  tar.end();
}

}  // namespace

std::vector<std::uint32_t> rows_of(const Experiment& experiment, bool inclusive) {
  const auto children = children_of(experiment.paths);
  std::vector<std::uint32_t> rows;
  const auto begin = [&](std::uint32_t path) {
    if (!inclusive || experiment.paths[path].parent == kNone) rows.push_back(path);
    if (inclusive) rows.insert(rows.end(), children[path].begin(), children[path].end());
  };
  walk(children, begin, [](std::uint32_t) {});
  return rows;
}

base::Result<> write_cubex(const Experiment& experiment, const std::string& file) {
  TarWriter tar(file);
  if (std::string wrong = tar.open(); !wrong.empty()) return base::Failure{wrong};
  write_anchor(tar, experiment);
  for (std::uint32_t i = 0; i < experiment.values.size(); ++i)
    write_metric(tar, experiment, i);
  return tar.close();
}

}  // namespace refrain::cube
