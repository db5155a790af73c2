// The look of the page of a training run, and the little program that shows numbers under the pointer.
#pragma once

#include <string_view>

namespace reckon {

inline constexpr std::string_view training_style = R"(
:root { --page: #f6f7f9; --card: #fff; --text: #1b2430; --soft: #667384; --line: #e3e7ec; --accent: #2563eb; --warm: #d9730d;
  --calm: #0f9d7a; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --page: #0e1217; --card: #161c24; --text: #e4e9f0; --soft: #8d9aab;
  --line: #27303b; --accent: #6ea0ff; --warm: #f0a04b; --calm: #46c9a5; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, "Segoe UI", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 36px 20px 60px; }
h1, h1 + p, .settings { overflow-wrap: anywhere; } h1 { font-size: 28px; margin: 0; letter-spacing: -0.01em; } h1 + p { margin: 4px 0 24px; color: var(--soft); }
h2 { font-size: 17px; margin: 36px 0 12px; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 12px; }
.card, .chart, table, .sample { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.card { padding: 14px 16px; } .card small { color: var(--soft); display: block; }
.card b { font-size: 22px; font-weight: 600; font-variant-numeric: tabular-nums; white-space: nowrap; }
.charts { display: grid; grid-template-columns: 1fr 1fr; gap: 14px; }
.chart { margin: 0; padding: 14px 14px 10px; position: relative; min-width: 0; } .wide { grid-column: 1 / -1; }
figcaption { font-size: 13px; color: var(--soft); margin: 0 4px 6px; } figcaption b { color: var(--text); font-size: 14px; margin-right: 6px; }
.plot { position: relative; height: 200px; margin: 12px 10px 22px 48px; } .wide .plot { height: 270px; } .plot svg { position: absolute; inset: 0;
  width: 100%; height: 100%; overflow: visible; } svg * { fill: none; vector-effect: non-scaling-stroke; }
.plot span, .below { font-size: 11px; line-height: 16px; color: var(--soft); font-variant-numeric: tabular-nums; } .plot span { position: absolute; }
.y { white-space: nowrap; right: calc(100% + 7px); transform: translateY(-50%); } .x { top: calc(100% + 4px); transform: translateX(-50%); } .below { text-align: center; }
.grid { stroke: var(--line); } .axis { stroke: var(--soft); stroke-opacity: .5; } .pointer { stroke: var(--soft); stroke-dasharray: 3 3; }
polyline { stroke: currentColor; stroke-linejoin: round; } .line { stroke-width: 1.8; } .faint { stroke-width: 1; opacity: .3; }
.dots { stroke: currentColor; stroke-width: 7; stroke-linecap: round; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 14px; padding: 4px 6px 2px; font-size: 12px; color: var(--soft); }
.legend i, .tip i { display: inline-block; width: 9px; height: 9px; border-radius: 3px; margin-right: 6px; }
.tip { position: absolute; pointer-events: none; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 7px 10px;
  font-size: 12px; line-height: 1.45; box-shadow: 0 6px 20px #0003; font-variant-numeric: tabular-nums; z-index: 1; white-space: nowrap; }
.tip div { display: flex; justify-content: space-between; gap: 14px; }
.heads { display: grid; grid-template-columns: max-content 1fr; gap: 4px 14px; padding: 4px; align-items: center; } .heads div { display: grid;
  gap: 4px; grid-template-columns: repeat(auto-fit, minmax(34px, 1fr)); } .heads span { font-size: 12px; color: var(--soft); } .heads i { padding: 5px 0; text-align: center; font: 12px system-ui, sans-serif;
  border-radius: 5px; color: #fff; background: hsl(222 62% calc(24% + 32% * var(--share))); overflow: hidden; }
table { width: 100%; border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; }
th, td { padding: 8px 14px; text-align: right; border-top: 1px solid var(--line); } tr:first-child > * { border-top: 0; }
th { color: var(--soft); font-weight: 500; font-size: 13px; } th:first-child, td:first-child { text-align: left; } td:last-child { color: var(--soft); }
td:nth-child(2), td:nth-child(3) { white-space: nowrap; }
.samples { display: grid; gap: 12px; } .sample { padding: 12px 16px; } .sample small { color: var(--soft); }
pre { margin: 6px 0 0; white-space: pre-wrap; overflow-wrap: anywhere; font: 13.5px/1.55 ui-monospace, "SFMono-Regular", Menlo, monospace; }
details summary { cursor: pointer; color: var(--soft); } .settings { columns: 3; font-size: 13px; padding: 8px 0; } .settings div { break-inside: avoid; }
.settings span { color: var(--soft); } footer { margin-top: 40px; color: var(--soft); font-size: 13px; }
@media (max-width: 760px) { main { padding: 24px 14px 40px; } .charts { grid-template-columns: 1fr; } .wide .plot { height: 220px; } .wide .odd { display: none; }
  .settings { columns: 1; } tbody { display: block; } tr { display: grid; grid-template-columns: 1fr 7.5em 7.5em; border-top: 1px solid var(--line); }
  tr:first-child { border-top: 0; } th, td { border: 0; padding: 8px 8px 6px; } td:last-child { grid-column: 1 / -1; text-align: left;
  padding-top: 0; font-size: 13px; } td:last-child:empty { display: none; } th:last-child { display: none; } }
@media print { .chart, .sample { break-inside: avoid; } }
)";

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
