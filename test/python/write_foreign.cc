// Writes an archive as another tool may: write_foreign FOLDER.
#include "reader/foreign_archive.h"

int main(int count, char** words) {
  if (count != 2) return 2;
  refrain::reader::write_foreign_archive(words[1], {.more_enters = 500});
  return 0;
}
