"""
What ``headway plugins new`` writes: one small working part of each kind.

Every module and every file of ``tests`` is real code, checked with the rest of the tree.  In a new
package ``headway._templates.KIND`` becomes the package's own module, a class whose name begins with
``Newcomer`` gets the name of the plug-in, and so does the word that people type; ``_plugin.py``, which
all kinds share, gets the hook of its kind.
"""
