"""The simulator against known results of queueing theory, and its scheduler."""

import unittest
from random import Random

from simulator import TICK_US, WAIT, YIELD, Cpus, Simulator, Sleep


def one_server_queue(mean_service, draw_service, seed=1, arrivals=60_000, load=0.7):
    """Mean time in the system of requests that arrive at random at one thread on one CPU, in units
    of the mean service time."""
    simulator, random = Simulator(), Random(seed)
    cpus, waiting, times = Cpus(simulator, 1), [], []

    def serve():
        while True:
            while not waiting:
                yield WAIT
            came = waiting.pop(0)
            yield draw_service(random)
            times.append(simulator.now - came)

    server = cpus.start(serve())

    def arrive(left):
        waiting.append(simulator.now)
        cpus.wake(server)
        if left:
            simulator.at(simulator.now + random.expovariate(load / mean_service), arrive, left - 1)

    arrive(arrivals)
    simulator.run(1e12)
    return sum(times) / len(times) / mean_service


class Queues(unittest.TestCase):
    def test_random_service_times_give_the_time_of_m_m_1(self):
        measured = one_server_queue(10, lambda random: random.expovariate(1 / 10))
        self.assertAlmostEqual(measured, 1 / (1 - 0.7), delta=0.1 * measured)

    def test_equal_service_times_give_the_time_of_m_d_1(self):
        measured = one_server_queue(10, lambda random: 10.0)
        self.assertAlmostEqual(measured, 1 + 0.7 / (2 * 0.3), delta=0.05 * measured)

    def test_a_closed_network_gives_the_throughput_of_mean_value_analysis(self):
        """Clients that think for a random time, and one CPU with random service: the machine
        repairman's model."""
        clients, think, service = 8, 50.0, 10.0
        simulator, random = Simulator(), Random(2)
        cpus, answered = Cpus(simulator, 1), [0]

        def client():
            while True:
                yield Sleep(random.expovariate(1 / think))
                yield random.expovariate(1 / service)
                answered[0] += 1

        for _ in range(clients):
            cpus.start(client())
        simulator.run(1_000_000)
        at_the_cpu = 0.0
        for number in range(1, clients + 1):
            residence = service * (1 + at_the_cpu)
            throughput = number / (think + residence)
            at_the_cpu = throughput * residence
        self.assertAlmostEqual(answered[0] / 1e6, throughput, delta=0.02 * throughput)


class Scheduler(unittest.TestCase):
    def setUp(self):
        self.simulator, self.log = Simulator(), []

    def worker(self, name, *steps):
        for step in steps:
            yield step
            self.log.append((name, self.simulator.now))
        yield Sleep(1e12)

    def test_two_cpus_run_two_threads_at_once(self):
        cpus = Cpus(self.simulator, 2)
        for name in "ab":
            cpus.start(self.worker(name, 100))
        self.simulator.run(1000)
        self.assertEqual(self.log, [("a", 100), ("b", 100)])

    def test_two_busy_threads_share_a_cpu_in_slices(self):
        cpus = Cpus(self.simulator, 1)
        threads = [cpus.start(self.worker(name, 1e6)) for name in "ab"]
        self.simulator.run(400_000)
        for thread in threads:
            self.assertAlmostEqual(thread.used_us, 200_000, delta=2 * TICK_US)

    def test_a_woken_thread_preempts_one_that_has_used_as_much(self):
        cpus = Cpus(self.simulator, 1)
        cpus.start(self.worker("long", 500))
        self.simulator.at(100, cpus.start, self.worker("short", 10))
        self.simulator.run(2000)
        self.assertEqual(self.log, [("short", 110), ("long", 510)])

    def test_a_thread_that_used_more_than_its_share_does_not_preempt(self):
        """b uses 300 us while a waits, and is woken again 20 us later: it is still ahead."""
        cpus = Cpus(self.simulator, 1)
        cpus.start(self.worker("a", 400))
        self.simulator.at(100, cpus.start, self.worker("b", 300, Sleep(20), 10))
        self.simulator.run(2000)
        self.assertEqual([name for name, _ in self.log], ["b", "a", "b", "b"])

    def test_a_thread_that_slept_does_not_wait_for_another_slice(self):
        cpus = Cpus(self.simulator, 1)
        cpus.start(self.worker("hog", 1e6))
        cpus.start(self.worker("sleeper", Sleep(50_000), 10))
        self.simulator.run(100_000)
        name, woken = self.log[0], self.log[1]
        self.assertEqual(name[0], "sleeper")
        self.assertLess(woken[1], 50_000 + TICK_US + 800)

    def test_a_thread_that_yields_runs_after_those_that_are_ready(self):
        cpus = Cpus(self.simulator, 1)
        cpus.start(self.worker("first", YIELD, 10))
        cpus.start(self.worker("second", 10))
        self.simulator.run(1000)
        self.assertEqual(self.log, [("second", 10), ("first", 10), ("first", 20)])

    def test_a_wake_up_before_the_wait_is_not_lost(self):
        cpus = Cpus(self.simulator, 1)
        thread = cpus.start(self.worker("a", 100, WAIT, 5))
        self.simulator.at(50, cpus.wake, thread)
        self.simulator.run(1000)
        self.assertEqual(self.log[-1], ("a", 105))

    def test_being_woken_on_an_idle_cpu_costs_time(self):
        cpus = Cpus(self.simulator, 1, wake_us=3)
        cpus.start(self.worker("a", 10), cold_us=7)
        self.simulator.run(1000)
        self.assertEqual(self.log, [("a", 20)])
