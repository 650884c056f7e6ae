#include "CAppAssets.h"

#include <stddef.h>

// `#embed` is of C23; earlier modes of the compiler know it too. The build sees the files as it sees headers: it compiles
// this one again after a change of any of them.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const struct app_asset assets[] = {
    {"about.js", (const unsigned char[]) {
#embed "../Assets/about.js" suffix(, 0)
    }},
    {"account.js", (const unsigned char[]) {
#embed "../Assets/account.js" suffix(, 0)
    }},
    {"accounttext.js", (const unsigned char[]) {
#embed "../Assets/accounttext.js" suffix(, 0)
    }},
    {"actions.js", (const unsigned char[]) {
#embed "../Assets/actions.js" suffix(, 0)
    }},
    {"app.css", (const unsigned char[]) {
#embed "../Assets/app.css" suffix(, 0)
    }},
    {"app.webmanifest", (const unsigned char[]) {
#embed "../Assets/app.webmanifest" suffix(, 0)
    }},
    {"call.js", (const unsigned char[]) {
#embed "../Assets/call.js" suffix(, 0)
    }},
    {"calltext.js", (const unsigned char[]) {
#embed "../Assets/calltext.js" suffix(, 0)
    }},
    {"chat.js", (const unsigned char[]) {
#embed "../Assets/chat.js" suffix(, 0)
    }},
    {"codes.js", (const unsigned char[]) {
#embed "../Assets/codes.js" suffix(, 0)
    }},
    {"dialogs.js", (const unsigned char[]) {
#embed "../Assets/dialogs.js" suffix(, 0)
    }},
    {"door.js", (const unsigned char[]) {
#embed "../Assets/door.js" suffix(, 0)
    }},
    {"files.js", (const unsigned char[]) {
#embed "../Assets/files.js" suffix(, 0)
    }},
    {"first.js", (const unsigned char[]) {
#embed "../Assets/first.js" suffix(, 0)
    }},
    {"forms.js", (const unsigned char[]) {
#embed "../Assets/forms.js" suffix(, 0)
    }},
    {"groups.js", (const unsigned char[]) {
#embed "../Assets/groups.js" suffix(, 0)
    }},
    {"icon.svg", (const unsigned char[]) {
#embed "../Assets/icon.svg" suffix(, 0)
    }},
    {"index.html", (const unsigned char[]) {
#embed "../Assets/index.html" suffix(, 0)
    }},
    {"live.js", (const unsigned char[]) {
#embed "../Assets/live.js" suffix(, 0)
    }},
    {"livetext.js", (const unsigned char[]) {
#embed "../Assets/livetext.js" suffix(, 0)
    }},
    {"lock.js", (const unsigned char[]) {
#embed "../Assets/lock.js" suffix(, 0)
    }},
    {"locktext.js", (const unsigned char[]) {
#embed "../Assets/locktext.js" suffix(, 0)
    }},
    {"looks.js", (const unsigned char[]) {
#embed "../Assets/looks.js" suffix(, 0)
    }},
    {"model.js", (const unsigned char[]) {
#embed "../Assets/model.js" suffix(, 0)
    }},
    {"notices.js", (const unsigned char[]) {
#embed "../Assets/notices.js" suffix(, 0)
    }},
    {"polls.js", (const unsigned char[]) {
#embed "../Assets/polls.js" suffix(, 0)
    }},
    {"rooms.js", (const unsigned char[]) {
#embed "../Assets/rooms.js" suffix(, 0)
    }},
    {"roomstext.js", (const unsigned char[]) {
#embed "../Assets/roomstext.js" suffix(, 0)
    }},
    {"shell.js", (const unsigned char[]) {
#embed "../Assets/shell.js" suffix(, 0)
    }},
    {"start.js", (const unsigned char[]) {
#embed "../Assets/start.js" suffix(, 0)
    }},
    {"text.js", (const unsigned char[]) {
#embed "../Assets/text.js" suffix(, 0)
    }},
    {"view.js", (const unsigned char[]) {
#embed "../Assets/view.js" suffix(, 0)
    }},
    {"voice.js", (const unsigned char[]) {
#embed "../Assets/voice.js" suffix(, 0)
    }},
    {NULL, NULL},
};

const struct app_asset *app_assets(void) { return assets; }
