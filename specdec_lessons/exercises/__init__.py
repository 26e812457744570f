"""The exercises of the lessons: ``lessonNN.NAME`` is one :class:`kit.Exercise`."""
