#include "writer/archive/shared_definitions.h"

#include <algorithm>
#include <unordered_set>

namespace refrain::writer {
namespace {

std::string identity_of(const regions::RegionDef& region) { return region.identity(); }
std::string identity_of(const regions::SourcePlace& place) { return place.identity(); }
std::string identity_of(const regions::ParameterDef& parameter) {
  return parameter.identity();
}
std::string identity_of(const std::string& text) { return text; }
std::string identity_of(const std::vector<spool::Metric>& metrics) {
  std::string all;
  for (const spool::Metric& metric : metrics) all += metric.unit + ' ' + metric.name + '\n';
  return all;
}

template <typename Definition>
void add_new(std::vector<Definition>& to, const std::vector<Definition>& from) {
  std::unordered_set<std::string> known;
  for (const Definition& each : to) known.insert(identity_of(each));
  for (const Definition& each : from)
    if (known.insert(identity_of(each)).second) to.push_back(each);
}

}  // namespace

void SharedDefinitions::add(const ProcessSize& size) {
  if (sizes.empty() || sizes.back().size != size) sizes.push_back({0, size});
  ++sizes.back().processes;
}

ProcessSize SharedDefinitions::before(std::uint64_t process) const noexcept {
  ProcessSize out;
  for (const Run& run : sizes) {
    const std::uint64_t count = std::min(process, run.processes);
    out.locations += count * run.size.locations;
    out.teams += count * run.size.teams;
    out.mpi_locations += count * run.size.mpi_locations;
    out.streams += count * run.size.streams;
    out.handles += count * run.size.handles;
    out.contingents += count * run.size.contingents;
    process -= count;
  }
  return out;
}

std::uint64_t SharedDefinitions::longest() const noexcept {
  constexpr std::uint64_t kBytesOfMember = 10;
  std::uint64_t most = total().locations * kBytesOfMember;
  const auto text = [&most](const std::string& each) {
    most = std::max<std::uint64_t>(most, each.size());
  };
  for (const regions::RegionDef& region : regions) {
    text(region.name);
    text(region.canonical);
    text(region.description);
    text(region.file);
  }
  for (const regions::SourcePlace& place : places) text(place.file);
  for (const regions::ParameterDef& parameter : parameters) text(parameter.name);
  for (const std::string& each : strings) text(each);
  for (const auto& class_of_process : metrics) {
    most = std::max<std::uint64_t>(most, class_of_process.size() * kBytesOfMember);
    for (const spool::Metric& metric : class_of_process) text(metric.name);
  }
  return most;
}

SharedDefinitions merge(SharedDefinitions a, const SharedDefinitions& b) {
  add_new(a.regions, b.regions);
  add_new(a.places, b.places);
  add_new(a.parameters, b.parameters);
  add_new(a.strings, b.strings);
  add_new(a.metrics, b.metrics);
  for (const SharedDefinitions::Run& run : b.sizes) {
    if (a.sizes.empty() || a.sizes.back().size != run.size)
      a.sizes.push_back({0, run.size});
    a.sizes.back().processes += run.processes;
  }
  return a;
}

void put(exchange::ByteWriter& out, const SharedDefinitions& all) {
  out.number(all.regions.size());
  for (const regions::RegionDef& region : all.regions) {
    for (const std::string* text :
         {&region.name, &region.canonical, &region.description, &region.file})
      out.text(*text);
    out.number(region.line);
    out.number(static_cast<std::uint64_t>(region.cls));
    out.number(region.filtered ? 1 : 0);
  }
  out.number(all.places.size());
  for (const regions::SourcePlace& place : all.places) {
    out.text(place.file);
    out.number(place.line);
  }
  out.number(all.parameters.size());
  for (const regions::ParameterDef& parameter : all.parameters) {
    out.text(parameter.name);
    out.number(parameter.text ? 1 : 0);
  }
  out.number(all.metrics.size());
  for (const auto& metrics : all.metrics) {
    out.number(metrics.size());
    for (const spool::Metric& metric : metrics) {
      out.text(metric.unit);
      out.text(metric.name);
    }
  }
  out.number(all.strings.size());
  for (const std::string& text : all.strings) out.text(text);
  out.number(all.sizes.size());
  for (const SharedDefinitions::Run& run : all.sizes)
    for (const std::uint64_t value :
         {run.processes, run.size.locations, run.size.teams, run.size.mpi_locations,
          run.size.streams, run.size.handles, run.size.contingents})
      out.number(value);
}

void take(exchange::ByteReader& in, SharedDefinitions& all) {
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    regions::RegionDef& region = all.regions.emplace_back();
    for (std::string* text :
         {&region.name, &region.canonical, &region.description, &region.file})
      *text = in.text();
    region.line = in.number32();
    region.cls = static_cast<regions::RegionClass>(in.number_to(0xff));
    region.filtered = in.number_to(1) != 0;
  }
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    regions::SourcePlace& place = all.places.emplace_back();
    place.file = in.text();
    place.line = in.number32();
  }
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    regions::ParameterDef& parameter = all.parameters.emplace_back();
    parameter.name = in.text();
    parameter.text = in.number_to(1) != 0;
  }
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    auto& metrics = all.metrics.emplace_back();
    for (std::size_t members = in.count(); members != 0 && in.ok(); --members) {
      spool::Metric& metric = metrics.emplace_back();
      metric.unit = in.text();
      metric.name = in.text();
    }
  }
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left)
    all.strings.push_back(in.text());
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    SharedDefinitions::Run& run = all.sizes.emplace_back();
    for (std::uint64_t* value :
         {&run.processes, &run.size.locations, &run.size.teams, &run.size.mpi_locations,
          &run.size.streams, &run.size.handles, &run.size.contingents})
      *value = in.number();
  }
}

}  // namespace refrain::writer
