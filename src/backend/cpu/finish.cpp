// What is done to a product's results while they are in the cache; also reads stored weights as float32.
#include "backend/cpu/tile.h"
#include "files/float_types.h"
#include "ops/activate.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/finish.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backend/cpu/activate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

// The epilogue of one row; pointers start at the first element.
struct Row {
  const float *product, *bias, *gate, *residual;
  bool activate;
  float clamp, scale;
  float* y;
};

template <Activation kind, class D>
HWY_INLINE std::int64_t finish_lanes(D d, const Row& row, std::int64_t i, std::int64_t count) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto scale = hn::Set(d, row.scale);
  for (; i + lanes <= count; i += lanes) {
    auto v = hn::LoadU(d, row.product + i);
    if (row.bias) v = hn::Add(v, hn::LoadU(d, row.bias + i));
    if (row.gate) {
      const auto gate = hn::LoadU(d, row.gate + i);
      v = row.clamp != 0 ? clamped_gate(d, gate, v, row.clamp) : hn::Mul(activate<kind>(d, gate), v);
    } else if (row.activate) {
      v = activate<kind>(d, v);
    }
    v = hn::Mul(v, scale);
    if (row.residual) v = hn::Add(hn::LoadU(d, row.residual + i), v);
    hn::StoreU(v, d, row.y + i);
  }
  return i;
}

void finish(const Epilogue& e, std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t count,
            const float* product, float* y, std::int64_t y_stride) {
  with_activation(e.activation, [&](auto kind) HWY_ATTR {
    for (std::int64_t i = row; i < row + rows; ++i, product += count, y += y_stride) {
      const Row r{product,
                  e.bias ? e.bias + first : nullptr,
                  e.gate ? e.gate + i * e.gate_stride + first : nullptr,
                  e.residual ? e.residual + i * e.residual_stride + first : nullptr,
                  e.activate,
                  static_cast<float>(e.clamp),
                  e.scale,
                  y};
      std::int64_t done = finish_lanes<kind.value>(Floats(), r, 0, count);
      if constexpr (hn::MaxLanes(Floats()) > 8)  // tiles of few rows are multiples of 24 wide
        done = finish_lanes<kind.value>(hn::CappedTag<float, 8>(), r, done, count);
      finish_lanes<kind.value>(OneFloat(), r, done, count);
    }
  });
}

template <class D>
HWY_INLINE std::int64_t add_parts_lanes(D d, const float* from, std::int64_t parts, std::int64_t stride, std::int64_t i,
                                        std::int64_t count, float* to) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes) {
    auto sum = hn::LoadU(d, from + i);
    for (std::int64_t part = 1; part < parts; ++part) sum = hn::Add(sum, hn::LoadU(d, from + part * stride + i));
    hn::StoreU(sum, d, to + i);
  }
  return i;
}

void add_parts_all(const float* from, std::int64_t parts, std::int64_t stride, std::int64_t count, float* to) {
  const std::int64_t done = add_parts_lanes(Floats(), from, parts, stride, 0, count, to);
  add_parts_lanes(OneFloat(), from, parts, stride, done, count, to);
}

template <class D, class T>
HWY_INLINE std::int64_t convert_lanes(D d, const T* from, std::int64_t i, std::int64_t count, float* to) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes) hn::StoreU(load(d, from + i), d, to + i);
  return i;
}

template <class T>
HWY_INLINE void convert_all(const void* from, std::int64_t count, float* to) {
  const T* typed = static_cast<const T*>(from);
  convert_lanes(OneFloat(), typed, convert_lanes(Floats(), typed, 0, count, to), count, to);
}

// Whole blocks of 32 integers behind a float16 scale.
HWY_INLINE void convert_q8_0(const void* from, std::int64_t count, float* to) {
  const Floats d;
  const hn::RebindToSigned<Floats> wide;
  const hn::Rebind<std::int8_t, Floats> narrow;
  const auto* block = static_cast<const std::uint8_t*>(from);
  for (std::int64_t i = 0; i < count; i += 32, block += 34) {
    const auto scale = hn::Set(d, from_float16(static_cast<std::uint16_t>(block[0] | block[1] << 8)));
    for (std::size_t e = 0; e < 32; e += hn::Lanes(d)) {
      const auto q = hn::LoadU(narrow, reinterpret_cast<const std::int8_t*>(block) + 2 + e);
      hn::StoreU(hn::Mul(hn::ConvertTo(d, hn::PromoteTo(wide, q)), scale), d, to + i + static_cast<std::int64_t>(e));
    }
  }
}

void convert(DType dtype, const void* from, std::int64_t count, float* to) {
  if (dtype == DType::float32) return convert_all<float>(from, count, to);
  if (dtype == DType::bfloat16) return convert_all<hwy::bfloat16_t>(from, count, to);
  if (dtype == DType::q8_0) return convert_q8_0(from, count, to);
  return convert_all<hwy::float16_t>(from, count, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reckon {

HWY_EXPORT(finish);
HWY_EXPORT(convert);
HWY_EXPORT(add_parts_all);

void finish_rows(const Epilogue& epilogue, std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t count,
                 const float* product, float* y, std::int64_t y_stride) {
  const auto one_if = [](bool there) -> std::int64_t { return there ? 1 : 0; };
  std::int64_t operations =
      one_if(epilogue.bias != nullptr) + one_if(epilogue.scale != 1.0f) + one_if(epilogue.residual != nullptr);
  if (epilogue.activate || epilogue.gate != nullptr)
    operations += activation_operations({epilogue.activation, epilogue.clamp}, epilogue.gate != nullptr).forward;
  count_elementwise(rows * count * operations);
  HWY_DYNAMIC_DISPATCH(finish)(epilogue, row, rows, first, count, product, y, y_stride);
}

void add_parts(const float* from, std::int64_t parts, std::int64_t stride, std::int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(add_parts_all)(from, parts, stride, count, to);
}

void convert_weights(DType dtype, const void* from, std::int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(convert)(dtype, from, count, to);
}

}  // namespace reckon
#endif
