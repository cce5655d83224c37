// Loops that count themselves: each entry reports its line and how often its body was begun.
//
// At the end, on stdout: a line "LINE ENTRIES TRIPS:ENTRIES ..." for each loop. What reports is in another file, so
// that compilers leave the loops as they are.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif
// A loop at this line was left after `trips` iterations.
void left(int line, long trips);
void print_counts(void);
// A value that compilers do not know.
int hidden(int value);
// Work that they cannot remove.
void work(long value);
#ifdef __cplusplus
}
#endif
