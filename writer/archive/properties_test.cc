#include "writer/archive/properties.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <regex>
#include <set>
#include <string>

namespace refrain::writer::properties_test {
namespace {

// The names in properties.h: the first words of its lines that are indented by five blanks.
std::set<std::string> names_listed() {
  std::set<std::string> names;
  std::ifstream header("writer/archive/properties.h");
  REQUIRE(header);
  const std::regex line("//     ([A-Z][A-Z_:<> ]*?)(  .*)?");
  const std::regex word("[A-Z][A-Z_]+(::<?[A-Z]+>?)?");
  std::smatch found;
  for (std::string text; std::getline(header, text);) {
    if (!std::regex_match(text, found, line)) continue;
    const std::string words = found[1];
    for (std::sregex_iterator at(words.begin(), words.end(), word), end; at != end; ++at)
      names.insert(at->str());
  }
  return names;
}

// Of a run that has all of them.
std::set<std::string> names_written() {
  spool::Journal journal;
  for (const spool::TextKey key :
       {spool::kTextVersion, spool::kTextCommand, spool::kTextRun, spool::kTextRuntime})
    journal.texts[key] = "x";
  journal.modules = {"1000 2000 0 - /usr/lib/libgomp.so.1"};
  journal.texts[spool::kTextSettings] = "limit=10\n";
  journal.mpi.taken = "MPI_Send";
  WriteResult result;
  result.mpi.used = true;
  result.structure = "loop 0";
  result.limit_reason = "few iterations";
  result.budget_limit = 7;
  result.lost[spool::kLossReentrant] = 1;
  result.locks_left_out = result.threads_unrecorded = 1;
  result.complaints = {"something"};
  result.ranks = {.policy = "representatives=1",
                  .written = "0",
                  .clusters = "0: 0-1",
                  .why = "equal graphs"};
  result.functions_off.push_back({.name = "f", .calls = 1, .mean_ns = 1});
  std::set<std::string> names;
  for (const auto& [name, value] : archive_properties(journal, {}, result, {})) {
    const std::string prefix = "REFRAIN::";
    REQUIRE(name.rfind(prefix, 0) == 0);
    std::string rest = name.substr(prefix.size());
    if (rest == "SETTING::LIMIT") rest = "SETTING::<NAME>";
    if (rest == "LOST::REENTRANT") rest = "LOST::<CAUSE>";
    names.insert(rest);
  }
  return names;
}

}  // namespace

TEST_CASE("Properties: names - the listed ones are the written ones") {
  std::set<std::string> listed = names_listed();
  CHECK(listed.size() > 20);
  CHECK(listed.erase("SHORTENED") == 1);  // shortened() writes it
  CHECK(listed == names_written());
}

TEST_CASE(
    "Properties: OpenMP's runtime - the one that ran regions, and for which it stood in") {
  const auto runtime_of = [](const std::string& name, std::vector<std::string> modules,
                             const std::string& settings = "") {
    spool::Journal journal;
    journal.texts[spool::kTextRuntime] = name;
    journal.texts[spool::kTextSettings] = "limit=10\n" + settings;
    for (const std::string& file : modules)
      journal.modules.push_back("1 2 0 - /lib/" + file);
    std::string found;
    for (const auto& [property, value] : archive_properties(journal, {}, {}, {}))
      if (property.starts_with("REFRAIN::RUNTIME"))
        found += (property == "REFRAIN::RUNTIME" ? "" : " for ") + value;
    return found;
  };
  CHECK(runtime_of("LLVM 5", {"libomp.so.5"}) == "LLVM 5");
  CHECK(runtime_of("LLVM 5", {"libomp.so.5", "libgomp.so.1"}) == "LLVM 5 for libgomp");
  CHECK(runtime_of("LLVM 5", {"libgomp.so.1", "libomp.so.5"}, "libomp=none\n") == "LLVM 5");
  CHECK(runtime_of("", {"app", "libgomp-a34b3233.so.1.0.0"}) == "libgomp");
  CHECK(runtime_of("", {"libgomp.so.1", "libomp.so.5"}).empty());  // not used
  CHECK(runtime_of("", {"app"}).empty());
}

TEST_CASE("Properties: description - says what the program uses") {
  std::array<std::uint64_t, kEventKinds> by_kind{};
  WriteResult result;
  CHECK(archive_description(result, by_kind) == "trace of a program, recorded by Refrain");
  result.mpi.used = true;
  CHECK(archive_description(result, by_kind) ==
        "trace of an MPI program, recorded by Refrain");
  by_kind[spool::kParallelBegin] = 7;
  CHECK(archive_description(result, by_kind) ==
        "trace of an OpenMP and MPI program, recorded by Refrain");
  result.mpi.used = false;
  CHECK(archive_description(result, by_kind) ==
        "trace of an OpenMP program, recorded by Refrain");
}

}  // namespace refrain::writer::properties_test
