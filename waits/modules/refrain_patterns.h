/* Patterns of one's own for `refrain analyze --patterns my.so`.
 *
 * A pattern says for which compound events it is called (a message's receive, a collective operation, a barrier, ...) and
 * charges time to its metric, which then stands next to Refrain's own in text, JSON and analysis.cubex. How to write one:
 * docs/reference/patterns.md. In C++ derive from refrain::Pattern and name the classes in REFRAIN_PATTERNS; in C fill the structures.
 *
 *     #include <refrain_patterns.h>
 *     struct Late : refrain::Pattern {
 *       static refrain::Metric metric() { return {"my_late", "mpi_point2point", "Late", "...", "..."}; }
 *       void receive(const refrain_receive& event) override { charge(event.call, take(event.call, 100)); }
 *     };
 *     REFRAIN_PATTERNS(Late)
 *
 *     g++ -shared -fPIC -o my.so my.cc $(pkg-config --cflags refrain)
 *
 * Place in the flow: ARCHITECTURE.md, stage 6; waits/modules reads it. Only C types cross the border, so that compilers and C++
 * libraries may differ. Thread-safety: a pattern is called by one thread at a time. Ownership: what is pointed to is valid
 * during the call; texts of refrain_pattern_info as long as the module is loaded. Units: ticks of the archive's clock since its
 * begin. Errors: fail() (in C++: an exception) ends the analysis with that line.
 *
 * Version: refused unless equal. Bump when a structure or a number here changes. */
#ifndef REFRAIN_PATTERNS_H
#define REFRAIN_PATTERNS_H

#include <stddef.h>
#include <stdint.h>

#define REFRAIN_PATTERNS_VERSION 1
#define REFRAIN_NO_NUMBER 0xffffffffU

