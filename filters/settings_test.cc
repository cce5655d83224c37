#include "filters/settings.h"

#include <catch2/catch.hpp>
#include <cctype>
#include <map>
#include <regex>
#include <string>
#include <string_view>

namespace refrain::filters::settings_test {
namespace {

std::map<std::string, std::string> g_environment;

const char* lookup(const char* name) {
  const auto found = g_environment.find(name);
  return found == g_environment.end() ? nullptr : found->second.c_str();
}

std::vector<std::string> read(Settings& settings,
                              std::map<std::string, std::string> given) {
  g_environment = std::move(given);
  return read_settings(settings, lookup);
}

}  // namespace

TEST_CASE("Settings: table - every default is a valid value") {
  for (const SettingInfo& info : setting_table()) {
    Settings settings;
    const std::string text = value_text(settings, info);
    INFO(info.name << " = " << text);
    if (info.type != SettingType::kText) CHECK(set_value(settings, info, text).ok());
    CHECK(value_text(settings, info) == text);
    CHECK(*info.one_line != 0);
    CHECK(*info.range != 0);
    CHECK((*info.choices != 0) ==
          (info.type == SettingType::kChoice || info.type == SettingType::kList));
  }
}

// "0 or more", "24K to 1G", "0 (none) or 1M and more".
TEST_CASE("Settings: table - ranges of numbers are those printed") {
  const std::regex words(
      R"((0 \(\w+\) or )?([0-9]+[KMG]?)(?: \([^)]*\))?( to | or more| and more)(\w*))");
  const auto takes = [](const SettingInfo& info, const std::string& value) {
    Settings settings;
    return set_value(settings, info, value).ok();
  };
  int numbers = 0;
  for (const SettingInfo& info : setting_table()) {
    if (info.type == SettingType::kText || info.type == SettingType::kChoice ||
        info.type == SettingType::kList || info.type == SettingType::kBool)
      continue;
    ++numbers;
    INFO(info.name << ": " << info.range);
    std::smatch said;
    const std::string range = info.range;
    REQUIRE(std::regex_match(range, said, words));
    const std::string least = said[2];
    CHECK(takes(info, least));
    CHECK_FALSE(takes(info, "-1"));
    CHECK(takes(info, "0") == (least == "0" || said[1].matched));
    if (least != "0") {
      const double below = least == "1" ? 0.5 : 1;
      CHECK_FALSE(takes(info, std::to_string(below)));
    }
    if (least == "1M") {
      CHECK_FALSE(takes(info, "1048575"));
      CHECK_FALSE(takes(info, "0.5"));
    }
    const std::string most = said[4];
    if (most.empty() || most == "window") continue;
    CHECK(takes(info, most));
    const bool sized = std::isalpha(static_cast<unsigned char>(most.back())) != 0;
    const std::string more = sized ? "2" + most.substr(1) : most + "0";
    CHECK_FALSE(takes(info, more));
  }
  CHECK(numbers > 10);
}

TEST_CASE("Settings: read - units and words") {
  Settings s;
  const auto complaints = read(s, {{"REFRAIN_LIMIT", "3"},
                                   {"REFRAIN_MIN_GAP", "2.5ms"},
                                   {"REFRAIN_RING", "64K"},
                                   {"REFRAIN_QUIET", "Yes"},
                                   {"REFRAIN_SYMBOLS", "parallel"},
                                   {"REFRAIN_UNTIL", "1.5h"},
                                   {"REFRAIN_ARCHIVE", "some where"}});
  CHECK(complaints.empty());
  CHECK(s.limit == 3);
  CHECK(s.min_gap_s == Approx(2.5e-3));
  CHECK(s.ring_bytes == 65536);
  CHECK(s.quiet);
  CHECK(s.symbols == "parallel");
  CHECK(s.until_s == Approx(5400));
  CHECK(s.archive == "some where");
}

TEST_CASE("Settings: read - lists of choices") {
  Settings s;
  CHECK(read(s, {{"REFRAIN_GRAPH", "size,call"}}).empty());
  CHECK(s.graph == "size,call");
  CHECK(has_word(s.graph, "call"));
  CHECK_FALSE(has_word(s.graph, "site"));
  CHECK_FALSE(has_word(s.graph, "cal"));
  CHECK(read(s, {{"REFRAIN_GRAPH", "none"}}).empty());
  for (const char* wrong : {",", "size,", ",size", "size,,call", "none,size", "all"}) {
    CAPTURE(wrong);
    const auto complaints = read(s, {{"REFRAIN_GRAPH", wrong}});
    REQUIRE(complaints.size() == 1);
    CHECK(complaints[0] == "REFRAIN_GRAPH: '" + std::string(wrong) +
                               "' is not a list (of call, site, callers, partner and size, "
                               "separated by commas; or none)");
    CHECK(s.graph == "none");
  }
}

TEST_CASE("Settings: read - a choice with a number") {
  Settings s;
  CHECK(representatives(s) == 0);
  for (const auto& [text, each] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"representatives", 1},
           {"representatives=1", 1},
           {"representatives=32", 32},
           {"representatives=1000000", 1000000},
           {"all", 0}}) {
    CAPTURE(text);
    CHECK(read(s, {{"REFRAIN_RANKS", text}}).empty());
    CHECK(s.ranks == text);
    CHECK(representatives(s) == each);
  }
  for (const char* wrong : {"representatives=", "representatives=0", "representatives=-1",
                            "representatives=1.5", "representatives=1000001",
                            "representatives=99999999999999999999", "representatives 2",
                            "representatives=2x", "representative", "all=2", "2"}) {
    CAPTURE(wrong);
    const auto complaints = read(s, {{"REFRAIN_RANKS", wrong}});
    REQUIRE(complaints.size() == 1);
    CHECK(complaints[0] == "REFRAIN_RANKS: '" + std::string(wrong) +
                               "' is not a choice (all, representatives or "
                               "representatives=K)");
    CHECK(s.ranks == "all");
  }
}

