"""A program's end of `whisper daemon`, with the standard library alone.

    with Daemon("/run/user/1000/whisper/socket") as daemon:
        daemon.send("connect")
        for event in daemon.events("my-bot"):
            print(event)

A `Daemon` has the same functions as a `Core`, so a bot works with either.
"""

import collections
import json
import queue
import socket
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from whispercore._library import Closed, CoreError, Reader

if TYPE_CHECKING:
    from whispercore.verbs import Envelope

# Events without a number that wait for `receive`. Beyond it the oldest go, and `eventsLost` says how many.
# Of numbered ones the daemon sends no more than a few hundred that are not acknowledged.
EVENTS_WAITING_MAX = 1024
# Seconds between two attempts to reach a daemon.
PAUSE = 0.1


class Daemon(Reader):
    """One identity that a daemon serves. `send` may be called by any thread, `receive` by one at a time."""

    def __init__(self, path: str, timeout: float = 30, wait: float = 10) -> None:
        """path: of the daemon's socket. timeout: seconds that an answer may take. wait: seconds that the daemon may need
        until it listens."""
        self.timeout = timeout
        self.socket = self._connect(path, time.monotonic() + wait)
        # Held while something is written, so that lines stay whole.
        self.writing = threading.Lock()
        self.lock = threading.Lock()
        self.has_news = threading.Condition(self.lock)
        self.number = 0
        self.answers: dict[int, "queue.Queue[Any]"] = {}
        self.waiting: "collections.deque[Envelope]" = collections.deque()
        self.passing, self.lost = 0, 0
        # Why there is no more: Closed, or what the daemon has said.
        self.end: Exception | None = None
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    @staticmethod
    def _connect(path: str, deadline: float) -> socket.socket:
        while True:
            end = socket.socket(socket.AF_UNIX)
            try:
                end.connect(path)
                return end
            except (FileNotFoundError, ConnectionRefusedError):
                end.close()
                if time.monotonic() >= deadline:
                    raise
                time.sleep(PAUSE)
            except BaseException:
                end.close()
                raise

    def __enter__(self) -> "Daemon":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> None:
        end: Exception = Closed()
        try:
            with self.socket.makefile("rb") as lines:
                for line in lines:
                    message = json.loads(line)
                    if message.get("method") == "event":
                        self._keep(message["params"])
                    elif message.get("id") is None:
                        # Of no request: another program is connected.
                        end = error(message)
                    else:
                        with self.lock:
                            answer = self.answers.pop(message["id"], None)
                        if answer is not None:
                            answer.put(message)
        except (OSError, ValueError):
            pass
        with self.lock:
            self.end = end
            answers, self.answers = self.answers, {}
            self.has_news.notify_all()
        for answer in answers.values():
            answer.put(None)

    def _keep(self, event: "Envelope") -> None:
        with self.lock:
            self.waiting.append(event)
            if "seq" not in event:
                self.passing += 1
                if self.passing > EVENTS_WAITING_MAX:
                    oldest = next(index for index, event in enumerate(self.waiting) if "seq" not in event)
                    del self.waiting[oldest]
                    self.passing -= 1
                    self.lost += 1
            self.has_news.notify()

    # A checker of types reads the overloads of `verbs.pyi` in place of this.
    if not TYPE_CHECKING:

        def send(self, verb, **parameters):
            """Does one verb, and returns its result. Raises CoreError, Closed and TimeoutError."""
            return self._request(verb, parameters)

        query = send

    def _request(self, verb: str, parameters: dict[str, Any]) -> Any:
        answer: "queue.Queue[Any]" = queue.Queue(1)
        with self.lock:
            if self.end is not None:
                raise self.end
            self.number += 1
            number = self.number
            self.answers[number] = answer
        request = {"jsonrpc": "2.0", "id": number, "method": verb, "params": parameters}
        try:
            with self.writing:
                self.socket.sendall(json.dumps(request).encode("utf-8") + b"\n")
            message = answer.get(timeout=self.timeout)
        except OSError:
            # The daemon has gone, and may have said why.
            self.reader.join(self.timeout)
            raise self.end or Closed() from None
        except queue.Empty:
            raise TimeoutError(verb) from None
        finally:
            with self.lock:
                self.answers.pop(number, None)
        if message is None:
            raise self.end or Closed()
        if "error" in message:
            raise error(message)
        if verb == "events_subscribe":
            self._drop_unnumbered()
        return message["result"]

    def _drop_unnumbered(self) -> None:
        """Whoever has no consumer yet gets all events without a number. Those that are kept come again with one."""
        with self.lock:
            self.waiting = collections.deque(event for event in self.waiting if "seq" in event)
            self.passing = 0

    def receive(self, timeout: float | None = None) -> "Envelope | None":
        """Waits for the next event, `timeout` seconds at most. Returns None if the time is over. Raises Closed."""
        with self.lock:
            self.has_news.wait_for(lambda: self.waiting or self.end is not None, timeout)
            if self.waiting:
                if self.lost:
                    count, self.lost = self.lost, 0
                    return {"event": {"type": "eventsLost", "count": count}}
                event = self.waiting.popleft()
                if "seq" not in event:
                    self.passing -= 1
                return event
            if self.end is not None:
                raise self.end
            return None

    def close(self) -> None:
        """Leaves the daemon, which goes on. Doing it twice is harmless."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.reader.join(self.timeout)
        self.socket.close()


def error(message: dict[str, Any]) -> CoreError:
    """What an error of JSON-RPC is in Python. `data` is missing if the request was no request."""
    error = message["error"]
    return CoreError(
        error.get("data", {"code": "invalidCommand", "message": error["message"], "retryable": False}))
