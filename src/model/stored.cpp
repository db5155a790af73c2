#include "model/stored.h"

#include <reckon/error.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "files/quote.h"
#include "files/tensor_file.h"
#include "model/families.h"
#include "model/stored_writer.h"

namespace reckon {

FamilyNames stored::names_of(const std::string& family, const StoredNames& present) {
  const Family* known = find_family(family);
  if (known == nullptr) throw Error("the names of tensors in files of the family " + quote(family) + " are not known");
  if (present.contains(std::string(gguf_embedding))) return gguf_names(family);
  FamilyNames names;
  known->name(names);
  const auto has_sign = [&](const std::string& name) { return name.find(names.sign) != std::string::npos; };
  if (names.otherwise != nullptr && std::any_of(present.begin(), present.end(), has_sign)) names.otherwise(names);
  return names;
}

StoredLayout stored_layout(const Model& model, const StoredNames& present) {
  return stored::Writer(model, present).write();
}

StoredLayout stored_layout(const Model& model, const TensorFile& file) {
  StoredNames present;
  for (const TensorInfo& tensor : file.tensors) present.insert(tensor.name);
  StoredLayout layout = stored_layout(model, present);
  const FamilyNames names = stored::names_of(model.family, present);
  if (std::none_of(names.mixtures.begin(), names.mixtures.end(), [](const MixtureNames& form) { return form.either; }))
    return layout;
  StoredLayout turned = stored::Writer(model, present, true).write();
  std::unordered_map<std::string_view, const TensorInfo*> found;
  for (const TensorInfo& tensor : file.tensors) found.emplace(tensor.name, &tensor);
  for (std::size_t i = 0; i < layout.tensors.size(); ++i) {
    if (layout.tensors[i].shape == turned.tensors[i].shape) continue;
    const auto at = found.find(layout.tensors[i].name);
    if (at != found.end() && at->second->shape == turned.tensors[i].shape) return turned;
  }
  return layout;
}

std::shared_ptr<const ParameterTypes> stored_types(const Model& model, const TensorFile& file) {
  std::unordered_map<std::string_view, DType> found;
  for (const TensorInfo& tensor : file.tensors) found.emplace(tensor.name, tensor.dtype);
  auto types = std::make_shared<ParameterTypes>();
  for (const StoredParameter& parameter : stored_layout(model, file).parameters) {
    const StoredView& view = parameter.views.front();
    const bool joined = parameter.shape.size() == 2 && parameter.views.size() > 1;
    if (const auto at = found.find(view.tensor); at != found.end()) {
      const bool blocks = encoding_of(at->second).elements > 1;
      const bool turned = blocks && (view.axes.back().stride != 1 || parameter.key.scope.role.part == Part::kv_up);
      const bool decoded = joined || turned || at->second == DType::float8_e4m3;
      types->emplace(parameter.key, decoded ? DType::float32 : at->second);
    } else if (found.contains(view.tensor + "_blocks")) {
      types->emplace(parameter.key, DType::mxfp4);
    }
  }
  return types;
}

}  // namespace reckon
