"""CoMem: a simulation of its two servers, and the paper's latencies beside the simulated ones."""
