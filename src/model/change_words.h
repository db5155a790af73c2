// What people call the choices among changes to a model: on the command line and on the page.
#pragma once

#include <utility>

#include "model/modify.h"

namespace reckon {

template <class Value>
using Word = std::pair<const char*, Value>;

inline constexpr Word<Changes::FeedForwardForm> feed_forward_words[] = {{"gelu", Changes::FeedForwardForm::gelu},
                                                                        {"relu", Changes::FeedForwardForm::relu},
                                                                        {"silu", Changes::FeedForwardForm::silu},
                                                                        {"swiglu", Changes::FeedForwardForm::swiglu},
                                                                        {"geglu", Changes::FeedForwardForm::geglu}};
inline constexpr Word<Norm::Kind> norm_words[] = {{"layernorm", Norm::Kind::layer}, {"rmsnorm", Norm::Kind::rms}};
inline constexpr Word<Changes::NormPosition> norm_position_words[] = {{"pre", Changes::NormPosition::pre},
                                                                      {"post", Changes::NormPosition::post}};
inline constexpr Word<Changes::PositionKind> position_words[] = {{"learned", Changes::PositionKind::learned},
                                                                 {"sinusoidal", Changes::PositionKind::sinusoidal},
                                                                 {"rope", Changes::PositionKind::rope},
                                                                 {"alibi", Changes::PositionKind::alibi},
                                                                 {"none", Changes::PositionKind::none}};

}  // namespace reckon
