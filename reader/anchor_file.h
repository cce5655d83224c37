// The anchor file of an archive (traces.otf2), looked at before libotf2 reads it: libotf2 (3.0.2) believes
// how many properties the file says it has, and where that is damaged it takes gigabytes and minutes
// to find that they are not there.
//
// Place in the flow: in front of steps 9 and 10. Layout of the file: as libotf2 3 writes it; others
// are not judged. Thread-safety: any thread. Cost: reads the file, some kilobytes.
#pragma once

#include <string>

namespace refrain::reader {

// What is wrong with it, without the file's name; empty if nothing is known to be.
std::string anchor_complaint(const std::string& anchor_file);

}  // namespace refrain::reader
