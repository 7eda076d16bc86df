/* trips.cpp [DEVICE] - the cities with the dearest trips: a table made in C++ is filtered, grouped and sorted on a device.
 * cdevice.hpp owns what the C functions return, throws their errors, and makes ranges of columns. */
#include <cdevice/cdevice.hpp>

#include <iomanip>
#include <iostream>

namespace {

cdevice::array make_trips() {
  return cdevice::make_batch(
      {cdevice::make_strings("city", {"Narvik", "Bergen", "Narvik", "Oslo", "Bergen", "Narvik", "Oslo", "Bodø"}),
       cdevice::make_numbers<double>("price", {4.5, 12.0, 7.5, 3.25, 8.0, 6.0, 2.75, 1.0}),
       cdevice::make_numbers<std::int32_t>("minutes", {12, 41, 18, 9, 25, 15, 0, 4})});
}

/* Of the trips that took longer than `minutes`: number, sum and mean of the prices by city, the dearest city first. */
cdevice::array dearest(const cdevice::array &trips, int minutes) {
  const auto longer = cdevice::call("greater", {trips.column("minutes"), nullptr}, cdevice::scalars(minutes));
  const auto kept = cdevice::call("filter", {trips, longer});
  const auto cities = cdevice::call("group_by", kept, R"({
    "keys": ["city"],
    "aggregations": [[[], "count_all"], ["price", "sum"], ["price", "mean"]]
  })");
  return cdevice::call("sort_by", cities, R"({"sort_keys": [["price_sum", "descending"]]})");
}

void print(const cdevice::array &table) {
  const auto city = table.column("city").as<std::string_view>();
  const auto trips = table.column("count_all").as<std::int64_t>();
  const auto sum = table.column("price_sum").as<double>();
  const auto mean = table.column("price_mean").as<double>();
  std::cout << std::fixed << std::setprecision(2) << "city     trips      sum     mean\n";
  for (std::int64_t i = 0; i < table.length(); i++)
    std::cout << std::left << std::setw(8) << city[i] << std::right << std::setw(6) << trips[i] << std::setw(9)
              << sum[i] << std::setw(9) << mean[i] << '\n';
}

} // namespace

int main(int argc, char **argv) {
  try {
    const auto device = cdevice::device::find(argc > 1 ? argv[1] : "cpu");
    const auto trips = make_trips().copy_to(device);
    print(dearest(trips, 5).copy_to({})); /* {}: the CPU */
  } catch (const cdevice::error &e) {
    std::cerr << "trips: " << e.what() << '\n';
    return 1;
  }
}
