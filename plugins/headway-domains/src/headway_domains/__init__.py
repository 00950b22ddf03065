"""
Domains to run Headway on.
"""
