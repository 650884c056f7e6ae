"""The air between simulated radios of Bluetooth LE, at a Unix socket. Who connects is a radio, named r1, r2 and so on.

A line from a radio is a call, a line to it an event; Clients/WhisperClient/Nearby/Radio/RadioLines.swift has their form.
Lines with "control" change what goes wrong. They come from standard input, or from any socket, and are answered there:

  {"control":"faults","drop":0.1}                     rates and times, see FAULTS
  {"control":"mtu","mtu":23}                          of the next connections
  {"control":"missing","radio":R,"characteristics":["920D5474"]}   what others do not see of it
  {"control":"state","radio":R,"state":"off"}         on, off, denied or unsupported
  {"control":"disconnect","radio":R}                  all its connections; all there are without "radio"
  {"control":"kill","radio":R}                        its socket breaks
  {"control":"raw","radio":R,"text":"x"}              what no air says
  {"control":"show"}                                  radios and connections

A radio is named by its name or its title. When standard input ends, so does the air.
"""

import argparse
import asyncio
import base64
import json
import random
import sys

FAULTS = {
    "drop": "rate of packets that do not arrive, and whose sender hears so",
    "unanswered": "rate of packets that arrive, and whose sender hears the contrary",
    "mute": "rate of packets that arrive, and whose sender hears nothing",
    "duplicate": "rate of packets that arrive twice",
    "disconnect": "rate of packets at which the connection breaks",
    "full": "rate of indications after which the queue is full for a while",
    "delay": "longest way of an event, in seconds; what goes over one connection keeps its order",
}
FULL_FOR = 0.05
SHOWN_EVERY = 0.5
LINE_BYTES_MAX = 65_536
WRITABLE = ("920D5471", "920D5474")
INDICATED = ("920D5472", "920D5473", "920D5474")


def short(characteristic):
    return characteristic[:8].upper()


class Connection:
    """Of a central with a peripheral."""

    def __init__(self, central, peripheral, mtu):
        self.central, self.peripheral, self.mtu = central, peripheral, mtu
        self.subscribed = set()


class Radio:
    def __init__(self, air, number, writer):
        self.air, self.writer = air, writer
        self.name = f"r{number}"
        # By which peripherals know it, while it is a central.
        self.central_name = f"c{number}" if air.two_names else self.name
        self.state, self.title, self.shown_title = "on", None, None
        self.service = self.scanned = None
        self.table, self.missing = [], set()
        self.is_full = False
        # The earliest moment of the next event, so that none overtakes another.
        self.clear_at = 0.0

    def has(self, characteristic):
        known = [short(it) for it in self.table]
        return short(characteristic) in known and short(characteristic) not in self.missing

    def say(self, event, **members):
        line = json.dumps({"event": event, **members}, separators=(",", ":")).encode() + b"\n"
        loop = asyncio.get_running_loop()
        at = max(self.clear_at, loop.time() + random.uniform(0, self.air.faults["delay"]))
        if at <= loop.time():
            self.write(line)
        else:
            self.clear_at = at + 1e-6
            loop.call_at(at, self.write, line)

    def write(self, line):
        if not self.writer.is_closing():
            self.writer.write(line)


