// Control flow of many kinds, to be compared with what the compiler says of it; it is not run.
#include <setjmp.h>
#include <stdlib.h>

extern int next_value(void);
extern void use(int value);
extern void fail(const char* why) __attribute__((noreturn));

static __attribute__((noinline, noreturn)) void give_up(int value) {
  use(value);
  abort();
}

int dense_switch(int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    switch (next_value()) {
      case 0:
        use(1);
        break;
      case 1:
        use(7);
        continue;
      case 2:
        sum += i;
        break;
      case 3:
        for (int j = 0; j < i; ++j) use(j);
        break;
      case 4:
        return sum;
      case 5:
        use(3);
        break;
      case 6:
        fail("six");
      case 7:
        sum -= 4;
        break;
      case 8:
        use(sum);
        break;
      default:
        use(-1);
    }
  }
  return sum;
}

// The index is masked: no comparison before the table.
int masked_switch(void) {
  while (1) {
    switch (next_value() & 7) {
      case 0:
        use(10);
        break;
      case 1:
        use(20);
        break;
      case 2:
        use(31);
        continue;
      case 3:
        use(43);
        break;
      case 4:
        return 4;
      case 5:
        do use(55);
        while (next_value() < 5);
        break;
      case 6:
        use(68);
        break;
      case 7:
        use(79);
        break;
    }
    use(0);
  }
}

int interpreter(const unsigned char* code) {
  static void* const kLabels[] = {&&add, &&twice, &&jump, &&stop};
  int value = 0;
  goto* kLabels[*code++ & 3];
add:
  value += 1;
  goto* kLabels[*code++ & 3];
twice:
  for (int i = 0; i < value; ++i) use(i);
  goto* kLabels[*code++ & 3];
jump:
  code -= next_value();
  goto* kLabels[*code++ & 3];
stop:
  return value;
}

int nest(int n) {
  int count = 0;
  for (int a = 0; a < n; ++a) {
    int b = 0;
    while (b < a) {
      if (next_value() > 3) goto out;
      do {
        for (;;) {
          if (next_value() == 2) break;
          if (next_value() == 9) give_up(count);
          ++count;
        }
      } while (next_value() == 7);
      b += next_value();
    }
  }
out:
  return count;
}

static jmp_buf place;

int jumps_back(void) {
  volatile int tries = 0;
  if (setjmp(place) != 0) use(tries);
  while (tries++ < 10)
    if (next_value() != 0) longjmp(place, 1);
  return tries;
}

void saxpy(float* restrict to, const float* restrict from, float factor, long n) {
  for (long i = 0; i < n; ++i) to[i] += factor * from[i];
}

void squares(double* to, const double* a, const double* b, int n) {
#pragma omp parallel for collapse(2) schedule(dynamic)
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      to[i * n + j] = sum;
    }
}

int tail(int n) { return n <= 0 ? next_value() : tail(n - 1); }

int sparse_switch(int n) {
  int out = 0;
  for (int i = 0; i < n; ++i) {
    switch (next_value()) {
      case 3:
        out += 1;
        break;
      case 700:
        out += 2;
        break;
      case 12000:
        return out;
      case -5:
        out *= 2;
        break;
      default:
        break;
    }
    if (out > 100) give_up(out);
  }
  return out;
}
