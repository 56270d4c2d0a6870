// Label and field selectors of Kubernetes lists and watches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cloudsim/objects.h"
#include "simserver/face.h"

namespace falcon::simserver {

class Selector {
 public:
  // Labels: "a=b", "a==b", "a!=b", "a", "!a", "a in (b,c)", "a notin (b,c)", joined by commas.
  // Fields: "=", "==", "!=" on metadata.name, metadata.namespace, spec.nodeName, status.phase and,
  // of Events that the cloud makes itself, involvedObject.{kind,namespace,name,uid}, reason, type.
  // kInvalid names what is not understood.
  static Result<Selector> parse(std::string_view labels, std::string_view fields);
  bool matches(const cloudsim::Object& object, const Calendar& calendar) const;

 private:
  enum class Operator { kIn, kNotIn, kExists, kAbsent };
  struct Term {
    std::string key;
    Operator what = Operator::kExists;
    std::vector<std::string> values;
  };
  static bool holds(const Term& term, const std::string* value);
  static Result<Term> label_term(std::string_view text);
  static Result<Term> field_term(std::string_view text);

  std::vector<Term> labels_;
  std::vector<Term> fields_;
};

}  // namespace falcon::simserver
