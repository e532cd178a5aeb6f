"""CoMem: simulate its two servers, and compare the latencies with the paper's."""
