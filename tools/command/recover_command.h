// `refrain recover ARCHIVE`: makes the archive of a process that was killed.
#pragma once

#include <string>
#include <vector>

#include "tools/command/subcommand.h"

namespace refrain::tools {

class RecoverCommand final : public Subcommand {
 public:
  const char* name() const override { return "recover"; }
  const char* help() const override {
    return "make the archive of a process that was killed";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  int collect();

  std::string archive_;
  std::string filter_;
  std::string clock_ = "offsets";
  std::string format_ = "otf2";
  bool overwrite_ = false;
  bool collect_ = false;
  bool incomplete_ = false;
  std::vector<std::string> spool_dirs_;
  bool keep_spool_ = false;
  bool quiet_ = false;
};

}  // namespace refrain::tools
