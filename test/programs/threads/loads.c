// Loads plugin.c, as a program loads its plugins.
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** arguments) {
  if (count < 2 || dlopen(arguments[1], RTLD_NOW) == NULL) return 1;
  puts("loaded");
  return 0;
}
