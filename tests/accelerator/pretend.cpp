// A device "pretend" for PyTorch that needs no hardware: kernels are the CPU's, and what mixes devices with each other
// or with the CPU is an error, as CUDA has it. Where it differs from CUDA stands in README.md beside this file.
#include <ATen/CPUFunctions.h>
#include <ATen/EmptyTensor.h>
#include <ATen/autocast_mode.h>
#include <ATen/native/CPUFallback.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/library.h>

#include "pretend_device.h"

namespace {
using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using Sizes = c10::SymIntArrayRef;

// ---- tensors
Tensor empty(c10::IntArrayRef size, std::optional<c10::ScalarType> dtype, std::optional<c10::Layout>,
             std::optional<c10::Device> device, std::optional<bool>, std::optional<c10::MemoryFormat> format) {
  const c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_generic(size, &memory, kKey, c10::dtype_or_default(dtype), format);
}
Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<c10::ScalarType> dtype,
                     std::optional<c10::Layout>, std::optional<c10::Device> device, std::optional<bool>) {
  const c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_strided_generic(size, stride, &memory, kKey, c10::dtype_or_default(dtype));
}
Tensor host(const Tensor& tensor) {  // the same memory as a tensor of the CPU
  if (!tensor.defined() || !tensor.is_privateuseone()) return tensor;
  const auto options = at::TensorOptions().dtype(tensor.scalar_type()).device(at::kCPU);
  if (!tensor.numel()) return at::empty_strided(tensor.sizes(), tensor.strides(), options);
  const auto same = at::from_blob(tensor.mutable_data_ptr(), tensor.sizes(), tensor.strides(), options);
  return tensor.is_conj() ? same.conj() : same;
}
Tensor copy_from(const Tensor& from, const Tensor& to, bool) {
  const bool crosses = from.is_privateuseone() && to.is_privateuseone() && from.device() != to.device();
  TORCH_CHECK(may_cross || !crosses, "PRETEND: a copy from ", from.device(), " to ", to.device());
  host(to).copy_(host(from));
  return to;
}
Tensor copy_from_and_resize(const Tensor& from, const Tensor& to) {
  if (from.sizes() != to.sizes()) to.resize_(from.sizes());
  return copy_from(from, to, false);
}
c10::Scalar local_scalar(const Tensor& tensor) { return host(tensor).item(); }
const Tensor& resize_(const Tensor& tensor, Sizes size, std::optional<c10::MemoryFormat>) {
  const auto sizes = C10_AS_INTARRAYREF_SLOW(size);
  const size_t bytes = (c10::multiply_integers(sizes) + tensor.storage_offset()) * tensor.element_size();
  if (bytes > tensor.storage().nbytes())
    at::detail::getPrivateUse1Hooks().resizePrivateUse1Bytes(tensor.storage(), bytes);
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return tensor;
}
void record_stream(Tensor&, c10::Stream) {}

