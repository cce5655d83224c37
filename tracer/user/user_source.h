// Event source for what the program itself reports: the functions of refrain.h.
#pragma once
