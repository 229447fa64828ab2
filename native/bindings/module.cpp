// The module _native. A binding checks shapes and layouts, releases the GIL and calls the core; the Python side has
// checked the values.
#include <utility>

#include "arrays.h"
#include "kernelsketch/dispatch.h"

NB_MODULE(_native, m) {
  using namespace kernelsketch::bindings;
  m.def("supported_isas", kernelsketch::supported_isas,
        "Instruction sets of this build that this machine runs, best first.");
  m.def(
      "set_heartbeat",
      [](nb::object call) {
        PyObject* const before = std::exchange(heartbeat, call.is_none() ? nullptr : call.release().ptr());
        return before ? nb::steal(before) : nb::none();
      },
      "call"_a.none(),
      "Let long calls of this thread call a function without arguments about ten times per second, and return the "
      "function that was set before. An exception of the function ends the call.");
#define KS_CALL_BINDING(name) define_##name(m);
  KS_BINDINGS(KS_CALL_BINDING)
}
