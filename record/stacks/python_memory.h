#pragma once

// Reading the interpreter's memory through a PythonLayout. Nothing here takes a lock, a reference or memory.

#include <cstdint>
#include <cstring>

namespace stallhound::record {

// An address of the interpreter. Objects are at least 8-aligned; what is not, is not followed.
using Address = uintptr_t;

template <typename T>
inline T ReadAt(Address base, uint32_t offset) {
  T value;
  memcpy(&value, reinterpret_cast<const void*>(base + offset), sizeof(value));
  return value;
}

// True for what can be an object's address in user space: neither null, nor a small number, nor misaligned.
inline bool IsPlausible(Address address) { return address > 0xffff && (address & 7) == 0 && (address >> 56) == 0; }

// 3.14 and free-threaded builds tag references in the low bits; objects are 8-aligned, so the bits are free elsewhere.
inline Address Untag(Address reference) { return reference & ~Address{7}; }

}  // namespace stallhound::record
