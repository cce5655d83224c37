// Loops whose lines are known: each is marked with its depth in its function. Not run.
//
// check_lines.py says how marks are read.
extern int next_value(void);
extern void use(int value);

static inline int inlined(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i)  // loop 1 or more
    sum += next_value();
  return sum;
}

void plain(int n) {
  for (int i = 0; i < n; ++i)  // loop 1
    use(i);
}

void with_while(void) {
  while (next_value() != 0) {  // loop 1
    use(1);
    use(2);
  }
}

void with_do(void) {
  int i = 0;
  do {
    use(i);  // loop 1
    ++i;
  } while (next_value() > i);
}

void endless(void) {
  for (;;) {
    use(7);  // loop 1 or beside
    if (next_value() == 3) break;
    use(8);
  }
}

void nest(int n) {
  for (int a = 0; a < n; ++a) {  // loop 1
    use(a);
    for (int b = 0; b < a; ++b) {  // loop 2
      int c = 0;
      while (c < next_value()) {     // loop 3
        for (int d = c; d < b; ++d)  // loop 4
          use(d);
        ++c;
      }
    }
    for (int e = n; e > 0; --e)  // loop 2
      use(e);
  }
}

void with_continue(int n) {
  for (int i = 0; i < n; ++i) {  // loop 1
    if (next_value() == 1) continue;
    use(i);
    if (next_value() == 2) continue;
    use(-i);
  }
}

void with_goto(int n) {
again:
  use(n);  // loop 1
  if (next_value() != 0) goto again;
}

void calls_inlined(int n) {
  for (int i = 0; i < n; ++i)  // loop 1
    use(inlined(i));
}

int two_conditions(int n) {
  int i = 0;
  for (i = 0; i < n &&  // loop 1
              next_value() > 0;
       ++i) {
    use(i);
  }
  return i;
}

void with_switch(int n) {
  for (int i = 0; i < n; ++i) {  // loop 1
    switch (next_value()) {
      case 0:
        use(3);
        break;
      case 1:
        use(5);
        break;
      case 2:
        use(8);
        continue;
      case 3:
        use(13);
        break;
      case 4:
        return;
      case 5:
        for (int j = 0; j < i; ++j)  // loop 2
          use(j);
        break;
      default:
        use(0);
    }
    use(1);
  }
}

// Vectorised, with a rest; unrolled.
void saxpy(float* restrict to, const float* restrict from, float factor, long n) {
  for (long i = 0; i < n; ++i)  // loop 1
    to[i] += factor * from[i];
}

double product(const double* a, const double* b, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i)  // loop 1
    sum += a[i] * b[i];
  return sum;
}

void matrix(double* restrict to, const double* a, const double* b, int n) {
  for (int i = 0; i < n; ++i) {    // loop 1
    for (int j = 0; j < n; ++j) {  // loop 2
      double sum = 0;
      for (int k = 0; k < n; ++k)  // loop 3
        sum += a[i * n + k] * b[k * n + j];
      to[i * n + j] = sum;
    }
  }
}

// Outlined.
void parallel(double* to, int n) {
#pragma omp parallel for
  for (int i = 0; i < n; ++i)  // loop 1 or beside
    to[i] = next_value();
}

void steps(double* to, int n) {
  for (int step = 0; step < n; ++step) {  // loop 1
#pragma omp parallel
    {
#pragma omp for
      for (int i = 0; i < n; ++i)  // loop 1 or beside
        to[i] = next_value();
    }
    use(step);
  }
}
