// Loops whose lines are known: each is marked with its depth in its function. Not run.
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

int next_value();
void use(int value);

namespace known {

template <typename Each>
__attribute__((noinline)) void for_each(const std::vector<int>& all, const Each& each) {
  for (const int one : all)  // loop 1 or more
    each(one);
}

void lambda(const std::vector<int>& all) {
  for_each(all, [](int one) {
    for (int i = 0; i < one; ++i)  // loop 1 or more
      use(i);
  });
}

void ranged(const std::vector<std::string>& all) {
  for (const std::string& one : all)  // loop 1
    use(static_cast<int>(one.size()));
}

// The handler goes on with the loop.
void caught(int n) {
  for (int i = 0; i < n; ++i) {  // loop 1
    try {
      use(next_value());
    } catch (const std::exception&) {
      use(-1);
      for (int j = 0; j < i; ++j)  // loop 2
        use(j);
    }
    use(1);
  }
}

void destroyed(int n) {
  for (int i = 0; i < n; ++i) {  // loop 1
    const std::string text(static_cast<std::size_t>(next_value()), 'a');
    use(static_cast<int>(text.size()));
  }
}

struct Solver {
  int most = 10;
  void solve() {
    int step = 0;
    while (true) {
      use(step);                      // loop 1 or beside
      for (int i = 0; i < most; ++i)  // loop 2
        use(i);
      if (++step == most || next_value() == 0) break;
    }
  }
};

void solved(Solver& solver) { solver.solve(); }

}  // namespace known
