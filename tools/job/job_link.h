/* How the command and the library that talks MPI for it know each other, in C: each has its own C++ runtime.
 *
 * Place in the flow: job.cc loads the library where the command was started by an MPI launcher.
 * Thread-safety: one thread of each process. Results: 0, or what MPI calls an error.
 */
#ifndef REFRAIN_JOB_LINK_H
#define REFRAIN_JOB_LINK_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bump when anything below changes. */
#define REFRAIN_JOB_LINK_VERSION 2
#define REFRAIN_JOB_LINK_NAME "refrain_job_link"

typedef struct RefrainJobLink {
  int version;
  int (*start)(int* rank, int* size);
  /* Does not wait for the receiver. */
  int (*send)(int to, const void* bytes, size_t count);
  /* Waits for the next message from there, and says how long it is; then it is received. */
  int (*expect)(int from, size_t* count);
  int (*receive)(int from, void* bytes, size_t count);
  /* By all: `status` becomes that of rank 0. */
  int (*end)(int* status);
} RefrainJobLink;

typedef const RefrainJobLink* (*RefrainGetJobLink)(void);

#ifdef __cplusplus
}
#endif

#endif
