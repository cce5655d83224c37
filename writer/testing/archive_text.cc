#include "writer/testing/archive_text.h"

#include <catch2/catch.hpp>

#include "test/support/trace_checks.h"

namespace refrain::writer {
namespace {

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
      return "on";
    case kMeasurementOff:
      return "off";
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
    default:
      return test::event_name(event.type);
  }
}

}  // namespace

Written write_and_check(const spool::SpoolBuilder& builder,
                        const test::TemporaryFolder& folder, WriteOptions options) {
  builder.write(folder.path());
  options.archive = folder.path().string();
  Written written;
  written.result = write_archive(options);
  INFO(written.result.error);
  REQUIRE(written.result.ok);
  written.trace = test::read_trace(folder.path());
  CHECK(test::text(test::check_all(written.trace)) == "");
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
