"""The extension of Jupyter's server: the installed course switches it on, and it sets TCP_NODELAY."""

import os
import subprocess
import sys
from types import SimpleNamespace

from specdec_lessons import prompt_server

START = """\
import logging
from jupyterlab.labapp import LabApp
app = LabApp.initialize_server(argv=["--no-browser", "--ServerApp.port=0", "--allow-root"])
print(app.web_app.settings["kernel_websocket_connection_class"].__name__)
"""


class Usual:
    """As much of the server's own connection class as the extension touches."""

    def __init__(self):
        self.calls = []
        self.websocket_handler = SimpleNamespace(set_nodelay=self.calls.append)

    def connect(self):
        self.calls.append("connect")
        return "connecting"


def test_a_server_of_this_environment_loads_it(tmp_path):
    own = {name: str(tmp_path / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    done = subprocess.run(
        [sys.executable, "-c", START], cwd=tmp_path, env=os.environ | own, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["PromptConnection"], done.stderr[-2000:]


def test_a_connection_is_made_as_usual_after_the_delay_is_off():
    app = SimpleNamespace(kernel_websocket_connection_class=Usual, web_app=SimpleNamespace(settings={}))
    prompt_server._load_jupyter_server_extension(app)
    connection = app.web_app.settings["kernel_websocket_connection_class"]()
    assert connection.connect() == "connecting"
    assert connection.calls == [True, "connect"]
