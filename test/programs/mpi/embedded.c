// A program that has Python in a library that it loads itself, and calls of MPI: without Python, under it, in a thread that it
// knows nothing of, in a sub-interpreter, and when it is gone. What is asked of a tool is that it does no harm, and that calls
// outside of Python have their own place.
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// As dlsym() has it.
#define LOOK_UP(name, library) *(void**)&name = dlsym(library, #name)
static void (*Py_InitializeEx)(int);
static int (*Py_FinalizeEx)(void);
static int (*PyRun_SimpleString)(const char*);
static void* (*Py_NewInterpreter)(void);
static void (*Py_EndInterpreter)(void*);
static void* (*PyThreadState_Swap)(void*);
static void* (*PyThreadState_Get)(void);

static const char* const kScript =
    "import ctypes\n"
    "mpi = ctypes.CDLL(None)\n"
    "def step():\n"
    "    mpi.MPI_Barrier(0x44000000)\n"
    "for i in range(10):\n"
    "    step()\n";

// Each time with a line more before it.
static void run(void) {
  static int times = 0;
  char script[400];
  memset(script, '\n', 16);
  strcpy(script + times++, kScript);
  PyRun_SimpleString(script);
}

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void* in_thread(void* unused) {
  for (int i = 0; i < 5; ++i) barrier();
  return unused;
}

static void* garbage(void* unused) {
  // Where the interpreter had its state is something else of somebody else.
  static char bytes[400];
  memset(bytes, 0x5a, sizeof bytes);
  for (int i = 0; i < 64; ++i) {
    pthread_key_t key;
    if (pthread_key_create(&key, NULL) != 0) break;
    pthread_setspecific(key, i % 3 == 0   ? (void*)bytes
                             : i % 3 == 1 ? (void*)0x10
                                          : (void*)(bytes + 1));
    barrier();
  }
  return unused;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  barrier();
  pthread_t thread;
  for (int round = 0; round < 2; ++round) {
    void* const library = dlopen("libpython3.11.so.1.0", RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
      printf("no library\n");
      MPI_Finalize();
      return 0;
    }
    LOOK_UP(Py_InitializeEx, library);
    LOOK_UP(Py_FinalizeEx, library);
    LOOK_UP(PyRun_SimpleString, library);
    LOOK_UP(Py_NewInterpreter, library);
    LOOK_UP(Py_EndInterpreter, library);
    LOOK_UP(PyThreadState_Swap, library);
    LOOK_UP(PyThreadState_Get, library);
    barrier();
    Py_InitializeEx(0);
    barrier();
    run();
    void* const first = PyThreadState_Get();
    void* const second = Py_NewInterpreter();
    barrier();
    run();
    barrier();
    Py_EndInterpreter(second);
    PyThreadState_Swap(first);
    run();
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    Py_FinalizeEx();
    barrier();
    dlclose(library);
    barrier();
  }
  garbage(NULL);
  pthread_create(&thread, NULL, garbage, NULL);
  pthread_join(thread, NULL);
  MPI_Finalize();
  printf("done\n");
  return 0;
}