#ifdef __cplusplus
extern "C" {
#endif

/* A region that a location has left. Locations (threads) are numbered over the archive, call paths in their process. */
typedef struct refrain_call {
  uint32_t process;
  uint32_t location;
  uint32_t path;
  uint32_t multiple;   /* MPI_Waitall and its like */
  uint32_t test;       /* MPI_Test and its like: it does not wait */
  uint32_t neighbours; /* a collective operation of neighbours only */
  uint64_t enter;
  uint64_t leave;
  uint64_t own;  /* its time without the regions inside it */
  void* of_host; /* for take(); NULL: nothing can be taken */
} refrain_call;

enum refrain_event_kind {
  REFRAIN_BEGIN,       /* refrain_run: before all others */
  REFRAIN_CALL,        /* refrain_call: any region that was left; nothing can be taken */
  REFRAIN_RECEIVE,     /* refrain_receive */
  REFRAIN_LATE_SENDER, /* refrain_late_sender */
  REFRAIN_WRONG_ORDER, /* refrain_wrong_order */
  REFRAIN_SEND,        /* refrain_send */
  REFRAIN_COLLECTIVE,  /* refrain_collective */
  REFRAIN_COLLECTIVE_COMPLETION, /* refrain_collective_completion */
  REFRAIN_ACCESS_EPOCH,          /* refrain_access_epoch */
  REFRAIN_EXPOSURE_EPOCH,        /* refrain_exposure_epoch */
  REFRAIN_LOCK_EPOCH,            /* refrain_lock_epoch */
  REFRAIN_BARRIER,               /* refrain_barrier */
  REFRAIN_TASK_WAIT,             /* refrain_task_wait */
  REFRAIN_FORK,                  /* refrain_fork */
  REFRAIN_LOCK_WAIT,             /* refrain_lock_wait */
  REFRAIN_LEFT_OUT,              /* refrain_left_out */
  REFRAIN_FINISH,                /* NULL: after all others */
  REFRAIN_EVENT_KINDS
};

typedef struct refrain_run {
  double ticks_per_second;
  uint32_t processes;
  uint32_t locations;
} refrain_run;

typedef struct refrain_message {
  uint64_t sent;   /* enter of the call that sends */
  uint32_t source; /* process */
  uint32_t sender; /* its location */
} refrain_message;

/* All messages whose receive completes in one call. */
typedef struct refrain_receive {
  refrain_call call;
  const refrain_message* messages;
  size_t count;
} refrain_receive;

/* Found by mpi_latesender, which has charged `wait`. */
typedef struct refrain_late_sender {
  refrain_call call;
  refrain_message message; /* that came last */
  uint64_t wait;
} refrain_late_sender;

/* Found by mpi_latesender_wo: that part of a late sender. */
typedef struct refrain_wrong_order {
  uint32_t location;
  uint32_t path;
  uint64_t wait;
  uint32_t same_source;
} refrain_wrong_order;

typedef struct refrain_posted {
  uint64_t enter;    /* of the call that posts the receive; 0: there is none */
  uint32_t receiver; /* location */
} refrain_posted;

/* All messages whose send completes in one call, by their receives. */
typedef struct refrain_send {
  refrain_call call;
  const refrain_posted* posted;
  size_t count;
  uint32_t late_sender; /* the call waited for a sender, too */
} refrain_send;

enum refrain_collective_kind {
  REFRAIN_KIND_BARRIER,
  REFRAIN_KIND_ONE_TO_ALL,
  REFRAIN_KIND_ALL_TO_ONE,
  REFRAIN_KIND_ALL_TO_ALL,
  REFRAIN_KIND_SCAN,
  REFRAIN_KIND_NEIGHBOURS,
  REFRAIN_KIND_INIT,
  REFRAIN_KIND_FINALIZE,
  REFRAIN_KIND_WINDOW_MADE,
  REFRAIN_KIND_WINDOW_FREED,
  REFRAIN_KIND_FENCE,
  REFRAIN_KIND_OTHER
};

/* One member of a collective operation of which all members are known. */
typedef struct refrain_collective {
  refrain_call call;
  uint32_t kind;
  uint32_t root; /* this member is it */
  uint64_t latest_enter;
  uint64_t earliest_leave;
  uint64_t root_enter;
  uint64_t lower_enter; /* latest of the ranks below; 0: there are none */
  uint64_t accessed;    /* fence: latest end of another's access to this process; 0: none */
} refrain_collective;

/* A call in which operations complete that did not block. */
typedef struct refrain_collective_completion {
  refrain_call call;
  uint64_t until; /* when the last one that they needed had begun its part; 0: none */
} refrain_collective_completion;

typedef struct refrain_access {
  refrain_call call;
  uint64_t posted; /* when the target had begun its exposure epoch */
} refrain_access;

/* From MPI_Win_start to MPI_Win_complete. */
typedef struct refrain_access_epoch {
  refrain_call start;
  refrain_call complete;
  const refrain_access* accesses;
  size_t count;
  uint64_t latest_post;
} refrain_access_epoch;

/* From MPI_Win_post to MPI_Win_wait. */
typedef struct refrain_exposure_epoch {
  refrain_call wait;
  uint64_t latest_complete; /* enter of MPI_Win_complete */
  uint64_t last_access;     /* leave; 0: there was none */
} refrain_exposure_epoch;

typedef struct refrain_lock_access {
  refrain_call call;
  uint32_t target;   /* process; REFRAIN_NO_NUMBER: all */
  uint64_t progress; /* when the target, outside of MPI before, called MPI; 0: it did not */
} refrain_lock_access;

/* From MPI_Win_lock to MPI_Win_unlock. */
typedef struct refrain_lock_epoch {
  const refrain_lock_access* accesses;
  size_t count;
  uint64_t
      released; /* when another process gave up a lock, while one of the calls waited; 0: none */
} refrain_lock_epoch;

/* A thread that leaves a barrier of its team. */
typedef struct refrain_barrier {
  refrain_call call;
  uint32_t is_explicit;
  uint64_t latest_enter;
  uint64_t ran; /* tasks that the thread ran in it until then: no wait */
} refrain_barrier;

/* A thread that has waited for the children of its task. */
typedef struct refrain_task_wait {
  refrain_call call;
  uint64_t children_done; /* the last one that another thread ran; 0: there was none */
  uint64_t ran;           /* tasks that the thread ran in it until then: no wait */
} refrain_task_wait;

/* A thread in a new team: `delay` from the fork to its start in the parallel region. */
typedef struct refrain_fork {
  uint32_t location;
  uint32_t path;
  uint64_t delay;
} refrain_fork;

/* A thread that got a lock which another one had: `wait` until that one's release. */
typedef struct refrain_lock_wait {
  uint32_t location;
  uint32_t path;
  uint64_t wait;
  uint32_t critical;
} refrain_lock_wait;

/* A thread that took no part in a parallel region. */
typedef struct refrain_left_out {
  uint32_t location;
  uint32_t path;
  uint64_t time;
} refrain_left_out;

typedef struct refrain_region {
  const char* name;
  const char* file; /* "" : not known */
  uint32_t line;
  const char* site; /* where it is called, "file:line"; "": not known */
} refrain_region;

typedef struct refrain_location {
  uint32_t process;
  uint32_t thread; /* in its process */
  uint32_t rank;   /* of MPI; REFRAIN_NO_NUMBER: none */
} refrain_location;

/* What a pattern may ask and do. `self` is the first argument of each. */
typedef struct refrain_host {
  void* self;
  /* Charges time to the pattern's metric, at a call path of a location. */
  void (*charge)(void* self, uint32_t location, uint32_t path, uint64_t ticks);
  /* The same at a call; estimates of skipped calls are made of it. */
  void (*charge_call)(void* self, const refrain_call* call, uint64_t ticks);
  /* As much of `wanted` as no pattern has taken of the call yet: no part is charged twice. */
  uint64_t (*take)(void* self, const refrain_call* call, uint64_t wanted);
  /* The region at the end of a call path of a process; name "": path 0, the program. 0: there is none. */
  int (*region)(void* self, uint32_t process, uint32_t path, refrain_region* to);
  uint32_t (*parent)(void* self, uint32_t process,
                     uint32_t path); /* REFRAIN_NO_NUMBER: none */
  int (*location)(void* self, uint32_t location,
                  refrain_location* to); /* 0: there is none */
  void (*fail)(void* self, const char* message);
} refrain_host;

typedef struct refrain_pattern_info {
  const char* name; /* of the metric: unique */
  const char*
      parent; /* of the metric: its value is a part of that one's; "": a view of its own */
  const char* title;
  const char* description;
  const char* cause; /* what usually makes the program wait so; "": it is no finding */
  uint64_t
      wants;  /* bit k: events of kind k; REFRAIN_BEGIN and REFRAIN_FINISH always come */
  void* data; /* for create() */
  void* (*create)(const refrain_host* host, void* data); /* NULL: it has failed */
  void (*destroy)(void* pattern);
  void (*event)(void* pattern, uint32_t kind, const void* event);
} refrain_pattern_info;

typedef struct refrain_pattern_list {
  uint32_t version; /* REFRAIN_PATTERNS_VERSION */
  uint32_t count;
  const refrain_pattern_info* patterns;
} refrain_pattern_list;

/* What a module has to offer under this name. */
typedef const refrain_pattern_list* (*refrain_patterns_function)(void);
__attribute__((visibility("default"))) const refrain_pattern_list* refrain_patterns(void);

#ifdef __cplusplus
} /* extern "C" */

