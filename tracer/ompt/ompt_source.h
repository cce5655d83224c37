// Event source for OpenMP. It has no functions to call: the OpenMP runtime finds
// ompt_start_tool() in the library that contains this source.
//
// Place in the flow: ARCHITECTURE.md, stage 2.
#pragma once
