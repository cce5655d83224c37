// `refrain doctor [PROGRAM]`: what is there to trace programs with, what works, and what to do about what
// does not.
#include <fmt/format.h>
#include <otf2/OTF2_GeneralDefinitions.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/version.h"
#include "tools/command/subcommand.h"
#include "tools/doctor/check.h"
#include "tools/doctor/runtimes.h"
#include "tools/doctor/trial.h"
#include "tools/output/standard_output.h"

namespace refrain::tools {
namespace {

class DoctorCommand final : public Subcommand {
 public:
  const char* name() const override { return "doctor"; }
  const char* help() const override {
    return "check that this machine can trace, or how a program would be traced";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  int print_checks(const Checks& checks) const;

  std::string program_;
  bool json_ = false;
  bool no_trial_ = false;
  std::string role_;  // of a process of a trial
};

constexpr int kAnswerIsNo = 1;

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "gcc " __VERSION__;
#endif

}  // namespace

std::string version_text() {
  return fmt::format("refrain {}\nBuilt with {}, OTF2 {}\n{}", kVersion, kCompiler,
                     OTF2_VERSION, runtimes_text());
}

void DoctorCommand::add_options(CLI::App& app) {
  app.add_option("program", program_, "program to check instead of the machine");
  app.add_flag("--no-trial", no_trial_, "do not run test programs");
  app.add_flag("--json", json_, "as JSON");
  app.add_option("--be-traced", role_)->group("");  // for trials; not in the help
}

int DoctorCommand::print_checks(const Checks& checks) const {
  if (json_) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Check& check : checks)
      all.push_back({{"name", check.name},
                     {"state", state_name(check.state)},
                     {"text", check.text},
                     {"advice", check.advice}});
    print("{}\n",
          nlohmann::ordered_json({{"version", kVersion}, {"checks", all}})
              .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    for (const Check& check : checks) {
      print("{:<8} {:<11} {}\n", state_name(check.state), check.name, check.text);
      if (!check.advice.empty()) print("{:<20} -> {}\n", "", check.advice);
    }
  }
  return has_problem(checks) ? kAnswerIsNo : kDone;
}

int DoctorCommand::run() {
  if (role_ == "openmp") return be_traced_openmp();
  if (role_ == "mpi") return be_traced_mpi();
  Checks checks;
  if (!program_.empty()) {
    check_program(checks, program_);
    return print_checks(checks);
  }
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error);
  check_folder(checks, folder);
  const bool writable = !has_problem(checks);
  check_runtimes(checks, writable && !no_trial_ ? folder : std::string());
  check_helpers(checks);
  check_clock(checks);
  check_limits(checks);
  return print_checks(checks);
}

std::unique_ptr<Subcommand> make_doctor_command() {
  return std::make_unique<DoctorCommand>();
}

}  // namespace refrain::tools
