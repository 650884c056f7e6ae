"""A Whisper client in Python: one identity, its messages, and bots. With the standard library alone.

    from whispercore import Bot, Core

    core = Core("echo")                # the folder that `python -m whispercore new echo --server URL` has made
    bot = Bot(core, "echo")

    @bot.on("messageReceived")
    def echo(event):
        if text := event["message"].get("text"):
            bot.reply(event["message"], text)

    bot.run()                          # connects; kill it and start it again: nothing is lost

`docs/core.md` lists verbs and events.
"""

from whispercore._library import Closed, Core, CoreError, Library, Reader
from whispercore.bot import Bot
from whispercore.daemon import Daemon

__version__ = "0.1.0"
__all__ = ["Bot", "Closed", "Core", "CoreError", "Daemon", "Library", "Reader", "__version__"]
