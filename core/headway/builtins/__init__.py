"""
The parts that come with Headway, on the standard library alone.

They come through the same hooks as everybody's plug-ins; ``_plugin`` names them, and each is
imported when it is asked for.
"""
