"""All else stands in pyproject.toml. This lets an editable install, too, put the data files in their place."""

from setuptools import Distribution, setup

Distribution.has_data = Distribution.has_data_files  # what `pip install -e` asks by a name that nothing has
setup()