// ---- kernels for which the CPU's of the same name will not do
void same_device(const Tensor& one, const MaybeTensor& other) {
  if (!other || !other->defined() || one.device() == other->device()) return;
  TORCH_CHECK(false, "PRETEND: a layer mixes devices: ", one.device(), " and ", other->device());
}
MaybeTensor host_of(const Tensor& beside, const MaybeTensor& tensor) {
  same_device(beside, tensor);
  return tensor && tensor->defined() ? MaybeTensor(host(*tensor)) : tensor;
}
Tensor convolution(const Tensor& x, const Tensor& weight, const MaybeTensor& bias, Sizes stride, Sizes padding,
                   Sizes dilation, bool transposed, Sizes output_padding, c10::SymInt groups) {
  return at::convolution_symint(host(x), *host_of(x, weight), host_of(x, bias), stride, padding, dilation, transposed,
                                output_padding, groups).to(x.device());
}
std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& gradient, const Tensor& x, const Tensor& weight, Sizes stride, Sizes padding, Sizes dilation,
    bool transposed, Sizes output_padding, c10::SymInt groups, std::array<bool, 3> wanted) {
  std::vector<c10::SymInt> bias{weight.sym_size(0)};
  if (transposed) bias[0] = weight.sym_size(1) * groups;
  auto [a, b, c] = at::convolution_backward_symint(
      *host_of(x, gradient), host(x), *host_of(x, weight), c10::OptionalArrayRef<c10::SymInt>(bias), stride, padding,
      dilation, transposed, output_padding, groups, wanted);
  const auto back = [&](const Tensor& found) { return found.defined() ? found.to(x.device()) : found; };
  return {back(a), back(b), back(c)};
}
std::tuple<Tensor, Tensor, Tensor> batch_norm(
    const Tensor& x, const MaybeTensor& weight, const MaybeTensor& bias, const MaybeTensor& mean,
    const MaybeTensor& variance, bool training, double momentum, double eps) {  // running statistics change in place
  auto [y, own_mean, deviation] = at::native_batch_norm(host(x), host_of(x, weight), host_of(x, bias), host_of(x, mean),
                                                        host_of(x, variance), training, momentum, eps);
  return {y.to(x.device()), own_mean.to(x.device()), deviation.to(x.device())};
}
std::tuple<Tensor, Tensor> dropout(const Tensor& x, double share, std::optional<bool> training) {
  if (training && !*training) return {x.clone(), at::ones_like(x, at::kBool)};
  const auto kept = share < 1 ? at::empty_like(x).bernoulli_(1 - share) : at::zeros_like(x);  // the device's numbers
  return {x * kept * (share < 1 ? 1 / (1 - share) : 0), kept.to(at::kBool)};
}
std::vector<Tensor> gates(const Tensor& x, const MaybeTensor& bias, int64_t count) {
  return (bias && bias->defined() ? x + *bias : x).chunk(count, 1);
}
std::tuple<Tensor, Tensor> gru_cell(const Tensor& input, const Tensor& hidden, const Tensor& before,
                                    const MaybeTensor& input_bias, const MaybeTensor& hidden_bias) {
  const auto a = gates(input, input_bias, 3), b = gates(hidden, hidden_bias, 3);
  const auto fresh = (a[2] + (a[0] + b[0]).sigmoid() * b[2]).tanh();
  return {(before - fresh) * (a[1] + b[1]).sigmoid() + fresh, at::empty({0}, input.options())};
}
std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input, const Tensor& hidden, const Tensor& cell,
                                             const MaybeTensor& input_bias, const MaybeTensor& hidden_bias) {
  const auto a = gates(input, input_bias, 4), b = gates(hidden, hidden_bias, 4);
  const auto next = (a[1] + b[1]).sigmoid() * cell + (a[0] + b[0]).sigmoid() * (a[2] + b[2]).tanh();
  return {(a[3] + b[3]).sigmoid() * next.tanh(), next, at::empty({0}, input.options())};
}

