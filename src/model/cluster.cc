#include "model/cluster.h"

namespace falcon::model {

Reservation reservation_of(const ClusterRow& row) {
  if (row.default_reservation.empty()) return {};
  const std::string& text = row.default_reservation;
  const std::string zone = row.zone.empty() ? row.location : row.zone;
  constexpr std::string_view kProjects = "projects/";
  constexpr std::string_view kReservations = "/reservations/";
  if (text.starts_with(kProjects)) {
    const std::size_t middle = text.find(kReservations);
    if (middle != std::string::npos)
      return Reservation{text.substr(kProjects.size(), middle - kProjects.size()), zone,
                         text.substr(middle + kReservations.size())};
  }
  return Reservation{row.project, zone, text};
}

}  // namespace falcon::model
