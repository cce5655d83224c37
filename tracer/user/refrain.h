/* Refrain's header for programs.
 *
 * A program needs nothing of it to be traced. So far it only tells the version; regions
 * and phases named by the program will come here, as macros that cost nothing where
 * Refrain is not loaded.
 */
#ifndef REFRAIN_H
#define REFRAIN_H

#define REFRAIN_VERSION_MAJOR 0
#define REFRAIN_VERSION_MINOR 1
#define REFRAIN_VERSION_PATCH 0

#endif /* REFRAIN_H */
