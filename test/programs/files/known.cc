// Does with files what it knows, and prints it: "path name=number ...", of each file in the directory of its first argument.
//
//     known DIRECTORY [kill]
//
// By POSIX calls, C streams and C++ streams; before main, in a thread, in a handler of a signal, in children of fork() and vfork().
// Pipes, sockets and devices are no files. It checks itself that errno stays, and ends with status 3 if it does not.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace {

std::string g_folder;
std::map<std::string, std::map<std::string, long>> g_known;

std::string path(const std::string& name) { return g_folder + "/" + name; }

void count(const std::string& name, const char* what, long number = 1) {
  g_known[name][what] += number;
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  _exit(3);
}

void check(bool holds, const char* what) {
  if (!holds) fail(what);
}

std::vector<char> g_data(1 << 16, 'x');

constexpr const char* kEarly = "early.dat";
int g_early_written = 0;

__attribute__((constructor)) void before_main(int argc, char** argv) {
  if (argc < 2) return;
  char name[512];
  std::snprintf(name, sizeof name, "%s/%s", argv[1], kEarly);
  const int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
  if (fd < 0) return;
  if (write(fd, "early", 5) == 5) g_early_written = 5;
  close(fd);
}

void early() {
  count(kEarly, "opens");
  count(kEarly, "closes");
  count(kEarly, "writes");
  count(kEarly, "written_bytes", g_early_written);
  count(kEarly, "small");
}

void posix() {
  const std::string name = "posix.dat";
  const int fd = open(path(name).c_str(), O_CREAT | O_RDWR | O_TRUNC, 0600);
  check(fd >= 0, "open");
  count(name, "opens");
  const auto put = [&](std::size_t bytes) {
    errno = 77;
    check(write(fd, g_data.data(), bytes) == static_cast<ssize_t>(bytes), "write");
    check(errno == 77, "errno after write");
    count(name, "writes");
    count(name, "written_bytes", static_cast<long>(bytes));
    if (bytes < 4096) count(name, "small");
  };
  for (int i = 0; i < 10; ++i) put(8192);
  for (int i = 0; i < 5; ++i) put(100);
  count(name, "unaligned", 4);
  check(lseek(fd, 0, SEEK_SET) == 0, "lseek");
  count(name, "seeks");
  for (int i = 0; i < 3; ++i) {
    check(read(fd, g_data.data(), 4096) == 4096, "read");
    count(name, "reads");
    count(name, "read_bytes", 4096);
  }
  check(pread(fd, g_data.data(), 4096, 10) == 4096, "pread");
  count(name, "reads");
  count(name, "read_bytes", 4096);
  count(name, "unaligned");
  check(pwrite(fd, g_data.data(), 10, 4096) == 10, "pwrite");
  count(name, "writes");
  count(name, "written_bytes", 10);
  count(name, "small");
  iovec parts[2] = {{g_data.data(), 100}, {g_data.data(), 50}};
  check(writev(fd, parts, 2) == 150, "writev");
  count(name, "writes");
  count(name, "written_bytes", 150);
  count(name, "small");
  check(fsync(fd) == 0 && fsync(fd) == 0 && fdatasync(fd) == 0, "fsync");
  count(name, "syncs", 3);
  // From here on it is not known where the descriptors stand.
  const int copy = dup(fd);
  check(copy >= 0 && write(copy, g_data.data(), 4096) == 4096, "dup");
  count(name, "writes");
  count(name, "written_bytes", 4096);
  check(fcntl(fd, F_GETFL) >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0, "fcntl");
  check(close(copy) == 0 && close(fd) == 0, "close");
  count(name, "closes", 2);
}

