#include "filters/region_filter.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/texts.h"

namespace refrain::filters {
namespace {

// One past the set that begins at pattern[at] == '[', or npos if it is not closed.
std::size_t set_end(std::string_view pattern, std::size_t at) noexcept {
  std::size_t i = at + 1;
  if (i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^')) ++i;
  if (i < pattern.size() && pattern[i] == ']') ++i;  // a first ] is a member
  while (i < pattern.size() && pattern[i] != ']') i += pattern[i] == '\\' ? 2 : 1;
  return i < pattern.size() ? i + 1 : std::string_view::npos;
}

// `set` without its brackets.
bool in_set(std::string_view set, char c) noexcept {
  bool negated = false;
  if (!set.empty() && (set[0] == '!' || set[0] == '^')) {
    negated = true;
    set.remove_prefix(1);
  }
  const auto take = [&set] {
    if (set[0] == '\\' && set.size() > 1) set.remove_prefix(1);
    const auto taken = static_cast<unsigned char>(set[0]);
    set.remove_prefix(1);
    return taken;
  };
  const auto wanted = static_cast<unsigned char>(c);
  bool found = false;
  while (!set.empty()) {
    const unsigned char low = take();
    unsigned char high = low;
    if (set.size() > 1 && set[0] == '-') {
      set.remove_prefix(1);
      high = take();
    }
    found = found || (low <= wanted && wanted <= high);
  }
  return found != negated;
}

// Matches one character of the text; sets `next` to the rest of the pattern.
bool one_matches(std::string_view pattern, std::size_t at, char c,
                 std::size_t& next) noexcept {
  if (pattern[at] == '?') {
    next = at + 1;
    return true;
  }
  if (pattern[at] == '[') {
    const std::size_t end = set_end(pattern, at);
    if (end != std::string_view::npos) {
      next = end;
      return in_set(pattern.substr(at + 1, end - at - 2), c);
    }
  }
  if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
  next = at + 1;
  return pattern[at] == c;
}

enum class Section { kNone, kFiles, kRegions };

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text) noexcept {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // last * seen, and where the text was then
  std::size_t star_text = 0;
  while (t < text.size()) {
    std::size_t next = 0;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && one_matches(pattern, p, text[t], next)) {
      p = next;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

class FilterParser {
 public:
  FilterParser(std::string_view text, RegionFilter& filter) : text_(text), out_(filter) {}

  base::Result<> parse() {
    while (next_word()) {
      const auto done = take_word();
      if (!done) return base::Failure{at_line(word_line_, done.error())};
    }
    if (section_ != Section::kNone)
      return base::Failure{at_line(section_line_, "this block is not closed by SCOREP_" +
                                                      std::string(section_name()) +
                                                      "_NAMES_END")};
    return rule_without_pattern();
  }

 private:
  static std::string at_line(std::size_t line, const std::string& what) {
    return "line " + std::to_string(line) + ": " + what;
  }

  const char* section_name() const {
    return section_ == Section::kFiles ? "FILE" : "REGION";
  }

  // Skips blanks, comments and continued lines; then reads a word, escapes kept.
  bool next_word() {
    skip_blank();
    if (at_ >= text_.size()) return false;
    word_.clear();
    word_line_ = line_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '#') break;
      if (c == '\\' && at_line_end(at_ + 1)) break;
      word_ += c;
      ++at_;
      if (c == '\\' && at_ < text_.size()) word_ += text_[at_++];
    }
    return true;
  }

  bool at_line_end(std::size_t at) const {
    if (at < text_.size() && text_[at] == '\r') ++at;
    return at >= text_.size() || text_[at] == '\n';
  }

  void skip_blank() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '\n') {
        ++line_;
        ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r' ||
                 (c == '\\' && at_line_end(at_ + 1))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  base::Result<> take_word() {
    if (word_ == "SCOREP_FILE_NAMES_BEGIN") return begin(Section::kFiles);
    if (word_ == "SCOREP_REGION_NAMES_BEGIN") return begin(Section::kRegions);
    if (word_ == "SCOREP_FILE_NAMES_END") return end(Section::kFiles);
    if (word_ == "SCOREP_REGION_NAMES_END") return end(Section::kRegions);
    if (section_ == Section::kNone)
      return base::Failure{base::quoted(word_) +
                           " stands outside a block; expected SCOREP_REGION_NAMES_BEGIN or "
                           "SCOREP_FILE_NAMES_BEGIN"};
    if (word_ == "EXCLUDE" || word_ == "INCLUDE") {
      auto done = rule_without_pattern();
      if (!done) return done;
      rule_ = word_ == "EXCLUDE" ? 'E' : 'I';
      patterns_ = 0;
      mangled_ = false;
      return {};
    }
    if (rule_ == 0)
      return base::Failure{"pattern " + base::quoted(word_) +
                           " without EXCLUDE or INCLUDE before it"};
    if (word_ == "MANGLED") {
      if (section_ == Section::kFiles)
        return base::Failure{"MANGLED has no meaning for file names"};
      mangled_ = true;
      return {};
    }
    auto& rules = section_ == Section::kFiles ? out_.file_rules_ : out_.region_rules_;
    rules.push_back({rule_ == 'E', mangled_, word_});
    ++patterns_;
    return {};
  }

  base::Result<> begin(Section section) {
    if (section_ != Section::kNone)
      return base::Failure{std::string("a block begins inside the block of line ") +
                           std::to_string(section_line_)};
    section_ = section;
    section_line_ = word_line_;
    rule_ = 0;
    return {};
  }

  base::Result<> end(Section section) {
    if (section_ != section)
      return base::Failure{base::quoted(word_) + " closes no open block"};
    const auto done = rule_without_pattern();
    section_ = Section::kNone;
    rule_ = 0;
    return done;
  }

  base::Result<> rule_without_pattern() const {
    if (rule_ == 0 || patterns_ != 0) return {};
    return base::Failure{std::string(rule_ == 'E' ? "EXCLUDE" : "INCLUDE") +
                         " before this has no pattern"};
  }

  std::string_view text_;
  RegionFilter& out_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::string word_;
  std::size_t word_line_ = 1;
  Section section_ = Section::kNone;
  std::size_t section_line_ = 0;
  char rule_ = 0;
  std::size_t patterns_ = 0;
  bool mangled_ = false;
};

base::Result<> RegionFilter::parse(std::string_view text) {
  *this = RegionFilter();
  const auto done = FilterParser(text, *this).parse();
  if (!done) *this = RegionFilter();
  return done;
}

bool RegionFilter::excludes(std::string_view region_name, std::string_view mangled_name,
                            std::string_view file) const noexcept {
  bool excluded = false;
  for (const Rule& rule : file_rules_)
    if (rule.exclude != excluded && glob_matches(rule.pattern, file))
      excluded = rule.exclude;
  if (excluded) return true;
  for (const Rule& rule : region_rules_) {
    if (rule.exclude == excluded) continue;
    if (glob_matches(rule.pattern, rule.mangled ? mangled_name : region_name))
      excluded = rule.exclude;
  }
  return excluded;
}

bool RegionFilter::may_exclude(std::string_view name_begin) const noexcept {
  const auto may_match = [name_begin](const Rule& rule) {
    if (rule.mangled) return true;
    // A name that begins so is at least as long.
    for (std::size_t i = 0; i != name_begin.size(); ++i) {
      if (i == rule.pattern.size()) return false;
      if (std::string_view("*?[\\").find(rule.pattern[i]) != std::string_view::npos)
        return true;
      if (rule.pattern[i] != name_begin[i]) return false;
    }
    return true;
  };
  return std::ranges::any_of(file_rules_, &Rule::exclude) ||
         std::ranges::any_of(region_rules_, [&](const Rule& rule) {
           return rule.exclude && may_match(rule);
         });
}

}  // namespace refrain::filters
