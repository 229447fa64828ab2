// How long calls are ended early.
#pragma once

namespace kernelsketch {

// The calling thread calls this about ten times per second; true ends the work early.
using Interrupted = bool (*)();

}  // namespace kernelsketch
