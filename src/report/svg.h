// What all pictures in SVG are made with.
#pragma once

#include <string>
#include <string_view>

namespace reckon {

std::string svg_escaped(const std::string& text);

std::string svg_text(double x, double y, std::string_view anchor, const std::string& text, std::string_view extra = "");

// The opening tag and the style: follows the reader's light or dark scheme. `style` and `dark_style` are rules of the
// picture's own, behind those of its frame and grid.
std::string svg_opening(double width, double height, const std::string& title, std::string_view style,
                        std::string_view dark_style = "");

}  // namespace reckon
