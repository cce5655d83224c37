#include "test/support/paraver.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <regex>
#include <stdexcept>

namespace refrain::test {
namespace {

[[noreturn]] void wrong(const std::string& what, const std::string& line) {
  throw std::runtime_error(what + ": " + line.substr(0, 200));
}

std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) wrong("not a number", text);
  return value;
}

std::vector<std::uint64_t> numbers(const std::string& text, char separator) {
  std::vector<std::uint64_t> result;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    result.push_back(number(text.substr(at, end - at)));
    at = end + 1;
  }
  return result;
}

std::size_t parse_header(const std::string& line, ParaverTrace& trace) {
  static const std::regex kHeader(
      R"(#Paraver \((\d\d/\d\d/\d{4} at \d\d:\d\d)\):(\d+)_ns:(\d+)\(([\d,]+)\):1:(\d+)\(([\d:,]+)\)(,(\d+))?)");
  std::smatch match;
  if (!std::regex_match(line, match, kHeader)) wrong("not a header", line);
  trace.date = match[1];
  trace.end = number(match[2]);
  trace.node_cpus = numbers(match[4], ',');
  if (trace.node_cpus.size() != number(match[3])) wrong("number of nodes", line);
  const std::string tasks = match[6];
  for (std::size_t at = 0; at <= tasks.size();) {
    const std::size_t end = std::min(tasks.find(',', at), tasks.size());
    const auto task = numbers(tasks.substr(at, end - at), ':');
    if (task.size() != 2) wrong("not a task", line);
    trace.tasks.push_back({task[0], task[1]});
    at = end + 1;
  }
  if (trace.tasks.size() != number(match[5])) wrong("number of tasks", line);
  return match[8].matched ? number(match[8]) : 0;
}

ParaverObject object(const std::vector<std::uint64_t>& fields, std::size_t at) {
  return {fields[at], fields[at + 1], fields[at + 2], fields[at + 3]};
}

void parse_record(const std::string& line, ParaverTrace& trace) {
  const auto f = numbers(line, ':');
  if (f[0] == 1 && f.size() == 8) {
    trace.states.push_back({object(f, 1), f[5], f[6], f[7]});
  } else if (f[0] == 2 && f.size() >= 8 && f.size() % 2 == 0) {
    for (std::size_t i = 6; i < f.size(); i += 2)
      trace.events.push_back({object(f, 1), f[5], f[i], f[i + 1]});
  } else if (f[0] == 3 && f.size() == 15) {
    trace.communications.push_back(
        {object(f, 1), object(f, 7), f[5], f[6], f[11], f[12], f[13], f[14]});
  } else {
    wrong("not a record", line);
  }
  trace.record_times.push_back(f[5]);
}

void read_prv(const std::filesystem::path& path, ParaverTrace& trace) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) wrong("cannot be read", path.string());
  const std::size_t comms = parse_header(line, trace);
  for (std::size_t i = 0; i < comms; ++i) {
    if (!std::getline(file, line) || !line.starts_with("c:1:"))
      wrong("not a communicator", line);
    const auto fields = numbers(line.substr(4), ':');
    if (fields.size() < 2 || fields.size() != fields[1] + 2) wrong("members", line);
    if (!trace.comms.try_emplace(fields[0], fields.begin() + 2, fields.end()).second)
      wrong("a communicator twice", line);
  }
  while (std::getline(file, line)) parse_record(line, trace);
}

// "9    60000001    Parallel (OMP)": the number at `field` and what follows.
std::pair<std::uint64_t, std::string> labelled(const std::string& line, int field) {
  std::size_t at = 0;
  std::string word;
  for (int i = 0; i <= field; ++i) {
    const std::size_t begin = line.find_first_not_of(' ', at);
    if (begin == std::string::npos) wrong("no number", line);
    at = std::min(line.find(' ', begin), line.size());
    word = line.substr(begin, at - begin);
  }
  const std::size_t text = std::min(line.find_first_not_of(' ', at), line.size());
  return {number(word), line.substr(text)};
}

void read_pcf(const std::filesystem::path& path, ParaverTrace& trace) {
  std::ifstream file(path);
  if (!file) wrong("cannot be read", path.string());
  std::string section, line;
  std::vector<std::uint64_t> types;
  while (std::getline(file, line)) {
    if (line.empty()) continue;
    if (line.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == std::string::npos) {
      section = line;
      if (section == "EVENT_TYPE") types.clear();
    } else if (section == "STATES") {
      trace.state_names.insert(labelled(line, 0));
    } else if (section == "EVENT_TYPE") {
      const auto type = labelled(line, 1);
      types.push_back(type.first);
      if (!trace.type_names.insert(type).second) wrong("a type twice", line);
    } else if (section == "VALUES") {
      for (const std::uint64_t type : types)
        if (!trace.value_names[type].insert(labelled(line, 0)).second)
          wrong("a value twice", line);
    }
  }
}

