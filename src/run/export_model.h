// A model's weights on their way into another file: GGUF, in any encoding, or a folder as transformers reads it.
#pragma once

#include <reckon/model.h>

#include "files/tensor_file.h"
#include "files/write_gguf.h"
#include "model/stored.h"
#include "run/weights.h"
#include "threads/pool.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace reckon {

// What is known of the activations that a matrix is multiplied with.
struct Activations {
  std::vector<float> squares;  // the mean square of each column; of a mixture's experts one after another
  std::shared_ptr<const std::vector<float>> factor;  // of their correlation, as encode_rows() takes it; may be nullptr
};
using Importance = std::map<TensorKey, Activations>;

struct ExportedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  TensorKey key;                  // of the first parameter that lies in it
  DType stored = DType::float32;  // what that is stored in now
  std::int64_t experts = 0;       // whose rows these are, one after another; 0: they are no rows of the parameter
  bool quantisable = false;       // a matrix, but for routers and tables of positions
  std::int64_t elements() const;
  std::int64_t columns() const { return shape.empty() ? 1 : shape.back(); }
  std::int64_t rows() const { return elements() / columns(); }
};

// What a file will hold. The model and the weights must outlive it.
class ModelExport {
 public:
  // For a GGUF file. Throws where that has no architecture for the model.
  static ModelExport to_gguf(const Model& model, const Weights& weights);
  // For a GGUF file from another one, `source`: its tensors by its names, its pairs but for what tells of encodings.
  static ModelExport from_gguf(const Model& model, const Weights& weights, const TensorFile& source);
  // For a folder of the family of `to`, the same network as its config.json gives it.
  static ModelExport to_folder(const Model& model, const Weights& weights, const Model& to);

  const std::vector<ExportedTensor>& tensors() const { return tensors_; }
  const std::vector<GgufPair>& pairs() const { return pairs_; }  // of a GGUF file, without its tokenizer

  // All elements of a tensor, row-major. Throws Cancelled where `pool` is cancelled.
  std::vector<float> values(std::size_t tensor, const Pool* pool = nullptr) const;
  // What the matrices that lie in a tensor, row-major, become where that has these elements.
  void scatter(std::size_t tensor, std::span<const float> values,
               std::map<TensorKey, std::vector<float>>& matrices) const;
  // Its bytes as `source` has them, where that is in this encoding; else nothing.
  std::span<const std::byte> as_stored(std::size_t tensor, DType dtype) const;

 private:
  struct Place {
    const StoredParameter* parameter;
    const StoredView* view;
    std::int64_t first;  // element of the parameter
  };
  ModelExport(const Weights& weights, StoredLayout layout, float norm_shift);
  void fill(const Place& part, const Pool* pool, std::vector<float>& to) const;

  const Weights& weights_;
  std::shared_ptr<const StoredLayout> layout_;
  float norm_shift_ = 0;
  std::vector<ExportedTensor> tensors_;
  std::vector<std::vector<Place>> parts_;      // of each tensor
  std::vector<std::vector<float>> constants_;  // …or what it holds
  std::vector<GgufPair> pairs_;
  TensorFile source_;
  std::vector<MappedFile> mapped_;
  std::map<std::string, const TensorInfo*> in_source_;
};

// What each tensor becomes where matrices are to be in this encoding: those that are not quantised stay as precise as
// they are (GGUF: float32).
DType exported_type(const ExportedTensor& tensor, DType wanted);

// …in a folder, where none are named: what it has; of blocks, which safetensors don't have, the values as they decode.
// `vectors` is what all but matrices had before they were written to a GGUF file (vectors_key), if they had one type.
DType folder_type(const ExportedTensor& tensor, std::optional<DType> vectors);

// The pair of a GGUF file, ours, that says so: GGUF's readers want vectors in float32.
inline constexpr const char* vectors_key = "reckon.vectors";
std::optional<DType> type_of_vectors(const nlohmann::json& pairs);

struct EncodedTensor {
  std::vector<std::byte> bytes;
  double error = 0;  // root of the squares of what is lost, relative to those of the values
  double loss = 0;   // the share of the squares that is lost, weighted by importance
};
// What is known of a tensor's columns; nullptr where nothing was measured.
const Activations* activations_of(const Importance& importance, const ExportedTensor& tensor);
// The same but for their correlation: what takes a while to make good is left out where an encoding is only tried.
std::optional<Activations> columns_of(const Importance& importance, const ExportedTensor& tensor);

// `activations` may be nullptr.
EncodedTensor encode_tensor(DType dtype, std::span<const float> values, std::int64_t columns,
                            const Activations* activations, Pool& pool);

struct WrittenTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  DType from = DType::float32, to = DType::float32;
  std::int64_t bytes = 0;
  double error = 0;  // as above; 0 where nothing is lost
};

using OnElements = std::function<void(std::int64_t done, std::int64_t all)>;

// Of a GGUF file with these pairs: the bytes before its data, whatever the encodings are.
std::int64_t gguf_header_bytes(const ModelExport& model, std::span<const GgufPair> pairs);

// Writes a GGUF file with these pairs and the tensors in these encodings. `importance` may be empty.
std::vector<WrittenTensor> write_gguf_model(const std::filesystem::path& path, const ModelExport& model,
                                            std::span<const GgufPair> pairs, std::span<const DType> types,
                                            const Importance& importance, Pool& pool, const OnElements& progress);

// Writes model.safetensors and config.json into a folder, which is made; where that fails, it is as before.
std::vector<WrittenTensor> write_folder_model(const std::filesystem::path& folder, const ModelExport& model,
                                              const std::string& config, std::span<const DType> types, Pool& pool,
                                              const OnElements& progress);

}  // namespace reckon
