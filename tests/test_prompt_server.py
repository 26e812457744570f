"""The extension of Jupyter's server: it stands where the server looks, and sets TCP_NODELAY on a connection."""

import json
from pathlib import Path
from types import SimpleNamespace

from jupyter_core.paths import jupyter_config_path

from specdec_lessons import prompt_server


class Usual:
    """As much of the server's own connection class as the extension touches."""

    def __init__(self):
        self.calls = []
        self.websocket_handler = SimpleNamespace(set_nodelay=self.calls.append)

    def connect(self):
        self.calls.append("connect")
        return "connecting"


def test_the_server_finds_it_where_the_course_is_installed():
    places = [Path(folder, "jupyter_server_config.d/specdec_lessons.json") for folder in jupyter_config_path()]
    found = [json.loads(place.read_text(encoding="utf-8")) for place in places if place.exists()]
    assert found
    for config in found:
        (name,) = config["ServerApp"]["jpserver_extensions"]
        assert prompt_server._jupyter_server_extension_points() == [{"module": name}]


def test_a_connection_is_made_as_usual_after_the_delay_is_off():
    app = SimpleNamespace(kernel_websocket_connection_class=Usual, web_app=SimpleNamespace(settings={}))
    prompt_server._load_jupyter_server_extension(app)
    connection = app.web_app.settings["kernel_websocket_connection_class"]()
    assert connection.connect() == "connecting"
    assert connection.calls == [True, "connect"]
