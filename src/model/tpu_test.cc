// Goal: node counts, chips and machines follow from the topology alone, and what does not exist is
// refused with the field's own words. Method: the published tables, border and one beyond.
#include "model/tpu.h"

#include <gtest/gtest.h>

#include <set>

namespace falcon::model {
namespace {

TEST(TpuCatalog, CountsHostsFromChipsAndNeverFromCores) {
  const auto flat = find_slice("v6e", "4x4");
  ASSERT_TRUE(flat);
  EXPECT_EQ(flat->hosts, 4U);
  EXPECT_EQ(flat->chips_per_host, 4U);
  EXPECT_EQ(flat->machine_type, "ct6e-standard-4t");
  const auto cubic = find_slice("v5p", "2x2x4");  // 16 chips, 32 cores
  ASSERT_TRUE(cubic);
  EXPECT_EQ(cubic->chips, 16U);
  EXPECT_EQ(cubic->hosts, 4U);
  EXPECT_EQ(cubic->chips_per_host, 4U);
}

TEST(TpuCatalog, KnowsSingleHostSlices) {
  for (const auto& [type, topology, machine, chips] :
       {std::tuple{"v6e", "1x1", "ct6e-standard-1t", 1U},
        {"v6e", "2x2", "ct6e-standard-4t", 4U},
        {"v6e", "2x4", "ct6e-standard-8t", 8U},
        {"v5e", "2x4", "ct5lp-hightpu-8t", 8U},
        {"v5p", "2x2x1", "ct5p-hightpu-4t", 4U},
        {"v7x", "2x2x1", "tpu7x-standard-4t", 4U},
        {"v7x", "1x1x1", "tpu7x-standard-1t", 1U},
        {"v4", "2x2x1", "ct4p-hightpu-4t", 4U}}) {
    const auto slice = find_slice(type, topology);
    ASSERT_TRUE(slice) << type << topology;
    EXPECT_EQ(slice->hosts, 1U);
    EXPECT_FALSE(slice->multi_host());
    EXPECT_EQ(slice->machine_type, machine);
    EXPECT_EQ(slice->chips_per_host, chips);
  }
}

TEST(TpuCatalog, HasTheNodeCountsOfThePublishedTables) {
  for (const auto& [type, topology, hosts] : {std::tuple{"v6e", "4x8", 8U},
                                              {"v6e", "8x8", 16U},
                                              {"v6e", "8x16", 32U},
                                              {"v6e", "16x16", 64U},
                                              {"v5p", "2x2x2", 2U},
                                              {"v5p", "2x4x4", 8U},
                                              {"v5p", "4x4x4", 16U},
                                              {"v5p", "4x4x8", 32U},
                                              {"v5p", "4x8x8", 64U},
                                              {"v7x", "8x8x8", 128U},
                                              {"v7x", "8x16x16", 512U}}) {
    const auto slice = find_slice(type, topology);
    ASSERT_TRUE(slice) << type << topology;
    EXPECT_EQ(slice->hosts, hosts) << type << topology;
  }
}

TEST(TpuCatalog, RefusesTopologiesThatDoNotExist) {
  for (const char* topology : {"4x3", "0x4", "4x4x", "4 x 4", "16", "", "x", "4x4x4", "04x4", "4X4",
                               "4x4\n", "99999x4", "-4x4", "4x2"})
    EXPECT_FALSE(find_slice("v6e", topology)) << topology;
  EXPECT_FALSE(find_slice("v5p", "4x12x4"));   // not in order
  EXPECT_TRUE(find_slice("v4", "4x12x4"));     // v4 takes any order
  EXPECT_TRUE(find_slice("v7x", "16x16x36"));  // 9216 chips: the most
  EXPECT_FALSE(find_slice("v7x", "16x16x40"));
  EXPECT_FALSE(find_slice("v5p", "4x4x6"));
}

TEST(TpuCatalog, SaysWhatIsOfferedAndWhatWasProbablyMeant) {
  EXPECT_NE(find_slice("v6ee", "4x4").error().what.find("did you mean \"v6e\""), std::string::npos);
  EXPECT_NE(find_slice("v6e", "4x3").error().what.find("4x4, 4x8"), std::string::npos);
}

TEST(TpuCatalog, EverySliceWithANameDividesIntoItsMachines) {
  std::set<std::string_view> labels;
  for (const TpuGeneration& generation : tpu_generations()) {
    EXPECT_TRUE(labels.insert(generation.accelerator_label).second);
    for (const std::string_view topology : generation.topologies) {
      const auto slice = find_slice(generation.type, topology);
      ASSERT_TRUE(slice) << generation.type << topology;
      EXPECT_EQ(slice->chips, slice->hosts * slice->chips_per_host);
    }
  }
}

}  // namespace
}  // namespace falcon::model
