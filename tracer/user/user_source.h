// Event source for what the program tells of itself: the functions of refrain.h.
#pragma once
