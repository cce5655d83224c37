#include "tools/detect/symbol_reader.h"

#include <zlib.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>

#include "test/support/files.h"

namespace refrain::tools::symbol_reader_test {
namespace {

using periodicity::Symbol;
using Symbols = std::vector<Symbol>;
using test::TemporaryFolder;
using Random = std::mt19937_64;

struct Answer {
  Symbols symbols;
  std::string error;
  bool has_negative = false;
};

Answer parse(const std::string& text, std::size_t piece = ~std::size_t{0}) {
  SymbolParser parser;
  Answer answer;
  bool good = true;
  for (std::size_t at = 0; good && at < text.size(); at += std::min(piece, text.size()))
    good = parser.feed(std::string_view(text).substr(at, piece), answer.symbols);
  good = good && parser.finish(answer.symbols);
  CHECK(good == parser.error().empty());
  answer.error = parser.error();
  answer.has_negative = parser.has_negative();
  return answer;
}

Answer read(const std::string& path, std::size_t block = 1000) {
  SymbolReader reader(path);
  Answer answer;
  Symbols part;
  while (part.clear(), reader.read(block, part))
    answer.symbols.insert(answer.symbols.end(), part.begin(), part.end());
  answer.error = reader.error();
  answer.has_negative = reader.has_negative();
  return answer;
}

void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::remove(path);  // some file systems flush what is truncated and rewritten
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string gzipped(const std::string& text, const std::filesystem::path& scratch) {
  std::filesystem::remove(scratch);
  gzFile file = gzopen(scratch.c_str(), "wb");
  REQUIRE(file != nullptr);
  if (!text.empty()) gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return test::read_file(scratch);
}

// The format once more, written for the eye instead of for speed.
std::optional<Symbols> reference(const std::string& text) {
  Symbols symbols;
  std::istringstream lines(text);
  bool negative = false;
  bool huge = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.size() > SymbolParser::kLongestLine) return std::nullopt;
    const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!line.empty() && space(line.front())) line.erase(0, 1);
    while (!line.empty() && space(line.back())) line.pop_back();
    std::size_t at = !line.empty() && (line[0] == '-' || line[0] == '+') ? 1 : 0;
    unsigned base = 10;
    if (line.size() > at + 1 && line[at] == '0' && std::tolower(line[at + 1]) == 'x') {
      base = 16;
      at += 2;
    }
    if (at == line.size()) return std::nullopt;
    const std::string digits = base == 10 ? "0123456789" : "0123456789abcdef";
    unsigned __int128 value = 0;
    for (; at < line.size(); ++at) {
      const auto digit = digits.find(static_cast<char>(std::tolower(line[at])));
      if (line[at] == 0 || digit == std::string::npos) return std::nullopt;
      value = value * base + digit;
      if (value >> 64 != 0) return std::nullopt;
    }
    const auto number = static_cast<std::uint64_t>(value);
    const bool minus = line[0] == '-';
    if (minus && number > std::uint64_t{1} << 63) return std::nullopt;
    negative |= minus && number != 0;
    huge |= !minus && number >> 63 != 0;
    if (negative && huge) return std::nullopt;
    symbols.push_back(minus ? 0 - number : number);
  }
  if (symbols.empty()) return std::nullopt;
  return symbols;
}

std::string random_line(Random& random) {
  static const std::vector<std::string> kOdd{"",
                                             "-",
                                             "+",
                                             "0x",
                                             "-0",
                                             "+7",
                                             "-0x10",
                                             "0XfF",
                                             " 12\t",
                                             "1 2",
                                             "1.5",
                                             "1e3",
                                             "x",
                                             "--1",
                                             "+-1",
                                             "0x0x",
                                             "12\r",
                                             "\r",
                                             "nan",
                                             "0b1",
                                             "9223372036854775807",
                                             "9223372036854775808",
                                             "-9223372036854775808",
                                             "-9223372036854775809",
                                             "18446744073709551615",
                                             "18446744073709551616",
                                             "0xffffffffffffffff",
                                             "0x10000000000000000",
                                             "00000000000000000000000012",
                                             "123456789012345678",
                                             "1234567890123456789",
                                             std::string("1\0", 2),
                                             std::string(256, '0'),
                                             std::string(257, '0'),
                                             std::string(255, ' ') + "1"};
  switch (random() % 20) {
    case 0:
      return kOdd[random() % kOdd.size()];
    case 1:
      return std::to_string(random());
    case 2:
      return "-" + std::to_string(random() >> (1 + random() % 60));
    default:
      return std::to_string(random() % 1000);
  }
}

