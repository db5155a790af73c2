#include "report/training_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "files/numbers.h"
#include "report/page_chart.h"
#include "report/styles.h"
#include "report/text.h"
#include "report/training_script.h"
#include "run/limits.h"

namespace reckon {
namespace {

using Style = PageSeries::Style;
using Lines = std::vector<const OrderedJson*>;  // of one kind

double number(const OrderedJson& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<double>() : NAN;
}

// What a number of a file stands for, as a whole one; what is none, or beyond what a double holds exactly, is unknown.
std::string unknown_or(double value, std::string (*words)(std::int64_t)) {
  return std::abs(value) <= 9007199254740992.0 ? words(static_cast<std::int64_t>(value)) : "unknown";
}
std::string whole_words(double value) {
  return unknown_or(value, [](std::int64_t number) { return grouped(number); });
}
std::string byte_words(double value) {
  return unknown_or(value, [](std::int64_t bytes) { return binary_bytes(bytes); });
}

std::string word(const OrderedJson& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

double median(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return NAN;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The mean over as many points before and after as `reach`, fewer at the ends.
Points smoothed(const Points& points, std::size_t reach) {
  Points out;
  std::vector<double> sums(points.size() + 1, 0);
  for (std::size_t i = 0; i < points.size(); ++i) sums[i + 1] = sums[i] + points[i].second;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t near = std::min({reach, i, points.size() - 1 - i});
    out.emplace_back(points[i].first, (sums[i + near + 1] - sums[i - near]) / static_cast<double>(2 * near + 1));
  }
  return out;
}

class TrainingPage {
 public:
  explicit TrainingPage(const std::vector<OrderedJson>& metrics) {
    for (const OrderedJson& line : metrics) {
      const std::string kind = word(line, "kind");
      if (kind == "run") run_ = line;
      if (kind == "step") steps_.push_back(&line);
      if (kind == "evaluation") evaluations_.push_back(&line);
      if (kind == "layers") layers_.push_back(&line);
      if (kind == "statistics") statistics_.push_back(&line);
      if (kind == "sample") samples_.push_back(&line);
      if (kind == "limit") limits_.push_back(number(line, "gflops_per_second"));
      if (kind == "end") end_ = line;
    }
  }

  std::string text() const {
    const std::string name = escape_html(printable(word(run_, "model")));
    std::string style;
    for (const StyleSheet& sheet : style_sheets()) style += sheet.text;
    return fmt::format(
               "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{0}: training</title>"
               "<style>{1}</style></head><body><main>\n<h1>{0}</h1><p>{2}</p>\n",
               name, style, escape_html(printable(word(run_, "data")))) +
           cards() + curves() + layers() + inside() + cost() + samples() + settings() +
           fmt::format("<footer>Made by reckon from metrics.jsonl.</footer></main><script>{}</script></body></html>\n",
                       training_script);
  }

 private:
  static Points points(const Lines& lines, const char* key) {
    Points out;
    for (const OrderedJson* line : lines) out.emplace_back(number(*line, "step"), number(*line, key));
    return out;
  }

  double median_of_steps(const char* key) const {
    std::vector<double> values;
    for (const OrderedJson* line : steps_) values.push_back(number(*line, key));
    return median(std::move(values));
  }

  double best_validation() const {
    double best = NAN;
    for (const OrderedJson* line : evaluations_) best = std::fmin(best, number(*line, "loss"));
    return best;
  }

  static std::string card(const std::string& name, const std::string& value, const std::string& note) {
    return fmt::format("<div class=\"card\"><small>{}</small><b>{}</b><small>{}</small></div>", name, value, note);
  }

  std::string cards() const {
    if (steps_.empty()) return "<p>No step is done yet.</p>";
    const OrderedJson& last = *steps_.back();
    const OrderedJson chosen = run_.value("settings", OrderedJson::object());
    const double seconds = number(last, "seconds");
    const std::optional<Spread> limit = spread_of(limits_);
    std::string out = "<div class=\"cards\">";
    out += card("steps", whole_words(number(last, "step")), fmt::format("of {}", whole_words(number(chosen, "steps"))));
    const Points losses = points(steps_, "loss");
    out += card("loss", fmt::format("{:.4f}", smoothed(losses, 10).back().second),
                fmt::format("{:.4f} at first", losses.front().second));
    if (!evaluations_.empty()) {
      const double whole = number(end_, "validation");
      out +=
          card("validation", fmt::format("{:.4f}", std::isfinite(whole) ? whole : number(*evaluations_.back(), "loss")),
               std::isfinite(whole) ? "over all that is held out" : fmt::format("best {:.4f}", best_validation()));
    }
    out += card("parameters", compact(number(run_, "parameters")),
                fmt::format("{} tokens to learn from", compact(number(run_, "training_tokens"))));
    out += card("tokens/s", grouped(std::round(median_of_steps("tokens_per_second"))),
                fmt::format("{:.0f} s in all", seconds));
    out += card(
        "GFLOP/s", fmt::format("{:.1f}", median_of_steps("gflops_per_second")),
        limit ? fmt::format("{} of one large product: {:.0f} to {:.0f}",
                            percent(median_of_steps("gflops_per_second") / limit->median, 0), limit->least, limit->most)
              : "");
    return out + "</div>\n";
  }

  std::string curves() const {
    if (steps_.empty()) return "";
    const Points loss = points(steps_, "loss");
    PageChart chart{"Loss", "mean cross-entropy in nats; faint: each step, bold: their running mean", false, true};
    chart.series.push_back({"", "var(--accent)", Style::faint, loss});
    chart.series.push_back({"training", "var(--accent)", Style::line, smoothed(loss, loss.size() / 100)});
    if (!evaluations_.empty()) {
      chart.series.push_back({"validation", "var(--warm)", Style::dots, points(evaluations_, "loss")});
    }
    std::string out = "<h2>Training</h2><div class=\"charts\">" + page_chart(chart);
    out +=
        page_chart({"Learning rate", "", false, false, {{"rate", "var(--calm)", Style::line, points(steps_, "lr")}}});
    const Points norm = points(steps_, "gradient_norm");
    out += page_chart({"Norm of the gradient",
                       "before clipping",
                       true,
                       false,
                       {{"", "var(--calm)", Style::faint, norm},
                        {"norm", "var(--calm)", Style::line, smoothed(norm, norm.size() / 100)}}});
    return out + "</div>\n";
  }

  // A line for each part of the model, over the steps: value(part).
  template <class Value>
  static std::string by_part(PageChart chart, const Lines& lines, const char* list, const Value& value) {
    std::vector<std::string> order;
    std::map<std::string, Points> all;
    for (const OrderedJson* line : lines) {
      const auto parts = line->find(list);
      if (parts == line->end() || !parts->is_array()) continue;
      for (const OrderedJson& part : *parts) {
        const bool layer = part.contains("layer");
        const auto [entry, first] = all.try_emplace(layer ? layer_name(part) : word(part, "part"));
        if (first) order.push_back(entry->first);
        entry->second.emplace_back(number(*line, "step"), value(part));
      }
    }
    const auto is_layer = [](const std::string& part) { return part.starts_with("layer "); };
    const auto stack = static_cast<std::size_t>(std::count_if(order.begin(), order.end(), is_layer));
    std::size_t layer = 0;
    for (const std::string& part : order) {
      const std::string color = is_layer(part)                                ? layer_color(layer++, stack)
                                : part.find("embedding") != std::string::npos ? "var(--orange)"
                                : part.find("norm") != std::string::npos      ? "var(--grey)"
                                                                              : "var(--green)";
      chart.series.push_back({part, color, Style::line, all[part]});
    }
    return page_chart(chart);
  }

  std::string layers() const {
    if (layers_.empty()) return "";
    return "<h2>Layers</h2><div class=\"charts\">" +
           by_part({"Gradient of each layer", "norm before clipping", true}, layers_, "parts",
                   [](const OrderedJson& part) { return number(part, "gradient_norm"); }) +
           by_part({"Update to weight", "norm of a step's change over that of the weights; near 1e-3 is usual", true},
                   layers_, "parts",
                   [](const OrderedJson& part) { return number(part, "update_norm") / number(part, "weight_norm"); }) +
           "</div>\n";
  }

  // Activations and attention.
  std::string inside() const {
    if (statistics_.empty()) return "";
    return "<h2>Inside</h2><div class=\"charts\">" +
           by_part({"Activations", "root of the mean square of what leaves each layer", true}, statistics_,
                   "activations", [](const OrderedJson& part) { return number(part, "root_mean_square"); }) +
           by_part({"Entropy of attention", "in nats, the mean of a layer's heads; 0: one key takes all"}, statistics_,
                   "attention",
                   [](const OrderedJson& layer) {
                     const std::vector<double> heads = entropies(layer);
                     return std::accumulate(heads.begin(), heads.end(), 0.0) / static_cast<double>(heads.size());
                   }) +
           heads() + "</div>\n";
  }

  static std::string layer_name(const OrderedJson& layer) { return fmt::format("layer {}", layer.value("layer", 0)); }
  static std::vector<double> entropies(const OrderedJson& layer) {
    return layer.value("entropy", std::vector<double>());
  }

  // The entropy of each head at the end: a row for each layer.
  std::string heads() const {
    const OrderedJson layers = statistics_.back()->value("attention", OrderedJson::array());
    double least = INFINITY, most = 0;
    for (const OrderedJson& layer : layers) {
      for (double entropy : entropies(layer)) {
        least = std::min(least, entropy);
        most = std::max(most, entropy);
      }
    }
    if (most == 0) return "";
    std::string out =
        "<figure class=\"chart wide\"><figcaption><b>Heads</b> entropy of each head's attention at the end; dark: it "
        "looks at few keys</figcaption><div class=\"heads\">";
    for (const OrderedJson& layer : layers) {
      out += fmt::format("<span>{}</span><div>", layer_name(layer));
      for (double entropy : entropies(layer)) {
        out += fmt::format("<i style=\"--share:{:.3f}\" title=\"{:.3f} nats\">{:.2f}</i>",
                           1 - (most - entropy) / std::max(most - least, 0.5), entropy, entropy);
      }
      out += "</div>";
    }
    return out + "</div></figure>";
  }

  std::string cost() const {
    if (steps_.empty() || !run_.contains("bytes")) return "";
    const double flops_of_step = number(run_, "step_matmul_flops");
    const std::optional<Spread> limit = spread_of(limits_);
    const double measured_rate = median_of_steps("gflops_per_second") * 1e9;
    const auto row = [](const std::string& name, const std::string& predicted, const std::string& measured,
                        const std::string& note) {
      return fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", name, predicted, measured, note);
    };
    const auto milliseconds = [](double seconds) { return fmt::format("{} ms", grouped(seconds * 1e3)); };
    std::string out =
        "<h2>Cost</h2><table><thead><tr><th></th><th>predicted</th><th>measured</th><th></th></tr></thead><tbody>";
    out += row("matrix products of a step", flops(flops_of_step), "", "logical, causality exact");
    if (limit && measured_rate > 0) {
      const double best = limit->median * 1e9;
      out += row("time of a step", milliseconds(flops_of_step / best), milliseconds(flops_of_step / measured_rate),
                 fmt::format("at the rate of one large product, measured {} times in between: {:.0f} to {:.0f} "
                             "GFLOP/s; {} of their median reached",
                             limits_.size(), limit->least, limit->most, percent(measured_rate / best, 0)));
    }
    const OrderedJson& bytes = run_["bytes"];
    const double arena = number(bytes, "arena"), high = number(end_, "arena_high_water_bytes");
    out += row("activations", byte_words(arena), std::isfinite(high) ? byte_words(high) : "",
               !std::isfinite(high) ? ""
               : high == arena      ? "equal to the byte"
                                    : fmt::format("{} bytes apart", whole_words(high - arena)));
    const double kept = number(bytes, "weights") + number(bytes, "gradients") + number(bytes, "moments");
    out += row("weights, gradients, moments", byte_words(kept), "",
               fmt::format("{} + {} + {}", byte_words(number(bytes, "weights")), byte_words(number(bytes, "gradients")),
                           byte_words(number(bytes, "moments"))));
    return out + "</tbody></table>\n";
  }

  std::string samples() const {
    if (samples_.empty()) return "";
    std::string out = "<h2>What it writes</h2><div class=\"samples\">";
    for (std::size_t i = samples_.size(); i-- > 0;) {
      out += fmt::format("<div class=\"sample\"><small>step {}</small><pre>{}</pre></div>",
                         whole_words(number(*samples_[i], "step")), escape_html(word(*samples_[i], "text")));
    }
    return out + "</div>\n";
  }

  std::string settings() const {
    const auto found = run_.find("settings");
    if (found == run_.end()) return "";
    std::string out =
        "<h2>Settings</h2><details open><summary>every choice of the run</summary><div class=\"settings\">";
    for (const auto& [key, value] : found->items()) {
      out += fmt::format("<div><span>{}</span> {}</div>", escape_html(key),
                         escape_html(printable(value.is_string() ? value.get<std::string>() : value.dump())));
    }
    return out + "</div></details>\n";
  }

  OrderedJson run_ = OrderedJson::object(), end_ = OrderedJson::object();
  Lines steps_, evaluations_, layers_, statistics_, samples_;
  std::vector<double> limits_;  // GFLOP/s of one large product, measured between the steps
};

}  // namespace

std::string training_page(const std::vector<OrderedJson>& metrics) { return TrainingPage(metrics).text(); }

}  // namespace reckon