void errors() {
  const std::string name = "error.dat";
  const int fd = open(path(name).c_str(), O_CREAT | O_WRONLY, 0600);
  check(fd >= 0, "open");
  errno = 0;
  check(read(fd, g_data.data(), 8192) == -1 && errno == EBADF,
        "read of what is only written");
  check(close(fd) == 0, "close");
  errno = 0;
  check(close(fd) == -1 && errno == EBADF, "close again");
  errno = 0;
  check(open(path("none/none").c_str(), O_RDONLY) == -1 && errno == ENOENT,
        "open of nothing");
  count(name, "opens");
  count(name, "reads");
  count(name, "errors");
  count(name, "closes");
}

void streams() {
  const std::string name = "stream.txt";
  std::FILE* file = std::fopen(path(name).c_str(), "w");
  check(file != nullptr, "fopen");
  count(name, "opens");
  long bytes = 0;
  for (int i = 0; i < 3; ++i)
    bytes += static_cast<long>(std::fwrite(g_data.data(), 10, 100, file)) * 10;
  bytes += std::fprintf(file, "\n%d %s\n", 12345, "numbers");
  check(std::fputs("a line\n", file) >= 0, "fputs");
  bytes += 7;
  check(std::fflush(file) == 0 && std::fclose(file) == 0, "fclose");
  count(name, "writes", 5);
  count(name, "written_bytes", bytes);
  count(name, "syncs");
  count(name, "closes");
  file = std::fopen(path(name).c_str(), "r");
  check(file != nullptr, "fopen");
  count(name, "opens");
  char line[4096];
  check(std::fgets(line, sizeof line, file) != nullptr && std::strlen(line) == 3001,
        "fgets");
  check(std::fread(line, 1, 5, file) == 5, "fread");
  check(std::fgets(line, sizeof line, file) != nullptr, "fgets");
  const long rest = static_cast<long>(std::strlen(line));
  check(std::fseek(file, 0, SEEK_SET) == 0, "fseek");
  std::fclose(file);
  count(name, "reads", 3);
  count(name, "read_bytes", 3001 + 5 + rest);
  count(name, "seeks");
  count(name, "closes");
  count(name, "stream_calls", 8);
}

// How many calls these make is for the C++ library to say.
void cpp_streams() {
  const std::string name = "cpp.txt";
  {
    std::ofstream out(path(name));
    for (int i = 0; i < 5000; ++i) out << "line " << i % 10 << '\n';
  }
  std::ifstream in(path(name));
  std::string line;
  long bytes = 0;
  while (std::getline(in, line)) bytes += static_cast<long>(line.size()) + 1;
  check(bytes == 5000 * 7, "getline");
  count(name, "opens", 2);
  count(name, "written_bytes", bytes);
  count(name, "read_bytes", bytes);
}

// One name, in regions.
void steps() {
  for (int i = 0; i < 4; ++i) {
    const std::string name = "step." + std::to_string(i) + ".dat";
    const int fd = creat(path(name).c_str(), 0600);
    check(fd >= 0 && write(fd, g_data.data(), 8192) == 8192 && close(fd) == 0, "creat");
    count(name, "opens");
    count(name, "writes");
    count(name, "written_bytes", 8192);
    count(name, "closes");
  }
}

void no_files() {
  int ends[2];
  char byte = 'b';
  check(pipe(ends) == 0 && write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1,
        "pipe");
  close(ends[0]);
  close(ends[1]);
  check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && write(ends[1], &byte, 1) == 1 &&
            read(ends[0], &byte, 1) == 1,
        "socketpair");
  close(ends[0]);
  close(ends[1]);
  const int null = open("/dev/null", O_WRONLY);
  check(write(null, &byte, 1) == 1, "/dev/null");
  close(null);
  const int proc = open("/proc/self/stat", O_RDONLY);
  check(read(proc, g_data.data(), 10) == 10, "/proc");
  close(proc);
}

