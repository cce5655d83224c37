#include "writer/testing/archive_text.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>

#include "test/support/mpi_checks.h"
#include "test/support/trace_checks.h"
#include "writer/testing/forked_job.h"

namespace refrain::writer {
namespace {

std::map<std::string, std::string> files_of(const std::filesystem::path& archive) {
  std::map<std::string, std::string> out;
  for (const char* name : {"traces.def", "traces.marker"})
    out[name] = test::read_file(archive / name);
  for (const auto& entry : std::filesystem::directory_iterator(archive / "traces"))
    out[entry.path().filename().string()] = test::read_file(entry.path());
  return out;
}

// The processes of an MPI job make the same archive together, byte for byte, except for a
// random number in the anchor file.
void check_together(const std::vector<spool::SpoolBuilder>& processes, const Written& alone,
                    const std::filesystem::path& archive, WriteOptions options) {
  const test::TemporaryFolder folder;
  for (const spool::SpoolBuilder& process : processes)
    process.write(folder.path(), process.rank());
  options.archive = folder.path().string();
  const auto ranks = static_cast<std::uint32_t>(alone.trace.location_groups.size());
  CHECK(write_in_processes(options, ranks) == std::vector<std::string>(ranks));
  const auto expected = files_of(archive);
  const auto files = files_of(folder.path());
  REQUIRE(files.size() == expected.size());
  for (const auto& [name, content] : expected) {
    INFO(name);
    REQUIRE(files.contains(name));
    CHECK((files.at(name) == content));
  }
  CHECK(test::read_trace(folder.path()).properties == alone.trace.properties);
  CHECK(std::filesystem::exists(folder / "spool") == options.keep_spool);
}

// "MpiIsend comm 2 peer 1 tag 7 bytes 100 #3"
std::string message_line(const test::Event& event) {
  std::string text = std::string(test::event_name(event.type)) + " comm " +
                     std::to_string(event.reference) + " peer " +
                     std::to_string(event.value) + " tag " + std::to_string(event.tag) +
                     " bytes " + std::to_string(std::max(event.sent, event.received));
  if (event.request != 0) text += " #" + std::to_string(event.request);
  return text;
}

std::string line(const test::Trace& trace, const test::Event& event) {
  using enum test::EventType;
  const auto region = [&] { return trace.regions.at(event.reference).name; };
  const std::string numbers =
      " " + std::to_string(event.reference) + " " + std::to_string(event.value);
  switch (event.type) {
    case kEnter: {
      std::string text = "enter " + region();
      if (!test::is_phase(trace, event)) return text;
      text += " [" + std::to_string(attribute(trace, event, "written", 0)) + "]";
      return attribute(trace, event, "complete", 1) == 0 ? text + " incomplete" : text;
    }
    case kLeave:
      return "leave " + region();
    case kMeasurementOn:
      return test::is_edge(event) ? "on edge" : "on";
    case kMeasurementOff:
      return test::is_edge(event) ? "off edge" : "off";
    case kThreadFork:
      return "fork " + std::to_string(event.value);
    case kThreadJoin:
      return "join";
    case kTeamBegin:
      return "team " + std::to_string(event.reference);
    case kTeamEnd:
      return "team end " + std::to_string(event.reference);
    case kParameterInt:
      return "iteration " + std::to_string(event.value);
    case kParameterUnsigned:
      return trace.parameters.at(event.reference).name + " " + std::to_string(event.value);
    case kAcquireLock:
      return "acquire" + numbers;
    case kReleaseLock:
      return "release" + numbers;
    case kTaskCreate:
      return "create " + std::to_string(event.extra) + "." + std::to_string(event.value);
    case kTaskSwitch:
      return "switch " + std::to_string(event.extra) + "." + std::to_string(event.value);
    case kTaskComplete:
      return "complete " + std::to_string(event.extra) + "." + std::to_string(event.value);
    case kMpiSend:
    case kMpiIsend:
    case kMpiRecv:
    case kMpiIrecv:
      return message_line(event);
    case kMpiIsendComplete:
    case kMpiIrecvRequest:
    case kMpiRequestTest:
    case kMpiRequestCancelled:
    case kMpiCollectiveRequest:
      return std::string(test::event_name(event.type)) + " #" +
             std::to_string(event.request);
    case kMpiCollectiveEnd:
    case kMpiCollectiveComplete:
      return std::string(test::event_name(event.type)) + numbers + " root " +
             std::to_string(static_cast<std::int32_t>(event.extra)) + " bytes " +
             std::to_string(event.sent) + " " + std::to_string(event.received);
    case kRmaPut:
    case kRmaGet:
    case kRmaAtomic:
      return std::string(test::event_name(event.type)) + " window " +
             std::to_string(event.reference) + " target " + std::to_string(event.value) +
             " bytes " + std::to_string(event.sent) + " " + std::to_string(event.received) +
             " #" + std::to_string(event.request);
    case kRmaCollectiveEnd:
      return "RmaCollectiveEnd" + numbers;
    case kRmaGroupSync:
    case kRmaRequestLock:
    case kRmaReleaseLock:
      return std::string(test::event_name(event.type)) + " window " +
             std::to_string(event.reference) + " " +
             std::to_string(static_cast<std::int32_t>(event.value)) + " " +
             std::to_string(event.extra);
    case kRmaOpCompleteBlocking:
      return "RmaOpCompleteBlocking window " + std::to_string(event.reference) + " #" +
             std::to_string(event.request);
    default:
      return test::event_name(event.type);
  }
}

}  // namespace

Written write_and_check(const spool::SpoolBuilder& builder,
                        const test::TemporaryFolder& folder, WriteOptions options) {
  return write_and_check(std::vector<spool::SpoolBuilder>{builder}, folder,
                         std::move(options));
}

Written write_and_check(const std::vector<spool::SpoolBuilder>& processes,
                        const test::TemporaryFolder& folder, WriteOptions options) {
  const Written written = write_alone_and_check(processes, folder, options);
  if (written.trace.location_groups.size() > 1 &&
      written.trace.location_groups.at(0).name.starts_with("MPI Rank")) {
    options.archive = folder.path().string();
    check_together(processes, written, folder.path(), options);
  }
  return written;
}

Written write_alone_and_check(const std::vector<spool::SpoolBuilder>& processes,
                              const test::TemporaryFolder& folder, WriteOptions options) {
  for (std::size_t i = 0; i < processes.size(); ++i)
    processes[i].write(folder.path(), static_cast<std::uint32_t>(i));
  options.archive = folder.path().string();
  Written written;
  const auto result = write_archive(options);
  INFO(result.error());
  REQUIRE(result);
  written.result = *result;
  written.trace = test::read_trace(folder.path());
  CHECK(test::text(test::check_all(written.trace)) == "");
  if (written.trace.location_groups.at(0).name.starts_with("MPI Rank")) {
    CHECK(test::text(test::check_messages(written.trace)) == "");
    CHECK(test::text(test::check_collectives(written.trace)) == "");
    CHECK(test::text(test::check_requests(written.trace)) == "");
  }
  CHECK(test::text(test::check_otf2_print(folder.path())) == "");
  return written;
}

std::vector<std::string> lines(const test::Trace& trace, std::size_t location) {
  std::vector<std::string> out;
  for (const test::Event& event : trace.locations.at(location).events)
    out.push_back(std::to_string(event.time) + " " + line(trace, event));
  return out;
}

std::vector<std::string> lines_with(const test::Trace& trace, std::size_t location,
                                    const std::string& part) {
  std::vector<std::string> out;
  for (const std::string& text : lines(trace, location))
    if (text.find(part) != std::string::npos) out.push_back(text);
  return out;
}

}  // namespace refrain::writer
