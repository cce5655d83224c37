// The data of a report: named blocks of JSON or of numbers, each compressed by itself, so that the page
// reads what the view in front needs, and nothing else.
//
// Place in the flow: ARCHITECTURE.md, stage 7: collectors of this directory fill it, write_report() writes it.
// Format: docs/reference/report-format.md. Thread-safety: none. Ownership: keeps compressed texts, not the data.
// Units: bytes. Errors: none; what is no UTF-8 in JSON becomes U+FFFD.
// Cost: zlib at its default level: some 30 MB a second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace refrain::report {

class Blocks {
 public:
  void add(const std::string& name, const nlohmann::ordered_json& value);
  void add(const std::string& name, const nlohmann::json& value);
  // JSON that is made in parts: `make` is called once, with what takes them.
  using TakeText = std::function<void(std::string_view)>;
  void add(const std::string& name, const std::function<void(const TakeText&)>& make);
  // Row by row; the product of `shape` is their number.
  void add(const std::string& name, std::span<const double> values,
           std::vector<std::size_t> shape);
  void add(const std::string& name, std::span<const float> values,
           std::vector<std::size_t> shape);
  void add(const std::string& name, std::span<const std::uint8_t> values,
           std::vector<std::size_t> shape);
  void add(const std::string& name, std::span<const std::uint16_t> values,
           std::vector<std::size_t> shape);
  void add(const std::string& name, std::span<const std::uint32_t> values,
           std::vector<std::size_t> shape);
  // Numbers that do not fall: their differences, where these are whole and fit into 32 bits.
  void add_ascending(const std::string& name, std::span<const double> values);

  bool has(const std::string& name) const;
  // Bytes of all texts.
  std::size_t size() const { return size_; }
  // As it stands in the file: an element for the index, and one for each block.
  template <typename Write>
  void write(Write&& write) const {
    write(index_element());
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      write(opening(i));
      write(blocks_[i].text);
      write(std::string("</script>\n"));
    }
  }

 private:
  struct Block {
    std::string name;
    const char* type;
    std::size_t bytes;  // uncompressed
    std::vector<std::size_t> shape;
    bool delta;
    std::string text;  // base64 of zlib's
  };
  void put(const std::string& name, const char* type, const void* data, std::size_t bytes,
           std::vector<std::size_t> shape, bool delta = false);
  void keep(Block block);
  std::string index_element() const;
  static std::string opening(std::size_t number);

  std::vector<Block> blocks_;
  std::size_t size_ = 0;
};

// Of any bytes, with padding.
std::string base64(std::span<const unsigned char> bytes);
// JSON that may stand in a script element, whatever its texts are: `<` is written as an escape.
std::string script_text(const nlohmann::ordered_json& value);

// The page of a report, without its data: HTML with its styles and scripts.
//
// Made by the build from analysis/report/page. Thread-safety: constant.

std::string_view page_text();

// Writes a report: the page with its data, as one file.
//
// Thread-safety: any thread, of different files. Errors: one line. The file has its name only when it is complete;
// until then it is next to it, under another name, and is removed if something goes wrong.

// Where the data goes in the page.
inline constexpr std::string_view kDataLine = "<!-- refrain:data -->";

// `page`: HTML that has kDataLine once. `replace`: an existing file; else that is an error.
base::Result<> write_report(const std::string& path, std::string_view page,
                            const Blocks& blocks, bool replace);

}  // namespace refrain::report
