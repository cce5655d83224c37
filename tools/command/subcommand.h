// What a subcommand of `refrain` is: a name, a line of help, options, and what it does.
//
// Data goes to stdout, diagnostics to stderr as one line that begins with "refrain: ".
// Exit status: 0 done, 1 the answer is no, 2 wrong use or unreadable input.
#pragma once

#include <memory>
#include <string>

namespace CLI {
class App;
}

namespace refrain::tools {

inline constexpr int kDone = 0;
inline constexpr int kWrongUse = 2;

// The group of options that only the manual has, and what help has in its place.
inline constexpr const char* kExpertSettings =
    "Expert settings (see 'refrain config --expert')";

class Subcommand {
 public:
  virtual ~Subcommand() = default;
  virtual const char* name() const = 0;
  virtual const char* help() const = 0;  // one line
  virtual void add_options(CLI::App& app) = 0;
  virtual int run() = 0;
};

// What `refrain --version` prints.
std::string version_text();

// Says what is wrong, on stderr; returns kWrongUse.
int fail(const std::string& line);

// One a subcommand, in the order of help: each in a file of its name.
#define REFRAIN_SUBCOMMANDS(X) \
  X(run)                       \
  X(info)                      \
  X(profile)                   \
  X(analyze)                   \
  X(scaling)                   \
  X(report)                    \
  X(experiment)                \
  X(graph)                     \
  X(loops)                     \
  X(watch)                     \
  X(recover)                   \
  X(convert)                   \
  X(compare)                   \
  X(detect)                    \
  X(config)                    \
  X(doctor)

#define REFRAIN_DECLARE(name) std::unique_ptr<Subcommand> make_##name##_command();
REFRAIN_SUBCOMMANDS(REFRAIN_DECLARE)
#undef REFRAIN_DECLARE

}  // namespace refrain::tools
