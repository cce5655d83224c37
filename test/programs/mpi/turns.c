/* Loops of whose code control leaves in unusual ways: by longjmp, by signals (also on a stack of their own, also left by a
 * jump), to other stacks and back, under a deep recursion, and through code that was made at run time. Each loop is in a function of
 * its own and makes collectives only.
 *
 * Prints the iterations of each, "FUNCTION ITERATIONS" a line; functions that are not printed have no loops.
 *
 * Arguments: none. */
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define OWN __attribute__((noinline))

static volatile int one = 1, sink;
static int printing;

/* Calls that stay calls. */
#define BARRIER()                \
  do {                           \
    MPI_Barrier(MPI_COMM_WORLD); \
    sink = 1;                    \
  } while (0)
static OWN void sum(void) {
  int mine = 1, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  sink = all;
}
static void say(const char* name, int iterations) {
  if (printing) printf("%s %d\n", name, iterations);
}

static jmp_buf again;
static OWN void jump_back(int i) {
  sum();
  if (i < 5) longjmp(again, i + 1);
}
static OWN void jumped(void) {
  const int i = setjmp(again);
  BARRIER();
  jump_back(i);
  sink = i;
}

static void on_signal(int number) {
  (void)number;
  sum();
  sink = 2;
}
static OWN void signalled(void) {
  for (int i = 0; i < 7 * one; ++i) {
    BARRIER();
    raise(SIGUSR1);
  }
  sink = 3;
}
static OWN void signalled_aside(void) {
  for (int i = 0; i < 5 * one; ++i) {
    BARRIER();
    raise(SIGUSR2);
  }
  sink = 3;
}
static sigjmp_buf out;
static void on_escape(int number) {
  (void)number;
  sum();
  siglongjmp(out, 1);
}
static OWN void escaped(void) {
  for (volatile int i = 0; i < 4 * one; ++i) {
    if (sigsetjmp(out, 1) == 0) {
      BARRIER();
      raise(SIGALRM);
    }
    sink = 3;
  }
}
static void take_signals(void) {
  static char stack[1 << 20];
  stack_t aside = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction action = {.sa_handler = on_signal};
  sigaltstack(&aside, NULL);
  sigaction(SIGUSR1, &action, NULL);
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &action, NULL);
  action.sa_flags = 0;
  action.sa_handler = on_escape;
  sigaction(SIGALRM, &action, NULL);
}

/* Two coroutines. What they do from one switch to the next is inside of the loop that resumes them. */
static ucontext_t resumer, coroutine[2];
static char stacks[2][1 << 20];
static OWN void visited(void) {
  for (int i = 0; i < 3 * one; ++i) sum();
  sink = 4;
}
static void yielding(int which) {
  while (one) {
    if (which)
      visited();
    else
      BARRIER();
    swapcontext(&coroutine[which], &resumer);
  }
}
static OWN void make_coroutines(void) {
  for (int k = 0; k < 2; ++k) {
    getcontext(&coroutine[k]);
    coroutine[k].uc_stack.ss_sp = stacks[k];
    coroutine[k].uc_stack.ss_size = sizeof stacks[k];
    coroutine[k].uc_link = &resumer;
    makecontext(&coroutine[k], (void (*)(void))yielding, 1, k);
  }
}
static OWN void resuming(void) {
  for (int i = 0; i < 6 * one; ++i) {
    BARRIER();
    swapcontext(&resumer, &coroutine[0]);
    swapcontext(&resumer, &coroutine[1]);
  }
  sink = 3;
}

static OWN void at_bottom(void) {
  for (int i = 0; i < 5 * one; ++i) BARRIER();
  sink = 3;
}
static OWN void deep(int depth) {
  if (depth == 0)
    at_bottom();
  else
    deep(depth - 1);
  sink = depth;
}
static OWN void digging(void) {
  for (int i = 0; i < 3 * one; ++i) {
    sum();
    deep(100);
  }
  sink = 3;
}

#if defined(__x86_64__)
/* A loop without unwind tables: calls its second argument as often as the first one says. */
static const unsigned char kCode[] = {
    0x53, 0x41, 0x54, 0x50,                   /* push rbx, r12, rax */
    0x89, 0xfb, 0x49, 0x89, 0xf4,             /* mov ebx, edi; r12, rsi */
    0x41, 0xff, 0xd4, 0xff, 0xcb, 0x75, 0xf9, /* again: call r12; dec ebx; jnz */
    0x58, 0x41, 0x5c, 0x5b, 0xc3};            /* pop rax, r12, rbx; ret */
static OWN void made(void) {
  void* const page =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  memcpy(page, kCode, sizeof kCode);
  mprotect(page, 4096, PROT_READ | PROT_EXEC);
  void (*code)(int, void (*)(void));
  memcpy(&code, &(void*){page}, sizeof code);
  for (int i = 0; i < 5 * one; ++i) {
    BARRIER();
    code(3, sum);
  }
  munmap(page, 4096);
}
#endif

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printing = rank == 0;
  take_signals();
  jumped();
  say("jumped", 6);
  signalled();
  say("signalled", 7);
  signalled_aside();
  say("signalled_aside", 5);
  escaped();
  say("escaped", 4);
  make_coroutines();
  resuming();
  say("resuming", 6);
  say("visited", 18);
  digging();
  say("digging", 3);
  say("at_bottom", 15);
#if defined(__x86_64__)
  made();
  say("made", 5);
#endif
  MPI_Finalize();
  return 0;
}
