#include "test/support/report_reader.h"

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace refrain::test {
namespace {

std::string element(const std::string& html, const std::string& id) {
  const std::string begin = "id=\"" + id + "\">";
  const std::size_t at = html.find(begin);
  if (at == std::string::npos) throw std::runtime_error("no element " + id);
  const std::size_t from = at + begin.size();
  return html.substr(from, html.find("</script>", from) - from);
}

std::string decoded(const std::string& text) {
  const std::string digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0;
  int have = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::size_t value = digits.find(c);
    if (value == std::string::npos) throw std::runtime_error("no base64");
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    out += static_cast<char>(bits >> have & 255);
  }
  return out;
}

std::string inflated(const std::string& text, std::size_t bytes) {
  std::string out(bytes, '\0');
  uLongf size = bytes;
  if (uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                 reinterpret_cast<const Bytef*>(text.data()), text.size()) != Z_OK ||
      size != bytes)
    throw std::runtime_error("a block has not the size that the index says");
  return out;
}

template <typename Number>
std::vector<double> as(const std::string& bytes) {
  std::vector<Number> values(bytes.size() / sizeof(Number));
  if (!values.empty())
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(Number));
  return {values.begin(), values.end()};
}

}  // namespace

ReportReader::ReportReader(const std::string& html) {
  const auto index = nlohmann::json::parse(element(html, "refrain-index"));
  if (index["format"] != "refrain report" || index["version"] != 2)
    throw std::runtime_error("no report of version 2");
  std::size_t number = 0;
  for (const auto& entry : index["blocks"]) {
    const std::string text = element(html, "refrain-block-" + std::to_string(number++));
    blocks_[entry["name"]] = {
        entry, entry["bytes"] == 0 ? "" : inflated(decoded(text), entry["bytes"])};
  }
}

std::vector<std::string> ReportReader::names() const {
  std::vector<std::string> out;
  for (const auto& [name, block] : blocks_) out.push_back(name);
  return out;
}

const ReportReader::Block& ReportReader::block(const std::string& name) const {
  const auto found = blocks_.find(name);
  if (found == blocks_.end()) throw std::runtime_error("no block " + name);
  return found->second;
}

const nlohmann::json& ReportReader::entry(const std::string& name) const {
  return block(name).entry;
}

nlohmann::json ReportReader::value(const std::string& name) const {
  return nlohmann::json::parse(block(name).bytes);
}

std::vector<std::size_t> ReportReader::shape(const std::string& name) const {
  return block(name).entry["shape"];
}

std::vector<double> ReportReader::numbers(const std::string& name) const {
  const auto& [entry, bytes] = block(name);
  const std::string type = entry["type"];
  std::vector<double> out;
  if (entry.contains("coding")) {
    out = as<std::uint32_t>(bytes);
    for (std::size_t i = 1; i < out.size(); ++i) out[i] += out[i - 1];
  } else if (type == "f64") {
    out = as<double>(bytes);
  } else if (type == "f32") {
    out = as<float>(bytes);
  } else if (type == "u32") {
    out = as<std::uint32_t>(bytes);
  } else if (type == "u16") {
    out = as<std::uint16_t>(bytes);
  } else if (type == "u8") {
    out = as<std::uint8_t>(bytes);
  }
  std::size_t expected = 1;
  for (const std::size_t each : shape(name)) expected *= each;
  if (out.size() != expected) throw std::runtime_error(name + " has not its shape");
  return out;
}

}  // namespace refrain::test