// A descriptor's number is that of a file, of a pipe and of a file again.
void numbers() {
  const std::string name = "number.dat";
  int ends[2];
  int fd = open(path(name).c_str(), O_CREAT | O_WRONLY, 0600);
  check(write(fd, g_data.data(), 4096) == 4096, "write");
  check(pipe(ends) == 0 && dup2(ends[1], fd) == fd, "dup2");
  check(write(fd, g_data.data(), 1) == 1, "write to a pipe");
  close(ends[0]);
  close(ends[1]);
  check(close_range(static_cast<unsigned>(fd), static_cast<unsigned>(fd), 0) == 0,
        "close_range");
  fd = open(path(name).c_str(), O_WRONLY | O_APPEND);
  check(write(fd, g_data.data(), 4096) == 4096 && close(fd) == 0, "write");
  count(name, "opens", 2);
  count(name, "writes", 2);
  count(name, "written_bytes", 8192);
  count(name, "closes");
}

constexpr const char* kThread = "thread.dat";
constexpr const char* kHandler = "handler.dat";
int g_handler_file = -1;

void* in_thread(void*) {
  const int fd = open(path(kThread).c_str(), O_CREAT | O_WRONLY, 0600);
  for (int i = 0; i < 100; ++i) check(write(fd, g_data.data(), 4096) == 4096, "write");
  close(fd);
  return nullptr;
}

void on_signal(int) {
  if (write(g_handler_file, g_data.data(), 4096) != 4096) _exit(3);
}

void threads_and_handlers() {
  pthread_t thread;
  check(pthread_create(&thread, nullptr, in_thread, nullptr) == 0, "pthread_create");
  pthread_join(thread, nullptr);
  count(kThread, "opens");
  count(kThread, "writes", 100);
  count(kThread, "written_bytes", 100 * 4096);
  count(kThread, "closes");
  g_handler_file = open(path(kHandler).c_str(), O_CREAT | O_WRONLY, 0600);
  signal(SIGUSR1, on_signal);
  for (int i = 0; i < 10; ++i) raise(SIGUSR1);
  close(g_handler_file);
  count(kHandler, "opens");
  count(kHandler, "writes", 10);
  count(kHandler, "written_bytes", 10 * 4096);
  count(kHandler, "closes");
}

// What children do is not ours, and does not change what is known of our descriptors.
void children() {
  const std::string name = "parent.dat";
  const int fd = open(path(name).c_str(), O_CREAT | O_WRONLY, 0600);
  check(write(fd, g_data.data(), 4096) == 4096, "write");
  const pid_t forked = fork();
  if (forked == 0) {
    const int own = open(path("child.dat").c_str(), O_CREAT | O_WRONLY, 0600);
    const bool done = write(own, "x", 1) == 1 && write(fd, g_data.data(), 4096) == 4096;
    close(own);
    close(fd);
    _exit(done ? 0 : 1);
  }
  int status = 0;
  check(waitpid(forked, &status, 0) == forked && status == 0, "fork");
  int ends[2];
  check(pipe(ends) == 0, "pipe");
  const pid_t quick = vfork();
  if (quick == 0) {
    dup2(fd, ends[1]);
    close(fd);
    execl("/bin/true", "true", nullptr);
    _exit(1);
  }
  check(waitpid(quick, &status, 0) == quick && status == 0, "vfork");
  check(write(ends[1], g_data.data(), 1) == 1, "write to a pipe");
  check(write(fd, g_data.data(), 4096) == 4096 && close(fd) == 0, "write");
  count(name, "opens");
  count(name, "writes", 2);
  count(name, "written_bytes", 2 * 4096);
  count(name, "closes");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  g_folder = argv[1];
  early();
  posix();
  errors();
  streams();
  cpp_streams();
  steps();
  no_files();
  numbers();
  threads_and_handlers();
  children();
  for (const auto& [name, numbers] : g_known) {
    std::printf("%s", path(name).c_str());
    for (const auto& [what, number] : numbers) std::printf(" %s=%ld", what.c_str(), number);
    std::printf("\n");
  }
  std::fflush(stdout);
  if (argc > 2 && std::strcmp(argv[2], "kill") == 0) kill(getpid(), SIGKILL);
  return 0;
}
