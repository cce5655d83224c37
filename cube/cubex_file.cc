#include "cube/cubex_file.h"

#include <array>
#include <cstring>
#include <string_view>

#include "base/new_file.h"
#include "base/texts.h"

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

namespace refrain::cube {
namespace {

using base::xml_text;

std::string element(const char* name, std::string_view text) {
  return std::string("<") + name + ">" + xml_text(text) + "</" + name + ">\n";
}

std::string attribute(const char* key, std::string_view value) {
  return std::string("<attr key=\"") + key + "\" value=\"" + xml_text(value) + "\"/>\n";
}

const char* type_name(Metric::Type type) {
  switch (type) {
    case Metric::Type::kCount:
      return "UINT64";
    case Metric::Type::kMinimum:
      return "MINDOUBLE";
    case Metric::Type::kMaximum:
      return "MAXDOUBLE";
    case Metric::Type::kSeconds:
      break;
  }
  return "DOUBLE";
}

std::string metrics_text(const Experiment& experiment) {
  std::string out = "<metrics>\n";
  const auto begin = [&](std::uint32_t i) {
    const Metric& metric = experiment.metrics[i];
    out += "<metric id=\"" + std::to_string(i) + "\" type=\"" +
           (metric.inclusive ? "INCLUSIVE" : "EXCLUSIVE") + "\">\n";
    out += element("disp_name", metric.title) + element("uniq_name", metric.name) +
           element("dtype", type_name(metric.type)) + element("uom", metric.unit) +
           element("url", "") + element("descr", metric.description);
  };
  walk(children_of(experiment.metrics), begin,
       [&](std::uint32_t) { out += "</metric>\n"; });
  return out + "</metrics>\n";
}

std::string program_text(const Experiment& experiment) {
  std::string out = "<program>\n";
  for (std::size_t i = 0; i < experiment.regions.size(); ++i) {
    const Region& region = experiment.regions[i];
    const std::string line = region.line != 0 ? std::to_string(region.line) : "-1";
    out += "<region id=\"" + std::to_string(i) + "\" mod=\"" + xml_text(region.file) +
           "\" begin=\"" + line + "\" end=\"-1\">\n";
    out += element("name", region.name) + element("mangled_name", region.canonical) +
           element("paradigm", region.paradigm) + element("role", region.role) +
           element("url", "") + element("descr", "") + "</region>\n";
  }
  const auto begin = [&](std::uint32_t i) {
    out += "<cnode id=\"" + std::to_string(i) + "\" calleeId=\"" +
           std::to_string(experiment.paths[i].region) + "\">\n";
  };
  walk(children_of(experiment.paths), begin, [&](std::uint32_t) { out += "</cnode>\n"; });
  return out + "</program>\n";
}

// Indices by what `of` says they belong to.
template <typename Items, typename Of>
std::vector<std::vector<std::uint32_t>> grouped(const Items& items, std::size_t groups,
                                                Of of) {
  std::vector<std::vector<std::uint32_t>> result(groups);
  for (std::uint32_t i = 0; i < items.size(); ++i)
    if (of(items[i]) < groups) result[of(items[i])].push_back(i);
  return result;
}

std::string process_text(const Experiment& experiment, std::uint32_t index,
                         const std::vector<std::uint32_t>& locations) {
  const Process& process = experiment.processes[index];
  std::string out = "<locationgroup Id=\"" + std::to_string(index) + "\">\n" +
                    element("name", process.name) +
                    element("rank", std::to_string(process.rank)) +
                    element("type", "process");
  for (const std::uint32_t i : locations) {
    const Location& location = experiment.locations[i];
    out += "<location Id=\"" + std::to_string(i) + "\">\n" +
           element("name", location.name) +
           element("rank", std::to_string(location.number)) + element("type", "thread") +
           "</location>\n";
  }
  return out + "</locationgroup>\n";
}

std::string system_text(const Experiment& experiment) {
  std::string out = "<system>\n<systemtreenode Id=\"0\">\n" +
                    element("name", experiment.machine) + element("class", "machine");
  const auto processes = grouped(experiment.processes, experiment.nodes.size(),
                                 [](const Process& process) { return process.node; });
  const auto locations = grouped(experiment.locations, experiment.processes.size(),
                                 [](const Location& location) { return location.process; });
  for (std::size_t node = 0; node < experiment.nodes.size(); ++node) {
    out += "<systemtreenode Id=\"" + std::to_string(node + 1) + "\">\n" +
           element("name", experiment.nodes[node]) + element("class", "node");
    for (const std::uint32_t i : processes[node])
      out += process_text(experiment, i, locations[i]);
    out += "</systemtreenode>\n";
  }
  return out + "</systemtreenode>\n</system>\n";
}

}  // namespace

std::string anchor_text(const Experiment& experiment) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\n<cube version=\"4.4\">\n" +
         attribute("CubePL Version", "1.1") +
         attribute("Cube anchor.xml syntax version", "4.4") +
         attribute("Creator", experiment.creator) +
         "<doc>\n<mirrors>\n</mirrors>\n</doc>\n" + metrics_text(experiment) +
         program_text(experiment) + system_text(experiment) + "</cube>\n";
}

}  // namespace refrain::cube
