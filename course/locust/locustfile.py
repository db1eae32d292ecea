"""Users of the exchange for Locust. The runner (`run`) picks one class a row; by hand, with a state
file of the runner:

  locust -f course/locust/locustfile.py XmlUser --host 127.0.0.1:12345
  locust -f course/locust/locustfile.py HttpReader --host http://127.0.0.1:8080
"""

import json
import os
import time
from pathlib import Path

import gevent
from locust import FastHttpUser, HttpUser, User, between, constant, events, task
from locust.runners import WorkerRunner

from users import BadReply, Growing, Refused, TimedClient, Trader, judge

STATE = json.loads(Path(os.environ["EXCHANGE_LOCUST_STATE"]).read_text())  # accounts and orders
WAIT = tuple(map(float, os.environ.get("EXCHANGE_LOCUST_WAIT", "0,0").split(",")))
SECONDS = float(os.environ.get("EXCHANGE_LOCUST_SECONDS", 0))
MARKS = os.environ.get("EXCHANGE_LOCUST_MARKS")
wait_time = between(*WAIT) if WAIT[1] else constant(0)


def mark(environment, event):
    """Reports to the runner when the load is complete and when it ends, by a line in a file."""
    if MARKS and not isinstance(environment.runner, WorkerRunner):
        with open(MARKS, "a") as file:
            file.write(f"{event} {time.monotonic()}\n")


def all_started(environment):
    """The time of a row runs from here: on a busy machine users take their time to begin."""
    mark(environment, "spawned")
    if SECONDS and not isinstance(environment.runner, WorkerRunner):
        gevent.spawn_later(SECONDS, environment.runner.quit)


@events.init.add_listener
def listen(environment, **_):
    environment.events.spawning_complete.add_listener(lambda **_: all_started(environment))
    environment.events.test_stopping.add_listener(lambda **_: mark(environment, "stopping"))


class OnXmlPort(User):
    """A user with a connection of its own, kept open."""

    abstract = True
    wait_time = wait_time

    def on_start(self):
        host, _, port = self.host.rpartition(":")
        self.client = TimedClient(host, int(port), self.environment.events.request.fire)

    def on_stop(self):
        self.client.close()


class XmlUser(OnXmlPort):
    def on_start(self):
        super().on_start()
        self.trader = Trader(STATE)

    @task(3)
    def read(self):
        self.client.ask("query", self.trader.query_document(), "status")

    @task(1)
    def write(self):
        reply = self.client.ask("order", self.trader.order_document(), "opened")
        if reply:
            self.trader.placed(reply)


class GrowingUser(OnXmlPort):
    control = False

    def on_start(self):
        super().on_start()
        self.growing = Growing(STATE, self.control)

    @task(3)
    def read(self):
        self.client.ask("query", self.growing.query_document(), "status")

    @task(1)
    def write(self):
        self.client.ask("order", self.growing.order_document(), "opened")


class ControlUser(GrowingUser):
    control = True


class OverHttp:
    wait_time = wait_time

    def order(self, document, placed=lambda reply: None):
        with self.client.post("/api/xml", data=document.encode(), catch_response=True) as answer:
            if answer.status_code != 200:
                return  # a failure already
            try:
                judge(answer.content, "opened")
                placed(answer.content)
            except (Refused, BadReply) as error:
                answer.failure(str(error))


class TradingOverHttp(OverHttp):
    """The same trade over HTTP: reads by GET, writes by POST of the XML."""

    def on_start(self):
        self.trader = Trader(STATE)

    def read_order(self):
        self.client.get(f"/api/orders/{self.trader.readable_order()}", name="/api/orders/{id}")

    def read_book(self):
        self.client.get("/api/books/LOAD", name="/api/books/{symbol}")

    def write(self):
        self.order(self.trader.order_document(), self.trader.placed)

    # Locust looks for @task in users only, not in their other bases.
    tasks = [read_order, read_order, read_book, write]


class PlainHttpUser(TradingOverHttp, HttpUser):
    pass


class FastUser(TradingOverHttp, FastHttpUser):
    pass


class GrowingFastUser(OverHttp, FastHttpUser):
    """Not a trading user: Locust adds the tasks of all bases."""

    def on_start(self):
        self.growing = Growing(STATE)

    @task(3)
    def read(self):
        self.client.get(f"/api/orders/{self.growing.order}", name="/api/orders/{id}")

    @task(1)
    def write(self):
        self.order(self.growing.order_document())
