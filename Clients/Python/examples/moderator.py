"""Removes from groups whoever writes a forbidden word. The bot is an admin or the owner of these groups.

    python3 moderator.py $XDG_RUNTIME_DIR/whisper/socket WORD…

Members' devices already have the message: nobody can take it back but its author.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from whispercore import Bot, CoreError, Daemon  # noqa: E402

path, *words = sys.argv[1:]
forbidden = {word.casefold() for word in words}

with Daemon(path) as daemon:
    bot = Bot(daemon, "moderator")

    @bot.on("messageReceived")
    def judge(event):
        message = event["message"]
        said = forbidden & set(re.findall(r"\w+", message.get("text", "").casefold()))
        if "groupId" not in message or not said:
            return
        try:
            bot.ask("group_update", groupId=message["groupId"], remove=[message["chat"]])
        except CoreError as error:
            if error.retryable:
                # The event comes again when the bot is started anew.
                raise
            # They have left already, or the bot is no admin here.
            print(f"not removed: {error.code}", file=sys.stderr)
            return
        bot.reply(message, "A member was removed for a forbidden word.")

    bot.run()
