"""Answers each text with the same text, and `/time` with the time.

    whisper daemon --socket $XDG_RUNTIME_DIR/whisper/socket &
    python3 echo.py $XDG_RUNTIME_DIR/whisper/socket
"""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from whispercore import Bot, Daemon  # noqa: E402

with Daemon(sys.argv[1]) as daemon:
    bot = Bot(daemon, "echo")

    @bot.command("/time")
    def tell(message, rest):
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())

    @bot.on("messageReceived")
    def echo(event):
        message = event["message"]
        # In a group, two such bots would answer each other for ever.
        if "groupId" not in message and message.get("text") and not message["text"].startswith("/"):
            bot.reply(message, message["text"])

    bot.run()
