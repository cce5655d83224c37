// `refrain run [options] -- program arguments`: traces a program as it is.
//
// Prepares the environment and becomes the program (exec), so that its process number,
// signals and exit status are what they were without us.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/command/subcommand.h"
#include "tools/programs/elf_program.h"
#include "tools/programs/mpi_choice.h"

namespace refrain::tools {

class RunCommand final : public Subcommand {
 public:
  const char* name() const override { return "run"; }
  const char* help() const override { return "trace a program, without recompiling it"; }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  std::string as_typed(std::string complaint) const;
  std::string export_settings();
  std::string check_switch_value() const;
  std::string check_archive(const std::string& archive, bool overwrite) const;
  void remove_old_archive() const;
  void report_left_recordings() const;
  void export_run() const;
  std::string choose_runtime(const Program& program);
  void report_untraceable(const Program& program);
  void report(const std::string& line);
  void report_devices(const Program& program) const;
  std::string choose_library(const MpiChoice& choice, const Program& traced,
                             std::string& library);

  std::map<std::string, std::string> values_;  // of settings, by name, as given
  std::map<std::string, bool> switches_;
  std::string archive_;  // absolute path; empty: no name was given
  std::string task_;     // behind the archive's name: ".task-3"
  bool overwrite_ = false;
  bool quiet_ = false;
  bool reported_ = false;  // that something is not traced
  bool no_summary_ = false;
  std::vector<std::string> command_;
  std::string mpi_ = "auto";
};

}  // namespace refrain::tools
