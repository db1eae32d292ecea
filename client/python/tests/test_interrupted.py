"""A request that an exception or a fork interrupts: the next one gets its own reply or an error,
never another's."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import unittest
from itertools import count
from unittest.mock import patch

import support
from exchange_client import AsyncExchange, ConnectionFailed, Exchange, ExchangeError, InDoubt
from exchange_client.protocol import ReplyReader
from exchange_client.servers import References
from support import Case, FakeServer


class Interruption(BaseException):
    pass


EXCEPTIONS = (Interruption, KeyboardInterrupt, asyncio.CancelledError, RuntimeError, TimeoutError)


def opened(request, _=None):
    """The id of each order is its number of shares: so a reply shows what it belongs to."""
    replies = (f'<opened id="{amount}"/>' for amount in re.findall(r'amount="(\d+)"', request))
    return f"<results>{''.join(replies)}</results>\n".encode()


class InterruptedSocket:
    """Receives few bytes at a time; raises `error` before or after the call of that number."""

    def __init__(self, real, error, at):
        self.real, self.error, self.at, self.calls = real, error, at, 0

    def _call(self, method, argument):
        self.calls += 1
        if self.calls == self.at:
            raise self.error("before")
        result = method(argument)
        if self.calls == -self.at:
            raise self.error("after")
        return result

    def sendall(self, data):
        return self._call(self.real.sendall, data)

    def recv(self, _):
        return self._call(self.real.recv, 9)

    def __getattr__(self, name):
        return getattr(self.real, name)


class Synchronous(unittest.TestCase):
    def check(self, interrupted, calls_min):
        """Interrupts a first use of a client before and after each of its calls of the socket, with
        each exception."""
        for error in EXCEPTIONS:
            for at in count(1):
                calls = 0
                for signed in (at, -at):
                    with self.subTest(error=error, at=signed):
                        calls = max(calls, self.once(error, signed, interrupted))
                if calls < at:
                    break
            self.assertGreater(at, calls_min)

    def once(self, error, at, interrupted):
        """The number of calls made."""
        made, real = [], socket.create_connection

        def connect(*arguments):
            one = real(*arguments)
            made.append(InterruptedSocket(one, error, 0 if made else at))
            return made[-1]

        with FakeServer(opened) as server, patch("socket.create_connection", connect):
            with Exchange(server.address, 1) as exchange:
                try:
                    interrupted(exchange)
                except (error, InDoubt):
                    self.assertEqual(-1, made[0].fileno(), "the connection is closed")
                calls, made[0].at = made[0].calls, 0
                self.assertEqual(7, exchange.buy("S", 7, 1).id)
                with exchange.pipeline() as pipeline:
                    orders = [pipeline.buy("S", shares, 1) for shares in (8, 9)]
                self.assertEqual([8, 9], [order.result().id for order in orders])
        return calls

    def test_one_request(self):
        self.check(lambda exchange: exchange.buy("S", 500, 1), 3)

    def test_a_pipeline_of_several_documents(self):
        """Each of its results is its own, or an error."""
        seen = set()

        def interrupted(exchange):
            orders = []
            try:
                with exchange.pipeline() as pipeline:
                    for account, shares in ((1, 500), (2, 501), (1, 502)):
                        exchange.account_id = account  # another one, another document
                        orders.append(pipeline.buy("S", shares, 1))
            finally:
                exchange.account_id = 1
                ids = []
                for order in orders:
                    try:
                        ids.append(order.result().id)
                    except (InDoubt, ConnectionFailed):
                        ids.append(None)
                seen.add(tuple(ids))

        self.check(interrupted, 8)
        every = (500, 501, 502)
        self.assertEqual({every[:got] + (None,) * (3 - got) for got in range(4)}, seen)

    def test_a_reply_that_comes_after_the_timeout(self):
        late = threading.Event()

        def answer(request, number):
            if number == 1:
                late.wait(30)
            return opened(request)

        with FakeServer(answer) as server, Exchange(server.address, 1, timeout=0.1) as exchange:
            with self.assertRaises(InDoubt):
                exchange.buy("S", 500, 1)
            late.set()
            self.assertEqual(7, exchange.buy("S", 7, 1).id)

    def test_a_signal_handler_that_trades(self):
        """In the middle of a request: that one is in doubt, and the handler's own is not."""
        found = []

        def answer(request, number):
            if number == 1:
                signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
                return b"<results>"
            return opened(request)

        def trade(*_):
            found.append(exchange.buy("S", 7, 1).id)

        self.addCleanup(signal.signal, signal.SIGUSR1, signal.signal(signal.SIGUSR1, trade))
        with FakeServer(answer) as server, Exchange(server.address, 1) as exchange:
            with self.assertRaises(InDoubt):
                exchange.buy("S", 500, 1)
            self.assertEqual([7], found)
            self.assertEqual(8, exchange.buy("S", 8, 1).id)
            self.assertEqual(2, len(server.connections))


