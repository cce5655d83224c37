// Threads that the program begins by itself. See thread_source.cc.
//
// Place in the flow: ARCHITECTURE.md, stage 2: create.cc stands before the C library's pthread_create and thrd_create.
// Thread-safety: any thread. Cost: while threads are neither sampled nor recorded a load or two.
#pragma once

#include <pthread.h>
#include <threads.h>

namespace refrain::threads {

using CreateThread = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

// Makes the thread by `next`, so that it is sampled and recorded from its start, if that is wanted. `returns_to`: of the program's call.
int create(CreateThread* next, pthread_t* thread, const pthread_attr_t* attributes,
           void* (*begin)(void*), void* argument, const void* returns_to) noexcept;
// The same by C11.
using CreateC11Thread = int(thrd_t*, int (*)(void*), void*);
int create(CreateC11Thread* next, thrd_t* thread, int (*begin)(void*), void* argument,
           const void* returns_to) noexcept;

}  // namespace refrain::threads
