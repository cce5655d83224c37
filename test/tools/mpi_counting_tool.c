/* Counts the calls of every MPI procedure, by rank: what the tests compare the tracer's
 * archives with. It knows no procedure's parameters: each wrapper counts and jumps on, with
 * all registers and the stack as they were.
 *
 * Use:     mpirun ... env LD_PRELOAD=mpi_counting_tool.so
 *              MPI_COUNTING_TOOL_OUTPUT=counts.%r.json ./program
 * Output:  a JSON object, written when a process ends that has called MPI:
 *              {"rank": "0", "calls": {"MPI_Send": 3, ...}, "c": {...}, "fortran": {...}}
 *          "c" counts entries of the C library, "fortran" of the Fortran one, by the same
 *          names. Most of Fortran's procedures are built on C's, some not; so "calls", what
 *          the program called, is Fortran's count where there is one, else C's. (A program
 *          that calls a procedure from both languages is counted short there.) "%r" in the
 *          file's name becomes the rank, without a launcher the process' number.
 * Threads: counters are atomic. x86-64 only.
 *
 * PROCEDURES(X) is made from mpi.h and the Fortran library when this is built (BUILD). */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Procedure {
  const char* symbol;
  void* next; /* where the wrapper jumps to */
  uint64_t count;
};

/* The linker collects the entries of all wrappers in section `procedures`. */
extern struct Procedure __start_procedures[] __attribute__((visibility("hidden")));
extern struct Procedure __stop_procedures[] __attribute__((visibility("hidden")));

#define WRAPPER(symbol)                              \
  __asm__(                                           \
      ".pushsection .rodata\n"                       \
      "1: .asciz \"" #symbol                         \
      "\"\n"                                         \
      ".popsection\n"                                \
      ".pushsection procedures, \"aw\", @progbits\n" \
      ".balign 8\n"                                  \
      ".quad 1b\n"                                   \
      "2: .quad 0\n"                                 \
      "3: .quad 0\n"                                 \
      ".popsection\n"                                \
      ".pushsection .text\n"                         \
      ".globl " #symbol                              \
      "\n"                                           \
      ".type " #symbol ", @function\n" #symbol       \
      ":\n"                                          \
      "  lock incq 3b(%rip)\n"                       \
      "  jmp *2b(%rip)\n"                            \
      ".size " #symbol ", .-" #symbol                \
      "\n"                                           \
      ".popsection\n");

PROCEDURES(WRAPPER)

static pid_t owner;

/* "mpi_isend_f08ts_" and "mpi_isend_" are MPI_Isend; so is its C symbol. */
static void procedure_name(const char* symbol, char* name, size_t size) {
  static const char* const kEndings[] = {"_f08ts_large_", "_f08_large_", "_f08ts_", "_f08_",
                                         "_"};
  snprintf(name, size, "%s", symbol);
  if (name[0] == 'M') return;
  memcpy(name, "MPI", 3);
  for (unsigned i = 0; i < sizeof kEndings / sizeof *kEndings; ++i) {
    const size_t length = strlen(name), ending = strlen(kEndings[i]);
    if (length <= ending || strcmp(name + length - ending, kEndings[i]) != 0) continue;
    name[length - ending] = '\0';
    break;
  }
  if (name[4] >= 'a' && name[4] <= 'z') name[4] = (char)(name[4] - 'a' + 'A');
}

static int is_c(const struct Procedure* p) { return p->symbol[0] == 'M'; }

/* Several symbols of Fortran are the same procedure. */
static uint64_t count_of(const char* name, int c) {
  uint64_t result = 0;
  char other[128];
  for (const struct Procedure* p = __start_procedures; p != __stop_procedures; ++p) {
    if (!p->count || is_c(p) != c) continue;
    procedure_name(p->symbol, other, sizeof other);
    if (strcmp(other, name) == 0) result += p->count;
  }
  return result;
}

/* Whether an earlier symbol in the same JSON object has this name. */
static int printed(const struct Procedure* p, const char* name, int c, int fortran) {
  char other[128];
  for (const struct Procedure* q = __start_procedures; q != p; ++q) {
    if (!q->count || !(is_c(q) ? c : fortran)) continue;
    procedure_name(q->symbol, other, sizeof other);
    if (strcmp(other, name) == 0) return 1;
  }
  return 0;
}

static void write_counts(FILE* file, const char* key, int c, int fortran) {
  const char* separator = "";
  char name[128];
  fprintf(file, ",\n  \"%s\": {", key);
  for (const struct Procedure* p = __start_procedures; p != __stop_procedures; ++p) {
    if (!p->count || !(is_c(p) ? c : fortran)) continue;
    procedure_name(p->symbol, name, sizeof name);
    if (printed(p, name, c, fortran)) continue;
    uint64_t value = fortran ? count_of(name, 0) : 0;
    if (!value && c) value = count_of(name, 1);
    fprintf(file, "%s\n    \"%s\": %llu", separator, name, (unsigned long long)value);
    separator = ",";
  }
  fprintf(file, "\n  }");
}

__attribute__((constructor)) static void begin(void) {
  owner = getpid();
  for (struct Procedure* p = __start_procedures; p != __stop_procedures; ++p)
    p->next = dlsym(RTLD_NEXT, p->symbol);
}

__attribute__((destructor)) static void end(void) {
  const char* output = getenv("MPI_COUNTING_TOOL_OUTPUT");
  if (!output || !*output || getpid() != owner) return;
  int any = 0;
  for (const struct Procedure* p = __start_procedures; p != __stop_procedures; ++p)
    any |= p->count != 0;
  if (!any) return;
  char rank[32], path[4096];
  const char* given = getenv("PMI_RANK");
  if (!given) given = getenv("OMPI_COMM_WORLD_RANK");
  snprintf(rank, sizeof rank, "%s", given ? given : "");
  if (!given) snprintf(rank, sizeof rank, "%d", (int)owner);
  const char* mark = strstr(output, "%r");
  if (mark)
    snprintf(path, sizeof path, "%.*s%s%s", (int)(mark - output), output, rank, mark + 2);
  else
    snprintf(path, sizeof path, "%s", output);
  FILE* file = fopen(path, "w");
  if (!file) {
    fprintf(stderr, "mpi_counting_tool: cannot write %s\n", path);
    return;
  }
  fprintf(file, "{\n  \"rank\": \"%s\"", rank);
  write_counts(file, "calls", 1, 1);
  write_counts(file, "c", 1, 0);
  write_counts(file, "fortran", 0, 1);
  fprintf(file, "\n}\n");
  fclose(file);
}
