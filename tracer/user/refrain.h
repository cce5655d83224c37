/* refrain.h: what a program can report to Refrain: regions, phases, parameters, and
 * where nothing is to be recorded. For C (C89 and later) and C++ (C++98 and later).
 *
 * This file is all that is needed to compile and to link. A program with these calls runs
 * unchanged without Refrain: each call is then a load and a branch. With it
 * (`refrain run`, linked, LD_PRELOAD), the library is found when the first call is made, once
 * for each executable and shared library that includes this file. REFRAIN_DISABLE, defined
 * before the include, leaves nothing of the calls.
 *
 *     REFRAIN_REGION_BEGIN("solve");   ... REFRAIN_REGION_END("solve");
 *     REFRAIN_PHASE_BEGIN("timestep"); ... REFRAIN_PHASE_END("timestep");
 *     REFRAIN_PARAMETER_INT("level", level); REFRAIN_PARAMETER_STRING("solver", "cg");
 *     REFRAIN_PAUSE(); ... REFRAIN_RESUME();
 *     REFRAIN_REGION("solve");  REFRAIN_PHASE("timestep");  REFRAIN_FUNCTION();    C++: up to
 *                                                           the end of the block
 *
 * Names are string literals (the C functions refrain_region_begin() and so on take any). File
 * and line are those of the start.
 *
 * Regions nest on each thread. An end belongs to the innermost open region of its name and ends
 * those inside of it; one that belongs to none is not recorded, and counted. Nor does a region
 * cross the start or end of a parallel region or task of OpenMP.
 *
 * A phase that is begun again and again is a loop, each of its phases an iteration: of them the
 * first N (the limit) are recorded, and later ones when something new has happened. While there
 * are phases, no other loops are looked for. They count on the thread that opens the parallel
 * regions (the main thread, if there are none); on others a phase is a region.
 *
 * PAUSE and RESUME concern all threads and are for that thread, too; they do not nest. Regions
 * that begin or end in between are followed. Inside a parallel region both take effect
 * at its last barrier.
 *
 * Thread-safety: any thread; not for signal handlers that interrupt one of these calls (they
 * are counted as lost then). errno stays. Cost with Refrain: README.md. */
#ifndef REFRAIN_H
#define REFRAIN_H

#if !defined(__GNUC__) && !defined(REFRAIN_DISABLE)
#define REFRAIN_DISABLE /* no weak symbols */
#endif

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A place in the program that gives a name to what it begins. The library fills in `id`. */
struct refrain_place {
  const char* name;
  const char* file;
  int line;
  unsigned long id;
};

/* The library's functions. Members are only ever added, after the others. A library that is older than this header, with
   fewer of them, counts as none. */
struct refrain_api {
  size_t size; /* bytes of this */
  void (*region_begin)(struct refrain_place*);
  void (*region_end)(struct refrain_place*);
  void (*phase_begin)(struct refrain_place*);
  void (*phase_end)(struct refrain_place*);
  void (*parameter_int)(struct refrain_place*, long);
  void (*parameter_string)(struct refrain_place*, const char*);
  void (*pause)(void);
  void (*resume)(void);
  /* The same by name, which is looked up each time, and need not end with a NUL. */
  void (*named_region_begin)(const char*, size_t, const char* file, size_t, int line);
  void (*named_region_end)(const char*, size_t);
  void (*named_phase_begin)(const char*, size_t, const char* file, size_t, int line);
  void (*named_phase_end)(const char*, size_t);
  void (*named_parameter_int)(const char*, size_t, long);
  void (*named_parameter_string)(const char*, size_t, const char*, size_t);
};

#ifndef REFRAIN_DISABLE

/* In this executable or shared library: 0: not looked for; 1: not there. */
extern __attribute__((weak, visibility("hidden")))
const struct refrain_api* refrain_api_slot;
const struct refrain_api* refrain_api_slot = 0;

/* The library, if it was linked; of executables that are not position-independent only then. */
extern const struct refrain_api* refrain_get_api(unsigned version) __attribute__((weak));

/* References by weakref leave others of the program's to the same functions alone. */
static void* refrain_dlsym(void*, const char*) __attribute__((weakref("dlsym")));
static char* refrain_dlerror(void) __attribute__((weakref("dlerror")));

static __attribute__((unused, noinline, cold)) const struct refrain_api* refrain_find_api(
    void) {
  const struct refrain_api* (*get)(unsigned) = refrain_get_api;
  const struct refrain_api* api = 0;
  if (get == 0 && refrain_dlsym != 0) {
    void* found = refrain_dlsym(0, "refrain_get_api");
    if (found == 0 && refrain_dlerror != 0) refrain_dlerror();
    __builtin_memcpy(&get, &found, sizeof get);
  }
  if (get != 0) api = get(1);
  if (api != 0 && api->size < sizeof *api) api = 0;
  if (api == 0) api = (const struct refrain_api*)1;
  __atomic_store_n(&refrain_api_slot, api, __ATOMIC_RELEASE);
  return api;
}

/* 0 if the library is not there. */
static __inline__ __attribute__((unused)) const struct refrain_api* refrain_api_here(void) {
  const struct refrain_api* api = __atomic_load_n(&refrain_api_slot, __ATOMIC_ACQUIRE);
  if (__builtin_expect(api == 0, 0)) api = refrain_find_api();
  return api == (const struct refrain_api*)1 ? 0 : api;
}

