"""libwhispercore.so through ctypes, with the standard library alone.

Calls may come from any thread; events have one reader at a time.
"""

import ctypes
import json
import os
import pathlib
import time
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from whispercore.verbs import Envelope, Verbs
else:
    Verbs = object

ABI_VERSION = 1


class CoreError(Exception):
    """The core did not do what it was asked. `code` is for programs."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: str = error["code"]
        self.retryable: bool = error["retryable"]
        self.field: str | None = error.get("field")
        self.error = error


class Closed(Exception):
    """The core was closed: there are no more events."""


class Reader(Verbs):
    """Ways to read events, for whatever has `send` and `receive`."""

    def receive(self, timeout: float | None = None) -> "Envelope | None":
        raise NotImplementedError

    def events(self, consumer: str) -> "Iterator[Envelope]":
        """All events, for ever. A numbered one is acknowledged when the next is asked for: whoever dies before gets it again."""
        self.send("events_subscribe", consumer=consumer)
        while True:
            try:
                # A second at a time: Python handles Ctrl-C between two calls.
                event = self.receive(1)
            except Closed:
                return
            if event is None:
                continue
            yield event
            if "seq" in event:
                self.send("events_ack", consumer=consumer, seq=event["seq"])

    # A checker of types reads the overloads of `verbs.pyi` in place of this.
    if not TYPE_CHECKING:

        def ask(self, verb, timeout=30, others=None, **parameters):
            """Does a verb that asks the server, and waits for its answer. Events that come meanwhile go to the list `others`."""
            request = self.send(verb, **parameters)["request"]
            while True:
                event = self.receive(timeout)
                if event is None:
                    raise TimeoutError(verb)
                inner = event["event"]
                if inner["type"] == "answer" and inner["request"] == request:
                    if "error" in inner:
                        raise CoreError(inner["error"])
                    return inner["result"]
                if others is not None:
                    others.append(event)


def library_path() -> str:
    """The library beside this module, as in a wheel; otherwise the file that the environment names."""
    beside = pathlib.Path(__file__).with_name("libwhispercore.so")
    if beside.exists():
        return str(beside)
    if named := os.environ.get("WHISPERCORE_LIBRARY"):
        return named
    raise ImportError("there is no libwhispercore.so in this installation; WHISPERCORE_LIBRARY may name one")


class Library:
    """The functions of whispercore.h, with texts as Python knows them."""

    def __init__(self, path: str | None = None) -> None:
        path = path or library_path()
        self.c = ctypes.CDLL(path)
        handle, text, size = ctypes.c_int64, ctypes.c_char_p, ctypes.c_size_t
        functions: dict[str, list[Any]] = {
            "wsp_open": [text, text, size, text, ctypes.POINTER(handle)],
            "wsp_send": [handle, text, size],
            "wsp_query": [handle, text, size],
            "wsp_recv": [handle, ctypes.c_int32],
            "wsp_suspend": [handle, ctypes.c_int32],
            "wsp_resume": [handle],
            "wsp_close": [handle, ctypes.c_int32],
            "wsp_rekey": [handle, text, size],
            "wsp_export": [handle, text, text, size],
            "wsp_import": [text, text, text, size],
            "wsp_wipe": [text],
            "wsp_schema": [],
        }
        for name, arguments in functions.items():
            function = getattr(self.c, name)
            function.argtypes = arguments
            # As an address: a c_char_p would be copied, and could not be freed.
            function.restype = ctypes.c_void_p
        self.c.wsp_interrupt.argtypes = [handle]
        self.c.wsp_interrupt.restype = None
        self.c.wsp_free.argtypes = [ctypes.c_void_p]
        self.c.wsp_free.restype = None
        version = self.c.wsp_abi_version()
        if version != ABI_VERSION:
            raise ImportError(f"{path} has ABI version {version}, not {ABI_VERSION}")
        self.c.wsp_version.restype = ctypes.c_char_p
        self.version: str = self.c.wsp_version().decode("utf-8")

    def call(self, name: str, *arguments: Any) -> str | None:
        """Calls a function that gives a text. Returns the text, or None."""
        address = getattr(self.c, name)(*arguments)
        if not address:
            return None
        try:
            return ctypes.string_at(address).decode("utf-8")
        finally:
            self.c.wsp_free(address)

    def result(self, name: str, *arguments: Any) -> Any:
        text = self.call(name, *arguments)
        if text is None:
            raise MemoryError(name)
        answer = json.loads(text)
        if "error" in answer:
            raise CoreError(answer["error"])
        return answer["result"]

    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = json.loads(self.call("wsp_schema") or "{}")
        return schema

    def wipe(self, folder: str) -> Any:
        return self.result("wsp_wipe", folder.encode("utf-8"))

    def import_(self, path: str, config: dict[str, Any], key: bytes) -> Any:
        """Makes the folder of `config` of a file that `Core.export` has written."""
        return self.result("wsp_import", path.encode("utf-8"), json.dumps(config).encode("utf-8"), key, len(key))


class Core(Reader):
    """One identity of one person on this device."""

    # The file in a core's folder that keeps `server` and the rest of the configuration.
    SETTINGS = "whispercore.json"

    def __init__(
        self,
        folder: Any,
        server: Any = None,
        confirm: Literal["error", "yesUp", "yesUpDown"] = "yesUp",
        key: bytes | None = None,
        library: Library | str | None = None,
        **config: Any,
    ) -> None:
        """folder: of this core alone. It is made if it is missing.
        server: `wss://` and host. It is kept in the folder with `config`, so a later `Core(folder)` needs neither.
        confirm: error, yesUp or yesUpDown. library: a `Library`, or the path of the file; by default the one of this package.
        key: bytes that seal the store: 32, or a passphrase with keyKind="passphrase". None: the store is plain.
        config: further fields of `wsp_open`, for example caFile. `client` is "bot" unless it says otherwise.

        `Core(library, config)`, the form of before, works for this minor version."""
        if isinstance(server, dict):
            library, config, settings = folder, server, None
        else:
            settings = os.path.join(os.path.abspath(folder), self.SETTINGS)
            config = {"client": "bot", **self._kept(settings, server), **config, "dir": os.path.dirname(settings)}
        self.library = library if isinstance(library, Library) else Library(library)
        handle = ctypes.c_int64(0)
        self.library.result(
            "wsp_open", json.dumps(config).encode("utf-8"), key, len(key or b""), confirm.encode("utf-8"), ctypes.byref(handle)
        )
        self.handle = handle.value
        # Only now does the folder belong to this core.
        if settings and server:
            os.makedirs(os.path.dirname(settings), mode=0o700, exist_ok=True)
            with open(os.open(settings, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                json.dump({name: value for name, value in config.items() if name != "dir"}, file)

    @staticmethod
    def _kept(settings: str, server: str | None) -> dict[str, Any]:
        if server:
            return {"serverUrl": server}
        try:
            with open(settings, encoding="utf-8") as file:
                kept: dict[str, Any] = json.load(file)
                return kept
        except FileNotFoundError:
            message = "The folder has no server yet: name one."
            raise CoreError(
                {"code": "config", "message": message, "retryable": False, "field": "serverUrl"}) from None

    def online(self, timeout: float = 30) -> str:
        """Connects, and returns the Whisper ID when there is a session with the server. Call it before events are read.

        Raises CoreError: `forbidden` if the server refuses the identity, `unreachable` if there is no session in time."""
        self.send("connect")
        deadline = time.monotonic() + timeout
        while not self.send("session_status")["isOnline"]:
            event = self.receive(max(0, min(1, deadline - time.monotonic())))
            if event and event["event"]["type"] == "connection" and event["event"]["state"] == "stopped":
                raise CoreError({"code": "forbidden", "message": event["event"].get("reason"), "retryable": False})
            if time.monotonic() >= deadline:
                raise CoreError({"code": "unreachable", "message": "no session with the server", "retryable": True})
        return self.query("identity_show")["whisperId"] or ""

    def __enter__(self) -> "Core":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    if not TYPE_CHECKING:

        def send(self, verb, **parameters):
            """Does one verb, and returns its result. Raises CoreError."""
            return self._command("wsp_send", verb, parameters)

        def query(self, verb, **parameters):
            """The same for verbs that change nothing."""
            return self._command("wsp_query", verb, parameters)

    def _command(self, function: str, verb: str, parameters: dict[str, Any]) -> Any:
        command = f"{verb} {json.dumps(parameters)}".encode("utf-8")
        return self.library.result(function, self.handle, command, len(command))

    def receive(self, timeout: float | None = None) -> "Envelope | None":
        """Waits for the next event, `timeout` seconds at most. Returns None if the time is over. Raises Closed."""
        milliseconds = -1 if timeout is None else max(0, min(int(timeout * 1000), 2_147_483_647))
        text = self.library.call("wsp_recv", self.handle, milliseconds)
        if text is None:
            raise Closed()
        if not text:
            return None
        event: Any = json.loads(text)
        if "error" in event:
            raise CoreError(event["error"])
        envelope: "Envelope" = event
        return envelope

    def interrupt(self) -> None:
        self.library.c.wsp_interrupt(self.handle)

    def suspend(self, deadline: float = 10) -> Any:
        return self.library.result("wsp_suspend", self.handle, int(deadline * 1000))

    def resume(self) -> Any:
        return self.library.result("wsp_resume", self.handle)

    def rekey(self, key: bytes) -> Any:
        """Seals the store with another key."""
        return self.library.result("wsp_rekey", self.handle, key, len(key))

    def export(self, path: str, key: bytes) -> Any:
        """Writes the identity to a new file, sealed with a key of its own, without its session."""
        return self.library.result("wsp_export", self.handle, path.encode("utf-8"), key, len(key))

    def close(self, deadline: float = 10) -> Any:
        """Ends connection and store. Doing it twice is harmless."""
        return self.library.result("wsp_close", self.handle, int(deadline * 1000))
