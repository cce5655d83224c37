/* A program with functions of its own whose names POSIX has, too. None may be called by anybody else: each ends the
 * program. Usage: own_names */
extern int puts(const char*);
extern void abort(void);

#define OWN(name)                                     \
  int name(void) {                                    \
    puts("the program's own " #name "() was called"); \
    abort();                                          \
  }

OWN(stat)
OWN(lstat)
OWN(access)
OWN(link)
OWN(symlink)
OWN(unlink)
OWN(write)
OWN(rmdir)
OWN(remove)
OWN(rename)
OWN(mkdir)
OWN(chmod)
OWN(kill)
OWN(poll)
OWN(time)

double sums[100];

int main(void) {
  for (int step = 0; step < 50; ++step) {
#pragma omp parallel for
    for (int i = 0; i < 100; ++i) sums[i] += i;
  }
  puts(sums[7] == 350 ? "right" : "wrong");
  return 0;
}