#define REFRAIN_AT_(function, title)                                               \
  do {                                                                             \
    const struct refrain_api* refrain_api_ = refrain_api_here();                   \
    if (__builtin_expect(refrain_api_ != 0, 0)) {                                  \
      static struct refrain_place refrain_place_ = {title, __FILE__, __LINE__, 0}; \
      refrain_api_->function(&refrain_place_);                                     \
    }                                                                              \
  } while (0)
#define REFRAIN_VALUE_(function, title, value)                                     \
  do {                                                                             \
    const struct refrain_api* refrain_api_ = refrain_api_here();                   \
    if (__builtin_expect(refrain_api_ != 0, 0)) {                                  \
      static struct refrain_place refrain_place_ = {title, __FILE__, __LINE__, 0}; \
      refrain_api_->function(&refrain_place_, value);                              \
    }                                                                              \
  } while (0)
#define REFRAIN_CALL_(call)                                         \
  do {                                                              \
    const struct refrain_api* refrain_api_ = refrain_api_here();    \
    if (__builtin_expect(refrain_api_ != 0, 0)) refrain_api_->call; \
  } while (0)

#else

#define REFRAIN_AT_(function, title) ((void)0)
#define REFRAIN_VALUE_(function, title, value) ((void)sizeof(value))
#define REFRAIN_CALL_(call) ((void)0)

#endif

#define REFRAIN_REGION_BEGIN(name) REFRAIN_AT_(region_begin, name)
#define REFRAIN_REGION_END(name) REFRAIN_AT_(region_end, name)
#define REFRAIN_PHASE_BEGIN(name) REFRAIN_AT_(phase_begin, name)
#define REFRAIN_PHASE_END(name) REFRAIN_AT_(phase_end, name)
#define REFRAIN_PARAMETER_INT(name, value) \
  REFRAIN_VALUE_(parameter_int, name, (long)(value))
#define REFRAIN_PARAMETER_STRING(name, value) REFRAIN_VALUE_(parameter_string, name, value)
#define REFRAIN_PAUSE() REFRAIN_CALL_(pause())
#define REFRAIN_RESUME() REFRAIN_CALL_(resume())

/* For names that are made while the program runs. No file and line. */
static __inline__ __attribute__((unused)) void refrain_region_begin(const char* name) {
  (void)name;
  REFRAIN_CALL_(named_region_begin(name, __builtin_strlen(name), "", 0, 0));
}
static __inline__ __attribute__((unused)) void refrain_region_end(const char* name) {
  (void)name;
  REFRAIN_CALL_(named_region_end(name, __builtin_strlen(name)));
}
static __inline__ __attribute__((unused)) void refrain_phase_begin(const char* name) {
  (void)name;
  REFRAIN_CALL_(named_phase_begin(name, __builtin_strlen(name), "", 0, 0));
}
static __inline__ __attribute__((unused)) void refrain_phase_end(const char* name) {
  (void)name;
  REFRAIN_CALL_(named_phase_end(name, __builtin_strlen(name)));
}
static __inline__ __attribute__((unused)) void refrain_parameter_int(const char* name,
                                                                     long value) {
  (void)name, (void)value;
  REFRAIN_CALL_(named_parameter_int(name, __builtin_strlen(name), value));
}
static __inline__ __attribute__((unused)) void refrain_parameter_string(const char* name,
                                                                        const char* value) {
  (void)name, (void)value;
  REFRAIN_CALL_(
      named_parameter_string(name, __builtin_strlen(name), value, __builtin_strlen(value)));
}

#ifdef __cplusplus
} /* extern "C" */

namespace refrain_user {
#ifndef REFRAIN_DISABLE
/* Begins a region (a phase), and ends it where the block ends, however it does. */
class Region {
 public:
  explicit Region(refrain_place& place) : place_(place) {
    const refrain_api* api = refrain_api_here();
    if (__builtin_expect(api != 0, 0)) api->region_begin(&place_);
  }
  ~Region() {
    const refrain_api* api = refrain_api_here();
    if (__builtin_expect(api != 0, 0)) api->region_end(&place_);
  }

 private:
  Region(const Region&);
  Region& operator=(const Region&);
  refrain_place& place_;
};
class Phase {
 public:
  explicit Phase(refrain_place& place) : place_(place) {
    const refrain_api* api = refrain_api_here();
    if (__builtin_expect(api != 0, 0)) api->phase_begin(&place_);
  }
  ~Phase() {
    const refrain_api* api = refrain_api_here();
    if (__builtin_expect(api != 0, 0)) api->phase_end(&place_);
  }

 private:
  Phase(const Phase&);
  Phase& operator=(const Phase&);
  refrain_place& place_;
};
#endif
} /* namespace refrain_user */

#ifndef REFRAIN_DISABLE
#define REFRAIN_JOIN2_(a, b) a##b
#define REFRAIN_JOIN_(a, b) REFRAIN_JOIN2_(a, b)
#define REFRAIN_GUARD3_(type, title, number)                                               \
  static refrain_place REFRAIN_JOIN_(refrain_place_, number) = {title, __FILE__, __LINE__, \
                                                                0};                        \
  const refrain_user::type REFRAIN_JOIN_(refrain_guard_,                                   \
                                         number)(REFRAIN_JOIN_(refrain_place_, number))
#define REFRAIN_GUARD_(type, title) REFRAIN_GUARD3_(type, title, __COUNTER__)
#else
#define REFRAIN_GUARD_(type, title) ((void)0)
#endif
#define REFRAIN_REGION(name) REFRAIN_GUARD_(Region, name)
#define REFRAIN_PHASE(name) REFRAIN_GUARD_(Phase, name)
#define REFRAIN_FUNCTION() REFRAIN_GUARD_(Region, __func__)
#endif

#endif
