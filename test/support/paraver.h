// A Paraver trace as plain structures, read by the format's definition alone: .prv, .pcf
// and .row. Shares no code with the sink that writes them.
//
// Thread-safety: none needed. Errors: std::runtime_error with the line that is wrong.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "test/support/trace_checks.h"

namespace refrain::test {

struct ParaverObject {
  std::uint64_t cpu = 0, application = 0, task = 0, thread = 0;
  auto operator<=>(const ParaverObject&) const = default;
};

struct ParaverState {
  ParaverObject object;
  std::uint64_t begin = 0, end = 0, state = 0;
};

struct ParaverEvent {
  ParaverObject object;
  std::uint64_t time = 0, type = 0, value = 0;
};

struct ParaverCommunication {
  ParaverObject sender, receiver;
  std::uint64_t logical_send = 0, physical_send = 0;
  std::uint64_t logical_receive = 0, physical_receive = 0;
  std::uint64_t bytes = 0, tag = 0;
};

struct ParaverTask {
  std::uint64_t threads = 0, node = 0;
};

struct ParaverTrace {
  std::string date;
  std::uint64_t end = 0;
  std::vector<std::uint64_t> node_cpus;
  std::vector<ParaverTask> tasks;
  std::map<std::uint64_t, std::vector<std::uint64_t>> comms;  // members by number
  std::vector<ParaverState> states;
  std::vector<ParaverEvent> events;  // in the order of the file
  std::vector<ParaverCommunication> communications;
  std::vector<std::uint64_t> record_times;  // of all records

  std::map<std::uint64_t, std::string> state_names;
  std::map<std::uint64_t, std::string> type_names;
  std::map<std::uint64_t, std::map<std::uint64_t, std::string>> value_names;
  std::map<std::string, std::vector<std::string>> rows;  // by level
};

ParaverTrace read_paraver(const std::filesystem::path& prv);

// Records are sorted and lie within the header's time; objects are those of the header and
// have names; the states of each thread follow each other without gap or overlap from 0 to
// the end and have labels; so have all types, and values of types that have a table;
// communications are posted before they are complete, and received after they were sent.
Problems check_paraver(const ParaverTrace& trace);

// Of one thread (from 1 on).
std::vector<ParaverEvent> events_of(const ParaverTrace& trace, std::uint64_t task,
                                    std::uint64_t thread);

}  // namespace refrain::test
