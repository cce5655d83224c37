// The work that rank 0 gives to the processes of a job that write their archive together.
//
// Place in the flow: ARCHITECTURE.md, step 7: the first exchange between the processes;
// only rank 0's values count. Thread-safety: plain values.
#pragma once

#include <string>

#include "writer/archive/write_options.h"
#include "writer/exchange/bytes.h"

namespace refrain::writer {

struct Assignment {
  WriteOptions options;
  std::string work_folder;
};

Assignment merge(Assignment a, const Assignment& b);
void put(ByteWriter& out, const Assignment& assignment);
void take(ByteReader& in, Assignment& assignment);

}  // namespace refrain::writer
