#include "cube/cubex_reader.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <system_error>

#include "base/result.h"
#include "cube/cubex_file.h"

namespace refrain::cube {
namespace {

// The members of a tar file in memory, by name.
//
// Thread-safety: any thread. As CubeLib reads it: checksums of headers are not compared (Cube 4.8 writes wrong ones), and
// there may be a block more behind a member than tar knows.

constexpr std::size_t kBlock = 512;
constexpr std::size_t kNameBytes = 100, kSizeAt = 124, kSizeBytes = 12, kKindAt = 156;
constexpr std::size_t kMagicAt = 257;

// Octal digits, or, with the highest bit set, a number of 64 bits at the end.
std::uint64_t size_in(const std::array<char, kBlock>& header) {
  std::uint64_t size = 0;
  const bool binary = (static_cast<unsigned char>(header[kSizeAt]) & 0x80) != 0;
  for (std::size_t i = binary ? 4 : 0; i < kSizeBytes; ++i) {
    const char c = header[kSizeAt + i];
    if (binary)
      size = size << 8 | static_cast<unsigned char>(c);
    else if (c >= '0' && c <= '7')
      size = size << 3 | static_cast<std::uint64_t>(c - '0');
    else if (c != ' ')
      break;
  }
  return size;
}

base::Result<> read_tar(const std::string& file,
                        std::map<std::string, std::string>& members) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error))
    return base::Failure{file + ": no such file"};
  const std::uint64_t bytes = std::filesystem::file_size(file, error);
  std::ifstream in(file, std::ios::binary);
  std::array<char, kBlock> header{};
  std::uint64_t at = 0;
  bool damaged = false;
  while (!damaged && in.read(header.data(), header.size())) {
    at += kBlock;
    if (std::ranges::all_of(header, [](char c) { return c == '\0'; })) continue;
    if (std::string_view(header.data() + kMagicAt, 5) != "ustar") {
      damaged = true;
      break;
    }
    const std::uint64_t size = size_in(header);
    const std::uint64_t blocks = size / kBlock + (size % kBlock != 0 ? 1 : 0);
    if (size > bytes - at) {
      damaged = true;
      break;
    }
    const bool is_file = header[kKindAt] == '0' || header[kKindAt] == '\0';
    const std::string name(header.data(), strnlen(header.data(), kNameBytes));
    if (is_file) {
      std::string& text = members[name];
      text.resize(size);
      damaged = !in.read(text.data(), static_cast<std::streamsize>(size));
    }
    at = std::min(at + blocks * kBlock, bytes);
    in.clear();
    in.seekg(static_cast<std::streamoff>(at));
  }
  if (!members.contains("anchor.xml"))
    return base::Failure{file + ": not a file of Cube (.cubex)"};
  if (damaged) return base::Failure{file + ": damaged"};
  return {};
}

constexpr std::size_t kMostDepth = 4096;  // of elements in each other

std::string text_of(const pugi::xml_node& node, const char* name) {
  return node.child(name).text().as_string();
}

struct Kind {
  Metric::Type type;
  Number number;
};

