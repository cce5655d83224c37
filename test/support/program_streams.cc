#include "test/support/program_streams.h"

#include <algorithm>
#include <random>
#include <stdexcept>

namespace refrain::test {
namespace {

// A program under construction: chooses sizes at random, gives every place its own symbol.
class Program {
 public:
  explicit Program(std::uint64_t seed) : random_(seed) {}

  ProgramStream stream;

  std::uint64_t between(std::uint64_t least, std::uint64_t most) {
    return least + random_() % (most - least + 1);
  }
  bool chance(std::uint64_t percent) { return random_() % 100 < percent; }

  // A row of code: `size` new places.
  Stream row(std::uint64_t size) {
    Stream row(size);
    for (auto& symbol : row) symbol = next_symbol_++;
    return row;
  }
  Stream row(std::uint64_t least, std::uint64_t most) { return row(between(least, most)); }

  void run(const Stream& row, std::uint64_t times = 1) {
    for (; times != 0; --times) {
      stream.symbols.insert(stream.symbols.end(), row.begin(), row.end());
    }
  }
  void run_shuffled(Stream row) {
    std::shuffle(row.begin(), row.end(), random_);
    run(row);
  }

  template <typename Body>
  void main_loop(std::uint64_t trips, Body body) {
    run(row(3, 40));
    for (std::uint64_t trip = 0; trip < trips; ++trip) {
      stream.iterations.push_back(stream.symbols.size());
      body(trip);
    }
    stream.end = stream.symbols.size();
    run(row(2, 12));
  }

