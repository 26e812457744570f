"""An extension of Jupyter's server: kernel messages leave at once.

Jupyter's server leaves Nagle's algorithm on for the websocket that carries a kernel's messages to the page:
while one small packet waits for its acknowledgement, the next ones are held back, and Linux may take 40 ms to
acknowledge. One step of a slider is answered by several small messages, the first of which says "busy". In
one step of two, all the others came 40 ms after that one (as measured in JupyterLab 4.6); with
``TCP_NODELAY``, none did.

It is switched on where the course is installed, by ``data/prompt_server.json``. The labs work without it, only later.
``jupyter server extension disable specdec_lessons.prompt_server`` switches it off; a server that cannot import it
says so in its log, and starts.
"""


def _jupyter_server_extension_points():
    return [{"module": "specdec_lessons.prompt_server"}]


def _load_jupyter_server_extension(app):
    usual = app.kernel_websocket_connection_class

    class PromptConnection(usual):
        """The server's usual connection to a kernel, with TCP_NODELAY set on the page's side."""

        def connect(self):
            self.websocket_handler.set_nodelay(True)
            return super().connect()

    app.web_app.settings["kernel_websocket_connection_class"] = PromptConnection