// ---- every other operation: CUDA's rules about devices, then the CPU's kernel on copies
struct Devices {
  std::optional<c10::Device> device;
  std::string other;  // a second one, "" if there is none
  void see(const Tensor& tensor, bool cpu_is_fine) {
    if (!tensor.defined() || (tensor.is_cpu() && cpu_is_fine)) return;
    if (!tensor.is_privateuseone()) other = tensor.device().str();
    else if (device && *device != tensor.device()) other = tensor.device().str();
    else device = tensor.device();
  }
};
// CUDA takes a CPU tensor without dimensions as a number in element-wise operations and few others.
bool takes_numbers(const c10::OperatorHandle& op, const std::string& name) {
  if (op.hasTag(at::Tag::pointwise) || name.find("index_put") != std::string::npos) return true;
  for (const auto* few : {"aten::_foreach_", "aten::_fused_", "aten::fill", "aten::masked_fill", "aten::index_fill"})
    if (name.rfind(few, 0) == 0) return true;
  return false;
}
Devices devices_of(const c10::OperatorHandle& op, const torch::jit::Stack& stack, size_t first) {
  const auto& arguments = op.schema().arguments();
  const auto& name = op.schema().name();
  const bool numbers = takes_numbers(op, name), indexing = name.find("index_put") != std::string::npos ||
                                                           name == "aten::index" || name == "aten::_unsafe_index";
  Devices found;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto& value = stack[first + i];
    const bool written = arguments[i].alias_info() && arguments[i].alias_info()->isWrite();
    const bool indices = indexing && arguments[i].name() == "indices";
    const auto see = [&](const Tensor& t) { found.see(t, indices || (numbers && !written && t.dim() == 0)); };
    if (value.isTensor()) see(value.toTensor());
    else if (value.isTensorList()) for (const auto& tensor : value.toTensorVector()) see(tensor);
    else if (value.isOptionalTensorList())
      for (const auto& tensor : value.toOptionalTensorVector()) if (tensor) see(*tensor);
  }
  return found;
}
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  const auto& returns = op.schema().returns();
  const auto first = stack->size() - arguments.size();
  const auto [device, other] = devices_of(op, *stack, first);
  TORCH_CHECK(!device || other.empty(), "PRETEND: ", op.schema().name(), " mixes devices: ", *device, " and ", other);
  for (size_t i = 0; device && i < arguments.size(); ++i) {
    auto& value = (*stack)[first + i];
    if (arguments[i].name() != "generator") continue;
    if (!value.isGenerator() || !value.toGenerator().defined()) {
      value = inner_of(generator_of(device->index()));
      continue;
    }
    const auto generator = value.toGenerator();
    TORCH_CHECK(generator.device() == *device, "PRETEND: ", op.schema().name(), ": a generator of ", generator.device(),
                " for a tensor of ", *device);
    value = inner_of(generator);
  }
  const c10::OptionalDeviceGuard guard(device);
  at::native::cpu_fallback(op, stack);
  for (size_t i = 0; device && i < returns.size(); ++i) {  // a CPU number that stood first does not say the device
    auto& value = (*stack)[stack->size() - returns.size() + i];
    const bool made = value.isTensor() && value.toTensor().defined() && !returns[i].alias_info();
    if (made && value.toTensor().is_cpu()) value = value.toTensor().to(*device);
  }
}
}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("_local_scalar_dense", &local_scalar);
  m.impl("resize_", &resize_);
  m.impl("record_stream", &record_stream);
  m.impl("as_strided", [](const Tensor& t, Sizes size, Sizes stride, std::optional<c10::SymInt> offset) {
    return at::cpu::as_strided_symint(t, size, stride, offset);
  });
  m.impl("view", [](const Tensor& t, Sizes size) { return at::cpu::view_symint(t, size); });
  m.impl("_reshape_alias", [](const Tensor& t, Sizes size, Sizes stride) {
    return at::cpu::_reshape_alias_symint(t, size, stride);
  });
  m.impl("unfold", [](const Tensor& t, int64_t dim, int64_t size, int64_t step) {
    return at::cpu::unfold(t, dim, size, step);
  });
  m.impl("set_.source_Storage", [](Tensor& t, at::Storage s) -> Tensor& { return at::cpu::set_(t, s); });
  m.impl("set_.source_Storage_storage_offset",
         [](Tensor& t, at::Storage s, c10::SymInt offset, Sizes size, Sizes stride) -> Tensor& {
           return at::cpu::set__symint(t, s, offset, size, stride);
         });
  m.impl("convolution_overrideable", &convolution);
  m.impl("convolution_backward_overrideable", &convolution_backward);
  m.impl("native_batch_norm", &batch_norm);
  m.impl("native_dropout", &dropout);
}
TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }
TORCH_LIBRARY_IMPL(_, AutogradPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {
  m.impl("_thnn_fused_gru_cell", &gru_cell);
  m.impl("_thnn_fused_lstm_cell", &lstm_cell);
}
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

#define LOW(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define FLOAT(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define FLOAT_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define WIDEST(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
namespace at::autocast {
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  AT_FORALL_LOWER_PRECISION_FP(LOW)
  AT_FORALL_FP32(FLOAT)
  AT_FORALL_FP32_SET_OPT_DTYPE(FLOAT_DTYPE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(WIDEST)
}
}  // namespace at::autocast

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("init", [] { at::RegisterPrivateUse1HooksInterface(new Hooks()); });
  m.def("device_count", [] { return kDevices; });
  m.def("current", [] { return int(current); });
  m.def("exchange", [](int device) { return int(exchange(device)); });
  m.def("generator", [](int device) { return generator_of(device); });
  m.def("bytes_now", [](int device) { return bytes_now.at(device).load(); });
  m.def("let_cross", [](bool may) { return may_cross.exchange(may); });
}