#include <exception>

namespace refrain {

struct Metric {
  const char* name;
  const char* parent;
  const char* title;
  const char* description;
  const char* cause;
};

// Override what is wanted; all others are not called for.
class Pattern {
 public:
  Pattern() = default;
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  virtual ~Pattern() = default;

  virtual void begin(const refrain_run&) {}
  virtual void call(const refrain_call&) {}
  virtual void receive(const refrain_receive&) {}
  virtual void late_sender(const refrain_late_sender&) {}
  virtual void wrong_order(const refrain_wrong_order&) {}
  virtual void send(const refrain_send&) {}
  virtual void collective(const refrain_collective&) {}
  virtual void collective_completion(const refrain_collective_completion&) {}
  virtual void access_epoch(const refrain_access_epoch&) {}
  virtual void exposure_epoch(const refrain_exposure_epoch&) {}
  virtual void lock_epoch(const refrain_lock_epoch&) {}
  virtual void barrier(const refrain_barrier&) {}
  virtual void task_wait(const refrain_task_wait&) {}
  virtual void fork(const refrain_fork&) {}
  virtual void lock_wait(const refrain_lock_wait&) {}
  virtual void left_out(const refrain_left_out&) {}
  virtual void finish() {}

 protected:
  void charge(uint32_t location, uint32_t path, uint64_t ticks) {
    host_->charge(host_->self, location, path, ticks);
  }
  void charge(const refrain_call& call, uint64_t ticks) {
    host_->charge_call(host_->self, &call, ticks);
  }
  uint64_t take(const refrain_call& call, uint64_t wanted) {
    return host_->take(host_->self, &call, wanted);
  }
  // From the call's enter until then, at most until its leave; 0 if that was before.
  static uint64_t wait_until(const refrain_call& call, uint64_t time) {
    const uint64_t end = time < call.leave ? time : call.leave;
    return end > call.enter ? end - call.enter : 0;
  }
  // Less what the thread ran meanwhile.
  static uint64_t wait_until(const refrain_call& call, uint64_t time, uint64_t ran) {
    const uint64_t wait = wait_until(call, time);
    return wait > ran ? wait - ran : 0;
  }
  refrain_region region(uint32_t process, uint32_t path) {
    refrain_region found = {"", "", 0, ""};
    host_->region(host_->self, process, path, &found);
    return found;
  }
  refrain_region region(const refrain_call& call) {
    return region(call.process, call.path);
  }
  uint32_t parent(uint32_t process, uint32_t path) {
    return host_->parent(host_->self, process, path);
  }
  refrain_location location(uint32_t number) {
    refrain_location found = {REFRAIN_NO_NUMBER, 0, REFRAIN_NO_NUMBER};
    host_->location(host_->self, number, &found);
    return found;
  }

