"""A way to a server that can be shut: then nobody listens there, and whoever is connected is cut off."""

import asyncio
import threading


class Gate:
    def __init__(self, host, port):
        self.target = (host, port)
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.listener, self.port, self.writers = None, 0, set()
        self.open()

    @property
    def url(self):
        return f"ws://127.0.0.1:{self.port}"

    def open(self):
        self.call(self.listen())

    def shut(self):
        self.call(self.cut())

    def call(self, work):
        asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout=30)

    async def listen(self):
        self.listener = await asyncio.start_server(self.pass_on, "127.0.0.1", self.port)
        self.port = self.listener.sockets[0].getsockname()[1]

    async def cut(self):
        self.listener.close()
        for writer in self.writers:
            writer.transport.abort()

    async def pass_on(self, reader, writer):
        try:
            other_reader, other_writer = await asyncio.open_connection(*self.target)
        except OSError:
            return writer.close()
        ends = {writer, other_writer}
        self.writers |= ends
        await asyncio.gather(self.copy(reader, other_writer), self.copy(other_reader, writer))
        self.writers -= ends

    @staticmethod
    async def copy(reader, writer):
        try:
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.close()
