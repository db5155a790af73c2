// The little program of the page of a training run: it shows numbers under the pointer.
#pragma once

#include <string_view>

namespace reckon {

inline constexpr std::string_view training_script = R"(
for (const figure of document.querySelectorAll('.chart[data-end]')) {
  const svg = figure.querySelector('svg'), pointer = svg.querySelector('.pointer');
  const series = JSON.parse(figure.querySelector('script').textContent), end = +figure.dataset.end;
  const box = svg.viewBox.baseVal;
  const tip = document.createElement('div');
  tip.className = 'tip'; tip.hidden = true; figure.append(tip);
  const hide = () => { tip.hidden = true; pointer.removeAttribute('d'); };
  svg.addEventListener('pointerleave', hide);
  const show = event => {
    const area = svg.getBoundingClientRect(), share = (event.clientX - area.left) / area.width, at = share * end;
    if (share < 0 || share > 1 || !series.length) return hide();
    const near = points => points.reduce((best, point) => Math.abs(point[0] - at) < Math.abs(best[0] - at) ? point : best);
    const rows = series.filter(one => one.points.length).map(one => ({ ...one, point: near(one.points) }));
    tip.replaceChildren(...[{ name: 'step', point: [0, rows[0].point[0]] }, ...rows].map(one => {
      const row = document.createElement('div'), name = document.createElement('span'), value = document.createElement('b');
      if (one.color) { const dot = document.createElement('i'); dot.style.background = one.color; name.append(dot); }
      name.append(one.name); value.textContent = one.point[1]; row.append(name, value); return row;
    }));
    tip.hidden = false;
    const place = figure.getBoundingClientRect(), along = event.clientX - place.left;
    const beside = along > place.width / 2 ? along - tip.offsetWidth - 14 : along + 14;
    tip.style.left = Math.max(4, Math.min(beside, place.width - tip.offsetWidth - 4)) + 'px';
    tip.style.top = Math.min(event.clientY - place.top + 10, place.height - tip.offsetHeight) + 'px';
    pointer.setAttribute('d', `M${share * box.width} 0V${box.height}`);
  };
  svg.addEventListener('pointermove', show);
  svg.addEventListener('pointerdown', show);
}
)";

}  // namespace reckon