std::optional<Kind> kind_of(const std::string& type) {
  using Type = Metric::Type;
  static const std::map<std::string, Kind> kKinds = {
      {"DOUBLE", {Type::kSeconds, Number::kDouble}},
      {"FLOAT", {Type::kSeconds, Number::kDouble}},
      {"MINDOUBLE", {Type::kMinimum, Number::kDouble}},
      {"MAXDOUBLE", {Type::kMaximum, Number::kDouble}},
      {"UINT64", {Type::kCount, Number::kUnsigned64}},
      {"UNSIGNED INTEGER", {Type::kCount, Number::kUnsigned64}},
      {"INT64", {Type::kCount, Number::kSigned64}},
      {"INTEGER", {Type::kCount, Number::kSigned64}},
      {"UINT32", {Type::kCount, Number::kUnsigned32}},
      {"UNSIGNED INT", {Type::kCount, Number::kUnsigned32}},
      {"INT32", {Type::kCount, Number::kSigned32}},
      {"INT", {Type::kCount, Number::kSigned32}},
      {"UINT16", {Type::kCount, Number::kUnsigned16}},
      {"UNSIGNED SHORT INT", {Type::kCount, Number::kUnsigned16}},
      {"INT16", {Type::kCount, Number::kSigned16}},
      {"SHORT INT", {Type::kCount, Number::kSigned16}},
      {"UINT8", {Type::kCount, Number::kUnsigned8}},
      {"CHAR", {Type::kCount, Number::kUnsigned8}},
      {"INT8", {Type::kCount, Number::kSigned8}},
      {"SIGNED CHAR", {Type::kCount, Number::kSigned8}},
  };
  const auto found = kKinds.find(type);
  return found == kKinds.end() ? std::nullopt : std::optional(found->second);
}

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  base::Result<ReadExperiment> take() {
    if (const auto done = read(); !done) return done.failure();
    return std::move(out_);
  }

 private:
  base::Result<> read() {
    if (const auto done = read_tar(file_, members_); !done) return done;
    pugi::xml_document document;
    const std::string& anchor = members_["anchor.xml"];
    if (!document.load_buffer(anchor.data(), anchor.size()))
      return base::Failure{file_ + ": its anchor.xml is damaged"};
    const pugi::xml_node cube = document.child("cube");
    if (!cube) return base::Failure{file_ + ": not a file of Cube (.cubex)"};
    for (const pugi::xml_node& attribute : cube.children("attr"))
      if (std::string(attribute.attribute("key").value()) == "Creator")
        experiment_.creator = attribute.attribute("value").value();
    base::Result<> done = read_metrics(cube.child("metrics"), kNone, 0);
    if (done) done = read_program(cube.child("program"));
    if (done) done = read_system(cube.child("system"), 0);
    if (done) done = read_values();
    return done ? done : base::Failure{file_ + ": " + done.error()};
  }

  base::Result<> read_metrics(const pugi::xml_node& parent_node, std::uint32_t parent,
                              std::size_t depth) {
    if (depth > kMostDepth) return base::Failure{"its metrics lie too deep in each other"};
    for (const pugi::xml_node& node : parent_node.children("metric")) {
      const std::string form = node.attribute("type").value();
      const std::string name = text_of(node, "uniq_name");
      const std::optional<Kind> kind = kind_of(text_of(node, "dtype"));
      const bool inclusive = form == "INCLUSIVE";
      std::uint32_t number = parent;
      if (!kind || (!inclusive && form != "EXCLUSIVE")) {
        out_.notes.push_back(
            "metric '" + name + "' was left out: " +
            (kind ? "it is computed from others" : "its values are not single numbers"));
      } else {
        number = static_cast<std::uint32_t>(experiment_.metrics.size());
        experiment_.metrics.push_back({.name = name,
                                       .title = text_of(node, "disp_name"),
                                       .unit = text_of(node, "uom"),
                                       .description = text_of(node, "descr"),
                                       .type = kind->type,
                                       .inclusive = inclusive,
                                       .parent = parent});
        stored_.push_back({node.attribute("id").as_uint(kNone), kind->number});
      }
      const auto done = read_metrics(node, number, depth + 1);
      if (!done) return done;
    }
    return {};
  }

  base::Result<> read_program(const pugi::xml_node& program) {
    for (const pugi::xml_node& node : program.children("region")) {
      const int line = node.attribute("begin").as_int(-1);
      regions_[node.attribute("id").as_uint(kNone)] =
          static_cast<std::uint32_t>(experiment_.regions.size());
      experiment_.regions.push_back(
          {.name = text_of(node, "name"),
           .canonical = text_of(node, "mangled_name"),
           .file = node.attribute("mod").value(),
           .line = line > 0 ? static_cast<std::uint32_t>(line) : 0,
           .paradigm = text_of(node, "paradigm"),
           .role = text_of(node, "role")});
    }
    return read_paths(program, kNone, 0);
  }

  base::Result<> read_paths(const pugi::xml_node& parent_node, std::uint32_t parent,
                            std::size_t depth) {
    if (depth > kMostDepth) return base::Failure{"its call paths are too long"};
    for (const pugi::xml_node& node : parent_node.children("cnode")) {
      const auto region = regions_.find(node.attribute("calleeId").as_uint(kNone));
      if (region == regions_.end()) return base::Failure{"a call path has no region"};
      const auto number = static_cast<std::uint32_t>(experiment_.paths.size());
      experiment_.paths.push_back({parent, region->second});
      const auto done = read_paths(node, number, depth + 1);
      if (!done) return done;
    }
    return {};
  }

  base::Result<> read_system(const pugi::xml_node& parent_node, std::size_t depth) {
    if (depth > kMostDepth)
      return base::Failure{"its machine's parts lie too deep in each other"};
    for (const pugi::xml_node& node : parent_node.children("systemtreenode")) {
      if (experiment_.machine.empty()) experiment_.machine = text_of(node, "name");
      std::uint32_t number = kNone;
      for (const pugi::xml_node& group : node.children("locationgroup")) {
        if (number == kNone) {
          number = static_cast<std::uint32_t>(experiment_.nodes.size());
          experiment_.nodes.push_back(text_of(node, "name"));
        }
        const auto process = static_cast<std::uint32_t>(experiment_.processes.size());
        experiment_.processes.push_back(
            {text_of(group, "name"), group.child("rank").text().as_uint(), number});
        for (const pugi::xml_node& location : group.children("location")) {
          experiment_.locations.push_back({text_of(location, "name"),
                                           location.child("rank").text().as_uint(),
                                           process});
          // Values are in the order of their numbers.
          places_[location.attribute("Id").as_uint(kNone)] =
              static_cast<std::uint32_t>(experiment_.locations.size() - 1);
        }
      }
      const auto done = read_system(node, depth + 1);
      if (!done) return done;
    }
    return {};
  }

  base::Result<> read_values() {
    if (places_.size() != experiment_.locations.size())
      return base::Failure{"two locations have the same number"};
    std::vector<std::uint32_t> order;  // in the file
    order.reserve(places_.size());
    for (const auto& [id, location] : places_) order.push_back(location);
    experiment_.values.resize(experiment_.metrics.size());
    const std::vector<std::uint32_t> exclusive = rows_of(experiment_, false);
    const std::vector<std::uint32_t> inclusive = rows_of(experiment_, true);
    for (std::uint32_t metric = 0; metric < experiment_.metrics.size(); ++metric) {
      const std::string number = std::to_string(stored_[metric].id);
      const auto index = members_.find(number + ".index");
      const auto data = members_.find(number + ".data");
      if (index == members_.end() || data == members_.end()) continue;
      const auto& paths = experiment_.metrics[metric].inclusive ? inclusive : exclusive;
      std::vector<MetricRow> rows;
      const auto done = read_metric(index->second, data->second, stored_[metric].number,
                                    static_cast<std::uint32_t>(paths.size()),
                                    static_cast<std::uint32_t>(order.size()), rows);
      if (!done)
        return base::Failure{"metric '" + experiment_.metrics[metric].name +
                             "': " + done.error()};
      for (const MetricRow& row : rows)
        for (std::size_t i = 0; i < order.size(); ++i)
          set(metric, PathId(paths[row.row]), LocationId(order[i]), row.values[i]);
    }
    return {};
  }

  void set(std::uint32_t metric, PathId path, LocationId location, double value) {
    // Cube's own for "none".
    const bool none = std::isnan(value) || std::abs(value) > 1e300;
    if (none || value == 0) return;
    if (!experiment_.metrics[metric].is_count())
      return experiment_.add(metric, path, location, value);
    // Counts of a difference may be negative.
    if (value < 0) {
      to_real(metric);
      return experiment_.add(metric, path, location, value);
    }
    experiment_.add(metric, path, location, static_cast<std::uint64_t>(value));
  }

  void to_real(std::uint32_t metric) {
    experiment_.metrics[metric].type = Metric::Type::kSeconds;
    for (Experiment::Row& row : experiment_.values[metric])
      for (std::uint64_t& value : row)
        value = std::bit_cast<std::uint64_t>(static_cast<double>(value));
  }

  struct Stored {
    std::uint32_t id = kNone;
    Number number = Number::kDouble;
  };

  std::string file_;
  ReadExperiment out_;
  Experiment& experiment_ = out_.experiment;
  std::map<std::string, std::string> members_;
  std::vector<Stored> stored_;                      // by metric
  std::map<std::uint32_t, std::uint32_t> regions_;  // by number in the file
  std::map<std::uint32_t, std::uint32_t> places_;   // locations likewise
};

}  // namespace

