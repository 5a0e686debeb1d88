#include "cupti.h"
void sim_pc_on_kernel(const struct sim_work *work) {}
bool sim_pc_is_serialized(uint32_t context_id) { return false; }
