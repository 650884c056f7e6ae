"""A program that takes events of a daemon's webhook, and checks that they come from it.

    receiver.py PORT KEY-FILE LOG DEADLY

It notes the number of each event in the file LOG. If the file DEADLY is there, it dies before it answers.
"""

import hashlib
import hmac
import http.server
import json
import os
import pathlib
import signal
import sys
import time

port, key, log, deadly = int(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
# Seconds by which the clock of a request may be wrong.
AGE_MAX = 300


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        stamp = self.headers["whisper-time"]
        signature = hmac.new(key.read_bytes().strip(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
        is_ours = hmac.compare_digest(signature, self.headers["whisper-signature"])
        if not is_ours or abs(time.time() - int(stamp) / 1000) > AGE_MAX:
            self.send_error(403)
            return
        event = json.loads(body)
        text = event["event"].get("message", {}).get("text", "")
        with log.open("a") as file:
            file.write(json.dumps([event["seq"], event["event"]["type"], text]) + "\n")
        if deadly.exists() and text:
            deadly.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", port), Receiver)
print("listens", flush=True)
server.serve_forever()
