"""Bots, with the standard library alone.

    bot = Bot(core, "echo")

    @bot.on("messageReceived")
    def echo(event):
        message = event["message"]
        if "text" in message:
            bot.reply(message, message["text"])

    bot.run()

`core` is a `Core` or a `Daemon`. An event is acknowledged when all functions for it have
returned. Whoever dies before that gets it again, so each function may see an event twice. `reply` sends once all the same.
"""

import collections
import hashlib
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from whispercore._library import Closed, CoreError, Reader

if TYPE_CHECKING:
    from whispercore.verbs import Envelope

# A function for one type of event, and one for a command: it may return the reply.
Function = TypeVar("Function", bound=Callable[[Any], object])
Command = TypeVar("Command", bound=Callable[[Any, str], str | None])


class Bot:
    def __init__(self, core: Reader, consumer: str) -> None:
        """consumer: a name that stays the same. Events are kept for it while the bot is away. A new one begins with what
        comes after its first `run`."""
        self.core = core
        self.consumer = consumer
        self.functions: dict[str, list[Callable[[Any], object]]] = {}
        self.commands: dict[str, Callable[[Any, str], str | None]] = {}
        # Events that came while a function waited for an answer of the server.
        self.later: "collections.deque[Envelope]" = collections.deque()
        self.replies = 0

    @overload
    def on(self, kind: str) -> Callable[[Function], Function]: ...
    @overload
    def on(self, kind: str, function: Function) -> Function: ...
    def on(self, kind: str, function: Any = None) -> Any:
        """Calls a function with each event of a type. Also a decorator."""
        if function is None:
            return lambda function: self.on(kind, function)
        self.functions.setdefault(kind, []).append(function)
        return function

    @overload
    def command(self, word: str) -> Callable[[Command], Command]: ...
    @overload
    def command(self, word: str, function: Command) -> Command: ...
    def command(self, word: str, function: Any = None) -> Any:
        """Calls a function with each message of others whose text begins with a word, and with the rest of the text. What it
        returns is the reply. Also a decorator."""
        if function is None:
            return lambda function: self.command(word, function)
        self.commands[word] = function
        return function

    @staticmethod
    def chat(message: Any) -> str:
        """The conversation in which a message stands: a group, or a person."""
        chat: str = message.get("groupId", message["chat"])
        return chat

    def reply(self, message: Any, text: str) -> None:
        """Sends a text to where a message came from.

        The first reply to a message is sent once, however often its event comes. So is the second, and each after it.
        """
        seed = f"{self.consumer}\n{self.chat(message)}\n{message['chat']}\n{message['messageId']}\n{self.replies}"
        self.replies += 1
        digest = hashlib.sha256(seed.encode("utf-8")).digest()
        try:
            self.core.send(
                "message_send", to=self.chat(message), text=text,
                clientId=str(uuid.UUID(bytes=digest[:16], version=4)))
        except CoreError as error:
            # It was sent in an earlier life, with another text.
            if error.code != "conflict":
                raise

    def ask(self, verb: str, timeout: float = 30, **parameters: Any) -> Any:
        """A verb that asks the server. Returns its result. Events that come meanwhile wait."""
        core: Any = self.core
        return core.ask(verb, timeout=timeout, others=self.later, **parameters)

    def run(self) -> None:
        """Connects, and serves events until the core is closed. What a function raises ends it, and its event comes again."""
        self.core.send("events_subscribe", consumer=self.consumer)
        self.core.send("connect")
        while True:
            try:
                # A second at a time: Python handles Ctrl-C between two calls.
                event = self.later.popleft() if self.later else self.core.receive(1)
                if event is not None:
                    self.serve(event)
            except Closed:
                return

    def serve(self, event: "Envelope") -> None:
        """Calls the functions for an event, and acknowledges it."""
        self.replies = 0
        inner = event["event"]
        for function in self.functions.get(inner["type"], []):
            function(inner)
        if inner["type"] == "messageReceived":
            self.obey(inner["message"])
        if "seq" in event:
            self.core.send("events_ack", consumer=self.consumer, seq=event["seq"])

    def obey(self, message: Any) -> None:
        word, _, rest = message.get("text", "").partition(" ")
        function = self.commands.get(word)
        text = function(message, rest.strip()) if function else None
        if text is not None:
            self.reply(message, text)
