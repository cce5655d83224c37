// What a report's file has: blocks as they were put in, whatever their texts are.
#include "analysis/report/blocks.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "test/support/files.h"
#include "test/support/report_reader.h"

namespace refrain::report::blocks_test {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

constexpr std::string_view kPage = "<html><body><!-- refrain:data --></body></html>";

std::string text_of(const Blocks& blocks) {
  std::string text;
  blocks.write([&](const std::string& part) { text += part; });
  return text;
}

std::string base64_of(const std::string& text) {
  return base64({reinterpret_cast<const unsigned char*>(text.data()), text.size()});
}

TEST_CASE("Report blocks: base64 - the examples of RFC 4648") {
  CHECK(base64_of("").empty());
  CHECK(base64_of("f") == "Zg==");
  CHECK(base64_of("fo") == "Zm8=");
  CHECK(base64_of("foo") == "Zm9v");
  CHECK(base64_of("foobar") == "Zm9vYmFy");
  CHECK(base64_of("\xff\xfe\xfb") == "//77");
}

TEST_CASE("Report blocks: numbers - each type comes back as it was") {
  Blocks blocks;
  blocks.add("d", std::vector<double>{1.5, -2, 1e300}, {3, 1});
  blocks.add("f", std::vector<float>{0.25F}, {1});
  blocks.add("s", std::vector<std::uint16_t>{65535, 1}, {2});
  blocks.add("u", std::vector<std::uint32_t>{4294967295U}, {1});
  blocks.add("c", std::vector<std::uint8_t>{}, {0, 4});
  const test::ReportReader report(text_of(blocks));
  CHECK(report.numbers("d") == std::vector<double>{1.5, -2, 1e300});
  CHECK(report.shape("d") == std::vector<std::size_t>{3, 1});
  CHECK(report.numbers("f") == std::vector<double>{0.25});
  CHECK(report.numbers("s") == std::vector<double>{65535, 1});
  CHECK(report.numbers("u") == std::vector<double>{4294967295.0});
  CHECK(report.numbers("c").empty());
  CHECK(report.shape("c") == std::vector<std::size_t>{0, 4});
  CHECK(blocks.has("d"));
  CHECK(!blocks.has("e"));
}

TEST_CASE(
    "Report blocks: ascending numbers - differences where they fit, else as they are") {
  const std::vector<double> near = {5, 5, 4294967300.0}, far = {0, 1e10}, part = {0.5, 1};
  Blocks blocks;
  blocks.add_ascending("near", near);
  blocks.add_ascending("far", far);
  blocks.add_ascending("part", part);
  const test::ReportReader report(text_of(blocks));
  CHECK(report.entry("near")["coding"] == "delta");
  CHECK(!report.entry("far").contains("coding"));
  CHECK(!report.entry("part").contains("coding"));
  CHECK(report.numbers("near") == near);
  CHECK(report.numbers("far") == far);
  CHECK(report.numbers("part") == part);
}

TEST_CASE("Report blocks: texts - any name stays a text") {
  const std::string names[] = {"</script><script>alert(1)</script>", "\"'`&<!--\\u003c",
                               std::string("\0\x01\x1b\x7f\n", 5),
                               "\u202Eltr\u202C \u05D0\u05D1", std::string(10'000, 'x')};
  for (const std::string& name : names) {
    Blocks blocks;
    blocks.add(name, json{{"name", name}, {name, 1}});
    const std::string text = text_of(blocks);
    // Nothing but the elements themselves.
    std::size_t tags = 0;
    for (const char c : text) tags += c == '<';
    CHECK(tags == 4);
    const test::ReportReader report(text);
    CHECK(report.value(name)["name"] == name);
    CHECK(report.value(name)[name] == 1);
  }
}

TEST_CASE("Report blocks: texts - what is no UTF-8 is replaced") {
  Blocks blocks;
  blocks.add("n", json{{"name", "a\xff\xc3"}});
  blocks.add("a\xff", nlohmann::json{{"name", "\xe2\x82"}});
  const test::ReportReader report(text_of(blocks));
  CHECK(report.value("n")["name"] == "a\uFFFD\uFFFD");
  CHECK(report.value("a\uFFFD")["name"] == "\uFFFD");
}

TEST_CASE("Report blocks: JSON in parts - is as if it were made at once") {
  std::string digits;  // which zlib cannot make much smaller
  std::mt19937 random(1);
  while (digits.size() < 1'000'000) digits += std::to_string(random());
  Blocks parts, whole;
  parts.add("j", [&](const Blocks::TakeText& take) {
    take("{\"digits\":\"");
    take(digits);
    take("\"}");
  });
  whole.add("j", json{{"digits", digits}});
  CHECK(text_of(parts) == text_of(whole));
  CHECK(test::ReportReader(text_of(parts)).value("j").at("digits") == digits);
}

TEST_CASE("Report file: the data is in its place, and nothing else is left") {
  const test::TemporaryFolder folder;
  Blocks blocks;
  blocks.add("n", json{{"one", 1}});
  const fs::path file = folder / "r.html";
  REQUIRE(write_report(file, kPage, blocks, false).ok());
  const std::string text = test::read_file(file);
  CHECK(text.starts_with("<html><body><script"));
  CHECK(text.ends_with("</script>\n</body></html>"));
  CHECK(test::ReportReader(text).value("n")["one"] == 1);
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("Report file: an existing file - is replaced only where that is wanted") {
  const test::TemporaryFolder folder;
  const fs::path file = folder / "r.html";
  std::ofstream(file) << "mine";
  CHECK(write_report(file, kPage, {}, false).error() ==
        "'" + file.string() + "' exists; --overwrite replaces it");
  CHECK(test::read_file(file) == "mine");
  CHECK(write_report(file, kPage, {}, true).ok());
  CHECK(test::read_file(file) != "mine");
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("Report file: what cannot be written - one line, and no file") {
  const test::TemporaryFolder folder;
  const auto done = write_report(folder / "no/r.html", kPage, {}, false);
  CHECK(done.error() == "cannot write '" + (folder / "no/r.html").string() +
                            "': No such file or directory");
  fs::create_directory(folder / "r.html");
  CHECK(!write_report(folder / "r.html", kPage, {}, true).ok());
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
  CHECK(!write_report(folder / "r2.html", "no place", {}, false).ok());
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

}  // namespace
}  // namespace refrain::report::blocks_test
