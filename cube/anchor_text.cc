#include "cube/anchor_text.h"

#include <string_view>

#include "base/xml_text.h"

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
