// Eight devices "pretend": their memory, which is the host's, their streams and events, which do nothing because
// everything has ended when it returns, and the random numbers that each of them has for itself.
#pragma once
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {
using c10::DeviceIndex;
constexpr auto kPretend = c10::DeviceType::PrivateUse1;
constexpr int kDevices = 8;
const c10::DispatchKeySet kKey(c10::DispatchKey::PrivateUse1);
thread_local DeviceIndex current = 0;  // of this thread, as CUDA's is
std::array<std::atomic<int64_t>, kDevices> bytes_now;
std::atomic<bool> may_cross = true;  // a copy from one device to another, as CUDA has it

DeviceIndex exchange(DeviceIndex device) {
  TORCH_CHECK(device < kDevices, "PRETEND: there is no device ", int(device), ", only ", kDevices);
  const auto before = current;
  if (device >= 0) current = device;
  return before;
}

// ---- memory
struct Block {
  void* data;
  int64_t bytes;
  DeviceIndex device;
};
void release(void* context) {
  auto* block = static_cast<Block*>(context);
  bytes_now[block->device] -= block->bytes;
  std::free(block->data);
  delete block;
}
struct Memory final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* data = bytes ? std::aligned_alloc(64, (bytes + 63) / 64 * 64) : nullptr;
    bytes_now[current] += bytes;
    return {data, new Block{data, int64_t(bytes), current}, &release, c10::Device(kPretend, current)};
  }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
};
Memory memory;
REGISTER_ALLOCATOR(kPretend, &memory);

struct Guard final : c10::impl::DeviceGuardImplInterface {
  using Device = c10::Device;
  using Stream = c10::Stream;
  c10::DeviceType type() const override { return kPretend; }
  Device getDevice() const override { return {kPretend, current}; }
  Device exchangeDevice(Device device) const override { return {kPretend, exchange(device.index())}; }
  void setDevice(Device device) const override { exchange(device.index()); }
  void uncheckedSetDevice(Device device) const noexcept override { current = device.index(); }
  DeviceIndex deviceCount() const noexcept override { return kDevices; }
  Stream getStream(Device device) const override { return Stream(Stream::DEFAULT, device); }
  Stream getDefaultStream(Device device) const override { return getStream(device); }
  Stream getStreamFromGlobalPool(Device device, bool) const override { return getNewStream(device, 0); }
  Stream getNewStream(Device device, int) const override {
    static std::atomic<c10::StreamId> made = 0;
    return Stream(Stream::UNSAFE, device, ++made);
  }
  Stream exchangeStream(Stream stream) const override { return getStream(stream.device()); }
  bool queryStream(const Stream&) const override { return true; }
  void synchronizeStream(const Stream&) const override {}
  void synchronizeDevice(const DeviceIndex) const override {}
  void record(void** event, const Stream&, const DeviceIndex, const c10::EventFlag) const override {
    static char one;
    *event = &one;
  }
  void block(void*, const Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override {}
  double elapsedTime(void*, void*, const DeviceIndex) const override { return 0; }
  void destroyEvent(void*, const DeviceIndex) const noexcept override {}
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

// ---- random numbers: each device has its own
struct Numbers final : c10::GeneratorImpl {
  at::Generator inner;  // what the CPU's kernels draw from
  Numbers(DeviceIndex device, at::Generator generator)
      : GeneratorImpl(c10::Device(kPretend, device), kKey), inner(std::move(generator)) {}
  void set_current_seed(uint64_t seed) override { inner.set_current_seed(seed); }
  uint64_t current_seed() const override { return inner.current_seed(); }
  uint64_t seed() override { return inner.seed(); }
  void set_offset(uint64_t) override { TORCH_CHECK(false, "PRETEND: its random numbers have no offset"); }
  uint64_t get_offset() const override { TORCH_CHECK(false, "PRETEND: its random numbers have no offset"); }
  void set_state(const c10::TensorImpl& state) override { inner.unsafeGetGeneratorImpl()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override { return inner.unsafeGetGeneratorImpl()->get_state(); }
  GeneratorImpl* clone_impl() const override { return new Numbers(device().index(), inner.clone()); }
};
at::Generator new_generator(DeviceIndex device) {
  return at::make_generator<Numbers>(device < 0 ? current : device, at::detail::createCPUGenerator());
}
const at::Generator& generator_of(DeviceIndex device) {
  static const auto* all = [] {
    auto* made = new std::vector<at::Generator>;
    for (int number = 0; number < kDevices; ++number) made->push_back(new_generator(number));
    return made;
  }();
  return all->at(device < 0 ? current : device);
}
at::Generator inner_of(const at::Generator& generator) {
  return static_cast<Numbers*>(generator.unsafeGetGeneratorImpl())->inner;
}

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  DeviceIndex deviceCount() const override { return kDevices; }
  DeviceIndex getCurrentDevice() const override { return current; }
  void setCurrentDevice(DeviceIndex device) const override { exchange(device); }
  DeviceIndex exchangeDevice(DeviceIndex device) const override { return exchange(device); }
  DeviceIndex maybeExchangeDevice(DeviceIndex device) const override { return exchange(device); }
  at::Device getDeviceFromPtr(void*) const override { return {kPretend, 0}; }
  bool isPinnedPtr(const void*) const override { return false; }
  at::Allocator* getPinnedMemoryAllocator() const override { return c10::GetAllocator(c10::DeviceType::CPU); }
  const at::Generator& getDefaultGenerator(DeviceIndex device) const override { return generator_of(device); }
  at::Generator getNewGenerator(DeviceIndex device) const override { return new_generator(device); }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    const c10::OptionalDeviceGuard guard(storage.device());
    auto data = memory.allocate(bytes);
    if (auto kept = std::min(bytes, storage.nbytes())) std::memcpy(data.get(), storage.data(), kept);
    storage.unsafeGetStorageImpl()->set_data_ptr_noswap(std::move(data));
    storage.unsafeGetStorageImpl()->set_nbytes(bytes);
  }
};
}  // namespace
