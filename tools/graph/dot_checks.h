// For tests: graphs as readers of another make see them (test/tools/read_graph.py, Graphviz).
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "test/support/files.h"
#include "test/support/process.h"

namespace refrain::test {

// Of a file in GraphML or SVG.
inline nlohmann::json read_graph(const std::filesystem::path& file) {
  Command command;
  command.arguments = {"/usr/bin/python3", "-I", data_file("test/tools/read_graph.py"),
                       file};
  const Result result = run(command);
  INFO(result.errors);
  REQUIRE(result.ok());
  return nlohmann::json::parse(result.output);
}

// What Graphviz lays out: how many nodes and edges; it must not complain.
struct Plain {
  std::size_t nodes = 0;
  std::size_t edges = 0;
};
inline Plain plain_of(const std::filesystem::path& dot) {
  Command command;
  command.arguments = {"dot", "-Tplain", dot};
  const Result result = run(command);
  INFO(result.errors);
  REQUIRE(result.ok());
  CHECK(result.errors.empty());
  Plain plain;
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    plain.nodes += line.starts_with("node ") ? 1 : 0;
    plain.edges += line.starts_with("edge ") ? 1 : 0;
  }
  return plain;
}

}  // namespace refrain::test
