// `refrain experiment diff|mean|merge|min|max A B ...`: arithmetic on files of Cube.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/new_file.h"
#include "cube/algebra.h"
#include "cube/cubex_file.h"
#include "cube/cubex_reader.h"
#include "tools/command/subcommand.h"
#include "tools/output/standard_output.h"

namespace refrain::tools {
namespace {

class ExperimentCommand final : public Subcommand {
 public:
  const char* name() const override { return "experiment"; }
  const char* help() const override { return "compare and combine Cube files (.cubex)"; }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  std::string operation_;
  std::vector<std::string> files_;
  std::string output_;
  bool overwrite_ = false;
  bool json_ = false;
  bool all_ = false;
};

using cube::Experiment;
using cube::Operation;

const std::map<std::string, Operation>& operations() {
  static const std::map<std::string, Operation> kOperations = {
      {"diff", Operation::kDifference}, {"mean", Operation::kMean},
      {"merge", Operation::kMerge},     {"min", Operation::kLeast},
      {"max", Operation::kGreatest},
  };
  return kOperations;
}

// Totals of each file and of the result, by metric of the result.
struct Totals {
  std::vector<std::vector<double>> files;
  std::vector<double> result;
};

// Of minima and maxima the total of a difference or a mean is that of the totals: the minimum of the differences says nothing.
Totals totals_of(Operation operation, const std::vector<Experiment>& files,
                 const Experiment& result) {
  Totals totals;
  totals.result = cube::totals_of(result);
  for (const Experiment& file : files) {
    const std::vector<double> own = cube::totals_of(file);
    std::vector<double>& row = totals.files.emplace_back(result.metrics.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      const auto at =
          std::ranges::find(result.metrics, file.metrics[i].name, &cube::Metric::name);
      row[static_cast<std::size_t>(at - result.metrics.begin())] = own[i];
    }
  }
  for (std::size_t i = 0; i < result.metrics.size(); ++i) {
    const auto type = result.metrics[i].type;
    if (type != cube::Metric::Type::kMinimum && type != cube::Metric::Type::kMaximum)
      continue;
    if (operation == Operation::kDifference)
      totals.result[i] = totals.files[0][i] - totals.files[1][i];
    if (operation != Operation::kMean) continue;
    totals.result[i] = 0;
    for (const std::vector<double>& row : totals.files)
      totals.result[i] += row[i] / static_cast<double>(files.size());
  }
  return totals;
}

void print_text(const std::vector<std::string>& names, const std::string& operation,
                const Experiment& result, const Totals& totals, bool all) {
  for (std::size_t i = 0; i < names.size(); ++i) print("{}  {}\n", i + 1, names[i]);
  print("\n{:<40} {:<6}", "Metric, in all", "Unit");
  for (std::size_t i = 0; i < names.size(); ++i) print(" {:>12}", i + 1);
  print(" {:>12}\n", operation);
  for (std::size_t metric = 0; metric < result.metrics.size(); ++metric) {
    bool any = totals.result[metric] != 0;
    for (const auto& row : totals.files) any = any || row[metric] != 0;
    if (!any && !all) continue;
    print("{:<40} {:<6}", result.metrics[metric].name, result.metrics[metric].unit);
    for (const auto& row : totals.files) print(" {:>12.6g}", row[metric]);
    print(" {:>12.6g}\n", totals.result[metric]);
  }
}

void print_json(const std::vector<std::string>& names, const std::string& operation,
                const Experiment& result, const Totals& totals,
                const std::vector<std::string>& notes) {
  using nlohmann::json;
  json metrics = json::object();
  for (std::size_t metric = 0; metric < result.metrics.size(); ++metric) {
    json files = json::array();
    for (const auto& row : totals.files) files.push_back(row[metric]);
    metrics[result.metrics[metric].name] = {{"unit", result.metrics[metric].unit},
                                            {"files", files},
                                            {"result", totals.result[metric]}};
  }
  const json out = {{"format", "refrain experiment"},
                    {"version", 1},
                    {"operation", operation},
                    {"files", names},
                    {"metrics", metrics},
                    {"call_paths", result.paths.size()},
                    {"locations", result.locations.size()},
                    {"notes", notes}};
  print("{}\n", out.dump(1, ' ', false, json::error_handler_t::replace));
}

}  // namespace

void ExperimentCommand::add_options(CLI::App& app) {
  std::vector<std::string> names;
  for (const auto& [name, operation] : operations()) names.push_back(name);
  app.add_option("operation", operation_, "diff (first - second), mean, merge, min or max")
      ->required()
      ->check(CLI::IsMember(names));
  app.add_option("files", files_, "Cube files, or archives (their profile.cubex)")
      ->required();
  app.add_option("-o,--output", output_, "write the result as a Cube file (.cubex)")
      ->type_name("FILE");
  app.add_flag("--overwrite", overwrite_, "replace an existing file (never an input)");
  app.add_flag("--all", all_, "also metrics that are 0");
  app.add_flag("--json", json_, "totals by metric, as JSON");
}

int ExperimentCommand::run() {
  namespace fs = std::filesystem;
  const Operation operation = operations().at(operation_);
  if (operation == Operation::kDifference && files_.size() != 2)
    return fail("diff needs two files");
  std::error_code error;
  for (std::string& file : files_)
    if (fs::is_directory(file, error)) file = (fs::path(file) / "profile.cubex").string();
  if (!output_.empty()) {
    for (const std::string& file : files_)
      if (fs::equivalent(file, output_, error))
        return fail("'" + output_ + "' is one of the files that are read");
    if (const auto may = base::may_place(
            output_, overwrite_ ? base::Existing::kReplace : base::Existing::kKeep);
        !may)
      return fail(may.error());
  }
  std::vector<Experiment> read;
  std::vector<std::string> notes;
  for (const std::string& file : files_) {
    auto experiment = cube::read_cubex(file);
    if (!experiment) return fail(experiment.error());
    for (const std::string& note : experiment->notes)
      notes.push_back(fmt::format("{}: {}", file, note));
    read.push_back(std::move(experiment->experiment));
  }
  const Experiment result = cube::combine(operation, read);
  const Totals totals = totals_of(operation, read, result);
  if (json_) {
    print_json(files_, operation_, result, totals, notes);
  } else {
    print_text(files_, operation_, result, totals, all_);
    for (const std::string& note : notes) print("Note  {}\n", note);
  }
  std::fflush(stdout);
  if (output_.empty()) return kDone;
  const auto done = cube::write_cubex(result, output_);
  return done.ok() ? kDone : fail(done.error());
}

std::unique_ptr<Subcommand> make_experiment_command() {
  return std::make_unique<ExperimentCommand>();
}

}  // namespace refrain::tools
