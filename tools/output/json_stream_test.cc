#include <catch2/catch.hpp>

#include "tools/output/standard_output.h"

namespace refrain::tools::json_stream_test {
namespace {

using Json = nlohmann::ordered_json;

TEST_CASE("JsonStream: part by part - the text that nlohmann makes of the whole") {
  const Json inner = {{"a", 1}, {"list", {1.5, nullptr, "x"}}, {"none", Json::array()}};
  Json whole = {{"first", "line\nand \"quote\""}, {"bad \xff", true}};
  whole["empty"] = Json::array();
  whole["nothing"] = Json::object();
  whole["list"] = {inner, Json::object(), inner};
  whole["last"] = {{"deep", {{"deeper", {1, 2}}}}};
  for (const int indent : {1, 2}) {
    std::string text;
    JsonStream out([&](std::string_view part) { text += part; }, indent);
    out.begin_object();
    out.members(Json({{"first", whole["first"]}}));
    out.key("bad \xff");
    out.value(Json(true));
    out.key("empty");
    out.begin_array();
    out.end();
    out.key("nothing");
    out.begin_object();
    out.end();
    out.key("list");
    out.begin_array();
    out.value(inner);
    out.value(Json::object());
    out.begin_object();
    out.members(inner);
    out.end();
    out.end();
    out.key("last");
    out.value(whole["last"]);
    out.end();
    out.finish();
    CHECK(text == whole.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n");
  }
}

TEST_CASE("JsonStream: a long list - is handed over before it ends") {
  std::size_t most = 0, all = 0;
  JsonStream out(
      [&](std::string_view part) {
        most = std::max(most, part.size());
        all += part.size();
      },
      2);
  out.begin_array();
  for (int i = 0; i < 100'000; ++i) out.value(Json({{"number", i}}));
  out.end();
  out.finish();
  CHECK(all > 2'000'000);
  CHECK(most < 100'000);
}

}  // namespace
}  // namespace refrain::tools::json_stream_test
