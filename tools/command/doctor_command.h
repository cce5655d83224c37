// `refrain doctor [PROGRAM]`: what is there to trace programs with, what works, and what to do about what
// does not.
#pragma once

#include <string>

#include "tools/command/subcommand.h"
#include "tools/doctor/check.h"

namespace refrain::tools {

class DoctorCommand final : public Subcommand {
 public:
  const char* name() const override { return "doctor"; }
  const char* help() const override {
    return "check this machine, or how a program would be traced";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  int print(const Checks& checks) const;

  std::string program_;
  bool json_ = false;
  bool no_trial_ = false;
  std::string role_;  // of a process of a trial
};

// What `refrain --version` prints.
std::string version_text();

}  // namespace refrain::tools