base::Result<ReadExperiment> read_cubex(const std::string& file) {
  return Reader(file).take();
}

}  // namespace refrain::cube

namespace refrain::cube {
namespace {

constexpr std::string_view kIndexMark = "CUBEX.INDEX";
constexpr std::string_view kPlainMark = "CUBEX.DATA";
constexpr std::string_view kPackedMark = "ZCUBEX.DATA";
constexpr std::uint8_t kSparse = 1;

// Numbers in the byte order of who wrote them.
class Bytes {
 public:
  Bytes(std::string_view text, bool swap) : text_(text), swap_(swap) {}

  template <typename T>
  bool take(T& value) {
    if (text_.size() < sizeof value) return false;
    std::array<char, sizeof value> bytes;
    std::ranges::copy(text_.substr(0, sizeof value), bytes.begin());
    if (swap_) std::ranges::reverse(bytes);
    std::memcpy(&value, bytes.data(), sizeof value);
    text_.remove_prefix(sizeof value);
    return true;
  }
  std::string_view rest() const { return text_; }

 private:
  std::string_view text_;
  bool swap_;
};

template <typename T>
bool take_as_double(Bytes& bytes, double& value) {
  T number{};
  if (!bytes.take(number)) return false;
  value = static_cast<double>(number);
  return true;
}

bool take_number(Bytes& bytes, Number number, double& value) {
  switch (number) {
    case Number::kDouble:
      return take_as_double<double>(bytes, value);
    case Number::kSigned64:
      return take_as_double<std::int64_t>(bytes, value);
    case Number::kUnsigned64:
      return take_as_double<std::uint64_t>(bytes, value);
    case Number::kSigned32:
      return take_as_double<std::int32_t>(bytes, value);
    case Number::kUnsigned32:
      return take_as_double<std::uint32_t>(bytes, value);
    case Number::kSigned16:
      return take_as_double<std::int16_t>(bytes, value);
    case Number::kUnsigned16:
      return take_as_double<std::uint16_t>(bytes, value);
    case Number::kSigned8:
      return take_as_double<std::int8_t>(bytes, value);
    case Number::kUnsigned8:
      return take_as_double<std::uint8_t>(bytes, value);
  }
  return false;
}

std::size_t bytes_of(Number number) {
  switch (number) {
    case Number::kDouble:
    case Number::kSigned64:
    case Number::kUnsigned64:
      return 8;
    case Number::kSigned32:
    case Number::kUnsigned32:
      return 4;
    case Number::kSigned16:
    case Number::kUnsigned16:
      return 2;
    default:
      return 1;
  }
}

struct Index {
  bool swap = false;
  bool dense = true;
  std::vector<std::uint32_t> rows;  // of a sparse one
};

std::optional<Index> read_index(std::string_view text, std::uint32_t rows) {
  if (!text.starts_with(kIndexMark)) return std::nullopt;
  text.remove_prefix(kIndexMark.size());
  Index index;
  std::uint32_t order = 0;
  if (!Bytes(text, false).take(order)) return std::nullopt;
  index.swap = order != 1;
  Bytes bytes(text, index.swap);
  std::uint16_t version = 0;
  std::uint8_t format = 0;
  if (!bytes.take(order) || order != 1 || !bytes.take(version) || !bytes.take(format))
    return std::nullopt;
  index.dense = format != kSparse;
  if (index.dense) return index;
  if (bytes.rest().empty()) return index;  // CubeLib's, of no rows
  std::uint32_t count = 0;
  if (!bytes.take(count) || count > rows || bytes.rest().size() < std::size_t{count} * 4)
    return std::nullopt;
  index.rows.resize(count);
  for (std::uint32_t& row : index.rows)
    if (!bytes.take(row) || row >= rows) return std::nullopt;
  return index;
}

struct Part {
  std::uint64_t plain_start = 0, packed_start = 0, packed_bytes = 0;
};

// Rows one after the other. Compressed ones each for itself; one that is missing there is empty.
class Rows {
 public:
  Rows(std::string_view data, bool swap, std::size_t row_bytes)
      : data_(data), row_bytes_(row_bytes) {
    if (data_.starts_with(kPlainMark)) {
      data_.remove_prefix(kPlainMark.size());
      return;
    }
    packed_ = data_.starts_with(kPackedMark);
    if (!packed_) {
      wrong_ = true;
      return;
    }
    data_.remove_prefix(kPackedMark.size());
    Bytes bytes(data_, swap);
    std::uint64_t count = 0;
    if (!bytes.take(count) || count > bytes.rest().size() / sizeof(Part)) {
      wrong_ = true;
      return;
    }
    parts_.resize(count);
    for (Part& part : parts_)
      wrong_ = wrong_ || !bytes.take(part.plain_start) || !bytes.take(part.packed_start) ||
               !bytes.take(part.packed_bytes);
    data_ = bytes.rest();
    std::ranges::sort(parts_, {}, &Part::plain_start);
  }

