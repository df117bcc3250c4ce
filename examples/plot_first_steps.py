"""
First steps
===========
"""

import oneof
