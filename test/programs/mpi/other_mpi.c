/* A program of an MPI library that is not known. With LIBRARY defined it is that library; with INSIDE the library is
 * linked into the program. It is looked at, not run. */
int PMPI_Init(int* argc, char*** argv);

#if defined(LIBRARY) || defined(INSIDE)
int PMPI_Init(int* argc, char*** argv) { return argc == 0 && argv == 0; }
#endif

#if !defined(LIBRARY)
int main(int argc, char** argv) { return PMPI_Init(&argc, &argv); }
#endif