TEST_CASE("Settings: read - wrong values are named, and the default stays") {
  const Settings fresh;
  for (const auto& [name, text] :
       std::vector<std::pair<std::string, std::string>>{{"REFRAIN_LIMIT", "ten"},
                                                        {"REFRAIN_LIMIT", "-1"},
                                                        {"REFRAIN_LIMIT", "1.5"},
                                                        {"REFRAIN_LIMIT", "1K"},
                                                        {"REFRAIN_RING", "1"},
                                                        {"REFRAIN_RING", "12X"},
                                                        {"REFRAIN_QUIET", "2"},
                                                        {"REFRAIN_SYMBOLS", "mpi"},
                                                        {"REFRAIN_MIN_GAP", "nan"},
                                                        {"REFRAIN_FROM", "-1s"},
                                                        {"REFRAIN_WINDOW", "0"},
                                                        {"REFRAIN_LIMIT", "1e400"}}) {
    Settings s;
    const auto complaints = read(s, {{name, text}});
    INFO(name << "=" << text);
    REQUIRE(complaints.size() == 1);
    CHECK(complaints[0].find(name) != std::string::npos);
    CHECK(complaints[0].find(text) != std::string::npos);
    for (const SettingInfo& info : setting_table())
      CHECK(value_text(s, info) == value_text(fresh, info));
  }
}

TEST_CASE("Settings: read - window and period are fitted to each other") {
  Settings small;
  CHECK(read(small, {{"REFRAIN_WINDOW", "64"}}).empty());
  CHECK(small.max_period_events == 64);
  Settings large;
  CHECK(read(large, {{"REFRAIN_MAX_PERIOD", "5000"}}).empty());
  CHECK(large.window_events == 5000);
  Settings both;
  CHECK(read(both, {{"REFRAIN_WINDOW", "10"}, {"REFRAIN_MAX_PERIOD", "20"}}).size() == 1);
  CHECK(both.max_period_events <= both.window_events);
}

TEST_CASE("Settings: read - a value's old name still works, and is the new value") {
  Settings s;
  s.limit_policy = "stop";
  CHECK(read(s, {{"REFRAIN_LIMIT_POLICY", "hold"}}).empty());
  CHECK(s.limit_policy == "suspend");
  for (const SettingInfo& info : setting_table())
    if (std::string_view(info.name) == "limit_policy")
      CHECK(value_text(s, info) == "suspend");
  Settings nothing;
  CHECK(read(nothing, {{"REFRAIN_LIMIT_POLICY", ""}}).empty());
  CHECK(read(nothing, {{"REFRAIN_MARKS", "hold"}}).size() == 1);
}

TEST_CASE("Settings: read - a time window must not end before it begins") {
  Settings s;
  CHECK(read(s, {{"REFRAIN_FROM", "5"}, {"REFRAIN_UNTIL", "4"}}).size() == 1);
  CHECK(s.until_s == 0);
}

TEST_CASE("Settings: read - a report needs the archive") {
  Settings s;
  CHECK(read(s, {{"REFRAIN_REPORT", "yes"}, {"REFRAIN_FORMAT", "otf2,paraver"}}).empty());
  CHECK(s.report);
  const auto complaints =
      read(s, {{"REFRAIN_REPORT", "yes"}, {"REFRAIN_FORMAT", "paraver"}});
  REQUIRE(complaints.size() == 1);
  CHECK(complaints[0].starts_with("REFRAIN_REPORT: "));
  CHECK(!s.report);
}

}  // namespace refrain::filters::settings_test
