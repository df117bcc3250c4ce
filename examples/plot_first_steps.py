"""
First steps
===========
"""
import oneof
