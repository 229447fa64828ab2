// Operations of an instruction set on floats, and the same on doubles.
#pragma once

namespace kernelsketch {

template <template <class> class Ops>
struct ByType {
  Ops<float> floats;
  Ops<double> doubles;
  template <class T>
  const Ops<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float))
      return floats;
    else
      return doubles;
  }
};

}  // namespace kernelsketch