// Mostly streams as they should be, some with one thing wrong.
std::string random_text(Random& random) {
  std::string text;
  const bool odd = random() % 2 == 0;
  for (std::uint64_t lines = random() % 40; lines != 0; --lines)
    text += (odd ? random_line(random) : std::to_string(random() % 100)) + "\n";
  if (random() % 3 == 0 && !text.empty()) text.pop_back();
  if (random() % 8 == 0 && !text.empty())
    text[random() % text.size()] = static_cast<char>(random() % 256);
  return text;
}

void check_same(const Answer& answer, const std::optional<Symbols>& expected) {
  CHECK(answer.error.empty() == expected.has_value());
  if (expected) CHECK(answer.symbols == *expected);
  CHECK(answer.error.find('\n') == std::string::npos);
  CHECK(answer.error.size() < 160);
}

// How often a random test tries: REFRAIN_FUZZ_ROUNDS times, else what takes a moment.
std::uint64_t rounds(std::uint64_t usual) {
  const char* wanted = std::getenv("REFRAIN_FUZZ_ROUNDS");
  return wanted == nullptr ? usual : std::strtoull(wanted, nullptr, 10);
}

}  // namespace

TEST_CASE("SymbolParser: integers - decimal, signed, hexadecimal, with space around") {
  const Answer answer =
      parse("0\n7\n+5\n-3\n0x1F\n -0x2\t\r\n0012\n9223372036854775807\n-1");
  CHECK(answer.error == "");
  CHECK(answer.symbols ==
        Symbols{0, 7, 5, Symbol(-3), 31, Symbol(-2), 12, 9223372036854775807u, Symbol(-1)});
  CHECK(answer.has_negative);
  CHECK(parse("18446744073709551615\n").symbols == Symbols{~Symbol{0}});
  CHECK(!parse("18446744073709551615\n").has_negative);
  CHECK(parse("-9223372036854775808\n").symbols == Symbols{Symbol{1} << 63});
  CHECK(!parse("-0\n").has_negative);
}

TEST_CASE("SymbolParser: wrong lines - the first one is reported, with its number") {
  CHECK(parse("").error == "is empty");
  CHECK(parse("1\n2\nthree\n4\nfive\n").error == "line 3: 'three' is not an integer");
  CHECK(parse("1\n\n2\n").error == "line 2: '' is not an integer");
  CHECK(parse("1.5").error == "line 1: '1.5' is not an integer");
  CHECK(parse("1 2\n").error == "line 1: '1 2' is not an integer");
  CHECK(parse("1\n0x\n").error == "line 2: '0x' is not an integer");
  CHECK(parse("18446744073709551616\n").error ==
        "line 1: '18446744073709551616' is not an integer of 64 bits");
  CHECK(parse("-9223372036854775809\n").error ==
        "line 1: '-9223372036854775809' is not an integer of 64 bits");
  CHECK(parse("a\x01\xff\n").error == "line 1: 'a?\?' is not an integer");
  CHECK(
      parse("-1\n18446744073709551615\n").error ==
      "line 2: '18446744073709551615' does not go with a number of the other sign before");
  const std::string long_line =
      "line 1: '" + std::string(40, '1') + "...' is too long a line";
  CHECK(parse(std::string(1000, '1')).error == long_line);
  CHECK(parse(std::string(1000, '1') + "\n").error == long_line);
  CHECK(parse(std::string(1000, '1') + "\n", 7).error == long_line);
}

TEST_CASE("SymbolParser: pieces - it does not matter where the text is cut") {
  const std::string text = "12\n-345\n0xabc\n6\r\n78901234567890123456789\n1\n";
  const Answer whole = parse(text);
  CHECK(whole.error.find("line 5") == 0);
  for (std::size_t piece = 1; piece < text.size(); ++piece) {
    CHECK(parse(text, piece).error == whole.error);
    CHECK(parse(text, piece).symbols == whole.symbols);
  }
}

