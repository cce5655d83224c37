// Particles in a box, in C++: regions inside templates, lambdas and member functions of a
// namespace (names that need demangling), and an exception that crosses functions inside
// a region and is caught there.
//
// Arguments: [iterations = 100] [particles = 600]
// Regions of an iteration: push, collide, and one opened by a lambda (3 events).
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "common.h"

namespace box {

constexpr std::int64_t kSide = 1 << 20;

struct Particle {
  std::int64_t at, speed;
};

class Escape : public std::runtime_error {
 public:
  Escape() : std::runtime_error("outside of the box") {}
};

class Box {
 public:
  explicit Box(long count) : particles_(static_cast<std::size_t>(count)) {
    for (std::size_t i = 0; i < particles_.size(); ++i) {
      const std::uint64_t random = scramble(i + 1);
      particles_[i] = {static_cast<std::int64_t>(random % kSide),
                       static_cast<std::int64_t>(random >> 40 & 0xffff) - 0x8000};
    }
  }

  NOINLINE void push() {
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < particles_.size(); ++i) {
      Particle& p = particles_[i];
      try {
        move(p);
      } catch (const Escape&) {
        p.speed = -p.speed;
      }
    }
  }

  template <typename Rule>
  NOINLINE void each(Rule rule) {
#pragma omp parallel for schedule(dynamic, 32)
    for (std::size_t i = 0; i < particles_.size(); ++i) rule(particles_[i], i);
  }

  std::uint64_t checksum() const {
    std::uint64_t sum = 0;
    for (const Particle& p : particles_)
      sum = checksum_add(sum, static_cast<std::uint64_t>(p.at * 3 + p.speed));
    return sum;
  }

 private:
  static void move(Particle& p) {
    const std::int64_t next = p.at + p.speed;
    if (next < 0 || next >= kSide) throw Escape();
    p.at = next;
  }

  std::vector<Particle> particles_;
};

}  // namespace box

int main(int argc, char** argv) {
  const long iterations = argument(argc, argv, 1, 100, 0);
  box::Box particles(argument(argc, argv, 2, 600, 1));
  std::uint64_t energy = 0;
  for (long k = 0; k < iterations; ++k) {
    particles.push();
    particles.each([](box::Particle& p, std::size_t i) {
      if (p.at % 64 == 0) p.speed += static_cast<std::int64_t>(i % 5) - 2;
    });
    std::uint64_t sum = 0;
    particles.each([&sum](box::Particle& p, std::size_t) {
      const std::uint64_t square = static_cast<std::uint64_t>(p.speed * p.speed);
#pragma omp atomic
      sum += square;
    });
    energy = checksum_add(energy, sum);
  }
  std::printf("iterations=%ld checksum=%016llx\n", iterations,
              static_cast<unsigned long long>(checksum_add(energy, particles.checksum())));
  return 0;
}
