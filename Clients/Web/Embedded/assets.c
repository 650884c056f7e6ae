#include "CWebAssets.h"

#include <stddef.h>

// `#embed` is of C23; earlier modes of the compiler know it too. The build sees the files as it sees headers: it compiles
// this one again after a change of any of them.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const struct web_asset assets[] = {
    {"add.html", (const unsigned char[]) {
#embed "../Assets/add.html" suffix(, 0)
    }},
    {"ask.js", (const unsigned char[]) {
#embed "../Assets/ask.js" suffix(, 0)
    }},
    {"bytes.js", (const unsigned char[]) {
#embed "../Assets/bytes.js" suffix(, 0)
    }},
    {"connection.js", (const unsigned char[]) {
#embed "../Assets/connection.js" suffix(, 0)
    }},
    {"content.js", (const unsigned char[]) {
#embed "../Assets/content.js" suffix(, 0)
    }},
    {"crypto.js", (const unsigned char[]) {
#embed "../Assets/crypto.js" suffix(, 0)
    }},
    {"door.js", (const unsigned char[]) {
#embed "../Assets/door.js" suffix(, 0)
    }},
    {"forget.js", (const unsigned char[]) {
#embed "../Assets/forget.js" suffix(, 0)
    }},
    {"guest.js", (const unsigned char[]) {
#embed "../Assets/guest.js" suffix(, 0)
    }},
    {"icon.svg", (const unsigned char[]) {
#embed "../Assets/icon.svg" suffix(, 0)
    }},
    {"invite.html", (const unsigned char[]) {
#embed "../Assets/invite.html" suffix(, 0)
    }},
    {"join.html", (const unsigned char[]) {
#embed "../Assets/join.html" suffix(, 0)
    }},
    {"join.js", (const unsigned char[]) {
#embed "../Assets/join.js" suffix(, 0)
    }},
    {"ledger.js", (const unsigned char[]) {
#embed "../Assets/ledger.js" suffix(, 0)
    }},
    {"listen.html", (const unsigned char[]) {
#embed "../Assets/listen.html" suffix(, 0)
    }},
    {"listen.js", (const unsigned char[]) {
#embed "../Assets/listen.js" suffix(, 0)
    }},
    {"listening.js", (const unsigned char[]) {
#embed "../Assets/listening.js" suffix(, 0)
    }},
    {"machine.js", (const unsigned char[]) {
#embed "../Assets/machine.js" suffix(, 0)
    }},
    {"mesh.js", (const unsigned char[]) {
#embed "../Assets/mesh.js" suffix(, 0)
    }},
    {"missing.html", (const unsigned char[]) {
#embed "../Assets/missing.html" suffix(, 0)
    }},
    {"page.css", (const unsigned char[]) {
#embed "../Assets/page.css" suffix(, 0)
    }},
    {"qr.js", (const unsigned char[]) {
#embed "../Assets/qr.js" suffix(, 0)
    }},
    {"room.js", (const unsigned char[]) {
#embed "../Assets/room.js" suffix(, 0)
    }},
    {"settings.js", (const unsigned char[]) {
#embed "../Assets/settings.js" suffix(, 0)
    }},
    {"sounds.js", (const unsigned char[]) {
#embed "../Assets/sounds.js" suffix(, 0)
    }},
    {"speech.js", (const unsigned char[]) {
#embed "../Assets/speech.js" suffix(, 0)
    }},
    {"stage.js", (const unsigned char[]) {
#embed "../Assets/stage.js" suffix(, 0)
    }},
    {"start.js", (const unsigned char[]) {
#embed "../Assets/start.js" suffix(, 0)
    }},
    {"tabs.js", (const unsigned char[]) {
#embed "../Assets/tabs.js" suffix(, 0)
    }},
    {"talk.js", (const unsigned char[]) {
#embed "../Assets/talk.js" suffix(, 0)
    }},
    {"text.js", (const unsigned char[]) {
#embed "../Assets/text.js" suffix(, 0)
    }},
    {"transcript.html", (const unsigned char[]) {
#embed "../Assets/transcript.html" suffix(, 0)
    }},
    {"transcript.js", (const unsigned char[]) {
#embed "../Assets/transcript.js" suffix(, 0)
    }},
    {"view.js", (const unsigned char[]) {
#embed "../Assets/view.js" suffix(, 0)
    }},
    {"wire.js", (const unsigned char[]) {
#embed "../Assets/wire.js" suffix(, 0)
    }},
    {NULL, NULL},
};

const struct web_asset *web_assets(void) { return assets; }