class Air:
    def __init__(self, faults, mtu, two_names):
        self.faults, self.mtu, self.two_names = faults, mtu, two_names
        self.radios, self.connections, self.count = [], [], 0
        self.serving = set()

    # Connections

    def connection(self, central, peripheral):
        return next((it for it in self.connections if it.central is central and it.peripheral is peripheral), None)

    def named(self, name):
        return next((it for it in self.radios if name in (it.name, it.central_name)), None)

    def cut(self, connection, deaf=None):
        if connection not in self.connections:
            return
        self.connections.remove(connection)
        if connection.central is not deaf:
            connection.central.say("disconnected", peer=connection.peripheral.name)
        if connection.peripheral is not deaf:
            for characteristic in sorted(connection.subscribed):
                connection.peripheral.say(
                    "centralUnsubscribed", peer=connection.central.central_name, characteristic=characteristic
                )

    def cut_all(self, radio=None, deaf=None):
        for connection in [it for it in self.connections if radio in (None, it.central, it.peripheral)]:
            self.cut(connection, deaf)

    def show(self, radio, other):
        """Lets one radio hear another, if it listens and the other shows itself."""
        if radio is other or "on" != radio.state or "on" != other.state or other.title is None:
            return
        if radio.scanned is not None and radio.scanned == other.service:
            radio.say("found", peer=other.name, name=other.title, strength=-50)

    def show_all(self):
        for radio in self.radios:
            for other in self.radios:
                self.show(radio, other)

    # Packets

    def luck(self, fault):
        return random.random() < self.faults[fault]

    def carry(self, connection, deliver, answer):
        """A packet: `deliver` hands it over, `answer` tells its sender what became of it."""
        if self.luck("disconnect"):
            return self.cut(connection)
        if self.luck("drop"):
            return answer(False)
        deliver()
        if self.luck("duplicate"):
            deliver()
        if not self.luck("mute"):
            answer(not self.luck("unanswered"))

    def write(self, radio, call):
        other = self.named(call["peer"])
        connection = self.connection(radio, other)

        def answer(ok):
            radio.say("wrote", peer=call["peer"], token=call["token"], ok=ok)

        characteristic, value = call["characteristic"], call["value"]
        fits = connection is not None and len(base64.b64decode(value)) <= min(connection.mtu - 3, 512)
        if not fits or not other.has(characteristic) or short(characteristic) not in WRITABLE:
            return answer(False)
        self.carry(
            connection,
            lambda: other.say(
                "centralWrote", peer=radio.central_name, characteristic=characteristic, value=value
            ),
            answer,
        )

    def indicate(self, radio, call):
        other = self.named(call["peer"])
        connection = self.connection(other, radio)

        def answer(ok):
            if self.luck("full"):
                radio.say("full")
                asyncio.get_running_loop().call_later(FULL_FOR, radio.say, "readyToIndicate")
            radio.say("indicated", peer=call["peer"], token=call["token"], ok=ok)

        characteristic, value = call["characteristic"], call["value"]
        fits = connection is not None and len(base64.b64decode(value)) <= min(connection.mtu - 3, 512)
        if not fits or characteristic.upper() not in connection.subscribed:
            return answer(False)
        self.carry(
            connection,
            lambda: other.say("value", peer=radio.name, characteristic=characteristic, value=value),
            answer,
        )

    # Calls

    def call(self, radio, call):
        name = call["call"]
        if radio.state != "on":
            return
        if name == "advertise":
            radio.service, radio.title = call["service"].upper(), call.get("name") or ""
            radio.shown_title, radio.table = radio.title, call["characteristics"]
            for other in self.radios:
                self.show(other, radio)
        elif name == "stopAdvertising":
            radio.title = None
        elif name == "scan":
            radio.scanned = call["service"].upper()
            for other in self.radios:
                self.show(radio, other)
        elif name == "stopScan":
            radio.scanned = None
        elif name == "write":
            self.write(radio, call)
        elif name == "indicate":
            self.indicate(radio, call)
        else:
            self.call_of_central(radio, call, name)

    def call_of_central(self, radio, call, name):
        peer = call["peer"]
        other = self.named(peer)
        connection = self.connection(radio, other)
        if name == "connect":
            if connection is not None:
                return
            if other is None or other is radio or other.state != "on" or other.title is None:
                return radio.say("disconnected", peer=peer)
            self.connections.append(Connection(radio, other, self.mtu))
            radio.say("connected", peer=peer, mtu=self.mtu)
        elif connection is None:
            radio.say("disconnected", peer=peer)
        elif name == "disconnect":
            self.cut(connection)
        elif name == "discover":
            radio.say("characteristics", peer=peer, characteristics=[it for it in other.table if other.has(it)])
        elif name == "subscribe":
            characteristic = call["characteristic"].upper()
            ok = other.has(characteristic) and short(characteristic) in INDICATED
            if ok:
                connection.subscribed.add(characteristic)
                other.say(
                    "centralSubscribed", peer=radio.central_name, characteristic=characteristic, mtu=connection.mtu
                )
            radio.say("subscribed", peer=peer, characteristic=characteristic, ok=ok)
        else:
            raise ValueError(f"no call {name}")

    # Control

    def chosen(self, line):
        wanted = line.get("radio")
        if wanted is None:
            return self.radios
        return [it for it in self.radios if wanted in (it.name, it.title, it.shown_title)]

    def control(self, line):
        what = line["control"]
        if what == "faults":
            self.faults.update({name: line[name] for name in FAULTS if name in line})
        elif what == "mtu":
            self.mtu = line["mtu"]
        elif what == "disconnect":
            self.cut_all(self.chosen(line)[0] if "radio" in line else None)
        elif what == "show":
            return {
                "radios": [{"name": it.name, "title": it.shown_title, "isShown": it.title is not None} for it in self.radios],
                "connections": [[it.central.shown_title, it.peripheral.shown_title] for it in self.connections],
            }
        for radio in self.chosen(line):
            if what == "missing":
                radio.missing = {short(it) for it in line["characteristics"]}
            elif what == "state":
                self.change(radio, line["state"])
            elif what == "kill":
                radio.writer.close()
            elif what == "raw":
                radio.write(line["text"].encode())
        return {}

    def change(self, radio, state):
        if radio.state == "on" and state != "on":
            # A radio that is off says that, and no more.
            self.cut_all(radio, deaf=radio)
            radio.title = radio.scanned = None
        radio.state = state
        radio.say("state", state=state)

    # Sockets

    async def serve(self, reader, writer):
        self.serving.add(asyncio.current_task())
        self.count += 1
        radio = Radio(self, self.count, writer)
        self.radios.append(radio)
        radio.say("state", state="on")
        try:
            while line := await reader.readline():
                line = json.loads(line)
                if "control" in line:
                    writer.write(json.dumps(self.control(line)).encode() + b"\n")
                else:
                    self.call(radio, line)
        except ConnectionError:
            pass
        except (ValueError, KeyError) as error:
            print(f"{radio.name}: {error!r}", file=sys.stderr)
        self.cut_all(radio, deaf=radio)
        self.radios.remove(radio)
        writer.close()


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--mtu", type=int, default=185)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--two-names", action="store_true", help="a radio has another name as a central")
    for fault, text in FAULTS.items():
        parser.add_argument(f"--{fault}", type=float, default=0.0, help=text)
    options = parser.parse_args()
    random.seed(options.seed)
    air = Air({fault: getattr(options, fault) for fault in FAULTS}, options.mtu, options.two_names)
    server = await asyncio.start_unix_server(air.serve, options.path, limit=LINE_BYTES_MAX)
    loop = asyncio.get_running_loop()

    def showing():
        air.show_all()
        loop.call_later(SHOWN_EVERY, showing)

    showing()
    print(json.dumps({"ready": options.path}), flush=True)
    controls = asyncio.StreamReader(limit=LINE_BYTES_MAX)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(controls), sys.stdin)
    while line := await controls.readline():
        print(json.dumps(air.control(json.loads(line))), flush=True)
    server.close()
    for radio in air.radios:
        radio.writer.transport.abort()
    await asyncio.gather(*air.serving)


if __name__ == "__main__":
    asyncio.run(main())
