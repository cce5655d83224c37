#include "writer/model/thread_links.h"

#include <catch2/catch.hpp>

namespace refrain::writer::thread_links_test {

TEST_CASE("Thread links: records where a thread's start is known at both ends") {
  using enum ThreadAct;
  const ThreadLinks links({{{kCreate, 1}, {kCreate, 2}, {kWait, 1}, {kCreate, 4}},
                           {{kRun, 1}, {kRun, 3}},
                           {{kRun, 4}},
                           {{kWait, 3}, {kWait, 2}}});
  CHECK(links.writes({kCreate, 1}));
  CHECK(links.writes({kRun, 1}));
  CHECK(links.writes({kWait, 1}));
  CHECK(links.is_waited_for(1));
  // Nobody waits for it.
  CHECK(links.writes({kRun, 4}));
  CHECK_FALSE(links.is_waited_for(4));
  // Its start, or that of who made it, is not there.
  for (const std::uint64_t thread : {2U, 3U, 9U}) {
    CHECK_FALSE(links.writes({kCreate, thread}));
    CHECK_FALSE(links.writes({kRun, thread}));
    CHECK_FALSE(links.writes({kWait, thread}));
    CHECK_FALSE(links.is_waited_for(thread));
  }
  CHECK_FALSE(links.writes({kNone, 1}));
  CHECK(links.members() == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(ThreadLinks().members().empty());
}

}  // namespace refrain::writer::thread_links_test
