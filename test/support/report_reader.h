// Reads the data of a report by what docs/reference/report-format.md says, for tests. Shares no code with what writes it.
//
// Thread-safety: const. Errors: std::runtime_error.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace refrain::test {

class ReportReader {
 public:
  explicit ReportReader(const std::string& html);

  bool has(const std::string& name) const { return blocks_.contains(name); }
  std::vector<std::string> names() const;
  const nlohmann::json& entry(const std::string& name) const;  // of the index
  nlohmann::json value(const std::string& name) const;         // of JSON
  std::vector<double> numbers(const std::string& name) const;
  std::vector<std::size_t> shape(const std::string& name) const;

 private:
  struct Block {
    nlohmann::json entry;
    std::string bytes;
  };
  const Block& block(const std::string& name) const;

  std::map<std::string, Block> blocks_;
};

}  // namespace refrain::test