class Asynchronous(unittest.TestCase):
    def test_a_task_that_is_canceled(self):
        """After any number of turns of the loop; the others on its connection get their own
        replies."""

        async def run(address, turns):
            async with AsyncExchange(address, 1) as exchange:
                before = asyncio.create_task(exchange.buy("S", 6, 1))
                canceled = asyncio.create_task(exchange.buy("S", 500, 1))
                after = asyncio.create_task(exchange.buy("S", 7, 1))
                for _ in range(turns):
                    await asyncio.sleep(0)
                canceled.cancel()
                self.assertEqual([6, 7], [(await one).id for one in (before, after)])
                self.assertEqual(8, (await exchange.buy("S", 8, 1)).id)

        for turns in range(40):
            with self.subTest(turns=turns), FakeServer(opened) as server:
                asyncio.run(run(server.address, turns))

    def test_a_task_that_is_canceled_in_mid_reply(self):
        rest = threading.Event()

        def answer(request, number):
            if number > 1:
                return opened(request)
            server.connections[0].sendall(opened(request)[:20])
            rest.wait(30)
            return opened(request)[20:]

        async def run():
            async with AsyncExchange(server.address, 1) as exchange:
                canceled = asyncio.create_task(exchange.buy("S", 500, 1))
                while not server.requests:
                    await asyncio.sleep(0.001)
                canceled.cancel()
                rest.set()
                self.assertEqual(7, (await exchange.buy("S", 7, 1)).id)

        with FakeServer(answer) as server:
            asyncio.run(run())

    def test_an_exception_inside_of_the_loop(self):
        """Which ends run_until_complete(), as KeyboardInterrupt does: before and after each reading
        of a reply, and each sending."""
        for error in (KeyboardInterrupt, RuntimeError):
            for where in (ReplyReader, asyncio.StreamWriter):
                for at in (-4, -3, -2, -1, 1, 2, 3, 4):
                    with self.subTest(error=error, where=where, at=at):
                        self.interrupt_loop(error, where, at)

    def interrupt_loop(self, error, where, at):
        name = "take" if where is ReplyReader else "write"
        real, calls, loop = getattr(where, name), count(1), asyncio.new_event_loop()
        loop.set_exception_handler(lambda *_: None)

        def interrupted(*arguments):
            call = next(calls)
            if call == -at:
                raise error
            result = real(*arguments)
            if call == at:
                raise error
            return result

        async def buy(*shares):
            orders = [exchange.buy("S", one, 1) for one in shares]
            return await asyncio.gather(*orders, return_exceptions=True)

        with FakeServer(opened) as server, patch.object(where, name, interrupted):
            exchange = AsyncExchange(server.address, 1, timeout=10)
            wrong = []
            for shares in ((500, 501), (7, 8), (9, 10)):
                try:
                    found = loop.run_until_complete(buy(*shares))
                except (KeyboardInterrupt, RuntimeError):
                    continue
                for one, order in zip(shares, found, strict=True):
                    if isinstance(order, ExchangeError):
                        self.assertNotIn("no reply for", str(order))
                    elif not isinstance(order, error) and order.id != one:
                        wrong.append((one, order))
            self.assertEqual([], wrong)
            self.assertEqual([11], [one.id for one in loop.run_until_complete(buy(11))])
            loop.run_until_complete(exchange.close())
            loop.close()

    def test_a_second_event_loop(self):
        with FakeServer(opened) as server:
            exchange = AsyncExchange(server.address, 1, timeout=10)

            async def run(shares):
                return (await exchange.buy("S", shares, 1)).id

            self.assertEqual([7, 8], [asyncio.run(run(shares)) for shares in (7, 8)])


@unittest.skipUnless(hasattr(os, "fork"), "no fork here")
class Forks(Case):
    def test_the_child_has_a_connection_of_its_own(self):
        with FakeServer(opened) as server, Exchange(server.address, 1) as exchange:
            exchange.buy("S", 5, 1)

            def use():
                with exchange:
                    assert exchange.buy("S", 500, 1).id == 500

            self.in_child(use)
            self.assertEqual(7, exchange.buy("S", 7, 1).id)
            self.assertEqual(2, len(server.connections))

    def test_a_child_that_closes_alone(self):
        with FakeServer(opened) as server, Exchange(server.address, 1) as exchange:
            exchange.buy("S", 5, 1)
            self.in_child(exchange.close)
            self.assertEqual(7, exchange.buy("S", 7, 1).id)
            self.assertEqual(1, len(server.connections))

    def test_a_child_does_not_keep_the_connection_open(self):
        """Else orders that end with it would outlive the parent."""
        ended = threading.Event()
        with FakeServer(opened, ended=ended.set) as server:
            exchange = Exchange(server.address, 1)
            exchange.buy("S", 5, 1)
            reading, writing = os.pipe()
            child = os.fork()
            if not child:
                os.close(writing)
                os.read(reading, 1)
                os._exit(0)
            exchange.close()
            self.assertTrue(ended.wait(30))
            os.close(writing)
            os.waitpid(child, 0)
            os.close(reading)

    def test_with_asyncio(self):
        with FakeServer(opened) as server:
            exchange = AsyncExchange(server.address, 1, timeout=10)

            async def buy(shares):
                return (await exchange.buy("S", shares, 1)).id

            async def use():
                async with exchange:
                    assert await buy(500) == 500

            async def run():
                self.assertEqual(5, await buy(5))
                self.in_child(lambda: asyncio.run(use()))
                self.in_child(lambda: asyncio.run(exchange.close()))
                self.assertEqual([7, 8], await asyncio.gather(buy(7), buy(8)))
                await exchange.close()

            asyncio.run(run())
            self.assertEqual(2, len(server.connections))

    def test_references_of_parent_and_child_differ(self):
        references, (reading, writing) = References(), os.pipe()
        self.in_child(lambda: os.write(writing, references.make().encode()))
        self.assertNotEqual(references.make(), os.read(reading, 100).decode())
        os.close(reading)
        os.close(writing)