 private:
  template <typename Each>
  friend struct PatternEntry;
  const refrain_host* host_ = nullptr;
};

// The functions of a class of patterns as the host calls them; no exception leaves them.
template <typename Each>
struct PatternEntry {
  static void* create(const refrain_host* host, void*) noexcept {
    try {
      Pattern* made = new Each();
      made->host_ = host;
      return made;
    } catch (...) {
      failed(host);
      return nullptr;
    }
  }
  static void destroy(void* pattern) noexcept { delete static_cast<Pattern*>(pattern); }
  static void event(void* pattern, uint32_t kind, const void* event) noexcept {
    Pattern& it = *static_cast<Pattern*>(pattern);
    try {
      dispatch(it, kind, event);
    } catch (...) {
      failed(it.host_);
    }
  }
  static refrain_pattern_info info() {
    const Metric m = Each::metric();
    return {m.name,  m.parent, m.title, m.description, m.cause,
            wants(), nullptr,  create,  destroy,       event};
  }

 private:
  static void failed(const refrain_host* host) noexcept {
    try {
      throw;
    } catch (const std::exception& problem) {
      host->fail(host->self, problem.what());
    } catch (...) {
      host->fail(host->self, "unknown exception");
    }
  }

  // Whether Each has a function of its own. A class between the two counts as well.
  template <typename Own, typename Base>
  static uint64_t bit(Own, Base, uint32_t kind) {
    return SameType<Own, Base>::value ? 0 : uint64_t{1} << kind;
  }
  template <typename A, typename B>
  struct SameType {
    static constexpr bool value = false;
  };
  template <typename A>
  struct SameType<A, A> {
    static constexpr bool value = true;
  };
  static uint64_t wants() {
    uint64_t all = 0;
    all |= bit(&Each::call, &Pattern::call, REFRAIN_CALL);
    all |= bit(&Each::receive, &Pattern::receive, REFRAIN_RECEIVE);
    all |= bit(&Each::late_sender, &Pattern::late_sender, REFRAIN_LATE_SENDER);
    all |= bit(&Each::wrong_order, &Pattern::wrong_order, REFRAIN_WRONG_ORDER);
    all |= bit(&Each::send, &Pattern::send, REFRAIN_SEND);
    all |= bit(&Each::collective, &Pattern::collective, REFRAIN_COLLECTIVE);
    all |= bit(&Each::collective_completion, &Pattern::collective_completion,
               REFRAIN_COLLECTIVE_COMPLETION);
    all |= bit(&Each::access_epoch, &Pattern::access_epoch, REFRAIN_ACCESS_EPOCH);
    all |= bit(&Each::exposure_epoch, &Pattern::exposure_epoch, REFRAIN_EXPOSURE_EPOCH);
    all |= bit(&Each::lock_epoch, &Pattern::lock_epoch, REFRAIN_LOCK_EPOCH);
    all |= bit(&Each::barrier, &Pattern::barrier, REFRAIN_BARRIER);
    all |= bit(&Each::task_wait, &Pattern::task_wait, REFRAIN_TASK_WAIT);
    all |= bit(&Each::fork, &Pattern::fork, REFRAIN_FORK);
    all |= bit(&Each::lock_wait, &Pattern::lock_wait, REFRAIN_LOCK_WAIT);
    all |= bit(&Each::left_out, &Pattern::left_out, REFRAIN_LEFT_OUT);
    return all;
  }

