#include "analysis/report/blocks.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/new_file.h"

namespace refrain::report {
namespace {

static_assert(std::endian::native == std::endian::little,
              "arrays are written as they are in memory");

template <typename Json>
std::string text_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class Compressor {
 public:
  Compressor() {
    if (deflateInit(&stream_, Z_DEFAULT_COMPRESSION) != Z_OK) fail();
  }
  ~Compressor() { deflateEnd(&stream_); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  void add(const void* data, std::size_t bytes) {
    constexpr std::size_t kMost = 1 << 30;  // what zlib can count
    const auto* at = static_cast<const Bytef*>(data);
    while (bytes != 0) {
      const std::size_t part = std::min(bytes, kMost);
      run(at, part, Z_NO_FLUSH);
      at += part;
      bytes -= part;
      bytes_ += part;
    }
  }
  std::size_t bytes() const { return bytes_; }  // added
  std::vector<unsigned char> take() {
    run(nullptr, 0, Z_FINISH);
    return std::move(out_);
  }

 private:
  [[noreturn]] static void fail() {
    throw std::runtime_error("there is no memory to compress the report");
  }
  void run(const Bytef* data, std::size_t bytes, int flush) {
    constexpr std::size_t kAtOnce = 1 << 16;
    stream_.next_in = const_cast<Bytef*>(data);
    stream_.avail_in = static_cast<uInt>(bytes);
    do {
      const std::size_t before = out_.size();
      out_.resize(before + kAtOnce);
      stream_.next_out = out_.data() + before;
      stream_.avail_out = kAtOnce;
      if (deflate(&stream_, flush) == Z_STREAM_ERROR) fail();
      out_.resize(before + kAtOnce - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
  std::vector<unsigned char> out_;
  std::size_t bytes_ = 0;
};

}  // namespace

std::string base64(std::span<const unsigned char> bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < have ? std::uint32_t{bytes[i + k]} : 0);
    for (std::size_t k = 0; k < 4; ++k)
      out += k <= have ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::string script_text(const nlohmann::ordered_json& value) {
  std::string out;
  for (const char c : text_of(value)) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

void Blocks::put(const std::string& name, const char* type, const void* data,
                 std::size_t bytes, std::vector<std::size_t> shape, bool delta) {
  Compressor compressor;
  compressor.add(data, bytes);
  keep({name, type, bytes, std::move(shape), delta, base64(compressor.take())});
}

void Blocks::add(const std::string& name,
                 const std::function<void(const TakeText&)>& make) {
  Compressor compressor;
  make([&](std::string_view text) { compressor.add(text.data(), text.size()); });
  const std::vector<unsigned char> compressed = compressor.take();
  keep({name, "json", compressor.bytes(), {}, false, base64(compressed)});
}

void Blocks::keep(Block block) {
  size_ += block.text.size();
  blocks_.push_back(std::move(block));
}

void Blocks::add(const std::string& name, const nlohmann::ordered_json& value) {
  const std::string text = text_of(value);
  put(name, "json", text.data(), text.size(), {});
}

void Blocks::add(const std::string& name, const nlohmann::json& value) {
  const std::string text = text_of(value);
  put(name, "json", text.data(), text.size(), {});
}

void Blocks::add(const std::string& name, std::span<const double> values,
                 std::vector<std::size_t> shape) {
  put(name, "f64", values.data(), values.size_bytes(), std::move(shape));
}

void Blocks::add(const std::string& name, std::span<const float> values,
                 std::vector<std::size_t> shape) {
  put(name, "f32", values.data(), values.size_bytes(), std::move(shape));
}

void Blocks::add(const std::string& name, std::span<const std::uint8_t> values,
                 std::vector<std::size_t> shape) {
  put(name, "u8", values.data(), values.size_bytes(), std::move(shape));
}

void Blocks::add(const std::string& name, std::span<const std::uint16_t> values,
                 std::vector<std::size_t> shape) {
  put(name, "u16", values.data(), values.size_bytes(), std::move(shape));
}

void Blocks::add(const std::string& name, std::span<const std::uint32_t> values,
                 std::vector<std::size_t> shape) {
  put(name, "u32", values.data(), values.size_bytes(), std::move(shape));
}

void Blocks::add_ascending(const std::string& name, std::span<const double> values) {
  constexpr double kMax = 4294967295.0;
  std::vector<std::uint32_t> differences;
  differences.reserve(values.size());
  double before = 0;
  for (const double value : values) {
    const double difference = value - before;
    if (!(difference >= 0 && difference <= kMax) || std::floor(value) != value) break;
    differences.push_back(static_cast<std::uint32_t>(difference));
    before = value;
  }
  if (differences.size() < values.size()) return add(name, values, {values.size()});
  put(name, "f64", differences.data(), differences.size() * sizeof(differences[0]),
      {values.size()}, true);
}

bool Blocks::has(const std::string& name) const {
  return std::ranges::any_of(blocks_,
                             [&](const Block& block) { return block.name == name; });
}

std::string Blocks::index_element() const {
  nlohmann::ordered_json index = {{"format", "refrain report"}, {"version", 2}};
  nlohmann::ordered_json& list = index["blocks"] = nlohmann::ordered_json::array();
  for (const Block& block : blocks_) {
    nlohmann::ordered_json& entry = list.emplace_back(nlohmann::ordered_json{
        {"name", block.name}, {"type", block.type}, {"bytes", block.bytes}});
    if (std::string_view(block.type) != "json") entry["shape"] = block.shape;
    if (block.delta) entry["coding"] = "delta";
  }
  return "<script type=\"application/json\" id=\"refrain-index\">" + script_text(index) +
         "</script>\n";
}

std::string Blocks::opening(std::size_t number) {
  return "<script type=\"text/plain\" class=\"refrain-block\" id=\"refrain-block-" +
         std::to_string(number) + "\">";
}

base::Result<> write_report(const std::string& path, std::string_view page,
                            const Blocks& blocks, bool replace) {
  const std::size_t at = page.find(kDataLine);
  if (at == std::string_view::npos)
    return base::Failure{"the page has no place for the data"};
  base::NewFile file(path);
  const auto existing = replace ? base::Existing::kReplace : base::Existing::kKeep;
  if (auto opened = file.open(existing); !opened) return opened;
  file.write(page.substr(0, at));
  blocks.write([&](const std::string& text) { file.write(text); });
  file.write(page.substr(at + kDataLine.size()));
  return file.put_in_place();
}

}  // namespace refrain::report