void read_row(const std::filesystem::path& path, ParaverTrace& trace) {
  std::ifstream file(path);
  if (!file) wrong("cannot be read", path.string());
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    static const std::regex kLevel(R"(LEVEL (\w+) SIZE (\d+))");
    std::smatch match;
    if (!std::regex_match(line, match, kLevel)) wrong("not a level", line);
    auto& names = trace.rows[match[1]];
    const std::uint64_t size = number(match[2]);
    for (std::uint64_t i = 0; i < size; ++i) {
      if (!std::getline(file, line) || line.empty()) wrong("a name is missing", match[0]);
      names.push_back(line);
    }
  }
}

std::string text(const ParaverObject& o) {
  return std::to_string(o.cpu) + ":" + std::to_string(o.application) + ":" +
         std::to_string(o.task) + ":" + std::to_string(o.thread);
}

class Checker {
 public:
  explicit Checker(const ParaverTrace& trace) : trace_(trace) {}

  Problems run() {
    if (!std::is_sorted(trace_.record_times.begin(), trace_.record_times.end()))
      add("records are not sorted");
    rows();
    states();
    events();
    communications();
    return problems_;
  }

 private:
  void add(const std::string& what) {
    if (problems_.size() < 20) problems_.push_back(what);
  }

  void check(const ParaverObject& object) {
    std::uint64_t cpus = 0;
    for (const std::uint64_t on_node : trace_.node_cpus) cpus += on_node;
    if (object.application != 1 || object.task == 0 || object.task > trace_.tasks.size() ||
        object.thread == 0 || object.thread > trace_.tasks[object.task - 1].threads ||
        object.cpu == 0 || object.cpu > cpus)
      add("no such object: " + text(object));
  }

  void rows() {
    std::uint64_t threads = 0, cpus = 0;
    for (const ParaverTask& task : trace_.tasks) {
      threads += task.threads;
      if (task.node == 0 || task.node > trace_.node_cpus.size()) add("a task on no node");
    }
    for (const std::uint64_t on_node : trace_.node_cpus) cpus += on_node;
    const auto size = [&](const char* level, std::uint64_t expected) {
      const auto found = trace_.rows.find(level);
      if (found == trace_.rows.end() || found->second.size() != expected)
        add(std::string("names of level ") + level);
    };
    size("THREAD", threads);
    size("NODE", trace_.node_cpus.size());
    size("CPU", cpus);
    for (const auto& [comm, members] : trace_.comms)
      for (const std::uint64_t member : members)
        if (member == 0 || member > trace_.tasks.size()) add("a member that is no task");
  }

  void states() {
    std::map<ParaverObject, std::uint64_t> covered;
    for (const ParaverState& state : trace_.states) {
      check(state.object);
      if (state.begin >= state.end) add("a state of no length of " + text(state.object));
      std::uint64_t& until = covered[state.object];
      if (state.begin != until)
        add("states of " + text(state.object) + " at " + std::to_string(state.begin) +
            ", covered until " + std::to_string(until));
      until = state.end;
      if (!trace_.state_names.contains(state.state)) add("a state without a name");
    }
    std::uint64_t threads = 0;
    for (const ParaverTask& task : trace_.tasks) threads += task.threads;
    if (covered.size() != threads && trace_.end != 0) add("threads without states");
    for (const auto& [object, until] : covered)
      if (until != trace_.end) add("states of " + text(object) + " do not reach the end");
  }

  void events() {
    for (const ParaverEvent& event : trace_.events) {
      check(event.object);
      if (event.time > trace_.end) add("an event after the end");
      if (!trace_.type_names.contains(event.type))
        add("type " + std::to_string(event.type) + " has no name");
      const auto values = trace_.value_names.find(event.type);
      if (values != trace_.value_names.end() && !values->second.contains(event.value))
        add("value " + std::to_string(event.value) + " of type " +
            std::to_string(event.type) + " has no name");
    }
  }

  void communications() {
    for (const ParaverCommunication& c : trace_.communications) {
      check(c.sender);
      check(c.receiver);
      if (c.logical_send > c.physical_send || c.logical_receive > c.physical_receive)
        add("a communication complete before it was posted");
      if (c.physical_send > c.physical_receive)
        add("a communication received before it was sent, at " +
            std::to_string(c.logical_send));
      if (c.physical_receive > trace_.end) add("a communication after the end");
    }
  }

  const ParaverTrace& trace_;
  Problems problems_;
};

}  // namespace

ParaverTrace read_paraver(const std::filesystem::path& prv) {
  ParaverTrace trace;
  read_prv(prv, trace);
  std::filesystem::path other = prv;
  read_pcf(other.replace_extension(".pcf"), trace);
  read_row(other.replace_extension(".row"), trace);
  return trace;
}

Problems check_paraver(const ParaverTrace& trace) { return Checker(trace).run(); }

std::vector<ParaverEvent> events_of(const ParaverTrace& trace, std::uint64_t task,
                                    std::uint64_t thread) {
  std::vector<ParaverEvent> result;
  for (const ParaverEvent& event : trace.events)
    if (event.object.task == task && event.object.thread == thread) result.push_back(event);
  return result;
}

}  // namespace refrain::test
