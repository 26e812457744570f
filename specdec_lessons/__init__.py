"""The maths, the samplers and the labs of the course on speculative decoding.

The notebooks tell the story; the modules here do the work. Import the one a
lesson names, for example ``from specdec_lessons import formulas``.
"""

__version__ = "0.1.0"