  bool wrong() const { return wrong_; }
  std::size_t plain_rows() const { return data_.size() / row_bytes_; }
  bool packed() const { return packed_; }

  // Of the n-th row; empty: it has no values.
  std::optional<std::string_view> row(std::uint64_t number) {
    const std::uint64_t start = number * row_bytes_;
    if (!packed_) {
      if (start > data_.size() || data_.size() - start < row_bytes_) return std::nullopt;
      return data_.substr(start, row_bytes_);
    }
    const auto part = std::ranges::lower_bound(parts_, start, {}, &Part::plain_start);
    if (part == parts_.end() || part->plain_start != start) return std::string_view();
    if (part->packed_start > data_.size() ||
        part->packed_bytes > data_.size() - part->packed_start)
      return std::nullopt;
    plain_.resize(row_bytes_);
    uLongf bytes = row_bytes_;
    const auto* from = reinterpret_cast<const Bytef*>(data_.data() + part->packed_start);
    if (uncompress(reinterpret_cast<Bytef*>(plain_.data()), &bytes, from,
                   part->packed_bytes) != Z_OK ||
        bytes != row_bytes_)
      return std::nullopt;
    return plain_;
  }

 private:
  std::string_view data_;
  std::size_t row_bytes_;
  bool packed_ = false;
  bool wrong_ = false;
  std::vector<Part> parts_;
  std::string plain_;
};

}  // namespace

base::Result<> read_metric(std::string_view index_text, std::string_view data,
                           Number number, std::uint32_t rows, std::uint32_t locations,
                           std::vector<MetricRow>& out) {
  if (locations == 0) return {};
  const std::optional<Index> index = read_index(index_text, rows);
  if (!index) return base::Failure{"its index is damaged"};
  Rows values(data, index->swap, bytes_of(number) * locations);
  if (values.wrong()) return base::Failure{"its values are damaged"};
  const std::uint64_t count =
      !index->dense
          ? index->rows.size()
          : (values.packed() ? rows : std::min<std::uint64_t>(rows, values.plain_rows()));
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto row = values.row(i);
    if (!row) return base::Failure{"its values are damaged"};
    if (row->empty()) continue;
    Bytes bytes(*row, index->swap);
    MetricRow& read = out.emplace_back();
    read.row = index->dense ? static_cast<std::uint32_t>(i) : index->rows[i];
    read.values.resize(locations);
    for (double& value : read.values)
      if (!take_number(bytes, number, value))
        return base::Failure{"its values are damaged"};
  }
  return {};
}

}  // namespace refrain::cube
