// The settings of Refrain: one table (setting_table.cc), read by the tracer, the command and the docs.
//
// Place in the flow: ARCHITECTURE.md, stage 1. Pure: text in, values or an error out; callers
// read the environment or the command line.
//
// Thread-safety: a Settings is a plain value. Errors are returned as one line of text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace refrain::filters {

struct Settings {
  bool enabled = true;
  bool quiet = false;
  bool overwrite = false;
  bool keep_spool = false;
  bool group_readable = false;
  std::string archive;
  std::string spool_dir;
  std::string filter_file;
  bool functions = true;
  std::uint64_t function_calls = 10000;
  double function_mean_s = 1e-6;
  std::string counters;
  std::string counters_at = "boundaries";

  std::uint64_t limit = 10;
  std::uint64_t budget_bytes = 0;
  std::string symbols = "auto";
  std::uint64_t mpi_frames = 5;
  bool local_calls = false;
  std::uint64_t clock_every = 0;
  std::string detector = "activation";
  std::string nested = "first";
  std::uint64_t window_events = 512;
  std::uint64_t max_period_events = 512;
  std::string marks = "all";
  std::string ranks = "all";
  double slow_factor = 5;
  double slow_share = 0.005;

  double min_gap_s = 1e-4;
  double from_s = 0;
  double until_s = 0;

  std::uint64_t ring_bytes = 4 << 20;
  std::uint64_t summary_bytes = 1 << 20;
  std::string graph = "site,callers,partner,size";
  bool summary_only = false;
  std::uint64_t summary_iterations = 4096;
  std::uint64_t loops_hz = 0;
  double files_s = 0;
  std::uint64_t memory_from_bytes = 0;
  bool threads = false;
  bool python = false;
  std::uint64_t chunk_bytes = 1 << 20;
  std::uint64_t memory_limit_bytes = std::uint64_t{1} << 30;
  std::uint64_t disk_limit_bytes = std::uint64_t{4} << 30;
  std::string limit_policy = "suspend";

  std::string format = "otf2";
  bool report = false;
  std::string clock = "auto";
  std::uint64_t writer_threads = 0;
  std::string libomp;

  // The program that the command becomes is recorded, whatever it uses.
  bool record_serial_programs() const {
    return loops_hz != 0 || files_s > 0 || memory_from_bytes != 0;
  }
};

enum class SettingType : std::uint8_t {
  kBool,
  kCount,
  kBytes,
  kSeconds,
  kNumber,
  kChoice,
  kList,  // choices, with commas between; the last choice stands alone
  kText
};

// The member of Settings that a setting sets.
using SettingField = std::variant<bool Settings::*, std::uint64_t Settings::*,
                                  double Settings::*, std::string Settings::*>;

// A value that had another name in earlier versions, which still works.
struct OldChoice {
  std::string_view name;
  std::string_view now;
};

struct SettingInfo {
  const char* name;  // "min_gap"; the variable is REFRAIN_MIN_GAP
  SettingType type;
  SettingField field;
  const char* unit = "";       // "" if it has none
  const char* range = "";      // for readers
  const char* one_line = "";   // what it does
  const char* long_text = "";  // more about it, in sentences
  const char* choices = "";    // of a choice or list: the values allowed, separated by '|'
  bool counted = false;        // of a choice: the last one may be "choice=N", N from 1 on
  OldChoice old_choice = {};
  const char* implicit_value = "";  // of an option that needs no value: what it means then
  double minimum = 0;               // of numbers
  double maximum = 0;
  bool or_zero = false;  // 0 is allowed, too
  bool expert = false;   // for who knows how Refrain works: shown on request only
};

// All settings, in the order of documentation.
std::span<const SettingInfo> setting_table();

// The variable of a setting: "REFRAIN_" and its name in capitals.
std::string variable_name(const SettingInfo& info);

// The type in words: "bytes", "choice", ...
const char* type_name(SettingType type);

// Sets one value from text ("10", "1ms", "64M", "auto", "yes"). Empty result: done; else
// one line that says what is wrong, and `settings` is as it was.
base::Result<> set_value(Settings& settings, const SettingInfo& info,
                         std::string_view text);

// Returns true if a list has this word.
bool has_word(std::string_view list, std::string_view word);

// Of how many ranks of each cluster the setting `ranks` wants the events; 0: of all ranks.
std::uint64_t representatives(const Settings& settings);

// The value as text that set_value() takes.
std::string value_text(const Settings& settings, const SettingInfo& info);

// Conflicts between settings; empty if there are none.
base::Result<> check_together(const Settings& settings);

// Reads every setting through `lookup` (returns nullptr for unset ones) and returns
// the complaints, one line each; a wrong value leaves the default in force.
std::vector<std::string> read_settings(Settings& settings,
                                       const char* (*lookup)(const char* variable));

}  // namespace refrain::filters
