"""python -m whispercore --version | new FOLDER --server URL [--invitation LINK] | link FOLDER [--web] | echo FOLDER | verbs"""

import argparse
import ctypes
import os
import sys
from typing import Any

from whispercore import Bot, Core, CoreError, Library, __version__

# The longest key is a passphrase of 1,024 bytes.
KEY_BYTES_MAX = 1_024


def versions() -> str:
    """The release, and the libraries that a wheel brings."""
    c = Library().c
    for name in ("sqlite3_libversion", "sodium_version_string", "OpenSSL_version"):
        getattr(c, name).restype = ctypes.c_char_p
    c.OpenSSL_version.argtypes = [ctypes.c_int]
    texts = [c.OpenSSL_version(0), b"SQLite " + c.sqlite3_libversion(), b"libsodium " + c.sodium_version_string()]
    return "\n".join([f"whispercore {__version__}", *(text.decode("ascii") for text in texts)])


def key(path: str | None) -> bytes | None:
    if path is None:
        return None
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_mode & 0o077:
            sys.exit(f"error: the key file {path} must have mode 0600")
        return file.read(KEY_BYTES_MAX)


def new(options: argparse.Namespace) -> None:
    """Makes an identity, registers it, and shows its words once."""
    if options.words_file is None and not sys.stdout.isatty():
        sys.exit("error: the words are shown on a terminal alone; or name a --words-file")
    config: dict[str, Any] = {"caFile": os.path.abspath(options.ca)} if options.ca else {}
    with Core(options.folder, options.server, key=key(options.key_file), **config) as core:
        # Before there is an identity: a file that cannot be made must not cost its words.
        file = options.words_file and open(os.open(options.words_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w")
        invitation = {"invitation": options.invitation} if options.invitation else {}
        words = core.send("identity_create", **invitation)["words"]
        if file is None:
            print(f"Write these words down. The person who has them is this identity:\n\n    {words}\n")
        else:
            with file:
                file.write(words + "\n")
        try:
            print(core.online())
            return
        except CoreError as error:
            # What is left would be in the way of another try.
            if error.code != "forbidden":
                raise
            refusal = error
    Library().wipe(os.path.abspath(options.folder))
    if options.words_file:
        os.remove(options.words_file)
    sys.exit(f"error: {refusal}. Nothing was kept; try again.")


def link(options: argparse.Namespace) -> None:
    """Prints the link by which people add this identity."""
    with Core(options.folder, key=key(options.key_file)) as core:
        print(core.query("contact_link", form="web" if options.web else "app")["text"])


def echo(options: argparse.Namespace) -> None:
    """Answers each text of a person with the same text."""
    with Core(options.folder, key=key(options.key_file)) as core:
        bot = Bot(core, "echo")

        @bot.on("messageReceived")
        def answer(event: Any) -> None:
            message = event["message"]
            if "groupId" not in message and message.get("text"):
                bot.reply(message, message["text"])

        bot.run()


def verbs(_: argparse.Namespace) -> None:
    for method in Library().schema()["methods"]:
        print(f"{method['name']:20} {method.get('summary') or method.get('description', '')}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m whispercore", description="An identity for a bot, and a bot.")
    parser.add_argument("--version", action="store_true", help="the release, and what it brings")
    commands = parser.add_subparsers()
    functions = {
        new: "make an identity",
        link: "print the link by which people add it",
        echo: "answer each text with itself",
        verbs: "list the verbs",
    }
    for function, text in functions.items():
        command = commands.add_parser(function.__name__, help=text)
        command.set_defaults(function=function)
        if function is not verbs:
            command.add_argument("folder", help="of this identity alone")
            command.add_argument("--key-file", help="32 bytes that seal the store")
        if function is link:
            command.add_argument("--web", action="store_true", help="a link that a browser opens, too")
        if function is new:
            command.add_argument("--server", required=True, help="wss:// and host")
            command.add_argument("--invitation", help="link or token that lets somebody new in")
            command.add_argument("--ca", help="PEM file of certificates to trust beside the system's")
            command.add_argument("--words-file", help="a new file for the words, in place of the terminal")
    options = parser.parse_args()
    if options.version:
        print(versions())
    elif "function" in options:
        options.function(options)
    else:
        parser.error("say new, link, echo or verbs")


if __name__ == "__main__":
    try:
        main()
    except (CoreError, OSError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