 private:
  std::mt19937_64 random_;
  std::uint64_t next_symbol_ = 0;
};

// An adaptive mesh: work for each block; every few steps the number of blocks changes.
void adaptive_blocks(Program& p) {
  const Stream head = p.row(2, 6);
  const Stream block = p.row(2, 6);
  const Stream tail = p.row(2, 8);
  const Stream regrid = p.row(3, 9);
  const std::uint64_t every = p.between(2, 8);
  std::uint64_t blocks = p.between(2, 12);
  p.main_loop(300, [&](std::uint64_t step) {
    p.run(head);
    p.run(block, blocks);
    p.run(tail);
    if ((step + 1) % every != 0) return;
    p.run(regrid);
    blocks = std::clamp<std::uint64_t>(blocks + p.between(0, 4), 3, 40) - 2;
  });
}

// An adaptive mesh of levels, each with its own code, that come and go.
void adaptive_levels(Program& p) {
  const Stream head = p.row(2, 5);
  std::vector<Stream> levels;
  for (int k = 0; k < 4; ++k) levels.push_back(p.row(4, 12));
  const Stream tail = p.row(2, 5);
  const std::uint64_t every = p.between(3, 20);
  std::uint64_t open = p.between(1, 4);
  p.main_loop(400, [&](std::uint64_t step) {
    p.run(head);
    for (std::uint64_t level = 0; level < open; ++level) p.run(levels[level], level + 1);
    p.run(tail);
    if ((step + 1) % every == 0) open = p.between(1, 4);
  });
}

// Refined meshes take two steps for each one of the coarser mesh around them.
void subcycling(Program& p) {
  std::vector<Stream> before;
  std::vector<Stream> after;
  for (int k = 0; k < 4; ++k) {
    before.push_back(p.row(2, 6));
    after.push_back(p.row(1, 5));
  }
  const std::uint64_t every = p.between(5, 30);
  std::uint64_t levels = p.between(1, 4);
  const auto advance = [&](auto& self, std::uint64_t level) -> void {
    p.run(before[level]);
    if (level + 1 < levels) {
      self(self, level + 1);
      self(self, level + 1);
    }
    p.run(after[level]);
  };
  p.main_loop(300, [&](std::uint64_t step) {
    advance(advance, 0);
    if ((step + 1) % every == 0) levels = p.between(1, 4);
  });
}

// Newton steps, each with a linear solver of varying length, and a line search that seldom
// needs more than one try.
void newton(Program& p) {
  const Stream head = p.row(2, 6);
  const Stream assemble = p.row(2, 6);
  const Stream solver = p.row(3, 9);
  const Stream search = p.row(1, 4);
  const Stream accept = p.row(1, 3);
  const Stream tail = p.row(2, 6);
  const std::uint64_t most = p.between(4, 60);
  p.main_loop(150, [&](std::uint64_t) {
    p.run(head);
    for (std::uint64_t k = p.between(1, 6); k != 0; --k) {
      p.run(assemble);
      p.run(solver, p.between(2, most));
      p.run(search, 1);
      while (p.chance(20)) p.run(search);
      p.run(accept);
    }
    p.run(tail);
  });
}

// An inner solver with only 1 to 5 iterations.
void short_solver(Program& p) {
  const Stream head = p.row(3, 9);
  const Stream solver = p.row(2, 7);
  const Stream tail = p.row(3, 9);
  p.main_loop(400, [&](std::uint64_t) {
    p.run(head);
    p.run(solver, p.between(1, 5));
    p.run(tail);
  });
}

// GMRES: the orthogonalisation takes one more iteration each time, until a restart.
void growing_inner(Program& p) {
  const Stream head = p.row(2, 5);
  const Stream dot = p.row(1, 3);
  const Stream tail = p.row(2, 5);
  const std::uint64_t restart = p.between(8, 30);
  const std::uint64_t cycles = p.between(15, 40);
  const Stream update = p.row(3, 8);
  p.main_loop(cycles, [&](std::uint64_t) {
    for (std::uint64_t k = 1; k <= restart; ++k) {
      p.run(head);
      p.run(dot, k);
      p.run(tail);
    }
    p.run(update);
  });
}

// Some events of each iteration come in any order, like messages.
void any_order(Program& p, std::uint64_t size) {
  const Stream head = p.row(5, 15);
  const Stream any = p.row(size);
  const Stream tail = p.row(5, 15);
  p.main_loop(1000, [&](std::uint64_t) {
    p.run(head);
    p.run_shuffled(any);
    p.run(tail);
  });
}

// Two events side by side in three places, in either order.
void swaps(Program& p) {
  std::vector<Stream> rows;
  std::vector<Stream> pairs;
  for (int k = 0; k < 3; ++k) {
    rows.push_back(p.row(4, 10));
    pairs.push_back(p.row(2));
  }
  p.main_loop(800, [&](std::uint64_t) {
    for (std::size_t k = 0; k < rows.size(); ++k) {
      p.run(rows[k]);
      p.run_shuffled(pairs[k]);
    }
  });
}

// A master answers requests: one of a few short courses, at random.
void master_worker(Program& p) {
  const Stream receive = p.row(1, 3);
  std::vector<Stream> answers;
  for (int k = 0; k < 3; ++k) answers.push_back(p.row(2, 6));
  p.main_loop(1000, [&](std::uint64_t) {
    p.run(receive);
    p.run(answers[p.chance(70) ? 0 : p.between(1, 2)]);
  });
}

// Output every k-th step, a checkpoint every m-th, statistics every n-th.
void every_so_often(Program& p) {
  const Stream body = p.row(5, 30);
  std::vector<Stream> extras;
  std::vector<std::uint64_t> every;
  for (int k = 0; k < 3; ++k) {
    extras.push_back(p.row(1, 6));
    every.push_back(p.between(3, 60));
  }
  p.main_loop(600, [&](std::uint64_t step) {
    p.run(body);
    for (std::size_t k = 0; k < extras.size(); ++k) {
      if ((step + 1) % every[k] == 0) p.run(extras[k]);
    }
  });
}

// Parts of the body are run nondeterministically, seldom or often.
void by_chance(Program& p, std::uint64_t percent) {
  const Stream first = p.row(5, 20);
  const Stream maybe = p.row(1, 6);
  const Stream second = p.row(5, 20);
  p.main_loop(600, [&](std::uint64_t) {
    p.run(first);
    if (p.chance(percent)) p.run(maybe);
    p.run(second);
  });
}

// A step is sometimes abandoned half way and repeated.
void rejected_steps(Program& p) {
  const Stream first = p.row(5, 20);
  const Stream back = p.row(1, 4);
  const Stream second = p.row(5, 20);
  p.main_loop(500, [&](std::uint64_t) {
    p.run(first);
    while (p.chance(10)) {
      p.run(back);
      p.run(first);
    }
    p.run(second);
  });
}

// Even and odd steps differ, as do the first and the last.
void alternating(Program& p) {
  const Stream same = p.row(5, 25);
  const Stream even = p.row(2, 8);
  const Stream odd = p.row(2, 8);
  const Stream special = p.row(3, 9);
  p.main_loop(300, [&](std::uint64_t step) {
    p.run(same);
    p.run(step % 2 == 0 ? even : odd);
    if (step == 0 || step == 299) p.run(special);
  });
}

// Several kinds of step that begin alike, in random order.
void shared_prefix(Program& p) {
  const Stream prefix = p.row(20, 60);
  std::vector<Stream> ends;
  for (int k = 0; k < 4; ++k) ends.push_back(p.row(3, 12));
  p.main_loop(500, [&](std::uint64_t) {
    p.run(prefix);
    p.run(ends[p.between(0, 3)]);
  });
}

// Phases of some iterations each come and go.
void phases(Program& p) {
  std::vector<Stream> bodies;
  for (int k = 0; k < 3; ++k) bodies.push_back(p.row(4, 20));
  const Stream between = p.row(2, 5);
  std::uint64_t left = 0;
  std::size_t phase = 0;
  p.main_loop(900, [&](std::uint64_t) {
    if (left == 0) {
      p.run(between);
      phase = p.between(0, 2);
      left = p.between(5, 40);
    }
    --left;
    p.run(bodies[phase]);
  });
}

// Loops over particles' cells: inner loops of small trip counts that all differ.
void small_counts(Program& p) {
  const Stream head = p.row(2, 6);
  std::vector<Stream> inner;
  std::vector<Stream> after;
  for (int k = 0; k < 3; ++k) {
    inner.push_back(p.row(1, 4));
    after.push_back(p.row(1, 3));
  }
  p.main_loop(300, [&](std::uint64_t) {
    p.run(head);
    for (std::size_t k = 0; k < inner.size(); ++k) {
      p.run(inner[k], p.between(0, 4));
      p.run(after[k]);
    }
  });
}

using Make = void (*)(Program&);
const std::vector<std::pair<std::string, Make>> kKinds{
    {"adaptive blocks", adaptive_blocks},
    {"adaptive levels", adaptive_levels},
    {"subcycling", subcycling},
    {"newton", newton},
    {"short solver", short_solver},
    {"growing inner", growing_inner},
    {"any order of 2", [](Program& p) { any_order(p, 2); }},
    {"any order of 3", [](Program& p) { any_order(p, 3); }},
    {"any order of 4", [](Program& p) { any_order(p, 4); }},
    {"any order of 6", [](Program& p) { any_order(p, 6); }},
    {"swaps", swaps},
    {"master worker", master_worker},
    {"every so often", every_so_often},
    {"by chance 3 %", [](Program& p) { by_chance(p, 3); }},
    {"by chance 20 %", [](Program& p) { by_chance(p, 20); }},
    {"by chance 50 %", [](Program& p) { by_chance(p, 50); }},
    {"rejected steps", rejected_steps},
    {"alternating", alternating},
    {"shared prefix", shared_prefix},
    {"phases", phases},
    {"small counts", small_counts},
};

}  // namespace

double ProgramStream::best(std::uint64_t limit) const {
  if (iterations.size() <= limit) return 0;
  return static_cast<double>(end - iterations[limit]) / static_cast<double>(symbols.size());
}

const std::vector<std::string>& program_kinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const auto& [name, make] : kKinds) result.push_back(name);
    return result;
  }();
  return names;
}

ProgramStream program_stream(const std::string& kind, std::uint64_t seed) {
  for (const auto& [name, make] : kKinds) {
    if (name != kind) continue;
    Program program(seed);
    make(program);
    return program.stream;
  }
  throw std::invalid_argument("no kind of program is called " + kind);
}

}  // namespace refrain::test