TEST_CASE("SymbolParser: random - as the reference reads it, however it is cut") {
  Random random(1);
  std::uint64_t good = 0;
  const std::uint64_t tries = rounds(3000);
  for (std::uint64_t round = 0; round < tries; ++round) {
    const std::string text = random_text(random);
    const auto expected = reference(text);
    INFO("round " << round << ": " << text);
    check_same(parse(text, 1 + random() % 64), expected);
    good += expected ? 1 : 0;
  }
  if (tries >= 1000) {
    CHECK(good > tries / 4);
    CHECK(good < tries * 3 / 4);
  }
}

TEST_CASE("SymbolReader: files - plain and packed, in blocks of any size") {
  TemporaryFolder folder;
  std::string text;
  Symbols expected;
  for (Symbol k = 0; k < 200000; ++k) {  // more than the buffer
    expected.push_back(k * k % 1009);
    text += std::to_string(expected.back()) + "\n";
  }
  write_file(folder / "plain", text);
  write_file(folder / "packed", gzipped(text, folder / "scratch"));
  for (const char* name : {"plain", "packed"})
    for (const std::size_t block : {1, 100000, 1000000}) {
      const Answer answer = read((folder / name).string(), block);
      CHECK(answer.error == "");
      CHECK(answer.symbols == expected);
    }
}

TEST_CASE("SymbolReader: files - what cannot be read is reported") {
  TemporaryFolder folder;
  CHECK(read((folder / "none").string()).error ==
        "cannot be read: No such file or directory");
  CHECK(read(folder.path().string()).error == "is a directory");
  write_file(folder / "empty", "");
  CHECK(read((folder / "empty").string()).error == "is empty");
  write_file(folder / "empty.gz", gzipped("", folder / "scratch"));
  CHECK(read((folder / "empty.gz").string()).error == "is empty");
}

TEST_CASE("SymbolReader: gzip - cut short anywhere, it is never taken for whole") {
  TemporaryFolder folder;
  std::string text;
  for (int k = 0; k < 300; ++k) text += std::to_string(k * 7919 % 1000) + "\n";
  const std::string packed = gzipped(text, folder / "scratch");
  REQUIRE(packed.size() > 100);
  for (std::size_t size = 0; size < packed.size(); ++size) {
    write_file(folder / "cut", packed.substr(0, size));
    INFO(size << " of " << packed.size() << " bytes");
    const std::string error = read((folder / "cut").string()).error;
    CHECK(error != "");
    if (size > 2) CHECK(error == "is cut short: the gzip data end too early");
  }
}

TEST_CASE("SymbolReader: random - plain, packed, cut and damaged files") {
  TemporaryFolder folder;
  Random random(2);
  const std::string path = (folder / "file").string();
  for (std::uint64_t round = 0, all = rounds(200); round < all; ++round) {
    const std::string text = random_text(random);
    const auto expected = reference(text);
    const std::string packed = gzipped(text, folder / "scratch");
    INFO("round " << round << ": " << text);
    const auto read_bytes = [&](const std::string& bytes) {
      write_file(path, bytes);
      return read(path, 1 + random() % 50);
    };
    check_same(read_bytes(packed), expected);
    if (text.substr(0, 2) != "\x1f\x8b") check_same(read_bytes(text), expected);
    CHECK(!read_bytes(packed.substr(0, random() % packed.size())).error.empty());
    // One bit wrong: it is found, or lay where it does not matter (the header's date).
    std::string damaged = packed;
    damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    const Answer answer = read_bytes(damaged);
    if (answer.error.empty()) check_same(answer, expected);
  }
}

TEST_CASE("DistinctSymbols: counts as a set does") {
  Random random(3);
  for (const std::uint64_t kinds : {1, 2, 60, 5000}) {
    DistinctSymbols distinct;
    std::vector<bool> seen(kinds);
    std::uint64_t expected = 0;
    for (int k = 0; k < 20000; ++k) {
      const std::uint64_t kind = random() % kinds;
      expected += seen[kind] ? 0 : 1;
      seen[kind] = true;
      distinct.add(kind << 40);  // 0 among them
      REQUIRE(distinct.size() == expected);
    }
  }
}

}  // namespace refrain::tools::symbol_reader_test
