// The attributes of an op: a plain struct of its operation (a norm's epsilon, the direction of a rotation), declared
// beside it in ops/. Here they are a value of unknown type, which remembers its type and is only given out as that.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <type_traits>

namespace reckon {

struct NoAttributes {
  bool operator==(const NoAttributes&) const = default;
};

class Attributes {
 public:
  // They lie inside the op, so that copying ops, of which expanded programs have thousands, allocates nothing for them.
  static constexpr std::size_t capacity = 56;

  Attributes() : Attributes(NoAttributes{}) {}
  template <class A>
  explicit Attributes(const A& value) : type_(&type<A>) {
    static_assert(std::is_trivially_copyable_v<A>, "attributes are plain numbers, flags and enums");
    static_assert(sizeof(A) <= capacity && alignof(A) <= 8, "raise Attributes::capacity");  // NOLINT: not redundant
    new (bytes_.data()) A(value);
  }

  // nullptr where they are of another type.
  template <class A>
  const A* as() const {
    return type_ == &type<A> ? std::launder(reinterpret_cast<const A*>(bytes_.data())) : nullptr;
  }

  bool operator==(const Attributes& other) const {
    return type_ == other.type_ && type_->equal(bytes_.data(), other.bytes_.data());
  }

 private:
  struct Type {
    bool (*equal)(const void*, const void*);
  };
  template <class A>
  static constexpr Type type{[](const void* a, const void* b) {
    return *std::launder(static_cast<const A*>(a)) == *std::launder(static_cast<const A*>(b));
  }};

  const Type* type_;
  alignas(8) std::array<std::byte, capacity> bytes_{};
};

}  // namespace reckon
