"""What `benchmarks/peers.py` needs to race `oneof` against other libraries, each in an environment of its own."""