  static void dispatch(Pattern& it, uint32_t kind, const void* event) {
    switch (kind) {
#define REFRAIN_DISPATCH(constant, type, name) \
  case constant:                               \
    return it.name(*static_cast<const type*>(event));
      REFRAIN_DISPATCH(REFRAIN_BEGIN, refrain_run, begin)
      REFRAIN_DISPATCH(REFRAIN_CALL, refrain_call, call)
      REFRAIN_DISPATCH(REFRAIN_RECEIVE, refrain_receive, receive)
      REFRAIN_DISPATCH(REFRAIN_LATE_SENDER, refrain_late_sender, late_sender)
      REFRAIN_DISPATCH(REFRAIN_WRONG_ORDER, refrain_wrong_order, wrong_order)
      REFRAIN_DISPATCH(REFRAIN_SEND, refrain_send, send)
      REFRAIN_DISPATCH(REFRAIN_COLLECTIVE, refrain_collective, collective)
      REFRAIN_DISPATCH(REFRAIN_COLLECTIVE_COMPLETION, refrain_collective_completion,
                       collective_completion)
      REFRAIN_DISPATCH(REFRAIN_ACCESS_EPOCH, refrain_access_epoch, access_epoch)
      REFRAIN_DISPATCH(REFRAIN_EXPOSURE_EPOCH, refrain_exposure_epoch, exposure_epoch)
      REFRAIN_DISPATCH(REFRAIN_LOCK_EPOCH, refrain_lock_epoch, lock_epoch)
      REFRAIN_DISPATCH(REFRAIN_BARRIER, refrain_barrier, barrier)
      REFRAIN_DISPATCH(REFRAIN_TASK_WAIT, refrain_task_wait, task_wait)
      REFRAIN_DISPATCH(REFRAIN_FORK, refrain_fork, fork)
      REFRAIN_DISPATCH(REFRAIN_LOCK_WAIT, refrain_lock_wait, lock_wait)
      REFRAIN_DISPATCH(REFRAIN_LEFT_OUT, refrain_left_out, left_out)
#undef REFRAIN_DISPATCH
      case REFRAIN_FINISH:
        return it.finish();
      default:
        return;
    }
  }
};

template <typename... Each>
const refrain_pattern_list* pattern_list() {
  static const refrain_pattern_info infos[] = {PatternEntry<Each>::info()...};
  static const refrain_pattern_list list = {REFRAIN_PATTERNS_VERSION, sizeof...(Each),
                                            infos};
  return &list;
}

}  // namespace refrain

/* Once in a module, outside of all namespaces: the classes that it offers. */
#define REFRAIN_PATTERNS(...)                                     \
  extern "C" const refrain_pattern_list* refrain_patterns(void) { \
    return refrain::pattern_list<__VA_ARGS__>();                  \
  }

#endif /* __cplusplus */
#endif /* REFRAIN_PATTERNS_H */
