"""A docker compose project, with a stand-in for docker that starts the toy server."""

import os
import time
from unittest import mock

import compose
import durability
import toys
from dialogue import Style
from server import Limits, NotStarted
from submissions import Submission

# Up starts the toy on a port of its own, kill ends it, port tells where it is. It notes its arguments.
DOCKER = """#!/bin/sh
state={state}
echo "$@" >> "$state/calls"
case "$*" in
  "compose version" | version*) exit 0 ;;
  *" up -d") if test -e "$state/pid"; then exit 0; fi
    setsid {toy} > /dev/null 2>&1 & echo $! > "$state/pid" ;;
  *" config --services") echo "db web" ;;
  *" port web 12345") echo "0.0.0.0:{port}" ;;
  *" port "*) exit 1 ;;
  *" kill" | *" down "*) kill -9 $(cat "$state/pid") 2> /dev/null
    rm -f "$state/pid" ;;
  *" ps -q"*) test -e "$state/pid" && echo 123 ;;
esac
"""


class Compose(toys.TestCase):
    def setUp(self):
        super().setUp()
        from server import free_port

        port = str(free_port())
        toy = self.toy(str(self.folder / "orders")).replace("{port}", port)
        script = DOCKER.replace("{state}", str(self.folder)).replace("{toy}", toy)
        self.write("path/docker", script.replace("{port}", port), executable=True)
        path = f"{self.folder / 'path'}:{os.environ['PATH']}"
        patch = mock.patch.dict(os.environ, PATH=path)
        patch.start()
        self.addCleanup(patch.stop)
        self.submission = Submission("web", self.folder, is_compose=True, slug="web")

    def calls(self):
        return (self.folder / "calls").read_text()

    def test_orders_survive_a_kill_of_all_containers(self):
        self.assertEqual("", compose.why_no_engine())
        plan = {"clients": 2, "kills": 1, "load_s": 0.3, "seed": 1, "timeout_s": 5}
        with compose.ComposeServer(self.submission, Limits(), self.folder, (0,)) as server:
            found = durability.run(server, Style(), plan, time.monotonic() + 30)
        self.assertEqual("", found["problem"])
        self.assertGreater(found["acknowledged"], 0)
        self.assertEqual((0, 0), (found["gone"], found["changed"]))
        self.assertIn("update --cpuset-cpus 0 123", self.calls())
        self.assertIn(f"-p {server.project} down -v", self.calls())

    def test_a_project_that_publishes_nothing(self):
        script = (self.folder / "path/docker").read_text().replace("port web 12345", "port none")
        self.write("path/docker", script, executable=True)
        server = compose.ComposeServer(self.submission, Limits(), self.folder)
        with self.assertRaises(NotStarted) as caught, server:
            pass
        self.assertIn("publishes its port 12345", str(caught.exception))
        self.assertIn("down -v", self.calls())

    def test_a_project_in_the_network_of_the_machine_publishes_nothing(self):
        script = (self.folder / "path/docker").read_text().replace("port web 12345", "port none")
        script = script.replace("esac", '  *" config") echo "network_mode: host" ;;\nesac')
        self.write("path/docker", script, executable=True)
        server = compose.ComposeServer(self.submission, Limits(), self.folder)
        self.assertEqual(12345, server._published_port())

    def test_without_an_engine(self):
        self.write("path/docker", "#!/bin/sh\necho 'is it running?' >&2\nexit 1\n", executable=True)
        self.assertIn("is it running?", compose.why_no_engine())
