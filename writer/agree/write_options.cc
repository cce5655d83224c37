#include "writer/agree/write_options.h"

namespace refrain::writer {

Assignment merge(Assignment a, const Assignment& /*b*/) { return a; }

void put(exchange::ByteWriter& out, const Assignment& assignment) {
  const WriteOptions& options = assignment.options;
  for (const std::string* text :
       {&options.archive, &options.filter, &options.version, &assignment.work_folder})
    out.text(*text);
  out.number(options.threads);
  out.number(options.budget_bytes);
  out.number(options.representatives);
  out.number((options.recovered ? 1U : 0U) | (options.keep_spool ? 2U : 0U) |
             (options.logical_clock ? 4U : 0U));
}

void take(exchange::ByteReader& in, Assignment& assignment) {
  WriteOptions& options = assignment.options;
  for (std::string* text :
       {&options.archive, &options.filter, &options.version, &assignment.work_folder})
    *text = in.text();
  options.threads = in.number32();
  options.budget_bytes = in.number();
  options.representatives = in.number();
  const std::uint64_t flags = in.number_to(7);
  options.recovered = (flags & 1) != 0;
  options.keep_spool = (flags & 2) != 0;
  options.logical_clock = (flags & 4) != 0;
}

}  // namespace refrain::writer
