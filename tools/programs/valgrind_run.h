// Runs a program in valgrind with the tool that counts its loops (code_profile/counter).
//
// Nothing is installed for it: valgrind looks for its tools in the directory that VALGRIND_LIB names, and gets a
// temporary one with links to its own files and to the tool.
// Thread-safety: one at a time; signals for the terminal's group go to the program alone meanwhile.
// Ownership: the temporary directory is removed with the object, and with it files that were not to be kept.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace refrain::tools {

class ValgrindRun {
 public:
  ValgrindRun() = default;
  ~ValgrindRun();
  ValgrindRun(const ValgrindRun&) = delete;
  ValgrindRun& operator=(const ValgrindRun&) = delete;

  // Runs the program to its end. Files are PREFIX.PID.N; with an empty prefix they are temporary.
  base::Result<> run(const std::vector<std::string>& command, const std::string& prefix);

  // As a shell has it: 128 and more if a signal ended the program.
  int status() const { return status_; }
  // Those that were written, in the order of their names.
  const std::vector<std::string>& files() const { return files_; }

 private:
  base::Result<> prepare();
  base::Result<> start(const std::vector<std::string>& command);

  std::string valgrind_, folder_, prefix_;
  int status_ = 0;
  std::vector<std::string> files_;
};

}  // namespace refrain::tools
