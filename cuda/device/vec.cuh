// cuda/device/vec.cuh - several elements in one memory access of up to 16 bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace ruda::cuda {

template <class T, int N>
struct alignas(sizeof(T) * N) Vec {
  static_assert(sizeof(T) * N <= 16);
  T at[N];
  __device__ T& operator[](int i) { return at[i]; }
  __device__ const T& operator[](int i) const { return at[i]; }
};

// Elements of T in 16 bytes.
template <class T>
inline constexpr int vec_size = 16 / int(sizeof(T));

template <int Bytes>
struct RawVec;
template <>
struct RawVec<16> {
  using type = uint4;
};
template <>
struct RawVec<8> {
  using type = uint2;
};
template <>
struct RawVec<4> {
  using type = uint32_t;
};
template <>
struct RawVec<2> {
  using type = unsigned short;
};
template <>
struct RawVec<1> {
  using type = unsigned char;
};

// One access; `from` is aligned to the vector's size.
template <int N, class T>
__device__ inline Vec<T, N> load_vec(const T* from) {
  using Raw = typename RawVec<int(sizeof(T)) * N>::type;
  Vec<T, N> v;
  *reinterpret_cast<Raw*>(&v) = *reinterpret_cast<const Raw*>(from);
  return v;
}

// For memory that no one writes while the kernel runs.
template <int N, class T>
__device__ inline Vec<T, N> load_vec_constant(const T* from) {
  using Raw = typename RawVec<int(sizeof(T)) * N>::type;
  Vec<T, N> v;
  *reinterpret_cast<Raw*>(&v) = __ldg(reinterpret_cast<const Raw*>(from));
  return v;
}

// For data that is read once: it does not take the place of others in the first-level cache.
template <int N, class T>
__device__ inline Vec<T, N> load_vec_once(const T* from) {
  using Raw = typename RawVec<int(sizeof(T)) * N>::type;
  Vec<T, N> v;
  *reinterpret_cast<Raw*>(&v) = __ldcg(reinterpret_cast<const Raw*>(from));
  return v;
}

template <int N, class T>
__device__ inline void store_vec(T* to, const Vec<T, N>& v) {
  using Raw = typename RawVec<int(sizeof(T)) * N>::type;
  *reinterpret_cast<Raw*>(to) = *reinterpret_cast<const Raw*>(&v);
}

// Longer runs as several 16-byte accesses.
template <int N, class T>
__device__ inline void load_run(const T* from, T (&to)[N]) {
  constexpr int step = N * int(sizeof(T)) <= 16 ? N : vec_size<T>;
  static_assert(N % step == 0);
#pragma unroll
  for (int i = 0; i < N; i += step) {
    const auto v = load_vec<step>(from + i);
#pragma unroll
    for (int j = 0; j < step; ++j) to[i + j] = v[j];
  }
}

template <int N, class T>
__device__ inline void store_run(T* to, const T (&from)[N]) {
  constexpr int step = N * int(sizeof(T)) <= 16 ? N : vec_size<T>;
  static_assert(N % step == 0);
#pragma unroll
  for (int i = 0; i < N; i += step) {
    Vec<T, step> v;
#pragma unroll
    for (int j = 0; j < step; ++j) v[j] = from[i + j];
    store_vec(to + i, v);
  }
}

}  // namespace ruda::cuda
